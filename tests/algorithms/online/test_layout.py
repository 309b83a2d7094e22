"""Layouts: made once for all models of one schema."""

from leaseboard.algorithms.online import layout
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.layout import MAX_TERMS, MOST_KEPT, layouts
from leaseboard.algorithms.online.schema import Schema


def schema(features=("x", "y")):
    return Schema(("a", "b"), ((0,), (1,)), tuple(features))


def test_equal_schemas_share_a_layout():
    slow, quick = VWConfiguration((("a", "b"),), 0.1), VWConfiguration((("a", "b"),), 2.0)
    first = layouts(schema()).of(slow)

    assert layouts(schema()).of(quick) is first
    assert layouts(schema("xz")).of(slow) is not first
    assert layouts(schema()).of(VWConfiguration()) is not first
    assert layouts(schema()).of(VWConfiguration(namespaces=("a",))) is not first


def test_the_last_layouts_are_kept_up_to_so_many_terms(monkeypatch):
    monkeypatch.setattr(layout, "KEPT_TERMS", 10)
    made = layout.Layouts(schema())
    crossed, plain = VWConfiguration((("a", "b"),)), VWConfiguration()
    first, second = made.of(crossed), made.of(plain)  # of 4 terms and of 3
    assert made.of(crossed) is first
    made.of(VWConfiguration((("a", "a"),)))

    assert made.of(crossed) is first
    assert made.of(plain) is not second


def test_a_large_interaction_is_not_kept():
    side = 1 + int(MOST_KEPT**0.5)
    wide = Schema(
        ("a", "b"),
        (tuple(range(side)), tuple(range(side, 2 * side))),
        tuple(map(str, range(2 * side))),
    )
    crossed = VWConfiguration((("a", "b"),))
    first = layouts(wide).of(crossed).factors.tolist()

    assert ("a", "b") not in layouts(wide)._units
    assert layouts(wide).of(crossed).factors.tolist() == first
    assert len(first) == 2 * side + 1 + side**2 <= MAX_TERMS
