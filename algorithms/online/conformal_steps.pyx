"""Kernels of prediction intervals; see `leaseboard.algorithms.online.conformal`."""

import numpy as np

from libc.math cimport INFINITY, fabs, sqrt

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


cdef class Conformal(Buffers):
    """Steps of `leaseboard.algorithms.online.conformal.Intervals`, which has the arrays."""

    def __init__(self, **arrays):
        super().__init__(**arrays)
        self.asked = np.empty(N_LOCAL + 1 + 3 * len(self.alphas))

    def ask(self, double prediction):
        """Return what `_update` needs of the intervals that a prediction has."""
        cdef double[::1] asked = np.empty(len(self.asked))
        _ask(prediction, self, &asked[0])
        return np.asarray(asked)

    def learn(
        self, double error, double prediction, const double[::1] asked, const double[:, ::1] rates
    ):
        """Learn the error of a prediction; see `_update`."""
        _update(error, prediction, &asked[0], &rates[0, 0], self)

    cpdef void follow(self, double label, double prediction) noexcept:
        """Ask for the intervals of a prediction, then learn its label."""
        _ask(prediction, self, &self.asked[0])
        _update(fabs(label - prediction), prediction, &self.asked[0], &self._rates[0, 0], self)


cdef double _quantile(const double *ordered, Py_ssize_t n, double alpha) noexcept nogil:
    """Return the score that is exceeded with probability `alpha`, after n scores in order."""
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


cdef void _ask(double prediction, Conformal state, double *asked) noexcept nogil:
    """Write half the width of the interval of each level, and what else `_update` needs.

    Half widths are infinite while there are too few scores for the level; the given one also where
    theorem 1 asks for it.
    """
    running, ordered, level = &state._running[0], &state._ordered[0, 0], &state._tracked[0, 0]
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
        total += state._weights[i] * asked[i]
    local = asked[N_LOCAL] = exp(min(max(total, -MOST), MOST))
    # At each level the quantiles of both kinds of scores, and the better one of late.
    for k in range(state._alphas.shape[0]):
        if (n + 1) * state._alphas[k] < 1.0:
            halves[GIVEN] = halves[PLAIN] = halves[LOCAL] = INFINITY
        else:
            halves[PLAIN] = _quantile(ordered, n, level[STEERED])
            halves[LOCAL] = local * _quantile(ordered + SCORES, n, level[STEERED])
            halves[GIVEN] = (
                INFINITY if level[MISSED] >= state._most[k]
                else halves[LOCAL] if level[LOCAL_LOSS] < level[PLAIN_LOSS]
                else halves[PLAIN]
            )
        halves += 3
        level += MOST_MISSED + 1


cdef void _update(
    double error, double prediction, const double *asked, const double *rates, Conformal state
) noexcept nogil:
    """Learn the error of a prediction whose intervals were asked for, now or earlier.

    `rates` are what α_t of each level is multiplied by if the label was held, and if it was
    missed.
    """
    running, ordered, scores = &state._running[0], &state._ordered[0, 0], &state._scores[0, 0]
    level, misses, halves = &state._tracked[0, 0], &state._misses[0, 0], asked + N_LOCAL + 1
    cdef Py_ssize_t at = <Py_ssize_t>running[AT], n = min(at, SCORES), place = at % SCORES
    cdef bint missed
    share, near = 1.0 / SCORES, error / asked[N_LOCAL]
    for k in range(state._alphas.shape[0]):
        # Steer the level, and take the interval scores of both kinds.
        missed = error > halves[GIVEN]
        if halves[PLAIN] < INFINITY:
            step = level[STEERED] * rates[2 * k + missed]
            level[STEERED] = max(min(step, 1.0), LEAST_STEERED)
            for kind in range(PLAIN, LOCAL + 1):
                width = halves[kind]
                loss = width + max(error - width, 0.0) / state._alphas[k]
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
        _learn_level(error, middle, &state._weights[0], asked)
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
