"""For two classes: from predictions of labels -1 and 1 to the probability of the second class.

The race learns squared loss, which is proper: (1 + ŷ) / 2 is a probability. It is not the best
one. Near 0 and 1 it is too sure, and what a few predictions say together is more than what their
average says. So a logistic regression *stacks* them: on the logits of the mixture, of a
nimble one that weighs the models by their last ten or so losses, of the champion and of the two
logistic simple models, and on the last label, it learns online, by an extended Kalman filter [1]_
that forgets (`stack`), beginning with the mixture alone.

The probability that is predicted is an average of this, of the mixture and of naive baselines, by
Bayes' rule (`leaseboard.algorithms.online_automl.safe.bayes`): so it is calibrated where the stack
is, and its log loss is at no time more than ln 7 + 1.6 above that of the best of

- how often the class came, after the label before, and after the one a season ago (Krichevsky and
  Trofimov's estimates, unchanged);
- the logistic regression and c_init, which at example t give no class less than 1 / (1000 + t);
  for that they lose at most ln(1 + T / 1000) more than without.

References
----------
.. [1] Anderson, Blair, 1982; as the logistic regressions, see
   `leaseboard.algorithms.reference.ridge`.
.. [2] Platt. Probabilistic outputs for support vector machines. 1999: the same with one logit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online.kernel import Doubles, Floats, Slots
from leaseboard.algorithms.online_automl.safe.bayes import average, new_weights, update
from leaseboard.algorithms.online_automl.safe.expansion import (
    LAST,
    RIDGE,
    RIDGE_ON_PAST,
    SEASON,
    Block,
)
from leaseboard.algorithms.online_automl.safe.mixture import posterior_mean
from leaseboard.algorithms.transcendental import exp, log

FORGETTING = 0.999
"""What an example is worth one example later."""

VARIANCE = 0.1
"""Of each weight at first, and at most."""

FLATTEST = 0.02
"""The least curvature of an example: one that the weights were wrong about, and sure, must not
throw them far."""


@compiled
def stack(
    inputs: Doubles,
    probability: float,
    second: bool,
    weights: Doubles,
    covariance: Doubles,
    importance: float = 1.0,
) -> None:
    """Learn one label by a step of the extended Kalman filter.

    Weights have a covariance P. With inputs x, the probability p of the second class, c = p (1 -
    p) but no less than `FLATTEST`, and λ = `FORGETTING`, a label y of 0 or 1 makes of them

        w + P x (y - p) / (1 + c xᵀPx)   and   D (P - c P x xᵀ P / (1 + c xᵀPx)) D / λ,

    where D scales down each direction whose variance would be beyond `VARIANCE`: an input that
    says nothing, or the same as another, does not keep the others from forgetting. P is computed
    as half a matrix: rounding would make it asymmetric, and λ that larger and larger.

    Parameters
    ----------
    inputs : ndarray of float64, shape (n,)
    probability : float
        Of the second class, by these weights.
    second : bool
        Whether it came.
    weights, covariance : ndarray of float64, shapes (n,) and (n, n)
        Updated.
    importance : float
        Learned as if seen so many times.

    Examples
    --------
    >>> weights, covariance = np.array([0.0]), np.array([[0.1]])
    >>> stack(np.array([1.0]), 0.5, True, weights, covariance)
    >>> weights.round(4).tolist()  # .1 / 1.025 * .5
    [0.0488]
    >>> covariance.round(4).tolist()  # .1 / 1.025 / .999
    [[0.0977]]
    """
    # The gain P x, and the variance xᵀPx of the margin.
    n, total = len(inputs), 0.0
    gain, scale = np.zeros(n), np.empty(n)
    for i in range(n):
        for j in range(n):
            gain[i] += covariance[i, j] * inputs[j]
        total += gain[i] * inputs[i]
    curvature = importance * max(probability * (1.0 - probability), FLATTEST)
    step = 1.0 / (1.0 + curvature * total)
    # Move the weights, and the variances of each.
    for i in range(n):
        weights[i] += step * gain[i] * importance * ((1.0 if second else 0.0) - probability)
        covariance[i, i] = (covariance[i, i] - curvature * step * gain[i] ** 2) / FORGETTING
        scale[i] = math.sqrt(VARIANCE / max(covariance[i, i], VARIANCE))
    # Then the covariances, all scaled down where a variance is too large.
    for i in range(n):
        covariance[i, i] *= scale[i] ** 2
        for j in range(i):
            value = (covariance[i, j] - curvature * step * gain[i] * gain[j]) / FORGETTING
            covariance[i, j] = covariance[j, i] = value * scale[i] * scale[j]


FREQUENCY, AFTER_LAST, AFTER_SEASON, LOGISTIC, INITIAL, MIXTURE, STACK = range(7)
"""The experts: how often the class came; how often after the label before, and after the one a
season ago; the logistic regression; c_init; the mixture; and the stack of them."""

N_EXPERTS = 7
N_BASELINES = 5
"""The first of them, which are naive baselines."""

MIXED, EXCESS = N_EXPERTS, N_EXPERTS + 1
"""The last fields of `LogOdds.lost`."""

INPUTS = 7
"""Of the stack: a constant, five logits, and the last label."""

NEAREST = 0.02
"""The logits that are stacked are of probabilities no nearer to 0 and 1."""

SURE_AFTER = 1000.0
"""A predictor that may be sure gives no class less than 1 / (SURE_AFTER + t) at example t."""

NIMBLE = 0.9
"""What a loss is worth to the nimble mixture one example later."""

LARGEST_MARGIN = 30.0
"""Bound of the log odds of the stack, so that no probability is 0 or 1."""


class LogOdds(NamedTuple):
    """State of what makes predictions of labels -1 and 1 into log odds of the second class.

    Attributes
    ----------
    recent : ndarray of float64, shape (b,)
        Of each slot, the squared losses that the nimble mixture weighs by.
    errors : ndarray of float64, shape (b,)
        Of each slot, how often its model was for the wrong class.
    weights : ndarray of float64, shape (INPUTS,)
        Of the stack.
    covariance : ndarray of float64, shape (INPUTS, INPUTS)
        Of these weights.
    counts : ndarray of float64, shape (5, 2)
        How often each class came: at all, after the first and second class, and after them one
        season ago.
    bayes : ndarray of float64
        See `leaseboard.algorithms.online_automl.safe.bayes`.
    lost : ndarray of float64, shape (N_EXPERTS + 2,)
        The log loss of each expert, of the average, and the largest excess at any time of the
        latter over that of the best naive baseline.
    """

    recent: Doubles
    errors: Doubles
    weights: Doubles
    covariance: Doubles
    counts: Doubles
    bayes: Doubles
    lost: Doubles

    @classmethod
    def new(cls, b: int) -> LogOdds:
        """Return the state before any label, of b slots for models, c_init's first."""
        return cls(
            recent=np.zeros(b),
            errors=np.zeros(b),
            weights=np.eye(INPUTS)[1].copy(),
            covariance=VARIANCE * np.eye(INPUTS),
            counts=np.zeros((5, 2)),
            bayes=new_weights(N_EXPERTS),
            lost=np.zeros(N_EXPERTS + 2),
        )

    def begin(self, slot: int, parent: int | None) -> None:
        """Make room for a new model in `slot`, to be weighed like the one in slot `parent`."""
        self.recent[slot] = 0.0 if parent is None else self.recent[parent]
        self.errors[slot] = 0.0


