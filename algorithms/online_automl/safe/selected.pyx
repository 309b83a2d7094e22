"""Selection of features: of very many the few that the error of a ridge regression speaks for.

A last part of the stream is remembered. Every `EVERY` examples, in up to `STEPS` steps, a feature
joins the selected ones if the errors that the regression on these makes there go with it, or with
its absolute value. With errors e and the standardised feature z that is

    (Σ e z)² / Σ e² z² > 2 ln 2d + `MARGIN`,

the square of a self-normalised sum, which is seldom above 2 ln 2d for any of 2d features (z, and
|z| - .8) that say nothing, however heavy the tails of both [1]_; so where d features are noise few
of them join. This is sure independence screening [2]_, iterated: as errors become smaller, weaker
features are seen.

A selected feature has a *slot*, and keeps it; where none is free, one that weighs more than twice
as much takes the slot of the one that weighs least. The regression then learns what is remembered
from the beginning.

References
----------
.. [1] De la Peña, Lai, Shao. Self-normalized processes. 2009, theorem 2.14.
.. [2] Fan, Lv. Sure independence screening for ultrahigh dimensional feature space. Journal of the
       Royal Statistical Society B 70, 2008.
"""

from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport int64_t

import numpy as np

from leaseboard.algorithms.elementary cimport exp, log
from leaseboard.algorithms.online_automl.safe.scale cimport COUNT, MEAN, deviation
from leaseboard.algorithms.reference.ridge_steps cimport CLIP, reweigh, rotate, solve

cdef enum:
    STEPS = 4  # times in a selection that features may join, by the errors of the one before
    A_STEP = 16  # features that join in a step, at most
    MOST_REMEMBERED = 2048  # examples
    MEMORY = 4194304  # numbers that are remembered, at most: 16 MB

cdef double MARGIN = 3.0  # by how much a feature's evidence is above that of noise
cdef double ALIKE = 0.7  # of two features with a higher correlation only one joins in a step
cdef double THE_SAME = 0.95  # or, above this, ever
cdef double TINY = 1e-300  # the least divisor, where all errors are 0
cdef double MEAN_MAGNITUDE = 0.8  # about the mean of |z| where z is standard normal, √(2 / π)


cdef class Ridge(Buffers):
    """State of a ridge regression that has seen nothing, see `leaseboard.algorithms.reference`.

    Parameters
    ----------
    n_features : int
    """

    def __init__(self, n_features):
        n = n_features + 1
        triangle = np.diag([0.0, *[1.0] * n_features])
        super().__init__(
            triangle=triangle, rotated=np.zeros(n), weights=np.zeros(n), penalties=np.ones(n)
        )


