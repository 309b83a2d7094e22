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

import numpy as np

from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from leaseboard.algorithms.elementary cimport log

from leaseboard.algorithms.plain import Saved


cpdef double critical_value(int64_t challengers, int64_t looks, double delta) noexcept nogil:
    """Return z: the number of root sums of squares that proves a difference.

    Parameters
    ----------
    challengers : int
        |S|, how many are compared with the champion.
    looks : int
        m, how often the challenger has been looked at, this time included.
    delta : float
        Probability of a false proof during one champion's time.

    Examples
    --------
    >>> round(critical_value(50, 1, 0.1), 4), round(critical_value(50, 10, 0.1), 4)
    (3.7169, 4.6723)
    """
    return sqrt(2.0 * log(challengers * looks * (looks + 1) / delta))


class CommonWindows(Saved):
    """One window for each slot, from when its model became the champion's challenger.

    Parameters
    ----------
    sums : ndarray of float64, shape (n_slots, 4)
        See `leaseboard.algorithms.online_automl.safe.mixture.Mixture`.

    Attributes
    ----------
    starts : ndarray of int64, shape (n_slots,)
        The example before which each window begins.
    """

    kept = ("starts",)

    def __init__(self, sums):
        self.sums = sums
        self.starts = np.zeros(len(sums), dtype=np.int64)

    def begin(self, at):
        """Begin all windows again."""
        self.sums[:] = 0
        self.starts[:] = at


cpdef Py_ssize_t judge(
    const double[:, ::1] sums, const int64_t[::1] starts, const int64_t[::1] leases,
    const int64_t[::1] live, Py_ssize_t champion, int64_t at, const double[::1] critical,
    Py_ssize_t most, int64_t[::1] verdicts,
) noexcept nogil:
    """Return the slot of the best challenger that is proved better; -1, and verdicts, if none is.

    Parameters
    ----------
    sums, starts : ndarray
        See `leaseboard.algorithms.online_automl.safe.rounds.RoundTable`.
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
        Written: sums of `WORSE`, proved worse than the champion, `BELOW`, gained less on it than
        most, and `ENDED`, of a lease.
    """
    cdef Py_ssize_t best = -1, worse = 0, n = 0, n_live = live.shape[0]
    cdef double largest = 0.0
    gains = <double *>malloc((2 * n_live + 1) * sizeof(double))
    ordered = gains + n_live
    for k in range(n_live):
        slot = live[k]
        # The tests of the champion's loss minus the challenger's, and of its opposite.
        seen, advantage = at - starts[slot], sums[slot, ADVANTAGE]
        edge = critical[slot] * sqrt(sums[slot, SQUARES])
        gains[k] = INFINITY if slot == champion or slot == BASE else advantage / seen
        verdicts[slot] = ENDED if seen >= leases[slot] else 0
        if slot != champion and advantage > edge and (best < 0 or advantage / seen > largest):
            best, largest = slot, advantage / seen
        if gains[k] < INFINITY and -advantage > edge and worse < most:
            verdicts[slot], gains[k], worse = WORSE, INFINITY, worse + 1
        # The others that may lose their slot, in the order of what they gained.
        if gains[k] < INFINITY:
            place = n
            while place > 0 and ordered[place - 1] > gains[k]:
                ordered[place] = ordered[place - 1]
                place -= 1
            ordered[place] = gains[k]
            n += 1
    if n > 0:
        middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2.0
        for k in range(n_live):
            if gains[k] < middle:
                verdicts[live[k]] += BELOW
    free(gains)
    return best
