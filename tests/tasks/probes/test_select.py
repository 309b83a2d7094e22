"""Selection by a call from Python."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from algorithms.abc_selection.baselines import FullRun
from algorithms.errors import DataError, UsageError
from algorithms.events import ProbeFinished
from tasks.probes.select import select

PIPELINES = {
    "constant": DummyClassifier(),
    "tree": make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.random((3000, 2))
    return X, np.where(X[:, 0] > 0.5, "high", "low")


def test_abc_chooses_the_better_pipeline(data, tmp_path):
    chosen = select(PIPELINES, *data, initial_rows=200, store=tmp_path / "kept.sqlite")
    assert chosen.name == "tree"
    assert chosen.score.value > 0.95
    assert chosen.estimator.fit(*data).score(*data) > 0.95
    again = select(PIPELINES, *data, initial_rows=200, store=tmp_path / "kept.sqlite")
    assert again.events == chosen.events


def test_another_algorithm_may_choose(data):
    chosen = select(PIPELINES, *data, algorithm=FullRun())
    rows = {event.rows for event in chosen.events if isinstance(event, ProbeFinished)}
    assert rows == {2400}


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (np.zeros((3, 2)), [0, 1], {}, "shape"),
        (np.zeros((2, 2)), [0, 1], {}, "too few"),
        (np.zeros((9, 2)), [0, 1, 0] * 3, {"test_fraction": 1.5}, "between 0 and 1"),
    ],
)
def test_bad_input_is_refused(X, y, options, message):
    with pytest.raises(DataError, match=message):
        select(PIPELINES, X, y, **options)


def test_no_pipelines_are_refused(data):
    with pytest.raises(UsageError, match="at least one"):
        select([], *data)
