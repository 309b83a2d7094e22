"""Kernels of ridge regressions; see `leaseboard.algorithms.reference.ridge`."""

import numpy as np

from libc.math cimport sqrt

from leaseboard.algorithms.elementary cimport exp

cdef enum:
    TOGETHER = 8  # Rows that are solved together, where they are long.

cdef extern from *:
    double STEEPEST "15.0"  # bound of log odds, so that no logistic weight is 0


def learn_ridge(
    const float[:, ::1] examples,
    const float[::1] labels,
    bint classes,
    double[:, ::1] triangle,
    double[::1] rotated,
    double[:, ::1] moments,
    double[::1] totals,
    float[::1] predictions,
):
    """Predict each example by the ridge regression on all before it, then learn it.

    Parameters
    ----------
    examples : ndarray of float32, shape (n, d)
    labels : ndarray of float32, shape (n,)
    classes : bool
        Labels are -1 and 1, and the model is logistic.
    triangle, rotated : ndarray of float64, shapes (d + 1, d + 1) and (d + 1,)
        R, upper triangular, and c, so that R w = c; the constant comes first. Updated.
    moments : ndarray of float64, shape (2, d)
        Mean and sum of squared deviations of each feature; updated.
    totals : ndarray of float64, shape (3,)
        Examples, and the range of labels seen; updated.
    predictions : ndarray of float32, shape (n,)
        Written.
    """
    cdef Py_ssize_t n = rotated.shape[0]
    cdef double[::1] row = np.ones(n), weights = np.zeros(n)
    cdef double *count = &totals[0]
    cdef double *low = &totals[1]
    cdef double *high = &totals[2]
    with nogil:
        for t in range(labels.shape[0]):
            # The row, the constant first, and the regression on all rows before.
            row[0] = 1.0
            standardise(&examples[t, 0], &moments[0, 0], n - 1, count[0], &row[1])
            solve(&triangle[0, 0], &rotated[0], &weights[0], n)
            value = 0.0
            for j in range(n):
                value += weights[j] * row[j]
            # Of classes the prediction is the margin, of numbers it is within the labels seen.
            label = <double>labels[t]
            if classes:
                predictions[t] = <float>value
                label = reweigh(&row[0], n, value, label)
            else:
                predictions[t] = <float>min(max(value, low[0]), high[0])
                low[0] = label if count[0] == 0.0 else min(low[0], label)
                high[0] = label if count[0] == 0.0 else max(high[0], label)
            # Learn the row, then its means and deviations.
            rotate(&triangle[0, 0], &rotated[0], &row[0], n, label)
            count[0] += 1.0
            add_moments(&examples[t, 0], &moments[0, 0], n - 1, count[0])


def products(
    const float[:, ::1] examples, const double[::1] weights, const double[:, ::1] moments,
    double count,
):
    """Return w·z of each example, as `learn_ridge` has it of the next one."""
    cdef Py_ssize_t n = weights.shape[0]
    array = np.zeros(examples.shape[0])
    cdef double[::1] row = np.ones(n), found = array
    for t in range(found.shape[0]):
        standardise(&examples[t, 0], &moments[0, 0], n - 1, count, &row[1])
        for j in range(n):
            found[t] += weights[j] * row[j]
    return array


def weights_of(const double[:, ::1] triangle, const double[::1] rotated):
    """Return w with R w = c; a weight whose diagonal is 0 is 0.

    Examples
    --------
    >>> weights_of(np.array([[2.0, 2.0], [0.0, 4.0]]), np.array([4.0, 4.0])).tolist()
    [1.0, 1.0]
    """
    array = np.zeros(rotated.shape[0])
    cdef double[::1] weights = array
    solve(&triangle[0, 0], &rotated[0], &weights[0], weights.shape[0])
    return array


cdef void solve(
    const double *triangle, const double *rotated, double *weights, Py_ssize_t n
) noexcept nogil:
    """Write w with R w = c; 0 where a diagonal is 0.

    Where rows are long, `TOGETHER` sums at a time do not wait for each other.
    """
    cdef Py_ssize_t begin, end = n
    cdef double[TOGETHER] rests
    while end > 0:
        # What the weights that are known leave of the right sides of the rows before them.
        begin = max(end - TOGETHER, 0)
        for k in range(begin, end):
            rests[k - begin] = rotated[k]
        for j in range(end, n):
            for k in range(end - begin):
                rests[k] -= triangle[(begin + k) * n + j] * weights[j]
        # Solve these rows from the last on, with the weights found among themselves.
        for i in range(end - 1, begin - 1, -1):
            row, rest = triangle + i * n, rests[i - begin]
            for j in range(i + 1, end):
                rest -= row[j] * weights[j]
            weights[i] = rest / row[i] if row[i] != 0.0 else 0.0
        end = begin


cdef void rotate(
    double *triangle, double *rotated, double *row, Py_ssize_t n, double label
) noexcept nogil:
    """Take the equation ``row · w = label`` into R and c by Givens rotations; `row` is spent."""
    for i in range(n):
        if row[i] == 0.0:
            continue
        # The rotation that takes row[i] into the diagonal, applied to the rest of both rows.
        uppers = triangle + i * n
        radius = sqrt(uppers[i] * uppers[i] + row[i] * row[i])
        cosine, sine = uppers[i] / radius, row[i] / radius
        for j in range(i, n):
            upper, lower = uppers[j], row[j]
            uppers[j] = cosine * upper + sine * lower
            row[j] = cosine * lower - sine * upper
        upper = rotated[i]
        rotated[i] = cosine * upper + sine * label
        label = cosine * label - sine * upper


cdef double reweigh(double *row, Py_ssize_t n, double margin, double label) noexcept nogil:
    """Scale `row` by the root of the logistic weight; return the working response so scaled."""
    bounded = min(max(margin, -STEEPEST), STEEPEST)
    probability = 1.0 / (1.0 + exp(-bounded))
    scale = sqrt(probability * (1.0 - probability))
    for j in range(n):
        row[j] *= scale
    return scale * margin + ((1.0 if label > 0.0 else 0.0) - probability) / scale