@compiled
def to_log_odds(
    block: Block, live: Slots, champion: int, own: LogOdds, learns: bool, predictions: Floats
) -> None:
    """Replace each prediction of a block by log odds, then learn its label.

    Parameters
    ----------
    block : Block
        With what models and simple models predict. An example of importance 0 teaches nothing; one
        of more than 1 counts for Bayes' rule as one of 1.
    live : ndarray of int64
        The occupied slots.
    champion : int
        Its slot.
    own : LogOdds
        Updated.
    learns : bool
        False learns nothing.
    predictions : ndarray of float32, shape (n,)
        Of the mixture; overwritten.
    """
    values, labels, importances = block.values, block.labels, block.importances
    recent, errors, counts, lost = (own.recent, own.errors, own.counts, own.lost)
    inputs, probabilities = np.empty(INPUTS), np.empty(N_EXPERTS)
    for t in range(len(labels)):
        # The experts' average, before the label is seen.
        row, prediction = values[t], np.float64(predictions[t])
        _consider(row, live, champion, prediction, own, inputs, probabilities)
        probability = average(probabilities, own.bayes)
        predictions[t] = log(probability / (1.0 - probability))
        importance = np.float64(importances[t])
        if importance <= 0.0 or not learns:
            continue
        # Let the nimble mixture, the stack and the frequencies learn.
        second = labels[t] > 0.0
        for slot in live:
            loss = (row[slot] - labels[t]) ** 2
            recent[slot] = NIMBLE * recent[slot] + importance * loss
            errors[slot] += importance * ((row[slot] > 0.0) != second)
        stack(inputs, probabilities[STACK], second, own.weights, own.covariance, importance)
        _count(row[len(recent) :], second, counts, importance)
        # Weigh the experts by their probabilities of the class that came.
        if not second:
            for k in range(N_EXPERTS):
                probabilities[k] = 1.0 - probabilities[k]
        # The log loss is mixable up to the weight 1.
        worth = min(importance, 1.0)
        lost[MIXED] -= worth * log(average(probabilities, own.bayes))
        least = math.inf
        for k in range(N_EXPERTS):
            lost[k] -= worth * log(probabilities[k])
            if worth < 1.0:
                probabilities[k] = exp(worth * log(probabilities[k]))
            if k < N_BASELINES:
                least = min(least, lost[k])
        lost[EXCESS] = max(lost[EXCESS], lost[MIXED] - least)
        update(probabilities, own.bayes)


