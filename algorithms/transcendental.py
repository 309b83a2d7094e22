"""Exponential, logarithm, sine and cosine that have the same bits on every processor.

NumPy and the C library choose among implementations by the processor, and these differ in the last
bit. Kernels, and array code that computes what kernels do, call the functions here. They are
polynomials without fused multiply-add, and without branches, so that loops over them are
vectorised. Powers are written as ``exp(y * log(x))`` or by square roots, and tanh(x / 2) as
``1 - 2 / (exp(x) + 1)``.

In double precision the result is within 1 unit in the last place of the exact one. `exp32` has the
bits of glibc's ``expf``, which is within 0.502, as Vowpal Wabbit calls it.

References
----------
.. [1] Cody, Waite. Software manual for the elementary functions. 1980 (the range reduction).
.. [2] Sun Microsystems. fdlibm. 1993 (the polynomials of logarithm, sine and cosine).
.. [3] Arm. Optimized routines, expf. 2017.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaseboard.algorithms.compilation import compiled

_SHIFT = 1.5 * 2.0**52
"""Added to a number, it rounds it to an integer, which is in the low bits of the sum."""
_ONE, _MANTISSA = 0x3FF << 52, (1 << 52) - 1
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.693147180369123816, 1.9082149292705877e-10
LN_10 = 2.302585092994046
_ROOT_HALF = 0x3FE6A09E << 32
_SMALLEST_NORMAL = 2.0**-1022
_HALF_PI = 1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21
MOST_RADIANS = 2.0**16
"""Sine and cosine of larger numbers are NaN."""
_ROOTS = np.array(
    [
        int(np.float64(float(Decimal(2) ** (Decimal(i) / 32))).view(np.int64)) - (i << 47)
        for i in range(32)
    ]
)
"""Bits of 2^(i / 32), less what the bits of i add to the exponent."""


@compiled(error_model="numpy", forceinline=True)
def _bits(x: float) -> Any:
    return np.float64(x).view(np.int64)


@compiled(error_model="numpy", forceinline=True)
def _float(bits: Any) -> float:
    return np.int64(bits).view(np.float64)


@compiled(error_model="numpy", forceinline=True)
def exp(x: float) -> float:
    """Return e^x.

    Examples
    --------
    >>> exp(1.0), exp(-1000.0), exp(1000.0)
    (2.718281828459045, 0.0, inf)
    """
    x = -746.0 if x < -746.0 else x
    x = 710.0 if x > 710.0 else x
    # x = k ln 2 + r, and e^r = 1 + r + r² q.
    k = (x * _LOG2_E + _SHIFT) - _SHIFT
    high, low = x - k * _LN2_HIGH, k * _LN2_LOW
    r = high - low
    r2 = r * r
    r4 = r2 * r2
    q = (
        ((0.5 + r * 0.1666666666666667) + r2 * (0.04166666666666667 + r * 0.008333333333326132))
        + r4 * ((0.0013888888888883746 + r * 0.00019841269874827454)
                + r2 * (2.4801587325552618e-05 + r * 2.755725539154403e-06))
        + (r4 * r4) * ((2.7557273636924405e-07 + r * 2.5105220609870554e-08)
                       + r2 * 2.0914689542549555e-09)
    )  # fmt: skip
    # 2^k in two steps, for it may be beyond the numbers that are normal.
    half = (0.5 * k + _SHIFT) - _SHIFT
    power, rest = _bits(half + _SHIFT) << 52, _bits(k - half + _SHIFT) << 52
    whole = 1.0 + high
    found = whole + (((1.0 - whole) + high) + (r2 * q - low))
    return found * _float(power + _ONE) * _float(rest + _ONE)


@compiled(error_model="numpy", forceinline=True)
def exp32(x: np.float32) -> np.float32:
    """Return e^x in single precision.

    Examples
    --------
    >>> float(exp32(np.float32(1.0)))
    2.7182817459106445
    """
    z: Any = np.float64(x)
    z = -150.0 if z < -150.0 else z
    z = 150.0 if z > 150.0 else z
    # x = (i + r) ln 2 / 32
    z *= 32.0 * _LOG2_E
    shifted = z + _SHIFT
    bits = _bits(shifted)
    r = z - (shifted - _SHIFT)
    power = _float(_ROOTS[bits & 31] + (bits << 47))
    cubic = 1.6938359250920212e-06 * r + 0.00023459809789509004
    return np.float32((cubic * (r * r) + (0.021660849396613134 * r + 1.0)) * power)


@compiled(error_model="numpy", forceinline=True)
def log(x: float, rest: float = 0.0) -> float:
    """Return ln x, -inf of 0, NaN of what is below; plus a rest that is next to nothing.

    Examples
    --------
    >>> log(1.0), log(10.0), log(0.0)
    (0.0, 2.302585092994046, -inf)
    """
    # x = 2^k (1 + f), with 1 + f between the roots of 1/2 and 2.
    small = x < _SMALLEST_NORMAL
    bits = _bits(x * 2.0**54 if small else x) + (_ONE - _ROOT_HALF)
    k: Any = np.float64(((bits >> 52) & 0x7FF) - 0x3FF) - (54.0 if small else 0.0)
    f = _float((bits & _MANTISSA) + _ROOT_HALF) - 1.0
    s = f / (2.0 + f)
    s2 = s * s
    s4 = s2 * s2
    odd = s2 * (
        0.6666666666666735130 + s4 * (0.2857142874366239149
        + s4 * (0.1818357216161805012 + s4 * 0.1479819860511658591))
    )  # fmt: skip
    even = s4 * (0.3999999999940941908 + s4 * (0.2222219843214978396 + s4 * 0.1531383769920937332))
    square = 0.5 * f * f
    found = s * (square + (odd + even)) + (k * _LN2_LOW + rest) - square + f + k * _LN2_HIGH
    found = found if x < math.inf else x
    return found if x > 0.0 else (-math.inf if x == 0.0 else math.nan)


@compiled(error_model="numpy", forceinline=True)
def log1p(x: float) -> float:
    """Return ln(1 + x).

    Examples
    --------
    >>> log1p(1.0), log1p(1e-20)
    (0.6931471805599453, 1e-20)
    """
    whole = 1.0 + x
    return log(whole, (x - (whole - 1.0)) / whole)


@compiled(error_model="numpy", forceinline=True)
def cos(x: float, quarters: int = 0) -> float:
    """Return the cosine of x radians and so many quarters of a turn.

    Examples
    --------
    >>> cos(0.0), cos(1.0)
    (1.0, 0.5403023058681398)
    """
    # x = k π / 2 + r + tail
    k = (x * 0.6366197723675814 + _SHIFT) - _SHIFT
    first, second = x - k * _HALF_PI[0], k * _HALF_PI[1]
    rest = first - second
    more = k * _HALF_PI[2] - ((first - rest) - second)
    r = rest - more
    tail = (rest - r) - more
    quarter = _bits(k + _SHIFT) + quarters
    # The sine and the cosine of what is left.
    r2 = r * r
    sine = 0.00833333333332248946 + r2 * (-0.000198412698298579493 + r2 * (
        2.75573137070700676789e-06 + r2 * (-2.50507602534068634e-08
        + r2 * 1.58969099521155010e-10)))  # fmt: skip
    sine = r - ((r2 * (0.5 * tail - r2 * r * sine) - tail) + r2 * r * 0.166666666666666324)
    cosine = r2 * (0.0416666666666666019 + r2 * (-0.00138888888888741096 + r2 * (
        2.48015872894767294e-05 + r2 * (-2.75573143513906633e-07
        + r2 * (2.08757232129817483e-09 - r2 * 1.13596475577881948e-11)))))  # fmt: skip
    whole = 1.0 - 0.5 * r2
    cosine = whole + (((1.0 - whole) - 0.5 * r2) + (r2 * cosine - r * tail))
    found = sine if quarter & 1 else cosine
    found = -found if (quarter + 1) & 2 else found
    return found if abs(x) <= MOST_RADIANS else math.nan


@compiled(error_model="numpy", forceinline=True)
def sin(x: float) -> float:
    """Return the sine of x radians.

    Examples
    --------
    >>> sin(0.0), sin(1.0)
    (0.0, 0.8414709848078965)
    """
    return cos(x, 3)


def of_arrays(function: Callable[[float], float]) -> Callable[[ArrayLike], NDArray[np.float64]]:
    """Return the function of each value of an array."""

    @compiled(error_model="numpy")
    def write(values: Any, found: Any) -> None:
        for i in range(len(values)):
            found[i] = function(values[i])

    def of(values: ArrayLike) -> NDArray[np.float64]:
        given = np.asarray(values, dtype=np.float64)
        found = np.empty(given.shape)
        write(given.ravel(), found.reshape(-1))
        return found

    return of


exp_all, log_all, sin_all = map(of_arrays, (exp, log, sin))
"""The functions of each value of an array of any shape."""
