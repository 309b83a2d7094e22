"""A prediction that stays near the best of a few others, in the long run and over every interval.

K experts predict p_t(k), clipped to a range [l_t, h_t] that is known before the label y_t. They
are weighted, at first by π: the first expert, which is expected to be the best, has most, and the
others share the rest. The aggregate is a_t = Σ_k w_t(k) p_t(k), w_1 = π. After the label, with
ỹ_t in [l_t, h_t] the label as learners see it (`leaseboard.algorithms.online_automl.safe.scale`),

    v_t(k) ∝ w_t(k) exp(-(p_t(k) - ỹ_t)² / 2M),     w_{t+1}(k) = (1 - α_t) v_t(k) + α_t π(k),

where M is the largest (p_s(k) - ỹ_s)² so far, rounded up to M_0 4^j, with M_0 the first that is
positive. An example on which j rises changes no weight but for the unit: w(k) becomes proportional
to π(k) (w(k) / π(k))^(M_before / M). α_t = 1 / ((t + 2) ln²(t + 2)), whose sum is finite:
A = Σ ln 1 / (1 - α_t) < 1.6.

**Theorem.** For every sequence of labels and every expert k, with W_t = h_t - l_t,

    Σ_{t≤T} (a_t - y_t)² ≤ Σ_{t≤T} (p_t(k) - y_t)² + 2 M (ln 1 / π(k) + A) + (4/3) M
                           + Σ (2 W_t |y_t - ỹ_t| + (y_t - ỹ_t)²),

and over an interval r ≤ t ≤ s in which j does not rise the same with 2 M (ln 1 / (α_r π(k)) + A)
in the place of the terms with M. Experts that were not clipped are better by the last sum at
most.

*Proof.* p ↦ exp(-(p - ỹ)² / 2M) is concave where (p - ỹ)² ≤ M. By Jensen, with ℓ_t the squared
loss to ỹ_t and η = 1 / 2M,

    exp(-η ℓ_t(a_t)) ≥ Σ_k w_t(k) exp(-η ℓ_t(p_t(k))) = w_t(k) exp(-η ℓ_t(p_t(k))) / v_t(k)

for each k. So with Φ_t(k) = -(1/η) ln(w_t(k) / π(k)), and w_{t+1} ≥ (1 - α_t) v_t,

    ℓ_t(a_t) - ℓ_t(p_t(k)) ≤ (ln v_t(k) - ln w_t(k)) / η
                           ≤ Φ_t(k) - Φ_{t+1}(k) + 2M ln 1 / (1 - α_t).

Where η falls to qη, w'(k) = π(k) (w(k) / π(k))^q / Z with Z = Σ π (w / π)^q ≤ (Σ w)^q = 1, again
by Jensen, so no Φ(k) rises. The sum telescopes: Φ_1 = 0, and -Φ ≤ 2M ln 1 / π(k) as w ≤ 1;
Φ_r(k) ≤ 2M ln 1 / α_r as w_r ≥ α_r π(k). An example on which j rises costs at most the new M, and
M 4^-i adds up to 4/3 M. Back to y_t: with e = y_t - ỹ_t, (a - y)² - (p - y)² = ℓ(a) - ℓ(p) +
2 (p - a) e, and |p - a| ≤ W. An expert's own prediction that was clipped may be nearer to a label
outside of the range, by e² at most, as ỹ is within; to one in the range it is not nearer. ∎

How ỹ_t is chosen is not used. The theorem is on losses to the raw labels, those beyond the
range included; the weights are made of losses to the labels as learners see them.

An expert that joins at time r gets w_r = π' of it, with π' and the constant those of K + 1, and
the weights of the others are multiplied by 1 - π'. Against the others the bound then has π' in
the place of π and 2 M ln 1 / (1 - π') more; against the one that joined it is the bound above over
r ≤ t ≤ T. *Proof.* π' ≤ π for each of the others, so no Φ(k) rises by more than that; of the one
that joined Φ_r = 0. ∎

Where examples have importances, all losses are multiplied by theirs, here as there: nothing in the
proof changes.

A prediction is a float32: what it loses more than the exact average is added as it comes.

Averages by fixed share are Herbster and Warmuth's [1]_; shares that decrease make the bound over
the whole stream a constant [2]_.

References
----------
.. [1] Herbster, Warmuth. Tracking the best expert. Machine Learning 32, 1998.
.. [2] Hazan, Seshadhri. Efficient learning algorithms for changing environments. ICML 2009.
"""

import numpy as np

from libc.math cimport INFINITY, fabs

from leaseboard.algorithms.elementary cimport exp, log

FIRST_SHARE = 0.98
"""π of the first expert."""

SHARES = _SHARES
"""An upper bound of A."""

