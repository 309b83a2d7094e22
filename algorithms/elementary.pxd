"""Inline forms of `leaseboard.algorithms.transcendental` for kernels; see there."""

from libc.math cimport INFINITY, NAN, fabs
from libc.stdint cimport int64_t

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    static inline int64_t lb_bits(double x) { int64_t b; memcpy(&b, &x, 8); return b; }
    static inline double lb_float(int64_t b) { double x; memcpy(&x, &b, 8); return x; }
    /* Bits of 2^(i / 32), less what the bits of i add to the exponent. */
    static const int64_t lb_roots[32] = {
        0x3FF0000000000000, 0x3FEFD9B0D3158574, 0x3FEFB5586CF9890F, 0x3FEF9301D0125B51,
        0x3FEF72B83C7D517B, 0x3FEF54873168B9AA, 0x3FEF387A6E756238, 0x3FEF1E9DF51FDEE1,
        0x3FEF06FE0A31B715, 0x3FEEF1A7373AA9CB, 0x3FEEDEA64C123422, 0x3FEECE086061892D,
        0x3FEEBFDAD5362A27, 0x3FEEB42B569D4F82, 0x3FEEAB07DD485429, 0x3FEEA47EB03A5585,
        0x3FEEA09E667F3BCD, 0x3FEE9F75E8EC5F74, 0x3FEEA11473EB0187, 0x3FEEA589994CCE13,
        0x3FEEACE5422AA0DB, 0x3FEEB737B0CDC5E5, 0x3FEEC49182A3F090, 0x3FEED503B23E255D,
        0x3FEEE89F995AD3AD, 0x3FEEFF76F2FB5E47, 0x3FEF199BDD85529C, 0x3FEF3720DCEF9069,
        0x3FEF5818DCFBA487, 0x3FEF7C97337B9B5F, 0x3FEFA4AFA2A490DA, 0x3FEFD0765B6E4540,
    };
    #define LB_SHIFT 6755399441055744.0 /* 1.5 * 2^52: added to a number, it rounds it to an
                                           integer, which is in the low bits of the sum */
    #define LB_ONE (0x3FFLL << 52)
    #define LB_MANTISSA ((1LL << 52) - 1)
    #define LB_LOG2_E 1.4426950408889634
    #define LB_LN2_HIGH 0.693147180369123816
    #define LB_LN2_LOW 1.9082149292705877e-10
    #define LB_ROOT_HALF (0x3FE6A09ELL << 32)
    """
    int64_t _bits "lb_bits"(double) noexcept nogil
    double _float "lb_float"(int64_t) noexcept nogil
    const int64_t *_ROOTS "lb_roots"
    double _SHIFT "LB_SHIFT"
    int64_t _ONE "LB_ONE"
    int64_t _MANTISSA "LB_MANTISSA"
    double _LOG2_E "LB_LOG2_E"
    double _LN2_HIGH "LB_LN2_HIGH"
    double _LN2_LOW "LB_LN2_LOW"
    int64_t _ROOT_HALF "LB_ROOT_HALF"


cdef inline double exp(double x) noexcept nogil:
    x = -746.0 if x < -746.0 else x
    x = 710.0 if x > 710.0 else x
    # x = k ln 2 + r, and e^r = 1 + r + r² q.
    cdef double k = (x * _LOG2_E + _SHIFT) - _SHIFT
    cdef double high = x - k * _LN2_HIGH, low = k * _LN2_LOW
    cdef double r = high - low
    cdef double r2 = r * r
    cdef double r4 = r2 * r2
    cdef double q = (
        ((0.5 + r * 0.1666666666666667) + r2 * (0.04166666666666667 + r * 0.008333333333326132))
        + r4 * ((0.0013888888888883746 + r * 0.00019841269874827454)
                + r2 * (2.4801587325552618e-05 + r * 2.755725539154403e-06))
        + (r4 * r4) * ((2.7557273636924405e-07 + r * 2.5105220609870554e-08)
                       + r2 * 2.0914689542549555e-09)
    )
    # 2^k in two steps, for it may be beyond the numbers that are normal.
    cdef double half = (0.5 * k + _SHIFT) - _SHIFT
    cdef int64_t power = _bits(half + _SHIFT) << 52, rest = _bits(k - half + _SHIFT) << 52
    cdef double whole = 1.0 + high
    cdef double found = whole + (((1.0 - whole) + high) + (r2 * q - low))
    return found * _float(power + _ONE) * _float(rest + _ONE)


cdef inline float exp32(float x) noexcept nogil:
    cdef double z = x
    z = -150.0 if z < -150.0 else z
    z = 150.0 if z > 150.0 else z
    # x = (i + r) ln 2 / 32
    z *= 32.0 * _LOG2_E
    cdef double shifted = z + _SHIFT
    cdef int64_t bits = _bits(shifted)
    cdef double r = z - (shifted - _SHIFT)
    cdef double power = _float(_ROOTS[bits & 31] + (bits << 47))
    cdef double cubic = 1.6938359250920212e-06 * r + 0.00023459809789509004
    return <float>((cubic * (r * r) + (0.021660849396613134 * r + 1.0)) * power)


cdef inline double log_and(double x, double rest) noexcept nogil:
    # x = 2^k (1 + f), with 1 + f between the roots of 1/2 and 2.
    cdef bint small = x < 2.2250738585072014e-308  # the smallest normal number
    cdef int64_t bits = _bits(x * 18014398509481984.0 if small else x) + (_ONE - _ROOT_HALF)
    cdef double k = <double>(((bits >> 52) & 0x7FF) - 0x3FF) - (54.0 if small else 0.0)
    cdef double f = _float((bits & _MANTISSA) + _ROOT_HALF) - 1.0
    cdef double s = f / (2.0 + f)
    cdef double s2 = s * s
    cdef double s4 = s2 * s2
    cdef double odd = s2 * (
        0.6666666666666735130 + s4 * (0.2857142874366239149
        + s4 * (0.1818357216161805012 + s4 * 0.1479819860511658591))
    )
    cdef double even = s4 * (
        0.3999999999940941908 + s4 * (0.2222219843214978396 + s4 * 0.1531383769920937332)
    )
    cdef double square = 0.5 * f * f
    cdef double found = (
        s * (square + (odd + even)) + (k * _LN2_LOW + rest) - square + f + k * _LN2_HIGH
    )
    found = found if x < INFINITY else x
    return found if x > 0.0 else (-INFINITY if x == 0.0 else NAN)


cdef inline double log(double x) noexcept nogil:
    return log_and(x, 0.0)


cdef inline double log1p(double x) noexcept nogil:
    cdef double whole = 1.0 + x
    return log_and(whole, (x - (whole - 1.0)) / whole)


cdef inline double cos_quarters(double x, int64_t quarters) noexcept nogil:
    # x = k π / 2 + r + tail
    cdef double k = (x * 0.6366197723675814 + _SHIFT) - _SHIFT
    cdef double first = x - k * 1.57079632673412561417, second = k * 6.07710050630396597660e-11
    cdef double rest = first - second
    cdef double more = k * 2.02226624879595063154e-21 - ((first - rest) - second)
    cdef double r = rest - more
    cdef double tail = (rest - r) - more
    cdef int64_t quarter = _bits(k + _SHIFT) + quarters
    # The sine and the cosine of what is left.
    cdef double r2 = r * r
    cdef double sine = 0.00833333333332248946 + r2 * (-0.000198412698298579493 + r2 * (
        2.75573137070700676789e-06 + r2 * (-2.50507602534068634e-08
        + r2 * 1.58969099521155010e-10)))
    sine = r - ((r2 * (0.5 * tail - r2 * r * sine) - tail) + r2 * r * 0.166666666666666324)
    cdef double cosine = r2 * (0.0416666666666666019 + r2 * (-0.00138888888888741096 + r2 * (
        2.48015872894767294e-05 + r2 * (-2.75573143513906633e-07
        + r2 * (2.08757232129817483e-09 - r2 * 1.13596475577881948e-11)))))
    cdef double whole = 1.0 - 0.5 * r2
    cosine = whole + (((1.0 - whole) - 0.5 * r2) + (r2 * cosine - r * tail))
    cdef double found = sine if quarter & 1 else cosine
    found = -found if (quarter + 1) & 2 else found
    return found if fabs(x) <= 65536.0 else NAN


cdef inline double cos(double x) noexcept nogil:
    return cos_quarters(x, 0)


cdef inline double sin(double x) noexcept nogil:
    return cos_quarters(x, 3)
