"""Kernels of seasonal predictions, from the label one period before.

They keep the `longest` last labels, the latest first, from ``past[-seen % longest]`` on, each
twice, so that the labels of all periods are neighbours wherever they begin; and of each lag up to
`longest` the sum of squared differences from the label so many examples before, `losses`.
"""


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
    >>> import numpy as np
    >>> losses = np.array([0.0, 9.0, 5.0, 2.0, 5.0])
    >>> [period_after(losses, 8, period) for period in (1, 2, 3)]
    [3, 3, 3]
    """
    return next_period(&losses[0], losses.shape[0] - 1, seen, period)
