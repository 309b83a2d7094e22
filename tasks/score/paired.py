"""Scores of one seed in two runs, pair by pair: what the gate, `compare` and promotion judge.

Theorem. If a change is neutral, that is, if in each pair the old and the new score are
exchangeable, the signs of the differences are independent fair coins given their sizes, whatever
the distribution. So the rank sum of the pairs that became worse (Wilcoxon's statistic) has the
distribution that all 2ⁿ choices of signs give, and `Paired.chance_of_drop` is at most p with
probability at most p. No normality is assumed, ties and zeros included. With n pairs it cannot be
below 2⁻ⁿ: three pairs decide nothing, twelve can decide at a level of .00025.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leaseboard.tasks.jobs.suites.promise import ROUNDING
from leaseboard.tasks.score.bootstrap import Interval, paired_mean
from leaseboard.tasks.score.table import Floats


@dataclass(frozen=True, slots=True)
class Paired:
    """Comparison of new scores with old ones."""

    old: float
    new: float
    scale: float
    """The size of the old mean, 1 if that is 0."""
    gain: Interval
    """Mean improvement over `scale` with Student's interval; positive is better, whatever the
    direction of the score."""
    same: bool
    """No pair differs by more than rounding."""
    n: int
    constant: bool
    """All old scores are equal, and all new ones: they may not depend on the seed."""
    chance_of_drop: float
    """Probability of a drop like this one or a larger one by chance, see the theorem."""
    chance_of_gain: float

    def verdict(self, level: float) -> str:
        """Return ``same``, ``better``, ``worse``, or ``unclear`` where chance explains it."""
        if self.same:
            return "same"
        if self.chance_of_drop <= level / 2:
            return "worse"
        return "better" if self.chance_of_gain <= level / 2 else "unclear"


def paired(old: Floats, new: Floats, direction: str) -> Paired:
    """Compare scores pair by pair; a score that is best when it is smallest has direction min.

    Examples
    --------
    >>> found = paired(np.array([2.0, 2.0]), np.array([1.5, 1.5]), "min")
    >>> found.gain.value, found.chance_of_gain, found.same
    (0.25, 0.25, False)
    """
    scale = abs(float(old.mean())) or 1.0
    gains = (new - old if direction == "max" else old - new) / scale
    gains[np.abs(gains) <= ROUNDING] = 0.0
    return Paired(
        old=float(old.mean()),
        new=float(new.mean()),
        scale=scale,
        gain=paired_mean(gains),
        same=not gains.any(),
        n=len(old),
        constant=bool(np.ptp(old) == np.ptp(new) == 0),
        chance_of_drop=chance_of(-gains),
        chance_of_gain=chance_of(gains),
    )


def chance_of(differences: Floats) -> float:
    """Return the probability that random signs give a rank sum as large as that of `differences`.

    The exact one-sided signed-rank test [1]_: zeros are left out, ties share their mean rank.

    References
    ----------
    .. [1] F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1, 1945.

    Examples
    --------
    >>> chance_of(np.array([0.1, 0.3, 0.2])), chance_of(np.array([-0.1, 0.3, 0.2]))
    (0.125, 0.25)
    """
    from scipy.stats import rankdata

    moved = differences[differences != 0]
    ranks = np.rint(2 * rankdata(np.abs(moved))).astype(int)  # doubled: mean ranks become whole
    shares = np.ones(1)  # shares[s]: of the choices of signs, those whose doubled rank sum is s
    for rank in ranks:
        shares = (np.pad(shares, (0, rank)) + np.pad(shares, (rank, 0))) / 2
    return float(shares[ranks[moved > 0].sum() :].sum())


def paired_ratio(old: Floats, new: Floats) -> Interval:
    """Return the geometric mean of `new` over `old`, pairs of positive numbers."""
    logs = paired_mean(np.log(new / old))
    return Interval(*(float(np.exp(end)) for end in (logs.value, logs.lower, logs.upper)))
