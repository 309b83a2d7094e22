"""Selection by a call from Python."""

from __future__ import annotations

import pytest
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from leaseboard.algorithms.abc_selection.baselines import FullRun
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.events import ProbeFinished
from leaseboard.tasks.models.automl.select import select

PIPELINES = {
    "constant": DummyClassifier(),
    "tree": make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)),
}


def test_abc_chooses_the_better_pipeline(data, tmp_path):
    kept = tmp_path / "kept.sqlite"
    chosen = select(PIPELINES, *data, initial_rows=200, random_state=0, store=kept)
    assert chosen.name == "tree"
    assert chosen.score > 0.95
    assert chosen.estimator.fit(*data).score(*data) > 0.95
    again = select(PIPELINES, *data, initial_rows=200, random_state=0, store=kept)
    assert repr(again.events) == repr(chosen.events)  # NaN is not NaN


def test_another_algorithm_may_choose(data):
    chosen = select(PIPELINES, *data, algorithm=FullRun())
    rows = {event.rows for event in chosen.events if isinstance(event, ProbeFinished)}
    assert rows == {2400}


def test_it_takes_what_the_search_takes_and_show_what_it_shows(data):
    X, y = data
    tree = DecisionTreeClassifier()
    chosen = select(tree, X, y, param_grid={"max_depth": [1, 2]}, initial_rows=200)
    assert set(chosen.leaderboard["name"]) == {"max_depth=1", "max_depth=2"}
    assert "with probability 0.9" in chosen.guarantee
    with pytest.raises(UsageError, match=r"option test_fraction=1.5"):
        select(PIPELINES, X, y, test_fraction=1.5)