cdef extern from *:
    double _FIRST_SHARE "0.98"


def new_aggregate(Py_ssize_t n_experts):
    """Return the state of an aggregate that has seen nothing: three fields, then the weights π.

    The fields are M, t, and what the theorem allows so far, against any expert but the first.
    """
    return np.array([0.0, 0.0, 0.0, *(prior(k, n_experts) for k in range(n_experts))])


cpdef double prior(Py_ssize_t k, Py_ssize_t n_experts) noexcept nogil:
    """Return π(k).

    Examples
    --------
    >>> [round(prior(k, 6), 3) for k in range(6)]
    [0.98, 0.004, 0.004, 0.004, 0.004, 0.004]
    """
    return _FIRST_SHARE if k == 0 else (1.0 - _FIRST_SHARE) / (n_experts - 1)


def join(state):
    """Return the state with one more expert, the last.

    Examples
    --------
    >>> join(new_aggregate(2))[3:].round(4).tolist()
    [0.9702, 0.0198, 0.01]
    """
    cdef Py_ssize_t n = len(state) - FIELDS
    cdef double begun = prior(n, n + 1)
    grown = np.concatenate((state[:FIELDS], (1.0 - begun) * state[FIELDS:], [begun]))
    grown[ALLOWED] += 2.0 * state[LARGEST] * log(prior(n - 1, n) / begun / (1.0 - begun))
    return grown


cpdef double share(double since) noexcept nogil:
    """Return α_t.

    Examples
    --------
    >>> import math
    >>> round(share(1.0), 4)
    0.2762
    >>> tail = 1 / math.log(1e4)  # the integral from there on
    >>> bool(sum(-math.log(1 - share(float(t))) for t in range(1, 10000)) + tail < SHARES)
    True
    """
    logarithm = log(since + 2.0)
    return 1.0 / ((since + 2.0) * (logarithm * logarithm))


cpdef double aggregate(const double[::1] predictions, const double[::1] state) noexcept nogil:
    """Return a_t, the experts' average by their weights.

    Parameters
    ----------
    predictions : ndarray of float64, shape (n_experts,)
        Within the range.
    state : ndarray of float64

    Examples
    --------
    >>> round(aggregate(np.array([1.0, 2.0, 6.0]), new_aggregate(3)), 6)
    1.06
    """
    cdef double total = 0.0
    for k in range(predictions.shape[0]):
        total += state[FIELDS + k] * predictions[k]
    return total


cpdef void weigh(
    const double[::1] predictions, double label, double shown, double width, double[::1] state,
    double importance=1.0,
) noexcept nogil:
    """Learn a label: y_t, ỹ_t and W_t.

    Examples
    --------
    >>> state = new_aggregate(2)
    >>> weigh(np.array([4.0, 0.0]), 0.0, 0.0, 4.0, state)
    >>> weigh(np.array([4.0, 0.0]), 0.0, 0.0, 4.0, state)
    >>> state[3:].round(4).tolist()  # .98 e^(-1/2) to .02, then a share of .2762
    [0.9709, 0.0291]
    """
    cdef Py_ssize_t n = predictions.shape[0]
    cdef double *weights = &state[FIELDS]
    cdef double least = INFINITY, largest = 0.0, total = 0.0
    per_unit = 2.0 * (_SHARES - log(prior(n - 1, n)))
    # Experts that were not clipped may be better by this.
    beyond = fabs(label - shown)
    state[ALLOWED] += importance * (2.0 * width * beyond + beyond * beyond)
    for k in range(n):
        loss = importance * ((predictions[k] - shown) * (predictions[k] - shown))
        least, largest = min(least, loss), max(largest, loss)
    # A loss that is larger than all before changes the unit, and levels the weights.
    if largest > state[LARGEST]:
        before = state[LARGEST]
        if before == 0.0:
            before = state[LARGEST] = largest
            state[ALLOWED] += per_unit * largest
        while state[LARGEST] < largest:
            state[LARGEST] *= 4.0
        state[ALLOWED] += per_unit * (state[LARGEST] - before) + state[LARGEST]
        for k in range(n):
            begun = prior(k, n)
            weights[k] = begun * exp(before / state[LARGEST] * log(weights[k] / begun))
            total += weights[k]
        for k in range(n):
            weights[k] /= total
        return
    if largest == 0.0:
        return
    # Else each weight follows its loss, and all share a little.
    state[SINCE] += 1.0
    for k in range(n):
        loss = importance * ((predictions[k] - shown) * (predictions[k] - shown))
        weights[k] *= exp(-0.5 * (loss - least) / state[LARGEST])
        total += weights[k]
    alpha = share(state[SINCE])
    for k in range(n):
        weights[k] = (1.0 - alpha) * weights[k] / total + alpha * prior(k, n)
