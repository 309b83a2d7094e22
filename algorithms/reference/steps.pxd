"""Kernels of naive baselines, for others; see `leaseboard.algorithms.reference.steps`.

R is a triangle of n rows of n numbers, row after row. `moments` are the means of d features, then
their sums of squared deviations.
"""

from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int32_t, int64_t

from leaseboard.algorithms.elementary cimport exp

cpdef enum:
    CLIP = 10  # Deviations from the mean beyond which a feature counts no more.
    LONGEST = 1000  # The longest period that is looked for: two years of days are within it.

cdef enum:
    TOGETHER = 8  # Rows that are solved together, where they are long.

cdef extern from *:
    double STEEPEST "15.0"  # bound of log odds, so that no logistic weight is 0

cdef inline void standardise(
    const float *example, const double *moments, Py_ssize_t d, double count, double *row
) noexcept nogil:
    """Write the example's features less their mean over their deviation, clipped at `CLIP`.

    A feature that has not varied yet is 0.
    """
    for j in range(d):
        if moments[d + j] > 0.0:
            value = (<double>example[j] - moments[j]) / sqrt(moments[d + j] / count)
            row[j] = min(max(value, -<double>CLIP), <double>CLIP)
        else:
            row[j] = 0.0


cdef inline void add_moments(
    const float *example, double *moments, Py_ssize_t d, double count
) noexcept nogil:
    """Take an example, the `count`-th, into the means and squared deviations (Welford)."""
    for j in range(d):
        value = <double>example[j]
        difference = value - moments[j]
        moments[j] += difference / count
        moments[d + j] += difference * (value - moments[j])


cdef inline void follow(
    const float *example, double *moments, Py_ssize_t d, double count, double *factors,
    double *shifts,
) noexcept nogil:
    """Take an example into the moments; what was z of a feature is ``factor z + shift`` now."""
    for j in range(d):
        factors[j] = sqrt(moments[d + j] / (count - 1.0)) if moments[d + j] > 0.0 else 0.0
        shifts[j] = moments[j]
    add_moments(example, moments, d, count)
    for j in range(d):
        now = sqrt(moments[d + j] / count)
        # Of one that had not varied all rows were at its mean, and what counts is the penalty.
        factors[j] = factors[j] / now if factors[j] > 0.0 else 1.0
        shifts[j] = (shifts[j] - moments[j]) / now if now > 0.0 else 0.0


cdef inline void solve(
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


cdef inline void rotate(
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


cdef inline void express(
    double *triangle, double *rotated, double *penalties, Py_ssize_t n, double l2,
    const double *factors, const double *shifts, double *row,
) noexcept nogil:
    """Express R in units in which each column but the constant's is ``factor z + shift``.

    It stays a triangle, as only the first row has anything of the constant. `penalties` are the
    shares of l2 that it has of each weight in these units: of less than half the rest is added.
    """
    for i in range(n):
        for j in range(max(i, 1), n):
            triangle[i * n + j] *= factors[j]
    for j in range(1, n):
        triangle[j] += triangle[0] * shifts[j]
        penalties[j] *= factors[j] * factors[j]
        if penalties[j] < 0.5:
            for k in range(n):
                row[k] = 0.0
            row[j] = sqrt(l2 * (1.0 - penalties[j]))
            rotate(triangle, rotated, row, n, 0.0)
            penalties[j] = 1.0


cdef inline double reweigh(double *row, Py_ssize_t n, double margin, double label) noexcept nogil:
    """Scale `row` by the root of the logistic weight; return the working response so scaled."""
    bounded = min(max(margin, -STEEPEST), STEEPEST)
    probability = 1.0 / (1.0 + exp(-bounded))
    scale = sqrt(probability * (1.0 - probability))
    for j in range(n):
        row[j] *= scale
    return scale * margin + ((1.0 if label > 0.0 else 0.0) - probability) / scale


cdef inline Py_ssize_t latest(Py_ssize_t seen, Py_ssize_t longest) noexcept nogil:
    """Return where the last label is in `past`, after so many labels."""
    return (longest - seen % longest) % longest


cdef inline void remember(
    double label, double *past, Py_ssize_t longest, Py_ssize_t seen
) noexcept nogil:
    """Put a label before those that were learned."""
    start = latest(seen + 1, longest)
    past[start] = past[start + longest] = label


cdef inline void compare(
    double label, bint classes, const double *past, double *losses, Py_ssize_t longest,
    Py_ssize_t seen,
) noexcept nogil:
    """Add to `losses` what the label so many examples before would have lost as a prediction.

    A class loses 1 by each other one.
    """
    recent = past + latest(seen, longest)
    for k in range(min(seen, longest)):
        difference = label - recent[k]
        if classes and difference != 0.0:
            difference = 1.0
        losses[1 + k] += difference * difference


cdef inline Py_ssize_t _least_period(
    const double *losses, Py_ssize_t longest, Py_ssize_t seen
) noexcept nogil:
    """Return the period of least mean loss among those of which two have passed; 1 if none has."""
    cdef Py_ssize_t period = 1
    cdef double least = INFINITY
    for lag in range(2, min(seen // 2, longest) + 1):
        mean = losses[lag] / (seen - lag)
        if mean < least:
            period, least = lag, mean
    return period


cdef inline Py_ssize_t next_period(
    const double *losses, Py_ssize_t longest, Py_ssize_t seen, Py_ssize_t period
) noexcept nogil:
    """Return the period of least mean loss, which was `period` one label before.

    It seldom changes. Periods of as small a mean loss, up to rounding, are counted without a
    division; where there are others, all means are compared.
    """
    cdef int32_t lag, last = <int32_t>min(seen // 2, longest)
    if period < 2 or period > last:
        return _least_period(losses, longest, seen)
    cdef double most = losses[period] / (seen - period) * (1.0 + 1e-9), count = seen
    cdef int64_t candidates = 0
    for lag in range(2, last + 1):
        candidates += losses[lag] <= most * (count - <double>lag)
    return period if candidates == 1 else _least_period(losses, longest, seen)
