"""For two classes: from forecasts of labels -1 and 1 to the chance of the second class.

The race learns squared loss, which is proper: (1 + ŷ) / 2 is a chance. It is not the best one.
Near 0 and 1 it is too sure, and what a few forecasts say together is more than what their
average says. So a logistic regression *stacks* them: on the logits of the mixture, of a
nimble one that weighs the models by their last ten or so losses, of the champion and of the two
logistic companions, and on the last label, it learns online, by an extended Kalman filter [1]_
that forgets (`stack`), beginning with the mixture alone.

The chance that is told is an average of this, of the mixture and of what people try first, by
Bayes' rule (`leaseboard.algorithms.chacha.safe.bayes`): so it is calibrated where the stack is,
and its log loss is at no time more than ln 7 + 1.6 above that of the best of

- how often the class came, after the label before, and after the one a season ago (Krichevsky and
  Trofimov's estimates, as they are);
- the logistic regression and c_init, who at example t give no class less than 1 / (1000 + t); for
  that they lose at most ln(1 + T / 1000) more than without.

References
----------
.. [1] Anderson, Blair, 1982; as the logistic companions, see
   `leaseboard.algorithms.reference.ridge`.
.. [2] Platt. Probabilistic outputs for support vector machines. 1999: the same with one logit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from leaseboard.algorithms.chacha.safe.bayes import average, new_weights, update
from leaseboard.algorithms.chacha.safe.front import LAST, RIDGE, RIDGE_ON_PAST, SEASON, Block
from leaseboard.algorithms.chacha.safe.mixture import posterior_mean
from leaseboard.algorithms.online.handles import quick

Doubles = NDArray[np.float64]

FORGETTING = 0.999
"""What an example is worth one example later."""

VARIANCE = 0.1
"""Of each weight at first, and at most."""

FLATTEST = 0.02
"""The least curvature of an example: one that the weights were wrong about, and sure, must not
throw them far."""


@njit(cache=True, nogil=True)
def stack(
    inputs: Doubles,
    chance: float,
    second: bool,
    weights: Doubles,
    covariance: Doubles,
    importance: float = 1.0,
) -> None:
    """Learn one label by a step of the extended Kalman filter.

    Weights have a covariance P. With inputs x, the chance p of the second class, c = p (1 - p) but
    no less than `FLATTEST`, and λ = `FORGETTING`, a label y of 0 or 1 makes of them

        w + P x (y - p) / (1 + c xᵀPx)   and   D (P - c P x xᵀ P / (1 + c xᵀPx)) D / λ,

    where D scales down each direction whose variance would be beyond `VARIANCE`: an input that
    says nothing, or the same as another, does not keep the others from forgetting. P is computed
    as half a matrix: rounding would make it asymmetric, and λ that larger and larger.

    Parameters
    ----------
    inputs : ndarray of float64, shape (n,)
    chance : float
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
    curvature = importance * max(chance * (1.0 - chance), FLATTEST)
    step = 1.0 / (1.0 + curvature * total)
    # Move the weights, and the variances of each.
    for i in range(n):
        weights[i] += step * gain[i] * importance * ((1.0 if second else 0.0) - chance)
        covariance[i, i] = (covariance[i, i] - curvature * step * gain[i] ** 2) / FORGETTING
        scale[i] = math.sqrt(VARIANCE / max(covariance[i, i], VARIANCE))
    # Then the covariances, all scaled down where a variance is too large.
    for i in range(n):
        covariance[i, i] *= scale[i] ** 2
        for j in range(i):
            value = (covariance[i, j] - curvature * step * gain[i] * gain[j]) / FORGETTING
            covariance[i, j] = covariance[j, i] = value * scale[i] * scale[j]


Floats = NDArray[np.float32]
Slots = NDArray[np.int64]

FREQUENCY, AFTER_LAST, AFTER_SEASON, LOGISTIC, INITIAL, MIXTURE, STACK = range(7)
"""The experts: how often the class came; how often after the label before, and after the one a
season ago; the logistic regression; c_init; the mixture; and the stack of them."""

N_EXPERTS = 7
N_FIRST_TRIES = 5
"""Those of them that are what people try first."""

TOLD, EXCESS = N_EXPERTS, N_EXPERTS + 1
"""The last fields of `Odds.lost`."""

INPUTS = 7
"""Of the stack: a constant, five logits, and the last label."""

NEAREST = 0.02
"""The logits that are stacked are of chances no nearer to 0 and 1."""

SURE_AFTER = 1000.0
"""A forecaster that may be sure gives no class less than 1 / (SURE_AFTER + t) at example t."""

NIMBLE = 0.9
"""What a loss is worth to the nimble mixture one example later."""


class Odds(NamedTuple):
    """What turns forecasts of labels -1 and 1 into log odds of the second class.

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
        See `leaseboard.algorithms.chacha.safe.bayes`.
    lost : ndarray of float64, shape (N_EXPERTS + 2,)
        The log loss of each expert, of what was told, and the largest excess at any time of the
        latter over the least of what people try first.
    """

    recent: Doubles
    errors: Doubles
    weights: Doubles
    covariance: Doubles
    counts: Doubles
    bayes: Doubles
    lost: Doubles

    @classmethod
    def new(cls, b: int) -> Odds:
        """Those that have seen nothing, of b slots for models, c_init's first; then companions."""
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

    @property
    def over_best(self) -> float:
        """The largest excess of the log loss over the best of what people try first, in nats."""
        return float(self.lost[EXCESS])


