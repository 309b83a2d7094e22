"""Logarithmic pool of probabilities: their product, each to a power that is learned.

Chances are in proportion to Π_m p_m(k)^w_m, with weights w that learn online [1]_. A predictor
that is less sure than right has a weight above 1, one that repeats another none. Each label is a
step of Newton's method on the log loss, whose gradient is the difference between the logarithms of
the class that came and their mean, and whose curvature is their covariance, both under the pool's
own probabilities; the curvature forgets. At first the pool is its first predictor.

References
----------
.. [1] Genest, Zidek. Combining probability distributions. Statistical Science 1, 1986.
"""

from leaseboard.algorithms.elementary cimport exp

cdef enum:
    MOST_POOLED = 5

cdef extern from *:
    double _FORGETTING "0.999"  # what an example is worth one example later
    # The curvature of each weight at first, and what it would go back to without examples.
    double PRIOR "5.0"
    double _LARGEST_WEIGHT "5.0"  # bound of the weights, on both sides of 0


cdef inline void soften(const double *scores, double *probabilities, Py_ssize_t n) noexcept nogil:
    """Write the softmax of the scores."""
    cdef double largest = scores[0], total = 0.0
    for j in range(n):
        largest = scores[j] if scores[j] > largest else largest
    for j in range(n):
        probabilities[j] = exp(scores[j] - largest)
    for j in range(n):
        total += probabilities[j]
    for j in range(n):
        probabilities[j] /= total


cdef inline void add_up(
    const double *weights, const double *rows, Py_ssize_t n, Py_ssize_t k, double *found
) noexcept nogil:
    """Write the sum of the rows times their weights."""
    for j in range(k):
        found[j] = 0.0
    for m in range(n):
        for j in range(k):
            found[j] += weights[m] * rows[m * k + j]


cdef inline void pool_logs(
    const double *logs, const double *weights, Py_ssize_t n, Py_ssize_t k, double *found
) noexcept nogil:
    """Write the probabilities of a pool of `n` predictors of `k` classes with these weights."""
    add_up(weights, logs, n, k, found)
    soften(found, found, k)


cdef inline void solve(double *matrix, double *values, Py_ssize_t n) noexcept nogil:
    """Solve equations by elimination in place; the matrix is positive definite."""
    for i in range(n):
        for j in range(i + 1, n):
            factor = matrix[j * n + i] / matrix[i * n + i]
            values[j] -= factor * values[i]
            for k in range(i + 1, n):
                matrix[j * n + k] -= factor * matrix[i * n + k]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            values[i] -= matrix[i * n + k] * values[k]
        values[i] /= matrix[i * n + i]


cdef inline void step_pool(
    double *logs, const double *probabilities, Py_ssize_t n, Py_ssize_t k, Py_ssize_t number,
    double worth, double *weights, double *curvature,
) noexcept nogil:
    """Learn that the class called `number` came; the logarithms are overwritten.

    The pool's `probabilities` are those by the weights before.
    """
    cdef double step[MOST_POOLED]
    cdef double whole[MOST_POOLED * MOST_POOLED]
    # Means and deviations of the logarithms under the pool's own probabilities.
    for m in range(n):
        mean = 0.0
        for j in range(k):
            mean += probabilities[j] * logs[m * k + j]
        step[m] = worth * (logs[m * k + number] - mean)
        for j in range(k):
            logs[m * k + j] -= mean
    # Take their covariance into the curvature, which forgets towards the prior.
    for m in range(n):
        for other in range(m + 1):
            covariance = 0.0
            for j in range(k):
                covariance += probabilities[j] * (logs[m * k + j] * logs[other * k + j])
            prior = (1.0 - _FORGETTING) * PRIOR if m == other else 0.0
            learned = _FORGETTING * curvature[m * n + other] + worth * covariance + prior
            curvature[m * n + other] = curvature[other * n + m] = learned
    # A step of Newton's method.
    for m in range(n * n):
        whole[m] = curvature[m]
    solve(whole, step, n)
    for m in range(n):
        weights[m] = min(max(weights[m] + step[m], -_LARGEST_WEIGHT), _LARGEST_WEIGHT)
