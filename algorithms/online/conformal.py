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

from collections.abc import Sequence

import numpy as np

import leaseboard.algorithms.online.conformal_steps as steps
from leaseboard.algorithms.arrays import Doubles
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.transcendental import exp_all

EXTRA = 50
"""How many more misses than expected `WINDOW` examples may have (theorem 1)."""

C = 0.1
"""How far a miss moves ln α_t."""

REPORTED = 0.9
"""The level that leaderboards report, which is always kept."""

LEVELS = (0.5, 0.8, REPORTED, 0.95, 0.99)

_OUTWARD = np.array([-np.inf, np.inf], dtype=np.float32)

HIGHEST = steps.SCORES / (steps.SCORES + 1.0)
"""No level above has a quantile of so many scores."""


def allowed_misses(alpha: float) -> int:
    """Return M of theorem 1.

    Examples
    --------
    >>> [allowed_misses(alpha) for alpha in (0.5, 0.2, 0.1, 0.05, 0.01)]
    [550, 250, 150, 100, 60]
    """
    return round(steps.WINDOW * alpha) + EXTRA


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


class Intervals(steps.Conformal):
    """State of adaptive conformal inference, see the module.

    Parameters
    ----------
    levels : sequence of float
        Between 0 and `HIGHEST`, in addition to `REPORTED`.
    later : bool
        Labels come later. Then theorem 1 is given up: misses that are not known yet cannot be
        counted, and to answer old ones by unbounded intervals would make misses come in waves.

    Attributes
    ----------
    alphas, most : ndarray of float64, shape (n_levels,)
        α of each level, and M of theorem 1.
    scores, ordered : ndarray of float64, shape (2, SCORES)
        The last scores of both kinds, in a ring, and in order.
    misses : ndarray of uint8, shape (n_levels, WINDOW)
        Which of the last examples were missed, in a ring.
    tracked : ndarray of float64, shape (n_levels, 8)
        α_t (`STEERED`), interval scores of both kinds of scores, misses among the last 999; and of
        what came after the first 1,000 examples how many were covered, the sum and the number of
        bounded widths, and the most misses in a window.
    running : ndarray of float64, shape (5,)
        Examples (`AT`), mean and variance of predictions, sum and mass of recent errors.
    weights : ndarray of float64, shape (N_LOCAL,)
        Of the local level.
    longest : ndarray of float64, shape (1,)
        Delay of a label so far.
    """

    kept = "scores", "ordered", "misses", "tracked", "running", "weights", "longest"

    def __init__(self, levels: Sequence[float] = LEVELS, *, later: bool = False) -> None:
        self.levels = tuple(sorted({REPORTED, *levels}))
        n, alphas = len(self.levels), np.round(1.0 - np.array(self.levels), 12)
        most = np.inf if later else 0.0
        super().__init__(
            alphas=alphas,
            most=np.array([most + allowed_misses(alpha) for alpha in alphas]),
            rates=rates_after(alphas, 0),
            scores=np.zeros((2, steps.SCORES)),
            ordered=np.zeros((2, steps.SCORES)),
            misses=np.zeros((n, steps.WINDOW), dtype=np.uint8),
            tracked=np.zeros((n, steps.MOST_MISSED + 1)),
            running=np.zeros(steps.MASS + 1),
            weights=np.zeros(steps.N_LOCAL),
            longest=np.zeros(1),
        )
        self.tracked[:, steps.STEERED] = alphas

    def update(self, label: float, prediction: float, asked: Doubles, delay: int) -> None:
        """Learn the label of a prediction whose intervals are `delay` predictions old."""
        self.longest[0] = max(self.longest[0], delay)
        rates = rates_after(self.alphas, int(self.longest[0]))
        self.learn(abs(label - prediction), prediction, asked, rates)

    def around(
        self, prediction: float, level: float, asked: Doubles | None = None
    ) -> tuple[float, float]:
        """Return the interval around a prediction; unbounded where there is too little evidence.

        Parameters
        ----------
        prediction, level : float
        asked : ndarray of float64, optional
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
        asked = self.ask(prediction) if asked is None else asked
        half = float(asked[steps.N_LOCAL + 1 :: 3][self.levels.index(level)])
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
        level = self.tracked[self.levels.index(REPORTED)]
        n = self.running[steps.AT] - steps.WINDOW
        if n <= 0:
            return {}
        found = {
            "coverage": level[steps.COVERED] / n,
            "unbounded_intervals": 1.0 - level[steps.BOUNDED] / n,
        }
        if level[steps.BOUNDED] and deviation:
            found["interval_width"] = level[steps.WIDTHS] / level[steps.BOUNDED] / deviation
        if n >= steps.WINDOW:
            found["coverage_in_worst_window"] = 1.0 - level[steps.MOST_MISSED] / steps.WINDOW
        return {name: float(value) for name, value in found.items()}
