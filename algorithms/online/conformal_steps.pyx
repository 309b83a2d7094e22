"""Kernels of prediction intervals; see `leaseboard.algorithms.online.conformal`."""

import numpy as np

from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport uint8_t

from leaseboard.algorithms.elementary cimport exp, log

cdef enum:
    # Of the half widths of a level: what is given, and by each kind of score.
    GIVEN, PLAIN = PLAIN_LOSS, LOCAL = LOCAL_LOSS

cdef extern from *:
    double _TAIL "0.5"  # how fast an interval grows beyond the largest score
    double RATE "0.003"  # of the regression of the local level
    double RECENT "20.0"  # the memory of "just before", in examples
    double FARTHEST "3.0"  # bound of what is regressed on and learned there
    double MOST "2.0"  # bound of the logarithm of the local level
    double LEAST_STEERED "1e-250"  # so that every number stays finite

TAIL = _TAIL
"""How fast an interval grows beyond the largest score, as a power of 1 / α_t."""


cdef class Conformal:
    """State of intervals at several levels around one predictor, in the arrays of its owner.

    Parameters
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
    """

    def __init__(
        self, const double[::1] alphas, const double[::1] most, double[:, ::1] scores,
        double[:, ::1] ordered, uint8_t[:, ::1] misses, double[:, ::1] tracked,
        double[::1] running, double[::1] weights,
    ):
        self.alphas, self.most, self.scores, self.ordered = alphas, most, scores, ordered
        self.misses, self.tracked, self.running, self.weights = misses, tracked, running, weights
        self.asked = np.empty(N_LOCAL + 1 + 3 * alphas.shape[0])

    def __reduce__(self):
        """Refer to the arrays themselves, so that a copy's owner has those of the copy."""
        return Conformal, (
            self.alphas.base, self.most.base, self.scores.base, self.ordered.base,
            self.misses.base, self.tracked.base, self.running.base, self.weights.base,
        )

    def ask(self, double prediction, double[::1] asked):
        """Write what is asked of a prediction; see `ask`."""
        ask(prediction, self, &asked[0])

    def update(
        self, double error, double prediction, const double[::1] asked, const double[:, ::1] rates
    ):
        """Learn the error of a prediction; see `update`."""
        update(error, prediction, &asked[0], &rates[0, 0], self)

    def follow(
        self, const float[::1] labels, const float[::1] importances,
        const float[::1] predictions, const double[:, ::1] rates,
    ):
        """Ask for the intervals of each prediction of a block, then learn its label."""
        cdef Py_ssize_t n = labels.shape[0]
        with nogil:
            follow(&labels[0], &importances[0], &predictions[0], n, &rates[0, 0], self)


def quantile_of(const double[::1] ordered, Py_ssize_t n, double alpha):
    """Return the score that is exceeded with probability `alpha`, after n scores in order.

    Examples
    --------
    >>> scores = np.array([1.0, 2.0, 4.0])
    >>> [quantile_of(scores, 3, alpha) for alpha in (1.0, 0.5, 0.375, 0.25, 0.0625)]
    [1.0, 2.0, 3.0, 4.0, 8.0]
    """
    return _quantile(&ordered[0], n, alpha)


cdef double _quantile(const double *ordered, Py_ssize_t n, double alpha) noexcept nogil:
    """Do `quantile_of`."""
    # Between two scores it is linear, beyond the largest it grows as a power.
    place = (1.0 - alpha) * (n + 1) - 1.0
    if place <= 0.0:
        return ordered[0]
    if place >= n - 1:
        return ordered[n - 1] * exp(-_TAIL * log((n + 1) * alpha))
    i = <Py_ssize_t>place
    return ordered[i] + (ordered[i + 1] - ordered[i]) * (place - i)


cdef void _exchange(double *ordered, Py_ssize_t n, double old, double new) noexcept nogil:
    """Put `new` among n scores in order, in place of `old` if they are full."""
    # Find the old score, or the end while there is room.
    cdef Py_ssize_t i = 0 if n == SCORES else n, end = n
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


