"""Forecasts from earlier labels: by hand, and in blocks of any size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.benches.stream import Namespace, Stream, StreamBench
from leaseboard.algorithms.reference.naive import (
    LONGEST,
    LastLabel,
    RunningMean,
    SeasonalLast,
    compare,
    least_period,
    next_period,
    remember,
)
from leaseboard.algorithms.reference.ridge import OnlineRidge

ALL = (RunningMean(), LastLabel(), SeasonalLast(), SeasonalLast(period=3), OnlineRidge())


def stream(labels, features=None, task="regression"):
    labels = np.asarray(labels, dtype=np.float32)
    x = np.zeros((len(labels), 1)) if features is None else features
    names = tuple(map(str, range(x.shape[1])))
    return Stream(np.asarray(x, np.float32), labels, (Namespace("a", 0, x.shape[1]),), names, task)


def forecasts(algorithm, labels, task="regression"):
    nothing = np.zeros((len(labels), 1), np.float32)
    forecaster = algorithm.forecaster(1, task)
    return forecaster.learn_many(nothing, np.asarray(labels, np.float32)).tolist()


def test_classes_are_forecast_by_what_was_more_often_and_what_was_last():
    labels = [1, 1, -1, -1, -1]

    assert np.sign(forecasts(RunningMean(), labels, "classification")).tolist() == [0, 1, 1, 1, 0]
    assert forecasts(LastLabel(), labels, "classification") == [0, 1, 1, -1, -1]


def test_a_period_is_found_and_told():
    labels = np.tile([1.0, 5.0, 2.0, 8.0, 3.0], 40)
    bench = StreamBench(stream(labels))
    list(play("seasonal-last", registry.build("seasonal-last"), bench, 0))

    assert bench.score().metrics["period"] == 5
    assert np.array_equal(bench.predictions[60:], labels[60:].astype(np.float32))


def test_a_given_period_may_be_longer_than_those_looked_for():
    labels = np.arange(2 * LONGEST + 5) % (LONGEST + 1)
    given = forecasts(SeasonalLast(period=LONGEST + 1), labels)

    assert given[LONGEST + 1 :] == labels[LONGEST + 1 :].tolist()
    assert given[5] == labels[4]  # until a period has passed, the last label


def test_the_period_is_the_one_of_least_mean_loss():
    """Against the definition, without sums that are carried on."""
    rng = np.random.default_rng(3)
    y = rng.normal(size=60) + 2 * np.sin(np.arange(60) / 7 * 2 * np.pi)
    y = y.astype(np.float32).astype(float)
    expected = [0.0]
    for t in range(1, 60):
        lags = range(2, t // 2 + 1)
        losses = {m: np.mean([(y[s] - y[s - m]) ** 2 for s in range(m, t)]) for m in lags}
        expected.append(y[t - min(losses, key=losses.get)] if losses else y[t - 1])

    assert forecasts(SeasonalLast(), y) == pytest.approx(expected)


@given(
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=40),
    st.integers(1, 40),
    st.sampled_from(ALL),
)
def test_blocks_change_nothing(labels, cut, algorithm):
    y = np.asarray(labels, np.float32)
    x = np.random.default_rng(len(y)).normal(size=(len(y), 2)).astype(np.float32)
    whole = algorithm.forecaster(2, "regression").learn_many(x, y)
    parts = algorithm.forecaster(2, "regression")
    pieces = [
        parts.learn_many(x[rows], y[rows])
        for rows in (slice(cut), slice(cut, None))
        if len(y[rows])
    ]

    assert np.array_equal(np.concatenate(pieces), whole)


@pytest.mark.parametrize("algorithm", ALL)
def test_nothing_is_forecast_by_what_comes_later(algorithm):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(50, 2)).astype(np.float32), rng.normal(size=50).astype(np.float32)
    before = algorithm.forecaster(2, "regression").learn_many(x, y)
    x[30:], y[30:] = 7 * x[30:] + 3, -y[30:]
    after = algorithm.forecaster(2, "regression").learn_many(x, y)

    assert np.array_equal(before[:30], after[:30])


@pytest.mark.parametrize("algorithm", ALL)
def test_they_follow_the_target_s_scale_and_shift(algorithm):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    y += x @ [1, 2, 3]

    def told(labels, features):
        forecaster = algorithm.forecaster(3, "regression")
        return forecaster.learn_many(features.astype(np.float32), labels.astype(np.float32))

    plain, moved = told(y, x), told(1000 * y + 500, x * [1, 100, 0.01])
    assert moved[1:] == pytest.approx(1000 * plain[1:] + 500, abs=0.5)


def test_only_those_that_can_do_without_labels_leave_a_model():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(80, 2)), rng.normal(size=80) + 3
    left = {}
    for name in ("running-mean", "last-label", "seasonal-last", "online-ridge"):
        bench = StreamBench(stream(y, x))
        events = registry.build(name).run(bench, 0)
        while True:
            try:
                next(events)
            except StopIteration as end:
                left[name] = end.value
                break

    assert left["last-label"] is left["seasonal-last"] is None
    assert left["running-mean"].predict([5.0, 5.0]) == pytest.approx(y.mean(), rel=1e-5)


@given(
    labels=st.lists(st.sampled_from([0.0, 1.0, 2.0, 0.1, 1e30]), min_size=1, max_size=60),
    longest=st.integers(2, 12),
)
def test_the_next_period_is_the_least_one(labels, longest):
    past, losses, period = np.zeros(2 * longest), np.zeros(longest + 1), 1
    for seen, label in enumerate(labels):
        period = next_period(losses, seen, period)
        assert period == least_period(losses, seen)
        compare(label, past, losses, seen)
        remember(label, past, seen)
