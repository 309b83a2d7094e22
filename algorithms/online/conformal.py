"""Prediction intervals that keep their level on any stream: adaptive conformal inference.

An interval around a prediction ŷ_t misses with probability α if its half width is the (1 - α)
quantile of |y - ŷ|. Errors drift, so the level that is asked of the quantile is steered by the
misses themselves [1]_, here on its logarithm: with α_1 = α,

    q_t = the (1 - α_t) quantile of the last W scores,
    α_{t+1} = min(1, α_t exp(C (α - miss_t))).

Below α_t = 1 / (n + 1), where n scores say nothing, the largest score is multiplied by
((n + 1) α_t)^-TAIL: misses in a row widen the interval exponentially, and it stays bounded.

Scores are the raw errors, or the errors over a *local level*, exp(w·φ): w regresses the
logarithm of the error on where the prediction lies among those before and on the last errors.
Whichever of the two had the smaller interval score lately is taken. So an interval is wider where
predictions are worse, if that can be learned.

**Theorem 1.** For any labels and predictions, of every 1,000 consecutive examples at most
M = 1000 α + 50 are missed.

*Proof.* Where M of the last 999 were missed, the interval is unbounded. ∎

**Theorem 2.** For any labels and predictions, if no score is above R times the largest of the W
before it, the misses among every n consecutive examples with an interval lie between

    n α + B  and  n α - B - α E,    B = (ln(W + 1) + ln(R) / TAIL) / C + 1,

with E the examples among them that ended at α_t = 1. B is 56 for R = 1.

*Proof.* The steps of ln α_t telescope: C Σ (miss - α) = ln α_first - ln α_end - (what the minimum
took off), and α_t ≤ 1. A miss needs α_t ≥ R^(-1/TAIL) / (W + 1): otherwise the interval holds R
times the largest score. So α_t ≥ R^(-1/TAIL) exp(-C) / (W + 1) at all times. A step is cut by C α
at most, and only if it ends at 1. ∎ So the share of misses goes to α as 1 / n. Where errors are
independent α_t differs from α by a fifth or so, and misses from n α by two or three.

Where many errors are exactly equal (constant labels, an exact line, discrete labels that are hit)
the quantile may hold more than 1 - α of them, and no quantile holds less: then α_t = 1, and
coverage is above its level. A constant label has intervals of width 0 and coverage 1. No interval
is made empty in order to miss.

A label that comes D predictions later is held against the interval that its prediction was given.
C is then C_D = C / (1 + 2 C α D) with D the longest delay, so that misses do not come in waves.
Theorem 2 holds with the last C_D, and D more for B: while a miss waits, D others may follow. For
1/C rises only, and with ln α_t ≤ 0 Abel's summation of (ln α_t - ln α_{t+1}) / C_t is at most
-ln α_end / C_end. One rate for all matters: a delay that depends on the label, with a rate of its
own, would make misses that come late count less. Theorem 1 is given up.

Gibbs and Candès steer α_t itself, and have an unbounded interval whenever it falls below 0: at
99 % after two misses. Steps on the quantile in the place of α_t [2]_ need the scale of errors;
steps that decrease [3]_ converge better where nothing changes, and lose the bound for windows. Of
what one rate costs, see Zaffran et al. [4]_; on the logarithm one rate serves all levels.

References
----------
.. [1] Gibbs, Candès. Adaptive conformal inference under distribution shift. NeurIPS 2021.
.. [2] Angelopoulos, Candès, Tibshirani. Conformal PID control for time series prediction.
       NeurIPS 2023.
.. [3] Angelopoulos, Barber, Bates. Online conformal prediction with decaying step sizes.
       ICML 2024.
.. [4] Zaffran, Féron, Goude, Josse, Dieuleveut. Adaptive conformal predictions for time series.
       ICML 2022.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.kernel import Doubles, Floats
from leaseboard.algorithms.plain import Saved, fill, values_of
from leaseboard.algorithms.transcendental import exp, exp_all, log

WINDOW, EXTRA = 1000, 50
"""Of theorem 1: consecutive examples, and how many more misses than expected they may have."""

SCORES = 250
"""W, which is also the memory of the mean prediction and of the interval scores."""

C = 0.1
"""How far a miss moves ln α_t."""

TAIL = 0.5
"""How fast an interval grows beyond the largest score, as a power of 1 / α_t."""

N_LOCAL = 4
"""What the local level is regressed on: a constant, where the prediction lies and its square, and
the errors just before over the median error."""

RATE, RECENT = 0.003, 20.0
"""The rate of that regression, and the memory of "just before", in examples."""

FARTHEST, MOST = 3.0, 2.0
"""Bounds of what is regressed on and learned there, and of the logarithm of the local level."""

AT, MEAN, VARIANCE, ERRORS, MASS = range(5)
"""The running values: examples, mean and variance of predictions, sum, mass of recent errors."""

STEERED, PLAIN_LOSS, LOCAL_LOSS, MISSED, COVERED, WIDTHS, BOUNDED, MOST_MISSED = range(8)
"""The fields of a level: α_t, interval scores of both kinds of scores, misses among the last 999;
and of what came after the first 1,000 examples how many were covered, the sum and the number of
bounded widths, and the most misses in a window."""

GIVEN, PLAIN, LOCAL = 0, PLAIN_LOSS, LOCAL_LOSS
"""Of the half widths of a level: what is given, and by each kind of score."""

LEAST_STEERED = 1e-250
"""Below it α_t does not go, so that every number stays finite."""

REPORTED = 0.9
"""The level that leaderboards report, which is always kept."""

LEVELS = (0.5, 0.8, REPORTED, 0.95, 0.99)

_OUTWARD = np.array([-np.inf, np.inf], dtype=np.float32)

HIGHEST = SCORES / (SCORES + 1.0)
"""No level above has a quantile of so many scores."""


def allowed_misses(alpha: float) -> int:
    """Return M of theorem 1.

    Examples
    --------
    >>> [allowed_misses(alpha) for alpha in (0.5, 0.2, 0.1, 0.05, 0.01)]
    [550, 250, 150, 100, 60]
    """
    return round(WINDOW * alpha) + EXTRA


def rates_after(alphas: Doubles, delay: int) -> Doubles:
    """Return what α_t is multiplied by if a label was held, and if not, after such a delay.

    It is C_D of the module, for the longest delay.

    Examples
    --------
    >>> np.log(rates_after(np.array([0.1]), 0)).round(6).tolist()
    [[0.01, -0.09]]
    >>> np.log(rates_after(np.array([0.1]), 100)).round(6).tolist()
    [[0.003333, -0.03]]
    """
    slowed = C / (1.0 + 2.0 * C * alphas * delay)
    return exp_all(slowed[:, None] * np.stack((alphas, alphas - 1.0), axis=1))


@compiled
def quantile(ordered: Doubles, n: int, alpha: float) -> float:
    """Return the score that is exceeded with probability `alpha`, after n scores in order.

    Examples
    --------
    >>> scores = np.array([1.0, 2.0, 4.0])
    >>> [float(quantile(scores, 3, alpha)) for alpha in (1.0, 0.5, 0.375, 0.25, 0.0625)]
    [1.0, 2.0, 3.0, 4.0, 8.0]
    """
    # Between two scores it is linear, beyond the largest it grows as a power.
    place = (1.0 - alpha) * (n + 1) - 1.0
    if place <= 0.0:
        return float(ordered[0])
    if place >= n - 1:
        return float(ordered[n - 1] * exp(-TAIL * log((n + 1) * alpha)))
    i = int(place)
    return float(ordered[i] + (ordered[i + 1] - ordered[i]) * (place - i))


@compiled
def exchange(ordered: Doubles, n: int, old: float, new: float) -> None:
    """Put `new` among n scores in order, in place of `old` if they are full.

    Examples
    --------
    >>> scores = np.array([1.0, 2.0, 4.0])
    >>> exchange(scores, 3, 1.0, 3.0)
    >>> scores.tolist()
    [2.0, 3.0, 4.0]
    """
    # Find the old score, or the end while there is room.
    i, end = 0 if n == len(ordered) else n, n
    while i < end:
        middle = (i + end) // 2
        if ordered[middle] < old:
            i = middle + 1
        else:
            end = middle
    # Move the others until the new one is in its place.
    while i > 0 and ordered[i - 1] > new:
        ordered[i] = ordered[i - 1]
        i -= 1
    while i < n - 1 and ordered[i + 1] < new:
        ordered[i] = ordered[i + 1]
        i += 1
    ordered[i] = new


class Conformal(NamedTuple):
    """State of intervals at several levels around one predictor.

    Attributes
    ----------
    alphas, most : ndarray of float64, shape (n_levels,)
        α of each level, and M of theorem 1.
    scores, ordered : ndarray of float64, shape (2, SCORES)
        The last scores of both kinds, in a ring, and in order.
    misses : ndarray of uint8, shape (n_levels, WINDOW)
        Which of the last examples were missed, in a ring.
    tracked : ndarray of float64, shape (n_levels, 8)
        See `STEERED` and those after it.
    running : ndarray of float64, shape (5,)
        See `AT` and those after it.
    weights : ndarray of float64, shape (N_LOCAL,)
        Of the local level.
    """

    alphas: Doubles
    most: Doubles
    scores: Doubles
    ordered: Doubles
    misses: NDArray[np.uint8]
    tracked: Doubles
    running: Doubles
    weights: Doubles


@compiled(inline="always")
def ask(prediction: float, state: Conformal, regressed: Doubles, halves: Doubles) -> None:
    """Write half the width of the interval of each level, and what else `update` needs.

    Parameters
    ----------
    prediction, state
        Only read.
    regressed : ndarray of float64, shape (N_LOCAL + 1,)
        Written: what the local level is regressed on, and the level.
    halves : ndarray of float64, shape (n_levels, 3)
        Written: `GIVEN`, and what it would be by each kind of score. Infinite while there are too
        few scores for the level; the first also where theorem 1 asks for it.
    """
    running, ordered, alphas = state.running, state.ordered, state.alphas
    n = int(min(running[AT], SCORES))
    # Where the prediction lies among those before, and how large the errors just before were.
    regressed[0] = 1.0
    for i in range(1, N_LOCAL):
        regressed[i] = 0.0
    if running[VARIANCE] > 0.0:
        place = (prediction - running[MEAN]) / math.sqrt(running[VARIANCE])
        regressed[1] = min(max(place, -FARTHEST), FARTHEST)
        regressed[2] = regressed[1] * regressed[1]
    middle = ordered[0, n // 2]
    if middle > 0.0 and running[ERRORS] > 0.0:
        recent = log(running[ERRORS] / running[MASS] / middle)
        regressed[3] = min(max(recent, -FARTHEST), FARTHEST)
    # The local level that follows.
    total = 0.0
    for i in range(N_LOCAL):
        total += state.weights[i] * regressed[i]
    local = regressed[N_LOCAL] = exp(min(max(total, -MOST), MOST))
    # At each level the quantiles of both kinds of scores, and the better one of late.
    for k in range(len(alphas)):
        level = state.tracked[k]
        if (n + 1) * alphas[k] < 1.0:
            for kind in (GIVEN, PLAIN, LOCAL):
                halves[k, kind] = math.inf
            continue
        halves[k, PLAIN] = quantile(ordered[0], n, level[STEERED])
        halves[k, LOCAL] = local * quantile(ordered[1], n, level[STEERED])
        kind = LOCAL if level[LOCAL_LOSS] < level[PLAIN_LOSS] else PLAIN
        halves[k, GIVEN] = math.inf if level[MISSED] >= state.most[k] else halves[k, kind]


@compiled(inline="always")
def update(
    error: float,
    prediction: float,
    regressed: Doubles,
    halves: Doubles,
    rates: Doubles,
    state: Conformal,
) -> None:
    """Learn the error of a prediction whose intervals were asked for, now or earlier.

    Parameters
    ----------
    error : float
        |y - prediction|.
    regressed, halves
        What `ask` wrote when the prediction was made.
    rates : ndarray of float64, shape (n_levels, 2)
        What α_t is multiplied by if the label was held, and if it was missed.
    state : Conformal
        Updated.
    """
    alphas, misses, running = state.alphas, state.misses, state.running
    scores, ordered = state.scores, state.ordered
    at, share = int(running[AT]), 1.0 / SCORES
    here, following = at % WINDOW, (at + 1) % WINDOW
    for k in range(len(alphas)):
        # Steer the level, and take the interval scores of both kinds.
        level, half = state.tracked[k], halves[k, GIVEN]
        missed = error > half
        if halves[k, PLAIN] < math.inf:
            step = level[STEERED] * rates[k, int(missed)]
            level[STEERED] = max(min(step, 1.0), LEAST_STEERED)
            for kind in (PLAIN, LOCAL):
                width = halves[k, kind]
                loss = width + max(error - width, 0.0) / alphas[k]
                level[kind] += share * (loss - level[kind])
        # Count what was missed in the window, and what came after the first 1,000.
        misses[k, here] = missed
        level[MISSED] += missed
        if at >= WINDOW:
            level[COVERED] += not missed
            if half < math.inf:
                level[WIDTHS] += 2.0 * half
                level[BOUNDED] += 1.0
        if at >= 2 * WINDOW - 1:
            level[MOST_MISSED] = max(level[MOST_MISSED], level[MISSED])
        level[MISSED] -= misses[k, following]
    # Put the error among the scores, raw and over the local level.
    n, place, near = min(at, SCORES), at % SCORES, error / regressed[N_LOCAL]
    middle = ordered[0, n // 2]
    exchange(ordered[0], n, scores[0, place], error)
    exchange(ordered[1], n, scores[1, place], near)
    scores[0, place], scores[1, place] = error, near
    # Learn the local level, and where predictions lie.
    if middle > 0.0:
        _learn_level(error, middle, state.weights, regressed)
        kept = 1.0 - 1.0 / RECENT
        running[ERRORS] = kept * running[ERRORS] + min(error, RECENT * middle)
        running[MASS] = kept * running[MASS] + 1.0
    running[AT] += 1.0
    part = max(share, 1.0 / running[AT])
    difference = prediction - running[MEAN]
    running[MEAN] += part * difference
    running[VARIANCE] += part * ((1.0 - part) * difference**2 - running[VARIANCE])


@compiled
def follow(
    labels: Floats, importances: Floats, predictions: Floats, rates: Doubles, state: Conformal
) -> None:
    """Do `ask` for the intervals of each prediction of a block, then `update` it by its label.

    Parameters
    ----------
    labels, importances, predictions : ndarray of float32, shape (n,)
        An example of importance 0 teaches nothing.
    rates
        See `update`.
    """
    regressed, halves = np.empty(N_LOCAL + 1), np.empty((len(state.alphas), 3))
    for t in range(len(labels)):
        if importances[t] <= 0.0:
            continue
        # The intervals before the label, then the label.
        prediction = np.float64(predictions[t])
        error = abs(np.float64(labels[t]) - prediction)
        ask(prediction, state, regressed, halves)
        update(error, prediction, regressed, halves, rates, state)


@compiled
def _learn_level(error: float, middle: float, weights: Doubles, regressed: Doubles) -> None:
    """Take a normalised gradient step of the regression on ln(error / median error)."""
    # The error of the regression, then a step along what it is on.
    target = log(error / middle) if error > 0.0 else -FARTHEST
    rest, length = min(max(target, -FARTHEST), FARTHEST), 0.0
    for i in range(N_LOCAL):
        rest -= weights[i] * regressed[i]
        length += regressed[i] * regressed[i]
    for i in range(N_LOCAL):
        weights[i] += RATE * rest * regressed[i] / length


class Intervals(Saved):
    """State of adaptive conformal inference, see the module.

    Parameters
    ----------
    levels : sequence of float
        Between 0 and `HIGHEST`, in addition to `REPORTED`.
    later : bool
        Labels come later. Then theorem 1 is given up: misses that are not known yet cannot be
        counted, and to answer old ones by unbounded intervals would make misses come in waves.
    """

    kept: ClassVar[tuple[str, ...]] = ("longest",)
    learned: ClassVar[tuple[str, ...]] = Conformal._fields[2:]

    def __init__(self, levels: Sequence[float] = LEVELS, *, later: bool = False) -> None:
        self.levels = tuple(sorted({REPORTED, *levels}))
        n, alphas = len(self.levels), np.round(1.0 - np.array(self.levels), 12)
        most = np.inf if later else 0.0
        self.conformal = Conformal(
            alphas=alphas,
            most=np.array([most + allowed_misses(alpha) for alpha in alphas]),
            scores=np.zeros((2, SCORES)),
            ordered=np.zeros((2, SCORES)),
            misses=np.zeros((n, WINDOW), dtype=np.uint8),
            tracked=np.zeros((n, MOST_MISSED + 1)),
            running=np.zeros(MASS + 1),
            weights=np.zeros(N_LOCAL),
        )
        self.conformal.tracked[:, STEERED] = alphas
        self.rates = rates_after(alphas, 0)
        self.longest = np.zeros(1)  # delay of a label so far

    def ask(self, prediction: float) -> Doubles:
        """Return what `update` needs of the intervals that a prediction has, shape (n_asked,)."""
        asked = np.empty(self.n_asked)
        ask(prediction, self.conformal, *self._parts(asked))
        return asked

    def update(self, label: float, prediction: float, asked: Doubles, delay: int) -> None:
        """Learn the label of a prediction whose intervals are `delay` predictions old."""
        self.longest[0] = max(self.longest[0], delay)
        rates = rates_after(self.conformal.alphas, int(self.longest[0]))
        update(abs(label - prediction), prediction, *self._parts(asked), rates, self.conformal)

    @property
    def n_asked(self) -> int:
        """Number of values that `ask` returns."""
        return N_LOCAL + 1 + 3 * len(self.levels)

    def _parts(self, asked: Doubles) -> tuple[Doubles, Doubles]:
        return asked[: N_LOCAL + 1], asked[N_LOCAL + 1 :].reshape(-1, 3)

    def around(
        self, prediction: float, level: float, asked: Doubles | None = None
    ) -> tuple[float, float]:
        """Return the interval around a prediction; unbounded where there is too little evidence.

        Parameters
        ----------
        prediction, level : float
        asked : ndarray of float64, shape (n_asked,), optional
            What `ask` returned when the prediction was made.

        Raises
        ------
        UsageError
            If the level is not one of those that are kept.
        """
        if level not in self.levels:
            raise UsageError(
                f"level {level!r} is not one of {', '.join(map(str, self.levels))}, which are kept"
                f" from the first example on: name it there, as in levels=({level!r},)"
            )
        _, halves = self._parts(self.ask(prediction) if asked is None else asked)
        half = float(halves[self.levels.index(level), GIVEN])
        # Labels are learned as float32: what rounds to one in the interval is in it.
        low, high = np.nextafter(
            np.array([prediction - half, prediction + half], dtype=np.float32), _OUTWARD
        )
        return float(low), float(high)

    def notes(self, deviation: float) -> dict[str, float]:
        """Return how the intervals at `REPORTED` did after the first 1,000 examples.

        ``coverage``; ``interval_width``, the mean width over the labels' `deviation`, of intervals
        that are bounded; ``unbounded_intervals``, the share of the others; and, where there are
        1,000 more, ``coverage_in_worst_window`` of 1,000.
        """
        level = self.conformal.tracked[self.levels.index(REPORTED)]
        n = self.conformal.running[AT] - WINDOW
        if n <= 0:
            return {}
        found = {"coverage": level[COVERED] / n, "unbounded_intervals": 1.0 - level[BOUNDED] / n}
        if level[BOUNDED] and deviation:
            found["interval_width"] = level[WIDTHS] / level[BOUNDED] / deviation
        if n >= WINDOW:
            found["coverage_in_worst_window"] = 1.0 - level[MOST_MISSED] / WINDOW
        return {name: float(value) for name, value in found.items()}

    def state(self) -> dict[str, Any]:
        """See `Saved.state`."""
        return values_of(self.conformal, self.learned) | super().state()

    def fill(self, state: Any) -> None:
        """See `Saved.fill`."""
        super().fill(state)
        fill(self.conformal, state, self.learned)
