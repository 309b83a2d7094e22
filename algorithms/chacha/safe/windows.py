"""Better and Worse on a common window: tests of the difference of two models' losses.

The paper compares each model's own progressive loss, over the examples that it happened to see,
and bounds each by √(d log(n|S|/δ) / n). Two models that started at different times are then
compared on different examples, which misleads under drift, and differences far below the noise
of the labels drown in it. Here a challenger starts as a copy of the champion, and what counts is

    D_i = l(champion, i) - l(challenger, i)   on the same examples i = 1, ..., n since then,

in squared loss, which is what the bench scores. For independent D_i that are symmetric around 0,
whatever their scale and tails, and for every z [1]_

    P( Σ D_i ≥ z √(Σ D_i²) ) ≤ exp(-z²/2).

A union over the |S| challengers and over all looks m = 1, 2, ... with shares 1 / (m (m + 1))
gives `critical_value`: a challenger that is as good as its champion is taken for better with
probability at most δ in a champion's time. Models that learn make the D_i depend on each other,
so this is a guide, as the paper's bound is; what the forecasts may lose rests on the aggregate
alone.

References
----------
.. [1] Efron. Student's t-test under symmetry conditions. Journal of the American Statistical
       Association 64, 1969: given the |D_i|, the signs are fair coins, so Hoeffding's inequality
       applies to Σ D_i.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.chacha.safe.mixture import ADVANTAGE, LOSS, LOSS_SQUARES, SQUARES
from leaseboard.algorithms.events import BoundsUpdated

Doubles = NDArray[np.float64]


def critical_value(challengers: int, looks: NDArray[np.int64], delta: float) -> Doubles:
    """z: the number of root sums of squares that proves a difference.

    Parameters
    ----------
    challengers : int
        |S|, how many are compared with the champion.
    looks : ndarray of int64
        m, how often each challenger has been looked at, this time included.
    delta : float
        Probability of a false proof during one champion's time.

    Examples
    --------
    >>> critical_value(challengers=50, looks=np.array([1, 10]), delta=0.1).round(4)
    array([3.7169, 4.6723])
    """
    return np.asarray(np.sqrt(2.0 * np.log(challengers * looks * (looks + 1) / delta)))


def radius(squares: Doubles, n: NDArray[np.int64], z: Doubles) -> Doubles:
    """Return half the width of the confidence interval of the mean difference.

    Examples
    --------
    >>> radius(squares=np.array([4.0]), n=np.array([10]), z=np.array([3.0]))
    array([0.6])
    """
    return np.asarray(z * np.sqrt(squares) / n)


def better(advantage: Doubles, squares: Doubles, z: Doubles) -> NDArray[np.bool_]:
    """Return whether a challenger's loss is proved lower than its champion's.

    Parameters
    ----------
    advantage, squares : ndarray of float64
        Σ D and Σ D² over the common window.

    Examples
    --------
    >>> better(advantage=np.array([7.0, 5.0]), squares=np.array([4.0, 4.0]), z=np.array(3.0))
    array([ True, False])
    """
    return np.asarray(advantage > z * np.sqrt(squares))


def worse(advantage: Doubles, squares: Doubles, z: Doubles) -> NDArray[np.bool_]:
    """Return whether a challenger's loss is proved higher than its champion's.

    Examples
    --------
    >>> worse(advantage=np.array([-7.0, 5.0]), squares=np.array([4.0, 4.0]), z=np.array(3.0))
    array([ True, False])
    """
    return better(-advantage, squares, z)


Slots = NDArray[np.int64]


class CommonWindows:
    """One window for each slot, from when its model became the champion's challenger.

    Parameters
    ----------
    sums : ndarray of float64, shape (n_slots, 4)
        See `leaseboard.algorithms.chacha.safe.mixture.Mixture`. The array itself, no part of it:
        of a pickled race a part would be a copy that nothing fills.
    round_length : int
        Examples between two looks.
    delta : float
        δ of the paired tests.

    Attributes
    ----------
    starts : ndarray of int64, shape (n_slots,)
        The example before which each window begins.
    """

    kept: ClassVar[tuple[str, ...]] = ("starts",)

    def __init__(self, sums: Doubles, round_length: int, delta: float) -> None:
        self.round_length, self.delta = round_length, delta
        self.sums = sums
        self.starts = np.zeros(len(sums), dtype=np.int64)
        self._known: tuple[int, int, Doubles] | None = None

    def begin(self, slots: int | slice, at: int) -> None:
        """Begin the windows of `slots` anew."""
        self.sums[slots] = 0
        self.starts[slots] = at
        self._known = None

    def seen(self, slots: Slots, at: int) -> Slots:
        """Return how many examples the windows have."""
        return np.asarray(at - self.starts[slots])

    def advantages(self, slots: Slots, at: int) -> Doubles:
        """By how much the challengers' mean losses are below the champion's."""
        return np.asarray(self.sums[slots, ADVANTAGE] / self.seen(slots, at))

    def below_median(self, slots: Slots, at: int) -> set[int]:
        """Return the challengers that gained less on the champion than most."""
        if not len(slots):
            return set()
        advantages = self.advantages(slots, at)
        ordered, n = np.sort(advantages), len(advantages)
        median = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
        return set(slots[advantages < median].tolist())

    def better(self, slots: Slots, at: int, candidates: int) -> Slots:
        """Return those of `slots` that are proved better than the champion."""
        advantage, squares = self.sums[slots, ADVANTAGE], self.sums[slots, SQUARES]
        return slots[better(advantage, squares, self._critical_values(slots, at, candidates))]

    def worse(self, slots: Slots, at: int, candidates: int) -> Slots:
        """Return those of `slots` that are proved worse than the champion."""
        advantage, squares = self.sums[slots, ADVANTAGE], self.sums[slots, SQUARES]
        return slots[worse(advantage, squares, self._critical_values(slots, at, candidates))]

    def bounds(
        self, slots: Slots, at: int, candidates: int, champion: int, holders: Slots, since: Slots
    ) -> Iterator[BoundsUpdated]:
        """For each slot its model's mean loss with a lower and an upper bound, as an event.

        A challenger's radius is that of its mean difference from the champion: the tests are
        whether its bounds leave out the champion's loss on the same examples. The champion,
        which does not differ from itself, has the radius of its own loss around its mean.

        Parameters
        ----------
        champion : int
            Its slot.
        holders, since : ndarray of int64, shape (n_slots,)
            The configurations in the slots, and after which example each went live.
        """
        n = self.seen(slots, at)
        losses = self.sums[slots, LOSS] / n
        own = np.maximum(self.sums[slots, LOSS_SQUARES] - n * losses**2, 0.0)
        squares = np.where(slots == champion, own, self.sums[slots, SQUARES])
        widths = radius(squares, n, self._critical_values(slots, at, candidates))
        lower, upper = np.maximum(losses - widths, 0.0), losses + widths
        columns = holders[slots], losses, lower, upper, at - since[slots]
        for number, loss, low, high, units in zip(*(c.tolist() for c in columns), strict=True):
            yield BoundsUpdated(
                at=at, configuration=number, value=loss, lower=low, upper=high, units=units
            )

    def _critical_values(self, slots: Slots, at: int, candidates: int) -> Doubles:
        """Return those of `slots`, which have seen examples; all are found at once and kept."""
        known = self._known
        if known is None or known[:2] != (at, candidates):
            looks = np.maximum(-(-(at - self.starts) // self.round_length), 1)
            known = self._known = at, candidates, critical_value(candidates, looks, self.delta)
        return np.asarray(known[2][slots])
