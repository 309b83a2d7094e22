"""A forecast that stays near the best of a few others, in the long run and over every interval.

K experts forecast p_t(k), clipped to a range [l_t, h_t] that is known before the label y_t. The
anchor is a_t = Σ_k w_t(k) p_t(k). After the label, with ỹ_t = clip(y_t, l_t, h_t),

    v_t(k) ∝ w_t(k) exp(-(p_t(k) - ỹ_t)² / 2M),     w_{t+1}(k) = (1 - α_t) v_t(k) + α_t / K,

where M is the largest (p_s(k) - ỹ_s)² so far, rounded up to M_0 4^j, with M_0 the first that is
positive. An example on which j rises changes no weight but for the unit: w(k) becomes proportional
to w(k)^(M_before / M). α_t = 1 / ((t + 2) ln²(t + 2)), whose sum is finite: A = Σ ln 1 / (1 - α_t)
< 1.6.

**Theorem.** For every sequence of labels and every expert k, with W_t = h_t - l_t,

    Σ_{t≤T} (a_t - y_t)² ≤ Σ_{t≤T} (p_t(k) - y_t)² + 2 M (ln K + A) + (4/3) M
                           + Σ (2 W_t |y_t - ỹ_t| + (y_t - ỹ_t)²),

and over an interval r ≤ t ≤ s in which j does not rise the same with 2 M (ln (K / α_r) + A) in
the place of the terms with M. Experts that were not clipped are no better than the last sum
allows.

*Proof.* p ↦ exp(-(p - ỹ)² / 2M) is concave where (p - ỹ)² ≤ M. By Jensen, with ℓ_t the squared
loss to ỹ_t and η = 1 / 2M,

    exp(-η ℓ_t(a_t)) ≥ Σ_k w_t(k) exp(-η ℓ_t(p_t(k))) = w_t(k) exp(-η ℓ_t(p_t(k))) / v_t(k)

for each k, so ℓ_t(a_t) - ℓ_t(p_t(k)) ≤ (ln v_t(k) - ln w_t(k)) / η ≤ (ln w_{t+1}(k) - ln w_t(k) +
ln 1 / (1 - α_t)) / η. The sum telescopes; w ≤ 1, w_1 = 1/K and w_r ≥ α_r / K. Where η falls to η',
with q = η' / η, Σ_k w(k)^q ≤ K^(1 - q), so -ln w'(k) / η' ≤ -ln w(k) / η + (1/η' - 1/η) ln K: all
rises together make ln K / η of the last η out of that of the first. An example on which j rises
costs at most the new M, and M 4^-i adds up to 4/3 M. Back to y_t: with e = y_t - ỹ_t,
(a - y)² - (p - y)² = ℓ(a) - ℓ(p) + 2 (p - a) e, and |p - a| ≤ W. An expert's own forecast that
was clipped may be nearer to a label outside of the range, by e² at most; to one in the range it
is no nearer. ∎

A forecast is a float32: what the anchor loses more than the exact average is added as it comes.

Averages by fixed share are Herbster and Warmuth's [1]_; shares that decrease make the bound over
the whole stream a constant [2]_.

References
----------
.. [1] Herbster, Warmuth. Tracking the best expert. Machine Learning 32, 1998.
.. [2] Hazan, Seshadhri. Efficient learning algorithms for changing environments. ICML 2009.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

LARGEST, SINCE, ALLOWED = 0, 1, 2
"""The fields of an anchor's state before its weights: M, t, and what the theorem allows so far."""

SHARES = 1.6
"""An upper bound of A."""


def new_anchor(n_experts: int) -> Doubles:
    """The state of an anchor that has seen nothing: three fields, then the weights."""
    return np.concatenate((np.zeros(3), np.full(n_experts, 1.0 / n_experts)))


@njit(cache=True, nogil=True)
def share(since: float) -> float:
    """α_t.

    Examples
    --------
    >>> round(share(1.0), 4)
    0.2762
    >>> tail = 1 / math.log(1e4)  # the integral from there on
    >>> bool(sum(-math.log(1 - share(float(t))) for t in range(1, 10000)) + tail < SHARES)
    True
    """
    return 1.0 / ((since + 2.0) * math.log(since + 2.0) ** 2)


@njit(cache=True, nogil=True)
def anchored(values: Doubles, experts: NDArray[np.int64], state: Doubles) -> float:
    """a_t: the experts' average by their weights.

    Parameters
    ----------
    values : ndarray of float64
        Forecasts within the range, those of the experts among them.
    experts : ndarray of int64, shape (n_experts,)
        Where in `values` theirs are.
    """
    total = 0.0
    for k in range(len(experts)):
        total += state[3 + k] * values[experts[k]]
    return total


@njit(cache=True, nogil=True)
def weigh(
    values: Doubles,
    experts: NDArray[np.int64],
    label: float,
    low: float,
    high: float,
    state: Doubles,
) -> None:
    """Take a label into the weights, by the range that was known before it.

    Examples
    --------
    >>> state, experts = new_anchor(2), np.arange(2)
    >>> weigh(np.array([0.0, 4.0]), experts, 0.0, 0.0, 4.0, state)
    >>> weigh(np.array([0.0, 4.0]), experts, 0.0, 0.0, 4.0, state)
    >>> state[3:].round(4).tolist()  # of 1/2 each, e^0 to e^(-1/2), then a share of .2762
    [0.5886, 0.4114]
    """
    n = len(experts)
    if n == 1:  # it is its own best
        return
    shown = min(max(label, low), high)
    beyond = abs(label - shown)
    state[ALLOWED] += 2.0 * (high - low) * beyond + beyond * beyond
    least, largest = math.inf, 0.0
    for k in range(n):
        loss = (values[experts[k]] - shown) ** 2
        least, largest = min(least, loss), max(largest, loss)
    if largest > state[LARGEST]:
        before = state[LARGEST]
        if before == 0.0:
            before = state[LARGEST] = largest
            state[ALLOWED] += 2.0 * largest * (math.log(n) + SHARES)
        while state[LARGEST] < largest:
            state[LARGEST] *= 4.0
        rise = state[LARGEST] - before
        state[ALLOWED] += 2.0 * rise * (math.log(n) + SHARES) + state[LARGEST]
        total = 0.0
        for k in range(n):
            state[3 + k] **= before / state[LARGEST]
            total += state[3 + k]
        for k in range(n):
            state[3 + k] /= total
        return
    if largest == 0.0:
        return
    state[SINCE] += 1.0
    total = 0.0
    for k in range(n):
        loss = (values[experts[k]] - shown) ** 2
        state[3 + k] *= math.exp(-0.5 * (loss - least) / state[LARGEST])
        total += state[3 + k]
    alpha = share(state[SINCE])
    for k in range(n):
        state[3 + k] = (1.0 - alpha) * state[3 + k] / total + alpha / n
