"""Chances of classes: the log loss against what people try first, by hand and by an adversary."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.algorithms.online_automl.safe.bayes import (
    EXCESS,
    MIXED,
    N_EXPERTS,
    SURE_AFTER,
    VARIANCE,
    LogOdds,
    average,
    learn,
    new_weights,
    regret_bound,
    stack,
)
from leaseboard.algorithms.online_automl.safe.expansion import LAST, N_SIMPLE, Row
from leaseboard.algorithms.online_automl.safe.mixture import SHARES, share

B = 2
LIVE = np.arange(B)
PREDICTION = st.floats(-1, 1)


def values_of(rows):
    """Return rows of what two models predict, with simple models that predict 0."""
    values = np.zeros((len(rows), B + N_SIMPLE))
    values[:, :B] = rows
    return values


def reported(log_odds, values, labels, predictions, learns=True):
    """Log odds of the second class, progressively."""
    row, found = Row(np.zeros(1, np.float32), B), []
    row.live, row.champion, row.learns, row.importance = LIVE, 0, learns, 1.0
    for of_all, label, prediction in zip(values, labels, predictions, strict=True):
        np.asarray(row.values)[:] = of_all
        row.label, row.prediction = label, prediction
        log_odds.take(row)
        found.append(row.prediction)
    return np.array(found)


def margin(log_odds, values, prediction):
    return reported(log_odds, values[None], [0.0], [prediction], learns=False)[0]


def log_loss(margins, labels):
    return np.logaddexp(0, -np.asarray(margins, float) * np.asarray(labels, float))


@given(
    st.lists(st.tuples(PREDICTION, PREDICTION, PREDICTION, st.booleans()), min_size=1, max_size=80)
)
def test_no_expert_of_two_classes_is_ever_better_by_more_than_the_bound(steps):
    rows = np.array([step[:3] for step in steps])
    labels = np.where([step[3] for step in steps], 1.0, -1.0)
    log_odds = LogOdds(B)
    margins = reported(log_odds, values_of(rows[:, :B]), labels, rows[:, 2])

    assert log_odds.lost[EXCESS] <= regret_bound(N_EXPERTS)
    # What is reported is what is counted.
    assert log_loss(margins, labels).sum() == pytest.approx(log_odds.lost[MIXED], rel=1e-5)
    for given_, expert in ((rows[:, 0], 4), (rows[:, 2], 5)):
        least = 1 / (SURE_AFTER + np.arange(len(labels)))
        probability = np.clip(0.5 + 0.5 * given_, least, 1 - least)
        probability = np.where(labels > 0, probability, 1 - probability)
        assert log_odds.lost[expert] == pytest.approx(-np.log(probability).sum(), rel=1e-5)


def test_the_label_that_is_least_expected_always():
    log_odds = LogOdds(B)
    values = np.zeros((1, B + N_SIMPLE))
    for _ in range(3000):
        label = -1.0 if margin(log_odds, values[0], 0.0) > 0 else 1.0
        reported(log_odds, values, [label], [0.0])
        values[0, B + LAST] = label

    assert log_odds.lost[EXCESS] <= regret_bound(N_EXPERTS)


def fresh(n):
    return np.zeros(n), VARIANCE * np.eye(n)


def step(x, second, weights, covariance):
    margin = float(np.clip(weights @ x, -30, 30))
    stack(x, 1 / (1 + math.exp(-margin)), bool(second), weights, covariance)


def assert_sound(weights, covariance):
    assert np.array_equal(covariance, covariance.T)
    assert np.linalg.eigvalsh(covariance).min() > 0
    assert covariance.diagonal().max() <= VARIANCE * (1 + 1e-12)
    assert np.abs(weights).max() < 10


def test_twenty_thousand_examples_leave_it_sound():
    rng = np.random.default_rng(0)
    weights, covariance = fresh(7)
    inputs = rng.normal(size=(20_000, 7))
    labels = inputs @ np.linspace(-1, 1, 7) + rng.logistic(size=20_000) > 0
    for x, second in zip(inputs, labels.tolist(), strict=True):
        step(x, second, weights, covariance)

    assert_sound(weights, covariance)
    assert np.abs(weights - np.linspace(-1, 1, 7)).max() < 0.5


CHANCE = st.floats(1e-9, 1.0, exclude_max=True)


def lost(rows):
    """Log loss of the mixture and of each expert, after each label."""
    state, own, theirs = new_weights(rows.shape[1]), [0.0], [np.zeros(rows.shape[1])]
    for probabilities in rows:
        own.append(own[-1] - math.log(average(probabilities, state)))
        theirs.append(theirs[-1] - np.log(probabilities))
        learn(probabilities.copy(), 1.0, state, np.zeros(len(probabilities) + 2), 1)
        assert state[1:].sum() == pytest.approx(1)
    return np.array(own), np.array(theirs)


@given(st.integers(2, 6).flatmap(lambda k: st.lists(st.tuples(*[CHANCE] * k), max_size=60)))
def test_no_expert_is_ever_better_by_more_than_the_bound(steps):
    if not steps:
        return
    rows = np.array(steps)
    own, theirs = lost(rows)

    assert (own - theirs.min(axis=1)).max() <= regret_bound(rows.shape[1]) + 1e-9


@given(st.lists(st.tuples(CHANCE, CHANCE, CHANCE), min_size=2, max_size=60), st.integers(0, 58))
def test_over_every_interval_the_same_with_the_share(steps, start):
    rows, start = np.array(steps), min(start, len(steps) - 1)
    own, theirs = lost(rows)
    excess = own[start:] - own[start] - (theirs[start:] - theirs[start]).min(axis=1)
    bound = math.log(3 / share(max(start, 1))) + SHARES

    assert excess.max() <= bound + 1e-9
