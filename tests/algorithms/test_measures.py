"""The measures against scikit-learn's, and where they are not defined."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from leaseboard.algorithms.checks import schema_of
from leaseboard.algorithms.environments.stream import Stream, StreamEnvironment
from leaseboard.algorithms.measures import DIRECTIONS, of_classes, of_numbers

finite = st.floats(-1e6, 1e6, width=32)


@given(st.lists(st.tuples(finite, finite), min_size=2, max_size=30))
def test_numbers_as_scikit_learn_measures_them(pairs):
    predictions, labels = np.array(pairs).T
    found = of_numbers(predictions, labels)

    assert found["rmse"] == pytest.approx(metrics.root_mean_squared_error(labels, predictions))
    assert found["mae"] == pytest.approx(metrics.mean_absolute_error(labels, predictions))
    if np.ptp(labels) > 1e-3:
        assert found["r2"] == pytest.approx(metrics.r2_score(labels, predictions))


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=30))
def test_classes_as_scikit_learn_measures_them(pairs):
    predictions, labels = np.array(pairs).T
    found = of_classes(predictions, labels, np.full(len(labels), 0.25))

    assert found["error"] == pytest.approx(1 - metrics.accuracy_score(labels, predictions))
    assert found["log_loss"] == pytest.approx(math.log(4))
    kappa = metrics.cohen_kappa_score(labels, predictions)
    assert found.get("kappa", math.nan) == pytest.approx(kappa, nan_ok=True)
    before = metrics.accuracy_score(labels[1:], labels[:-1])
    if before < 1:
        right = metrics.accuracy_score(labels[1:], predictions[1:])
        assert found["kappa_temporal"] == pytest.approx((right - before) / (1 - before))


def test_an_environment_measures_in_the_targets_own_unit():
    labels = np.log(np.array([1.0, 10.0, 100.0]) + 5).astype(np.float32)
    stream = Stream(np.zeros((3, 1), np.float32), labels, schema_of("x"), shift=5)
    env = StreamEnvironment(stream)
    list(env.record(np.log([6.0, 18.0, 101.0]).astype(np.float32)))
    found = env.score().metrics

    assert env.score().value < 1
    assert found["mae"] == pytest.approx((0 + 3 + 4) / 3, rel=1e-4)
    assert found["rmse"] == pytest.approx(math.sqrt((9 + 16) / 3), rel=1e-4)
    assert {"rmse", "mae", "r2"} <= DIRECTIONS.keys()
    assert StreamEnvironment(stream).score().metrics == {}