def remembered(n_features):
    """Return how many examples of `n_features` are remembered.

    Examples
    --------
    >>> remembered(100), remembered(10_000)
    (2048, 419)
    """
    return max(1, min(MOST_REMEMBERED, MEMORY // n_features))


cdef double target_of(double label, const double[::1] scale, bint classes) noexcept nogil:
    """Return the label as regressions on the past learn it; 0 while all are equal."""
    # Of numbers it is standardised, as far as `FARTHEST`.
    if classes:
        return label
    cdef double spread = deviation(scale)
    cdef double value = (label - scale[MEAN]) / spread if spread > 0.0 else 0.0
    return min(max(value, -FARTHEST), FARTHEST)


cdef void choose(
    const Number *example, Py_ssize_t n_past, const int64_t[::1] slots, double empty, double *row
) noexcept nogil:
    """Write a regression's row: the constant, the labels' past, the selected features.

    Where a slot is empty there is `empty`.
    """
    cdef Py_ssize_t j, slot
    # The constant and the labels' past, then slot after slot.
    row[0] = 1.0
    for j in range(n_past):
        row[1 + j] = example[j]
    for slot in range(slots.shape[0]):
        row[1 + n_past + slot] = example[n_past + slots[slot]] if slots[slot] >= 0 else empty


cdef double value_of(Ridge ridge, const double *row) noexcept nogil:
    """Return the prediction of a ridge regression for a row, for classes the log odds."""
    cdef Py_ssize_t j
    cdef double value = 0.0
    for j in range(ridge._weights.shape[0]):
        value += ridge._weights[j] * row[j]
    return value


cdef void take_row(
    Ridge ridge, double *row, double label, double importance, bint classes, double margin
) noexcept nogil:
    """Take a row and its label into a ridge regression; the row is spent.

    Of classes it is a step of reweighted least squares at the weights that say `margin`.
    """
    cdef Py_ssize_t j, n = ridge._weights.shape[0]
    cdef double root = sqrt(importance)
    if classes:
        label = reweigh(row, n, margin, label)
    for j in range(n):
        row[j] *= root
    rotate(&ridge._triangle[0, 0], &ridge._rotated[0], row, n, root * label)


cdef void solve_ridge(Ridge ridge) noexcept nogil:
    """Set the weights by what was taken."""
    solve(
        &ridge._triangle[0, 0], &ridge._rotated[0], &ridge._weights[0], ridge._weights.shape[0]
    )


def select(
    const float[:, ::1] memory, int64_t[::1] slots, Ridge ridge, const double[::1] scale,
    const double[:, ::1] moments, bint classes,
):
    """Let features join, if it is time.

    Parameters
    ----------
    memory : ndarray of float32, shape (n, n_past + n_features + 2)
        Labels' past, features, label and importance; the next example is written where the
        oldest is.
    slots : ndarray of int64
        The selected features, or `EMPTY`; updated.
    ridge : Ridge
        The regression on `choose`'s row; updated.
    scale, moments : ndarray of float64
        See `leaseboard.algorithms.online_automl.safe.scale` and
        `leaseboard.algorithms.reference.ridge`.
    classes : bool
        The regression is logistic.
    """
    cdef Py_ssize_t seen = <Py_ssize_t>scale[COUNT], n = memory.shape[0], width = memory.shape[1]
    if seen % (EVERY if seen <= n else 5 * EVERY):
        return
    # What is remembered, by the moments of today.
    cdef Py_ssize_t size = ridge._weights.shape[0], n_past = size - 1 - slots.shape[0]
    cdef Py_ssize_t t, j, age, step
    cdef double value, label, total
    cdef float[:, ::1] rows = np.zeros((n, width - 2), dtype=np.float32)
    cdef double[::1] row = np.empty(size), errors = np.empty(n)
    cdef double[::1] slopes = np.empty(width - 2 - n_past)
    standardise(memory, n_past, scale, moments, rows)
    for step in range(STEPS):
        with nogil:
            # The errors that the regression makes on what is remembered.
            total = 0.0
            for t in range(n):
                choose(&rows[t, 0], n_past, slots, 0.0, &row[0])
                value = value_of(ridge, &row[0])
                label = target_of(memory[t, width - 2], scale, classes)
                if classes:
                    value = 1.0 - 2.0 / (exp(value) + 1.0)
                errors[t] = memory[t, width - 1] * (label - value)
                total += errors[t]
            # Their mean says nothing: errors of 0 are of examples that do not count.
            total /= min(seen, n)
            for t in range(n):
                errors[t] = errors[t] - total if errors[t] != 0.0 else 0.0
        if not join(rows, errors, n_past, slots, ridge, slopes):
            return
        # With other features it learns all that from the beginning.
        for own, new in zip(ridge.arrays.values(), Ridge(size - 1).arrays.values()):
            own[...] = new
        with nogil:
            for age in range(n):  # from the oldest on
                t = (seen + age) % n
                if memory[t, width - 1] <= 0.0:
                    continue
                choose(&rows[t, 0], n_past, slots, 0.0, &row[0])
                label = target_of(memory[t, width - 2], scale, classes)
                value = value_of(ridge, &row[0])
                take_row(ridge, &row[0], label, memory[t, width - 1], classes, value)
                if classes or age == n - 1:
                    solve_ridge(ridge)


cdef void standardise(
    const float[:, ::1] memory, Py_ssize_t n_past, const double[::1] scale,
    const double[:, ::1] moments, float[:, ::1] rows,
):
    """Write what is remembered, standardised by all examples so far; 0 where nothing is."""
    cdef Py_ssize_t n = memory.shape[0], width = memory.shape[1] - 2, t, j
    cdef double spread = deviation(scale), value
    cdef double[::1] centers = np.zeros(width), factors = np.zeros(width)
    # Center and factor of each column.
    for j in range(width):
        if j < n_past:
            centers[j], factors[j] = scale[MEAN], 1.0 / spread if spread > 0.0 else 0.0
        elif moments[1, j - n_past] > 0.0:
            centers[j] = moments[0, j - n_past]
            factors[j] = sqrt(scale[COUNT] / moments[1, j - n_past])
    # All rows by these; those without importance stay 0.
    for t in range(n):
        for j in range(width if memory[t, width + 1] > 0.0 else 0):
            value = (memory[t, j] - centers[j]) * factors[j]
            rows[t, j] = <float>min(max(value, -<double>CLIP), <double>CLIP)


cdef bint join(
    const float[:, ::1] rows, const double[::1] errors, Py_ssize_t n_past, int64_t[::1] slots,
    Ridge ridge, double[::1] slopes,
):
    """Give slots to the features that the errors speak for most; return whether there were any."""
    cdef Py_ssize_t d = slopes.shape[0], t, j, k, best, slot
    cdef double error, z, along, across, least = 2.0 * log(2.0 * d) + MARGIN
    cdef double[:, ::1] sums = np.zeros((2, d)), norms = np.zeros((2, d))
    cdef double[::1] lengths = np.zeros(d), evidence = np.zeros(d)
    cdef double *own = &ridge._weights[1 + n_past]
    cdef const float *row
    # Sums of the errors along each feature and its absolute value.
    for t in range(rows.shape[0]):
        error = errors[t]
        if error == 0.0:
            continue
        row = &rows[t, n_past]
        for j in range(d):
            z = row[j]
            along, across = error * z, error * (fabs(z) - MEAN_MAGNITUDE)
            sums[0, j] += along
            sums[1, j] += across
            norms[0, j] += along * along
            norms[1, j] += across * across
            lengths[j] += z * z
    # The evidence of each, and the slope that it would have; selected ones have none.
    for j in range(d):
        slopes[j] = fabs(sums[0, j]) / max(lengths[j], 1.0)
        for k in range(2):
            along = sums[k, j] * sums[k, j] / max(norms[k, j], TINY)
            evidence[j] = max(evidence[j], along)
    for slot in range(slots.shape[0]):
        if slots[slot] >= 0:
            evidence[slots[slot]] = 0.0
    # Those of most evidence join, if there is a slot and none is nearly there already.
    cdef Py_ssize_t joined = 0
    for k in range(4 * A_STEP):
        best = 0
        for j in range(1, d):
            if evidence[j] > evidence[best]:
                best = j
        if evidence[best] <= least or joined == A_STEP:
            break
        evidence[best] = 0.0
        slot = free(slots, own, slopes[best])
        if slot != EMPTY and not is_alike(rows, best, n_past, slots, own, lengths):
            # What joins in this step is not to be replaced in it.
            slots[slot], own[slot] = best, INFINITY
            joined += 1
    return joined > 0


cdef bint is_alike(
    const float[:, ::1] rows, Py_ssize_t column, Py_ssize_t n_past, const int64_t[::1] slots,
    const double *weights, const double[::1] lengths,
) noexcept nogil:
    """Return whether a feature is nearly a selected one, or like one that joins in this step."""
    cdef Py_ssize_t slot, t, other
    cdef double product, most
    for slot in range(slots.shape[0]):
        other, product = slots[slot], 0.0
        if other == EMPTY:
            continue
        # The correlation with the feature in the slot.
        for t in range(rows.shape[0]):
            product += rows[t, n_past + column] * rows[t, n_past + other]
        most = ALIKE if weights[slot] == INFINITY else THE_SAME
        if product * product > most * most * lengths[column] * lengths[other]:
            return True
    return False


cdef Py_ssize_t free(const int64_t[::1] slots, const double *weights, double slope) noexcept nogil:
    """Return an empty slot, else one whose weight is less than half of `slope`, or `EMPTY`."""
    cdef Py_ssize_t least = EMPTY, slot
    for slot in range(slots.shape[0]):
        if slots[slot] == EMPTY:
            return slot
        # The lightest of those that weigh little.
        if 2.0 * fabs(weights[slot]) < slope:
            if least == EMPTY or fabs(weights[slot]) < fabs(weights[least]):
                least = slot
    return least
