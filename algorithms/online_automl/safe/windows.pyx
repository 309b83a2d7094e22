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

from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int64_t

from leaseboard.algorithms.elementary cimport log
from leaseboard.algorithms.online_automl.safe.mixture cimport ADVANTAGE, SQUARES

cpdef enum:
    BASE = 0  # the slot and the number of the initial configuration, which is always live


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


cpdef int64_t looks_at(int64_t seen, int64_t length) noexcept nogil:
    """Return m after so many examples of a window."""
    return max((seen + length - 1) // length, 1)


def judge(
    const double[:, ::1] sums, list starts, list leases, const int64_t[::1] live,
    Py_ssize_t champion, int64_t at, int64_t challengers, int64_t length, double delta,
    Py_ssize_t most,
):
    """Return the slots of challengers that are better or worse than the champion, and ended leases.

    Parameters
    ----------
    sums : ndarray of float64, shape (n_slots, 4)
        Over the window of each slot, see
        `leaseboard.algorithms.online_automl.safe.mixture.Mixture`.
    starts, leases : list of int
        The example before which each window begins, and in examples from there on the lease.
    live : ndarray of int64
        The occupied slots.
    champion, at : int
        Its slot, and the examples learned.
    challengers, delta
        See `critical_value`.
    length : int
        Of a round, at whose end one looks, in examples.
    most : int
        How many may be found worse; the first ones are.

    Returns
    -------
    best : int
        The best challenger that is proved better, or -1.
    worse : list of int
        Those that are proved worse.
    ended : dict of int to bool
        Of all others whose lease has ended, whether they gained less on the champion than most.
    """
    cdef list worse = [], ended = [], gains = []
    cdef Py_ssize_t best = -1, k, slot
    cdef int64_t seen
    cdef double edge, gain, advantage, largest = 0.0, middle = -INFINITY
    for k in range(live.shape[0]):
        slot = live[k]
        # The tests of the champion's loss minus the challenger's, and of its opposite.
        seen, advantage = at - <int64_t>starts[slot], sums[slot, ADVANTAGE]
        edge = critical_value(challengers, looks_at(seen, length), delta)
        edge, gain = edge * sqrt(sums[slot, SQUARES]), advantage / seen
        if slot != champion and advantage > edge and (best < 0 or gain > largest):
            best, largest = slot, gain
        if slot == champion or slot == BASE:  # which keep their slots
            gain = INFINITY
        elif -advantage > edge and len(worse) < most:
            worse.append(slot)
            continue
        else:
            gains.append(gain)
        if seen >= <int64_t>leases[slot]:
            ended.append((slot, gain))
    if gains:
        gains.sort()
        middle = (gains[(len(gains) - 1) // 2] + gains[len(gains) // 2]) / 2.0
    return best, worse, {slot: gain < middle for slot, gain in ended}
