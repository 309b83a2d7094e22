"""Chances of classes: the log loss against what people try first, by hand and by an adversary."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.algorithms.benches.arrays import uniform
from leaseboard.algorithms.chacha.safe.bayes import regret_bound
from leaseboard.algorithms.chacha.safe.front import LAST, N_COMPANIONS
from leaseboard.algorithms.chacha.safe.odds import N_EXPERTS, SURE_AFTER, TOLD, Odds

B = 2
LIVE = np.arange(B)
FORECAST = st.floats(-1, 1)


def values_of(rows):
    """Rows of what two models forecast, with companions that forecast 0."""
    values = np.zeros((len(rows), B + N_COMPANIONS))
    values[:, :B] = rows
    return values


def told(odds, values, labels, forecasts):
    """Log odds of the second class, progressively."""
    out = np.asarray(forecasts, np.float32).copy()
    labels = np.asarray(labels, np.float32)
    odds.learn(values, LIVE, 0, uniform(labels), uniform(np.ones_like(labels)), out)
    return out


def log_loss(margins, labels):
    return np.logaddexp(0, -np.asarray(margins, float) * np.asarray(labels, float))


@given(st.lists(st.tuples(FORECAST, FORECAST, FORECAST, st.booleans()), min_size=1, max_size=80))
def test_no_expert_is_ever_better_by_more_than_the_bound(steps):
    rows = np.array([step[:3] for step in steps])
    labels = np.where([step[3] for step in steps], 1.0, -1.0)
    odds = Odds(B)
    margins = told(odds, values_of(rows[:, :B]), labels, rows[:, 2])

    assert odds.over_best <= regret_bound(N_EXPERTS)
    # What is told is what is counted.
    assert log_loss(margins, labels).sum() == pytest.approx(odds.lost[TOLD], rel=1e-5)
    for given_, expert in ((rows[:, 0], 4), (rows[:, 2], 5)):
        least = 1 / (SURE_AFTER + np.arange(len(labels)))
        chance = np.clip(0.5 + 0.5 * given_, least, 1 - least)
        chance = np.where(labels > 0, chance, 1 - chance)
        assert odds.lost[expert] == pytest.approx(-np.log(chance).sum(), rel=1e-5)


def test_the_label_that_is_least_expected_always():
    odds = Odds(B)
    values = np.zeros((1, B + N_COMPANIONS))
    for _ in range(3000):
        label = -1.0 if odds.margin(values[0], LIVE, 0, 0.0) > 0 else 1.0
        told(odds, values, [label], [0.0])
        values[0, B + LAST] = label

    assert odds.over_best <= regret_bound(N_EXPERTS)


def test_a_prediction_is_what_learning_tells_and_learns_nothing():
    rng = np.random.default_rng(0)
    odds, other = Odds(B), Odds(B)
    values = values_of(rng.uniform(-1, 1, (200, B)))
    labels, forecasts = rng.choice([-1.0, 1.0], 200), rng.uniform(-1, 1, 200).astype(np.float32)
    for t in range(200):
        before = odds.margin(values[t], LIVE, 0, float(forecasts[t]))
        assert odds.margin(values[t], LIVE, 0, float(forecasts[t])) == before
        assert told(odds, values[t : t + 1], labels[t : t + 1], forecasts[t : t + 1]) == [before]
    whole = told(other, values, labels, forecasts)

    assert len(whole) == 200
    for name in Odds.kept:
        assert np.array_equal(getattr(odds, name), getattr(other, name))


def test_forecasts_that_are_too_sure_are_calibrated():
    """They say 1 where the class comes nine times in ten."""
    rng = np.random.default_rng(1)
    forecasts = rng.choice([-1.0, 1.0], 4000)
    labels = np.where(rng.uniform(size=4000) < 0.9, forecasts, -forecasts)
    margins = told(Odds(B), values_of(np.stack([forecasts, forecasts], 1)), labels, forecasts)
    chances = 1 / (1 + np.exp(-margins[1000:].astype(float)))

    assert chances[forecasts[1000:] > 0].mean() == pytest.approx(0.9, abs=0.02)
    assert chances[forecasts[1000:] < 0].mean() == pytest.approx(0.1, abs=0.02)
    assert log_loss(margins[1000:], labels[1000:]).mean() < 0.34  # the entropy is .325


def test_labels_that_follow_the_last_one_are_told_without_any_model():
    rng = np.random.default_rng(2)
    labels = np.where(np.cumsum(rng.uniform(size=3000) < 0.05) % 2, 1.0, -1.0)
    values = np.zeros((3000, B + N_COMPANIONS))
    values[1:, B + LAST] = labels[:-1]
    margins = told(Odds(B), values, labels, np.zeros(3000))

    assert log_loss(margins, labels).mean() < 0.22  # .05 switches: .199


def test_a_class_that_comes_once_in_ten_thousand_costs_what_its_frequency_does():
    """The estimate of Krichevsky and Trofimov is nowhere clipped."""
    labels = np.full(10_000, -1.0)
    labels[5000] = 1
    values = np.zeros((10_000, B + N_COMPANIONS))
    odds = Odds(B)
    margins = told(odds, values, labels, np.zeros(10_000))
    shares = (np.cumsum(labels > 0) - (labels > 0) + 0.5) / (np.arange(10_000) + 1)
    frequency = -np.log(np.where(labels > 0, shares, 1 - shares)).sum()

    assert log_loss(margins, labels).sum() <= frequency + regret_bound(N_EXPERTS)


@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_an_example_without_importance_teaches_nothing(label):
    odds = Odds(B)
    before = [getattr(odds, name).copy() for name in Odds.kept]
    odds.learn(
        values_of([[0.5, -0.5]]), LIVE, 0, np.full(1, label, np.float32), np.zeros(1, np.float32),
        np.zeros(1, np.float32),
    )  # fmt: skip

    for name, old in zip(Odds.kept, before, strict=True):
        assert np.array_equal(getattr(odds, name), old)