@quick
@njit(cache=True, nogil=True)
def tell_odds(
    block: Block, live: Slots, champion: int, odds: Odds, learns: bool, forecasts: Floats
) -> None:
    """Put log odds in the place of each forecast of a block, then learn its label.

    Parameters
    ----------
    block : Block
        With what models and companions forecast. An example of importance 0 teaches nothing; one
        of more than 1 counts for Bayes' rule as one of 1.
    live : ndarray of int64
        The occupied slots.
    champion : int
        Its slot.
    odds : Odds
        Updated.
    learns : bool
        False learns nothing.
    forecasts : ndarray of float32, shape (n,)
        Of the mixture; overwritten.
    """
    values, labels, importances = block.values, block.labels, block.importances
    recent, errors, counts, lost = odds.recent, odds.errors, odds.counts, odds.lost
    inputs, chances = np.empty(INPUTS), np.empty(N_EXPERTS)
    for t in range(len(labels)):
        # Say what the experts' average is, before the label is seen.
        row, forecast = values[t], np.float64(forecasts[t])
        _consider(row, live, champion, forecast, odds, inputs, chances)
        forecasts[t] = _log_odds(average(chances, odds.bayes))
        importance = np.float64(importances[t])
        if importance <= 0.0 or not learns:
            continue
        # Let the nimble mixture, the stack and the frequencies learn.
        second = labels[t] > 0.0
        for slot in live:
            loss = (row[slot] - labels[t]) ** 2
            recent[slot] = NIMBLE * recent[slot] + importance * loss
            errors[slot] += importance * ((row[slot] > 0.0) != second)
        stack(inputs, chances[STACK], second, odds.weights, odds.covariance, importance)
        _count(row[len(recent) :], second, counts, importance)
        # Weigh the experts by their chances of the class that came.
        if not second:
            for k in range(N_EXPERTS):
                chances[k] = 1.0 - chances[k]
        # The log loss is mixable up to the weight 1.
        worth = min(importance, 1.0)
        lost[TOLD] -= worth * math.log(average(chances, odds.bayes))
        least = math.inf
        for k in range(N_EXPERTS):
            lost[k] -= worth * math.log(chances[k])
            if worth < 1.0:
                chances[k] **= worth
            if k < N_FIRST_TRIES:
                least = min(least, lost[k])
        lost[EXCESS] = max(lost[EXCESS], lost[TOLD] - least)
        update(chances, odds.bayes)


@njit(cache=True, nogil=True, inline="always")
def _consider(
    values: Doubles,
    live: Slots,
    champion: int,
    forecast: float,
    odds: Odds,
    inputs: Doubles,
    chances: Doubles,
) -> None:
    """Write the stack's inputs, and which chance each expert gives the second class."""
    recent, weights, counts = odds.recent, odds.weights, odds.counts
    companions = values[len(recent) :]
    # What is stacked: a constant, logits, and the last label.
    inputs[0], inputs[6] = 1.0, companions[LAST]
    inputs[1], inputs[2] = _logit(forecast), _logit(posterior_mean(values, live, recent, 1.0))
    inputs[3], inputs[4] = _logit(values[champion]), _logit(companions[RIDGE])
    inputs[5] = _logit(companions[RIDGE_ON_PAST])
    margin = 0.0
    for j in range(INPUTS):
        margin += weights[j] * inputs[j]
    margin = min(max(margin, -30.0), 30.0)
    # Frequencies, at all and after labels of the past; then forecasters and their stack.
    chances[FREQUENCY] = _share(counts[0])
    chances[AFTER_LAST] = _share(counts[_after(companions[LAST])])
    season = _after(companions[SEASON])
    chances[AFTER_SEASON] = _share(counts[season + 2 if season else 0])
    chances[LOGISTIC] = 0.5 + 0.5 * companions[RIDGE]
    chances[INITIAL] = 0.5 + 0.5 * values[0]
    chances[MIXTURE] = 0.5 + 0.5 * forecast
    chances[STACK] = 1.0 / (1.0 + math.exp(-margin))
    # Frequencies are never 0 or 1.
    least = 1.0 / (SURE_AFTER + counts[0, 0] + counts[0, 1])
    for k in range(LOGISTIC, N_EXPERTS):
        chances[k] = min(max(chances[k], least), 1.0 - least)


@njit(cache=True, nogil=True)
def _count(companions: Doubles, second: bool, counts: Doubles, importance: float) -> None:
    came = 1 if second else 0
    counts[0, came] += importance
    last, season = _after(companions[LAST]), _after(companions[SEASON])
    if last:
        counts[last, came] += importance
        counts[season + 2, came] += importance


@njit(cache=True, nogil=True)
def _after(label: float) -> int:
    """Return the row of `counts` for what comes after `label`; 0 before there is one."""
    return 0 if label == 0.0 else (2 if label > 0.0 else 1)


@njit(cache=True, nogil=True)
def _share(counts: Doubles) -> float:
    """Krichevsky and Trofimov's estimate of the second class's share."""
    return float((counts[1] + 0.5) / (counts[0] + counts[1] + 1.0))


@njit(cache=True, nogil=True)
def _logit(forecast: float) -> float:
    chance = min(max(0.5 + 0.5 * forecast, NEAREST), 1.0 - NEAREST)
    return math.log(chance / (1.0 - chance))


@njit(cache=True, nogil=True)
def _log_odds(chance: float) -> float:
    return math.log(chance / (1.0 - chance))