@compiled(inline="always")
def _consider(
    values: Doubles,
    live: Slots,
    champion: int,
    prediction: float,
    own: LogOdds,
    inputs: Doubles,
    probabilities: Doubles,
) -> None:
    """Write the stack's inputs, and the probability that each expert gives the second class."""
    recent, weights, counts = (own.recent, own.weights, own.counts)
    simple = values[len(recent) :]
    # What is stacked: a constant, logits, and the last label.
    inputs[0], inputs[6] = 1.0, simple[LAST]
    inputs[1], inputs[2] = logit(prediction), logit(posterior_mean(values, live, recent, 1.0))
    inputs[3], inputs[4] = logit(values[champion]), logit(simple[RIDGE])
    inputs[5] = logit(simple[RIDGE_ON_PAST])
    margin = 0.0
    for j in range(INPUTS):
        margin += weights[j] * inputs[j]
    margin = min(max(margin, -LARGEST_MARGIN), LARGEST_MARGIN)
    # Frequencies, at all and after labels of the past; then predictors and their stack.
    probabilities[FREQUENCY] = _share(counts[0])
    probabilities[AFTER_LAST] = _share(counts[_after(simple[LAST])])
    season = _after(simple[SEASON])
    probabilities[AFTER_SEASON] = _share(counts[season + 2 if season else 0])
    probabilities[LOGISTIC] = 0.5 + 0.5 * simple[RIDGE]
    probabilities[INITIAL] = 0.5 + 0.5 * values[0]
    probabilities[MIXTURE] = 0.5 + 0.5 * prediction
    probabilities[STACK] = 1.0 / (1.0 + exp(-margin))
    # Frequencies are never 0 or 1; the other experts are bounded, more weakly as examples come.
    least = 1.0 / (SURE_AFTER + counts[0, 0] + counts[0, 1])
    for k in range(LOGISTIC, N_EXPERTS):
        probabilities[k] = min(max(probabilities[k], least), 1.0 - least)


@compiled
def _count(simple: Doubles, second: bool, counts: Doubles, importance: float) -> None:
    """Count the class: all examples, and those after each label and each label a season ago."""
    came = 1 if second else 0
    counts[0, came] += importance
    last, season = _after(simple[LAST]), _after(simple[SEASON])
    if last:
        counts[last, came] += importance
        counts[season + 2, came] += importance


@compiled
def _after(label: float) -> int:
    """Return the row of `counts` for what comes after `label`; 0 before there is one."""
    return 0 if label == 0.0 else (2 if label > 0.0 else 1)


@compiled
def _share(counts: Doubles) -> float:
    """Return Krichevsky and Trofimov's estimate of the second class's share."""
    return float((counts[1] + 0.5) / (counts[0] + counts[1] + 1.0))


@compiled
def logit(prediction: float) -> float:
    """Return the log odds of a prediction of labels -1 and 1, within the bounds allowed."""
    probability = min(max(0.5 + 0.5 * prediction, NEAREST), 1.0 - NEAREST)
    return log(probability / (1.0 - probability))
