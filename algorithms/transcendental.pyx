"""Exponential, logarithm, sine and cosine that have the same bits on every processor.

NumPy and the C library choose among implementations by the processor, and these differ in the last
bit. Kernels, and array code that computes what kernels do, call the functions here. They are
polynomials without fused multiply-add, and without branches, so that loops over them are
vectorised. Powers are written as ``exp(y * log(x))`` or by square roots, and tanh(x / 2) as
``1 - 2 / (exp(x) + 1)``.

In double precision the result is within 1 unit in the last place of the exact one. The kernels'
`exp32` has the bits of glibc's ``expf``, which is within 0.502, as Vowpal Wabbit calls it.

References
----------
.. [1] Cody, Waite. Software manual for the elementary functions. 1980 (the range reduction).
.. [2] Sun Microsystems. fdlibm. 1993 (the polynomials of logarithm, sine and cosine).
.. [3] Arm. Optimized routines, expf. 2017.
"""

import numpy as np

from leaseboard.algorithms cimport elementary

ctypedef double (*Function)(double) noexcept nogil

MOST_RADIANS = 2.0**16
"""Sine and cosine of larger numbers are NaN."""


def exp(double x):
    """Return e^x.

    Examples
    --------
    >>> exp(1.0), exp(-1000.0), exp(1000.0)
    (2.718281828459045, 0.0, inf)
    """
    return elementary.exp(x)


def log(double x):
    """Return ln x, -inf of 0, NaN of what is below.

    Examples
    --------
    >>> log(1.0), log(10.0), log(0.0)
    (0.0, 2.302585092994046, -inf)
    """
    return elementary.log(x)


def log1p(double x):
    """Return ln(1 + x).

    Examples
    --------
    >>> log1p(1.0), log1p(1e-20)
    (0.6931471805599453, 1e-20)
    """
    return elementary.log1p(x)


def cos(double x):
    """Return the cosine of x radians.

    Examples
    --------
    >>> cos(0.0), cos(1.0)
    (1.0, 0.5403023058681398)
    """
    return elementary.cos(x)


def exp_all(values):
    """Return e^x of each value of an array of any shape."""
    return _of_each(elementary.exp, values)


def log_all(values):
    """Return ln x of each value of an array of any shape."""
    return _of_each(elementary.log, values)


def sin_all(values):
    """Return the sine of each value, in radians, of an array of any shape.

    Examples
    --------
    >>> sin_all([0.0, 1.0]).tolist()
    [0.0, 0.8414709848078965]
    """
    return _of_each(elementary.sin, values)


cdef _of_each(Function function, values):
    found = np.array(values, dtype=np.float64, order="C")
    cdef double[::1] x = found.reshape(-1)
    for i in range(x.shape[0]):
        x[i] = function(x[i])
    return found
