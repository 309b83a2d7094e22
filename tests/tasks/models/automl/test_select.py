"""Selection by a call from Python."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from algorithms import registry
from algorithms.abc_selection.baselines import FullRun
from algorithms.errors import DataError, UsageError
from algorithms.events import ProbeFinished
from tasks.models.automl.select import select

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
    ("X", "y", "message"),
    [
        (np.zeros((3, 2)), [0, 1], "shape"),
        (np.zeros((2, 2)), [0, 1], "too few"),
        (np.zeros((9, 2)), [0] * 9, "one class"),
        (np.zeros((3, 2)), [0, None, 1], "y has missing values"),
        (np.zeros((3, 2)), [0, np.nan, 1], "y has missing values"),
        (np.full((3, 2), np.inf), [0, 1, 0], "X has infinite values"),
        ([["a"], ["b"]], [0, 1], "encode text"),
    ],
)
def test_data_that_cannot_be_used_are_refused(X, y, message):
    with pytest.raises(DataError, match=message):
        select(PIPELINES, X, y)


@pytest.mark.parametrize(
    ("option", "value"), [("test_fraction", 1.5), ("initial_rows", 0), ("probe_seconds", -1)]
)
def test_options_out_of_range_are_refused_by_name(data, option, value):
    with pytest.raises(UsageError, match=f"option {option}={value}"):
        select(PIPELINES, *data, **{option: value})


def test_an_algorithm_of_another_bench_is_refused(data):
    with pytest.raises(UsageError, match="stream bench"):
        select(PIPELINES, *data, algorithm=registry.build("chacha"))


def test_no_pipelines_are_refused(data):
    with pytest.raises(UsageError, match="at least one"):
        select([], *data)


def test_a_file_that_is_no_store_is_refused_and_left_alone(data, tmp_path):
    path = tmp_path / "sales.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match=r"sales.csv' holds something else than a store"):
        select(PIPELINES, *data, store=path)
    assert path.read_text() == "a,b\n1,2\n"


def test_columns_in_any_order_of_memory_are_the_same_data(data, tmp_path):
    X, y = data
    kept = tmp_path / "kept.sqlite"
    chosen = select(PIPELINES, X, y, initial_rows=200, store=kept)
    again = select(PIPELINES, np.asfortranarray(X), y, initial_rows=200, store=kept)
    assert again.events == chosen.events
