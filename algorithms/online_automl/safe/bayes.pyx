"""A probability that is nearly as good as that of the best of a few predictors, at all times.

K experts give each label that may come a probability. Bayes' rule with a fixed share averages
them:

    p̄_t = Σ_k w_t(k) p_t(k),    v_t(k) = w_t(k) p_t(k)(y_t) / p̄_t(y_t),
    w_{t+1}(k) = (1 - α_t) v_t(k) + α_t / K,

with w_1 = 1/K and the shares α_t of `leaseboard.algorithms.online_automl.safe.aggregate`, for
which A = Σ ln 1 / (1 - α_t) is less than 1.6.

**Theorem.** For every sequence of labels and every expert k, at each time T,

    Σ_{t≤T} -ln p̄_t(y_t) ≤ Σ_{t≤T} -ln p_t(k)(y_t) + ln K + A,

and over every interval r ≤ t ≤ s the same with ln (K / α_r) + A in the place of the constant.

*Proof.* p̄_t(y_t) = w_t(k) p_t(k)(y_t) / v_t(k), and v_t(k) ≤ w_{t+1}(k) / (1 - α_t). So

    -ln p̄_t(y_t) + ln p_t(k)(y_t) = ln v_t(k) - ln w_t(k)
                                   ≤ ln w_{t+1}(k) - ln w_t(k) + ln 1 / (1 - α_t).

The sum telescopes; w ≤ 1, w_1 = 1/K and w_r ≥ α_r / K. ∎

The log loss is mixable, so the constant does not grow with time, and no label, learning rate or
bound of the losses enters it [1]_.

References
----------
.. [1] Vovk. Aggregating strategies. COLT 1990. Cesa-Bianchi, Lugosi. Prediction, learning, and
       games. 2006, chapter 9.
"""

import numpy as np

from libc.math cimport INFINITY

from leaseboard.algorithms.elementary cimport exp, log
from leaseboard.algorithms.online_automl.safe.aggregate cimport _SHARES, share


def new_weights(Py_ssize_t n_experts):
    """Return the state before any label: how many labels came, then the weights."""
    return np.concatenate(([0.0], np.full(n_experts, 1.0 / n_experts)))


def regret_bound(Py_ssize_t n_experts):
    """Return ln K + A, by which the mixture's loss may exceed its best expert's, in nats.

    Examples
    --------
    >>> round(regret_bound(7), 3)
    3.546
    """
    return log(n_experts) + _SHARES


cpdef double average(const double[::1] probabilities, const double[::1] state) noexcept nogil:
    """Return p̄_t of one label, which the experts give these probabilities.

    Examples
    --------
    >>> average(np.array([0.2, 0.6]), new_weights(2))
    0.4
    """
    cdef double total = 0.0
    for k in range(probabilities.shape[0]):
        total += state[1 + k] * probabilities[k]
    return total


cpdef void learn(
    double[::1] probabilities, double worth, double[::1] state, double[::1] lost,
    Py_ssize_t n_baselines,
) noexcept nogil:
    """Learn that the label came which the experts gave these probabilities.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (n_experts,)
        Overwritten.
    worth : float
        What the example counts, at most 1, up to which the log loss is mixable.
    state : ndarray of float64
    lost : ndarray of float64, shape (n_experts + 2,)
        The log loss of each expert and of the average, and the largest excess at any time of the
        latter over that of the best baseline; updated.
    n_baselines : int
        The first experts.

    Examples
    --------
    >>> state, lost = new_weights(2), np.zeros(4)
    >>> learn(np.array([0.2, 0.6]), 1.0, state, lost, 2)
    >>> state.round(4).tolist()  # of 1/4 and 3/4, then a share of .2762
    [1.0, 0.319, 0.681]
    """
    cdef Py_ssize_t n = probabilities.shape[0]
    cdef double best = INFINITY, total, loss, alpha
    # What all lose.
    lost[n] -= worth * log(average(probabilities, state))
    for k in range(n):
        loss = worth * log(probabilities[k])
        lost[k] -= loss
        if worth < 1.0:
            probabilities[k] = exp(loss)
        if k < n_baselines:
            best = min(best, lost[k])
    lost[n + 1] = max(lost[n + 1], lost[n] - best)
    # Bayes' rule, and a share.
    state[0] += 1.0
    alpha, total = share(state[0]), average(probabilities, state)
    for k in range(n):
        state[1 + k] = (1.0 - alpha) * state[1 + k] * probabilities[k] / total + alpha / n


cpdef void one_vs_rest(const double[::1] margins, double[::1] found) noexcept:
    """Write the probabilities of log odds of all classes but the first, scaled to 1.

    Examples
    --------
    >>> found = np.empty(3)
    >>> one_vs_rest(np.log([1 / 3, 1 / 3]), found)  # 1/4 and 1/4
    >>> found.round(12).tolist()
    [0.5, 0.25, 0.25]
    """
    cdef double left = 1.0
    for k in range(margins.shape[0]):
        found[1 + k] = 1.0 / (1.0 + exp(-min(max(margins[k], -500.0), 500.0)))
        left -= found[1 + k]
    found[0] = left  # the first class has what the others leave
    scale(&found[0], found.shape[0], 0.0)


cdef void scale(double *values, Py_ssize_t n, double least) noexcept nogil:
    """Raise probabilities to `least`, and scale them to the sum 1."""
    cdef double total = 0.0
    for k in range(n):
        values[k] = max(values[k], least)
        total += values[k]
    for k in range(n):
        values[k] /= total
