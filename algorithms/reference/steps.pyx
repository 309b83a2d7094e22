"""Kernels of naive baselines: ridge regressions, and the label one period before.

Seasonal predictions keep the `longest` last labels, the latest first, from
``past[-seen % longest]`` on, each twice, so that the labels of all periods are neighbours wherever
they begin; and of each lag up to `longest` the sum of squared differences from the label so many
examples before, `losses`.
"""

import numpy as np


def learn_ridge(
    const float[:, ::1] examples,
    const float[::1] labels,
    bint classes,
    double[:, ::1] triangle,
    double[::1] rotated,
    double[::1] penalties,
    double l2,
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
    penalties : ndarray of float64, shape (d + 1,)
        The share of `l2` that R has of each weight; updated.
    l2 : float
    moments : ndarray of float64, shape (2, d)
        Mean and sum of squared deviations of each feature; updated.
    totals : ndarray of float64, shape (3,)
        Examples, and the range of labels seen; updated.
    predictions : ndarray of float32, shape (n,)
        Written.
    """
    cdef Py_ssize_t n = rotated.shape[0]
    cdef double[::1] row = np.ones(n), weights = np.zeros(n)
    cdef double[:, ::1] units = np.zeros((2, n))
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
            else:
                predictions[t] = <float>min(max(value, low[0]), high[0])
                low[0] = label if count[0] == 0.0 else min(low[0], label)
                high[0] = label if count[0] == 0.0 else max(high[0], label)
            # Learn means and deviations, and in units of these all rows.
            count[0] += 1.0
            follow(
                &examples[t, 0], &moments[0, 0], n - 1, count[0], &units[0, 1], &units[1, 1]
            )
            express(
                &triangle[0, 0], &rotated[0], &penalties[0], n, l2, &units[0, 0], &units[1, 0],
                &row[0],
            )
            row[0] = 1.0
            standardise(&examples[t, 0], &moments[0, 0], n - 1, count[0], &row[1])
            if classes:
                label = reweigh(&row[0], n, value, label)
            rotate(&triangle[0, 0], &rotated[0], &row[0], n, label)


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


def learn_seasonal(
    const float[::1] labels,
    Py_ssize_t given,
    bint classes,
    double[::1] past,
    double[::1] losses,
    Py_ssize_t seen,
    float[::1] predictions,
):
    """Predict each label by the one a period before, then learn it.

    Parameters
    ----------
    labels : ndarray of float32, shape (n,)
    given : int
        The period, 0 if it is to be found.
    classes : bool
        Labels are numbers of classes: any two differ by 1.
    past : ndarray of float64, shape (2 * longest,)
        See the module; updated.
    losses : ndarray of float64, shape (longest + 1,)
        See the module; updated.
    seen : int
        Labels learned before.
    predictions : ndarray of float32, shape (n,)
        Written.

    Returns
    -------
    int
        The period of the last prediction.
    """
    cdef Py_ssize_t longest = losses.shape[0] - 1, period = 1
    with nogil:
        for t in range(labels.shape[0]):
            # The period: given, or of least mean loss; the last label until one has passed.
            period = given if given else next_period(&losses[0], longest, seen, period)
            if seen < period:
                period = 1
            predictions[t] = <float>past[latest(seen, longest) + period - 1] if seen else 0
            # What each period would have lost by this label.
            label = <double>labels[t]
            if not given:
                compare(label, classes, &past[0], &losses[0], longest, seen)
            remember(label, &past[0], longest, seen)
            seen += 1
    return period


def period_after(const double[::1] losses, Py_ssize_t seen, Py_ssize_t period):
    """Return the period for the next label, which was `period` one label before.

    Examples
    --------
    >>> losses = np.array([0.0, 9.0, 5.0, 2.0, 5.0])
    >>> [period_after(losses, 8, period) for period in (1, 2, 3)]
    [3, 3, 3]
    """
    return next_period(&losses[0], losses.shape[0] - 1, seen, period)
