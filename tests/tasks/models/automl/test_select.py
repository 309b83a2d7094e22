"""Selection by a call from Python."""

from __future__ import annotations

import pytest
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.models.automl.select import select

PIPELINES = {
    "constant": DummyClassifier(),
    "tree": make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)),
}


def test_it_takes_what_the_search_takes_and_show_what_it_shows(data):
    X, y = data
    tree = DecisionTreeClassifier()
    chosen = select(tree, X, y, param_grid={"max_depth": [1, 2]}, initial_rows=200)
    assert set(chosen.leaderboard["name"]) == {"max_depth=1", "max_depth=2"}
    assert "with probability 0.9" in chosen.guarantee
    with pytest.raises(UsageError, match=r"option test_fraction=1.5"):
        select(PIPELINES, X, y, test_fraction=1.5)