cdef void ask(double prediction, Conformal state, double *asked) noexcept nogil:
    """Write half the width of the interval of each level, and what else `update` needs.

    Half widths are infinite while there are too few scores for the level; the given one also where
    theorem 1 asks for it.
    """
    running, ordered, level = &state.running[0], &state.ordered[0, 0], &state.tracked[0, 0]
    halves, n = asked + N_LOCAL + 1, <Py_ssize_t>min(running[AT], <double>SCORES)
    cdef double total = 0.0
    # Where the prediction lies among those before, and how large the errors just before were.
    asked[0] = 1.0
    for i in range(1, N_LOCAL):
        asked[i] = 0.0
    if running[VARIANCE] > 0.0:
        place = (prediction - running[MEAN]) / sqrt(running[VARIANCE])
        asked[1] = min(max(place, -FARTHEST), FARTHEST)
        asked[2] = asked[1] * asked[1]
    middle = ordered[n // 2]
    if middle > 0.0 and running[ERRORS] > 0.0:
        recent = log(running[ERRORS] / running[MASS] / middle)
        asked[3] = min(max(recent, -FARTHEST), FARTHEST)
    # The local level that follows.
    for i in range(N_LOCAL):
        total += state.weights[i] * asked[i]
    local = asked[N_LOCAL] = exp(min(max(total, -MOST), MOST))
    # At each level the quantiles of both kinds of scores, and the better one of late.
    for k in range(state.alphas.shape[0]):
        if (n + 1) * state.alphas[k] < 1.0:
            halves[GIVEN] = halves[PLAIN] = halves[LOCAL] = INFINITY
        else:
            halves[PLAIN] = _quantile(ordered, n, level[STEERED])
            halves[LOCAL] = local * _quantile(ordered + SCORES, n, level[STEERED])
            halves[GIVEN] = (
                INFINITY if level[MISSED] >= state.most[k]
                else halves[LOCAL] if level[LOCAL_LOSS] < level[PLAIN_LOSS]
                else halves[PLAIN]
            )
        halves += 3
        level += MOST_MISSED + 1


cdef void update(
    double error, double prediction, const double *asked, const double *rates, Conformal state
) noexcept nogil:
    """Learn the error of a prediction whose intervals were asked for, now or earlier.

    `rates` are what α_t of each level is multiplied by if the label was held, and if it was
    missed.
    """
    running, ordered, scores = &state.running[0], &state.ordered[0, 0], &state.scores[0, 0]
    level, misses, halves = &state.tracked[0, 0], &state.misses[0, 0], asked + N_LOCAL + 1
    cdef Py_ssize_t at = <Py_ssize_t>running[AT], n = min(at, SCORES), place = at % SCORES
    cdef bint missed
    share, near = 1.0 / SCORES, error / asked[N_LOCAL]
    for k in range(state.alphas.shape[0]):
        # Steer the level, and take the interval scores of both kinds.
        missed = error > halves[GIVEN]
        if halves[PLAIN] < INFINITY:
            step = level[STEERED] * rates[2 * k + missed]
            level[STEERED] = max(min(step, 1.0), LEAST_STEERED)
            for kind in range(PLAIN, LOCAL + 1):
                width = halves[kind]
                loss = width + max(error - width, 0.0) / state.alphas[k]
                level[kind] += share * (loss - level[kind])
        # Count what was missed in the window, and what came after the first 1,000.
        misses[at % WINDOW] = missed
        level[MISSED] += missed
        if at >= WINDOW:
            level[COVERED] += not missed
            if halves[GIVEN] < INFINITY:
                level[WIDTHS] += 2.0 * halves[GIVEN]
                level[BOUNDED] += 1.0
        if at >= 2 * WINDOW - 1:
            level[MOST_MISSED] = max(level[MOST_MISSED], level[MISSED])
        level[MISSED] -= misses[(at + 1) % WINDOW]
        halves += 3
        level += MOST_MISSED + 1
        misses += WINDOW
    # Put the error among the scores, raw and over the local level.
    middle = ordered[n // 2]
    _exchange(ordered, n, scores[place], error)
    _exchange(ordered + SCORES, n, scores[SCORES + place], near)
    scores[place], scores[SCORES + place] = error, near
    # Learn the local level, and where predictions lie.
    if middle > 0.0:
        _learn_level(error, middle, &state.weights[0], asked)
        kept = 1.0 - 1.0 / RECENT
        running[ERRORS] = kept * running[ERRORS] + min(error, RECENT * middle)
        running[MASS] = kept * running[MASS] + 1.0
    running[AT] += 1.0
    part = max(share, 1.0 / running[AT])
    difference = prediction - running[MEAN]
    running[MEAN] += part * difference
    running[VARIANCE] += part * ((1.0 - part) * (difference * difference) - running[VARIANCE])


cdef void _learn_level(
    double error, double middle, double *weights, const double *regressed
) noexcept nogil:
    """Take a normalised gradient step of the regression on ln(error / median error)."""
    # The error of the regression, then a step along what it is on.
    target = log(error / middle) if error > 0.0 else -FARTHEST
    cdef double rest = min(max(target, -FARTHEST), FARTHEST), length = 0.0
    for i in range(N_LOCAL):
        rest -= weights[i] * regressed[i]
        length += regressed[i] * regressed[i]
    for i in range(N_LOCAL):
        weights[i] += RATE * rest * regressed[i] / length


cdef void follow(
    const float *labels, const float *importances, const float *predictions, Py_ssize_t n,
    const double *rates, Conformal state,
) noexcept nogil:
    """Do `ask` for the intervals of each prediction of a block, then `update` it by its label.

    An example of importance 0 teaches nothing.
    """
    asked = &state.asked[0]
    for t in range(n):
        if importances[t] <= 0.0:
            continue
        # The intervals before the label, then the label.
        prediction = <double>predictions[t]
        ask(prediction, state, asked)
        update(fabs(<double>labels[t] - prediction), prediction, asked, rates, state)
