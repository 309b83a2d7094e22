"""Kernels of the sequential test; see `leaseboard.algorithms.sequential_test`."""

from decimal import Decimal

import numpy as np

from libc.float cimport DBL_MAX
from libc.math cimport INFINITY, fabs, ldexp

from leaseboard.algorithms.elementary cimport exp, log, log1p

cdef enum:
    _N_BETS = 24

N_BETS = _N_BETS
"""Halves of the largest bet: the least finds what takes some 1e13 rows to be seen."""

cdef extern from *:
    double _SHARE "0.9"

SHARE = _SHARE
"""Of its capital that the largest bet loses by the worst difference that there can be."""

_WEIGHTS = 1 / np.arange(2.0, N_BETS + 2)
LOG_WEIGHTS = np.array([float(Decimal(w).ln()) for w in _WEIGHTS / _WEIGHTS.sum()])
"""Of the bets in the mixture: nearly alike for any number of rows, larger for large bets."""

cdef enum:
    # The running values: rows that were bet on, of these clipped, mean difference, c, and the
    # largest logarithms of either capital.
    COUNTED, CLIPPED, MEAN, CLIP, PEAK_CHALLENGER, PEAK_CHAMPION

cdef double[_N_BETS] log_weights = LOG_WEIGHTS


def log_mean(const double[::1] logs):
    """Return the logarithm of the mixture of capitals."""
    return _log_mean(&logs[0])


cpdef double log_entry(double row) noexcept nogil:
    """Return the logarithm of the capital that is added before this row; of all rows, half.

    A telescoping sum, (1 / ln(row + 2) - 1 / ln(row + 3)) ln(2) / 2, written without a difference.
    """
    before, step = log(row + 2.0), log1p(1.0 / (row + 2.0))
    return log(0.5 * log(2.0) * step / (before * (before + step)))


def bet(
    const double[::1] differences,
    double first,
    bint growing,
    bint restarts,
    double[::1] challenger,
    double[::1] champion,
    double[::1] running,
    double[:, ::1] path,
):
    """Bet on all rows in their order.

    Parameters
    ----------
    differences : array of shape (n,)
        Loss of the champion minus that of the challenger.
    first : float
        The first clip c_1.
    growing : bool
        Whether the clip doubles after a row that it has clipped.
    restarts : bool
        Whether capital that has seen nothing is added before each row.
    challenger, champion : array of shape (N_BETS,)
        Logarithms of the capitals that bet on either, changed in place.
    running : array of shape (6,)
        Rows that were bet on, how many of them were clipped, the mean difference, c, and the
        largest logarithms of either mixture; changed in place.
    path : array of shape (n, 2)
        Takes the logarithms of both mixtures after each row.
    """
    cdef double[_N_BETS] stakes
    with nogil:
        _write_shares(first, running[CLIP], stakes)
        for row in range(differences.shape[0]):
            # The difference, clipped by what was known before the row.
            clip = running[CLIP]
            ratio = min(max(differences[row] / clip, -1.0), 1.0)
            if restarts:
                entry = log_entry(running[COUNTED])
                for k in range(_N_BETS):
                    challenger[k] = _added(challenger[k], entry)
                    champion[k] = _added(champion[k], entry)
            # Each bet on either side.
            for k in range(_N_BETS):
                challenger[k] += log1p(stakes[k] * ratio)
                champion[k] += log1p(-stakes[k] * ratio)
            # The plain mean, and both mixtures with their peaks.
            running[COUNTED] += 1.0
            n = running[COUNTED]
            running[MEAN] += differences[row] / n - running[MEAN] / n
            path[row, 0] = _log_mean(&challenger[0])
            path[row, 1] = _log_mean(&champion[0])
            running[PEAK_CHALLENGER] = max(running[PEAK_CHALLENGER], path[row, 0])
            running[PEAK_CHAMPION] = max(running[PEAK_CHAMPION], path[row, 1])
            # After a row that it has clipped the clip may double, for the rows to come.
            if fabs(differences[row]) > clip:
                running[CLIPPED] += 1.0
                if growing:
                    running[CLIP] = min(2.0 * clip, DBL_MAX)
                    _write_shares(first, running[CLIP], stakes)


cdef void _write_shares(double first, double clip, double *stakes) noexcept nogil:
    """Write λ_k c: what each bet loses by a difference of -c."""
    for k in range(_N_BETS):
        stakes[k] = _SHARE * min(ldexp(1.0, -k) * (clip / first), 1.0)


cdef double _log_mean(const double *logs) noexcept nogil:
    """Return `log_mean`."""
    cdef double top = -INFINITY, total = 0.0
    for k in range(_N_BETS):
        top = max(top, log_weights[k] + logs[k])
    for k in range(_N_BETS):
        total += exp(log_weights[k] + logs[k] - top)
    return top + log(total)


cdef double _added(double first, double second) noexcept nogil:
    """Return the logarithm of the sum of two numbers by theirs."""
    return max(first, second) + log1p(exp(-fabs(first - second)))
