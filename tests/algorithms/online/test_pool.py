"""A pool of models keeps no more than it needs."""

from __future__ import annotations

import itertools

from leaseboard.algorithms.online import live
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.schema import Schema

SCHEMA = Schema(("a", "b", "c", "d"), ((0,), (1,), (2,), (3,)), tuple("0123"))


def test_layouts_of_a_long_race_are_forgotten_but_for_the_last(monkeypatch):
    monkeypatch.setattr(live, "MOST_LAYOUTS", 3)
    models = live.Pool(SCHEMA, 2)
    models.start(0, VWConfiguration((("a", "b"),)))
    first = models.layouts[0]
    for pair in itertools.combinations("abcd", 2):
        models.start(1, VWConfiguration((pair,)))
        assert len(models._layouts) <= 3
    last = models.layouts[1]
    models.start(1, VWConfiguration((("c", "d"),)))
    assert models.layouts[1] is last
    assert models.layouts[0] is first
