"""Layouts: made once for all models of one schema, whoever they belong to."""

import gc

from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.layout import LATEST, MAX_TERMS, MOST_KEPT, layouts
from leaseboard.algorithms.online.schema import Schema


def schema(features=("x", "y")):
    return Schema(("a", "b"), ((0,), (1,)), tuple(features))


def test_equal_schemas_share_a_layout_for_a_while_after_someone_has_it():
    slow, quick = VWConfiguration((("a", "b"),), 0.1), VWConfiguration((("a", "b"),), 2.0)
    first = layouts(schema()).of(slow)

    assert layouts(schema()).of(quick) is first
    assert layouts(schema("xz")).of(slow) is not first
    assert layouts(schema()).of(VWConfiguration()) is not first
    assert layouts(schema()).of(VWConfiguration(namespaces=("a",))) is not first

    del first
    gc.collect()
    assert slow.interactions in [crossed for crossed, _ in layouts(schema())._layouts]
    assert layouts(schema())._latest.maxlen == LATEST
    layouts(schema())._latest.clear()  # as so many others would
    gc.collect()
    assert not layouts(schema())._layouts


def test_a_large_interaction_is_made_anew():
    side = 1 + int(MOST_KEPT**0.5)
    wide = Schema(
        ("a", "b"),
        (tuple(range(side)), tuple(range(side, 2 * side))),
        tuple(map(str, range(2 * side))),
    )
    crossed = VWConfiguration((("a", "b"),))
    first = layouts(wide).of(crossed).factors.tolist()

    assert ("a", "b") not in layouts(wide)._units
    assert not layouts(wide)._latest
    assert layouts(wide).of(crossed).factors.tolist() == first
    assert len(first) == 2 * side + 1 + side**2 <= MAX_TERMS
