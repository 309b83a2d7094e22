"""The mixture of three and more classes, and its logarithmic pool."""

from __future__ import annotations

import math

import numpy as np
import pytest

from leaseboard.algorithms.online_automl.class_mixture import (
    N_EXPERTS,
    ClassMixture,
    OnlineSoftmax,
)
from leaseboard.algorithms.online_automl.safe.bayes import regret_bound


def played(own, classes, n_classes=4):
    """Return the mixture's report of races with these probabilities, on features of noise."""
    mixture, nothing = ClassMixture(1), np.zeros(1, np.float32)
    mixture.grow(1, n_classes)
    for k in range(n_classes):
        mixture.count_class(k, 1.0)
    # Log odds of which the races' probabilities are made.
    margins = np.log(own[:, 1:] / (1.0 - own[:, 1:]))
    rows = zip(margins, classes.tolist(), strict=True)
    return np.array([mixture.take(each, nothing, k, 1.0) for each, k in rows])


def log_loss(probabilities, classes):
    return -np.log(probabilities[np.arange(len(classes)), classes])


def drawn(n=3000, k=4, seed=0):
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.full(k, 0.5), size=n)
    return true, np.array([rng.choice(k, p=p) for p in true])


def test_races_that_are_right_are_followed():
    true, classes = drawn()
    reported = played(true, classes)

    assert reported.sum(axis=1) == pytest.approx(1)
    assert log_loss(reported, classes).sum() < log_loss(np.maximum(true, 1e-3), classes).sum() + 40


@pytest.mark.parametrize("power", [0.4, 2.5], ids=["too unsure", "too sure"])
def test_races_that_are_not_calibrated_are_calibrated(power):
    true, classes = drawn()
    own = true**power
    own /= own.sum(axis=1, keepdims=True)
    reported = played(own, classes)
    late = slice(1000, None)

    best, given = (log_loss(np.maximum(p, 1e-3), classes)[late].mean() for p in (true, own))
    assert log_loss(reported, classes)[late].mean() < best + 0.25 * (given - best)


def test_no_expert_is_ever_better_by_more_than_the_bound():
    rng = np.random.default_rng(1)
    own = rng.dirichlet(np.full(4, 0.3), size=2000)
    classes = np.where(np.arange(2000) % 500 < 250, own.argmin(axis=1), own.argmax(axis=1))
    reported = log_loss(played(own, classes), classes).cumsum()
    races = log_loss(np.maximum(own, 1e-3 / 4), classes).cumsum()
    frequency = np.log(4) * np.arange(1, 2001)

    assert (reported - np.minimum(races, frequency)).max() <= regret_bound(N_EXPERTS) + 5


def sample(n=1500, d=3, k=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)).astype(np.float32)
    scores = 2 * x @ rng.normal(size=(d, k)) + rng.gumbel(size=(n, k))
    return x, scores.argmax(axis=1)


def learn(model, x, classes):
    rows = zip(np.float32(x), classes, strict=True)
    return np.array([model.learn(row, k, 1.0) for row, k in rows])


def errors(model, x, classes):
    return (learn(model, x, classes).argmax(axis=1) != classes).mean()


def test_the_first_steps_by_hand():
    model = OnlineSoftmax(1, 2, rate=0.5)
    learn(model, [[3]], [1])  # the feature has not varied: the constants alone
    assert np.asarray(model.weights).tolist() == [[-0.5, 0], [0.5, 0]]

    probability = 1 / (1 + math.exp(-1.0))
    said = learn(model, [[5]], [0])
    assert said.tolist() == [pytest.approx([1 - probability, probability])]
    step = 0.5 * probability / math.sqrt(0.5**2 + probability**2)
    assert np.asarray(model.weights)[:, 0].tolist() == pytest.approx([-0.5 + step, 0.5 - step])


def test_it_learns_and_no_scale_matters():
    x, classes = sample()
    plain = OnlineSoftmax(3, 4, 0.3)
    scaled = OnlineSoftmax(3, 4, 0.3)

    assert errors(plain, x, classes) < 0.35
    assert errors(scaled, x * np.float32(1024), classes) == pytest.approx(
        errors(OnlineSoftmax(3, 4, 0.3), x, classes)
    )
