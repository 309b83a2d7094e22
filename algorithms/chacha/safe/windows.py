"""Better and Worse on a common window: tests of the difference of two models' losses.

The paper compares each model's own progressive loss, over the examples that it happened to see,
and bounds each by √(d log(n|S|/δ) / n). Two models that started at different times are then
compared on different examples, which misleads under drift, and differences far below the noise
of the labels drown in it. Here a challenger starts as a copy of the champion, and what counts is

    D_i = l(champion, i) - l(challenger, i)   on the same examples i = 1, ..., n since then,

in squared loss, which the environment scores. For independent D_i that are symmetric around 0,
with any scale and tails, and for every z [1]_

    P( Σ D_i ≥ z √(Σ D_i²) ) ≤ exp(-z²/2).

A union over the |S| challengers and over all looks m = 1, 2, ... with shares 1 / (m (m + 1))
gives `critical_value`: a challenger that is as good as its champion is taken for better with
probability at most δ in a champion's time. Models that learn make the D_i depend on each other,
so this is a guide, as the paper's bound is; what the predictions may lose rests on the aggregate
alone.

References
----------
.. [1] Efron. Student's t-test under symmetry conditions. Journal of the American Statistical
       Association 64, 1969: given the |D_i|, the signs are fair coins, so Hoeffding's inequality
       applies to Σ D_i.
"""

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.chacha.safe.mixture import ADVANTAGE, SQUARES
from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.events import BoundsUpdated
from leaseboard.algorithms.online.handles import quick
from leaseboard.algorithms.online.kernel import Doubles, Slots
from leaseboard.algorithms.plain import Saved

BASE = 0
"""The slot and the number of the initial configuration, c_init, which is always live."""

WORSE, BELOW, ENDED = 1, 2, 4
"""What `judge` finds of a slot: it is proved worse than the champion, it gained less on the
champion than most, and its lease has ended."""


def critical_value(challengers: int, looks: NDArray[np.int64], delta: float) -> Doubles:
    """Return z: the number of root sums of squares that proves a difference.

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


class CommonWindows(Saved):
    """One window for each slot, from when its model became the champion's challenger.

    Parameters
    ----------
    sums : ndarray of float64, shape (n_slots, 4)
        See `leaseboard.algorithms.chacha.safe.mixture.Mixture`.
    round_length : int
        Examples between two looks.
    delta : float
        δ of the paired tests.

    Attributes
    ----------
    starts : ndarray of int64, shape (n_slots,)
        The example before which each window begins.
    verdicts : ndarray of int64, shape (n_slots,)
        What `judge` found last.
    """

    kept: ClassVar[tuple[str, ...]] = ("starts",)

    def __init__(self, sums: Doubles, round_length: int, delta: float) -> None:
        self.round_length, self.delta = round_length, delta
        self.sums = sums
        self.starts = np.zeros(len(sums), dtype=np.int64)
        self.verdicts = np.zeros(len(sums), dtype=np.int64)
        self._known: tuple[tuple[int, int], Doubles] | None = None

    def begin(self, slots: int | slice, at: int) -> None:
        """Begin the windows of `slots` again."""
        self.sums[slots] = 0
        self.starts[slots] = at
        self._known = None

    def judge(
        self, live: Slots, champion: int, leases: Slots, at: int, candidates: int, most: int
    ) -> int:
        """Do `judge`, into `verdicts`."""
        critical = self._critical(at, candidates)
        return int(
            judge(
                self.sums, self.starts, leases, live, champion, at, critical, most, self.verdicts
            )
        )

    def bounds(
        self, slots: Slots, at: int, candidates: int, champion: int, holders: Slots, since: Slots
    ) -> list[BoundsUpdated]:
        """Return an event for each slot: its model's mean loss with a lower and an upper bound.

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
        found = []
        columns = self.starts, holders, since, self._critical(at, candidates), self.sums
        rows = zip(slots.tolist(), *(each[slots].tolist() for each in columns), strict=True)
        for slot, start, number, begun, critical, (_, squares, total, own) in rows:
            n = at - start
            loss = total / n
            spread = max(own - n * (loss * loss), 0.0) if slot == champion else squares
            width = critical * math.sqrt(spread) / n
            found.append(
                BoundsUpdated(
                    at=at,
                    configuration=number,
                    value=loss,
                    lower=max(loss - width, 0.0),
                    upper=loss + width,
                    units=at - begun,
                )
            )
        return found

    def _critical(self, at: int, candidates: int) -> Doubles:
        """Return the critical values of all slots."""
        if self._known is None or self._known[0] != (at, candidates):
            looks = np.maximum(-(-(at - self.starts) // self.round_length), 1)
            self._known = (at, candidates), critical_value(candidates, looks, self.delta)
        return self._known[1]


@quick
@compiled(error_model="numpy")
def judge(
    sums: Doubles,
    starts: Slots,
    leases: Slots,
    live: Slots,
    champion: int,
    at: int,
    critical: Doubles,
    most: int,
    verdicts: Slots,
) -> int:
    """Return the slot of the best challenger that is proved better; -1, and verdicts, if none is.

    Parameters
    ----------
    sums, starts : ndarray
        See `CommonWindows`.
    leases : ndarray of int64, shape (n_slots,)
        In examples from the beginning of each window.
    live : ndarray of int64
        The occupied slots.
    champion : int
        Its slot.
    at : int
        Examples learned.
    critical : ndarray of float64, shape (n_slots,)
        See `critical_value`.
    most : int
        How many may be found worse; the first ones are.
    verdicts : ndarray of int64, shape (n_slots,)
        Written: sums of `WORSE`, `BELOW` and `ENDED`.
    """
    best, largest, worse, n = -1, 0.0, 0, 0
    gains, ordered = np.empty(len(live)), np.empty(len(live))
    for k in range(len(live)):
        slot = live[k]
        # The tests of the champion's loss minus the challenger's, and of its opposite.
        seen, advantage = at - starts[slot], sums[slot, ADVANTAGE]
        edge = critical[slot] * math.sqrt(sums[slot, SQUARES])
        gains[k] = math.inf if slot in (champion, BASE) else advantage / seen
        verdicts[slot] = ENDED if seen >= leases[slot] else 0
        if slot != champion and advantage > edge and (best < 0 or advantage / seen > largest):
            best, largest = slot, advantage / seen
        if gains[k] < math.inf and -advantage > edge and worse < most:
            verdicts[slot], gains[k], worse = WORSE, math.inf, worse + 1
        # The others that may lose their slot, in the order of what they gained.
        if gains[k] < math.inf:
            place = n
            while place > 0 and ordered[place - 1] > gains[k]:
                ordered[place] = ordered[place - 1]
                place -= 1
            ordered[place] = gains[k]
            n += 1
    for k in range(len(live) if n > 0 else 0):
        if gains[k] < (ordered[(n - 1) // 2] + ordered[n // 2]) / 2.0:
            verdicts[live[k]] += BELOW
    return best
