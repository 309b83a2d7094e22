"""Layouts: made once for all models of one schema, whoever they belong to."""

import gc

from algorithms.online import layout
from algorithms.online.configuration import VWConfiguration
from algorithms.online.layout import lay_out
from algorithms.online.schema import Schema


def schema(features=("x", "y")):
    return Schema(("a", "b"), ((0,), (1,)), tuple(features))


def test_equal_schemas_share_a_layout_as_long_as_someone_has_it():
    slow, quick = VWConfiguration((("a", "b"),), 0.1), VWConfiguration((("a", "b"),), 2.0)
    first = lay_out(schema(), slow)

    assert lay_out(schema(), quick) is first
    assert lay_out(schema("xz"), slow) is not first
    assert lay_out(schema(), VWConfiguration()) is not first
    assert lay_out(schema(), VWConfiguration(namespaces=("a",))) is not first

    del first
    gc.collect()
    assert not [key for key in layout._KNOWN if key[:2] == (schema(), slow.interactions)]
