r"""The weight update of line 4: VW's adaptive, normalized and invariant one.

VW keeps for every feature i a weight w_i, the sum G_i of squared gradients and the largest
magnitude N_i seen. The kernels keep the same state free of scale: :math:`ω_i = w_i N_i` and
:math:`γ_i = G_i / N_i^2` for the value :math:`z_i = x_i / N_i`. Then :math:`w x = ω z`, a new
maximum leaves ω unchanged (VW multiplies w by N_old / N_new), and nothing overflows float32,
where a raw monomial of degree six does.

`leaseboard.algorithms.online.kernel` computes the same update for streams in VW's own order and
units, bit for bit. This one gives up the last bits for sums in vector lanes and powers that stay
finite. The learning step is inlined: called, a kernel fresh from the compiler and the same
one from Numba's cache would link to differently ordered sums, and their last bits would differ.
Numba's own cache of a kernel does not notice an edit here;
`leaseboard.algorithms.compilation` does.

=========  =====================================================================
symbol     meaning
=========  =====================================================================
p, y       prediction (clamped to the range of the labels), label
η          learning rate
h          importance weight of the example, 1 for most
ppu        prediction change per unit of update, :math:`Σ z_i^2 / \sqrt{γ_i}`
μ          :math:`\sqrt{Σ_t h_t / Σ_t h_t Σ_i z_{ti}^2}`, the normalisation of the whole step
=========  =====================================================================

References
----------
.. [1] Duchi, Hazan, Singer 2011, Adaptive subgradient methods (the sum G).
.. [2] Ross, Mineiro, Langford 2013, Normalized online learning (N and μ).
.. [3] Karampatziakis, Langford 2011, Online importance weight aware updates (the exponential).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.transcendental import exp

STEPS, NORM, LOW, HIGH, EXAMPLES, NONZEROS, EMITTED, DROPPED = range(8)
"""Places in a learner's `totals`: Σ h and Σ h z² of μ; the labels' range, which VW starts at
[0, 0]; examples; non-zero base features, constants counted; non-zero monomials; collisions
dropped."""

UNSEEN = np.float32(2.0**-100)
"""N of a feature that was never seen non-zero: not 0, so that no branch guards 1 / N."""

Real = float | np.floating[Any]


class Update(NamedTuple):
    """Way of learning an example, and what it changes in addition to its features' state.

    `rate` is η. The moments are the sums of the SSM heuristic for each slot, or
    empty.
    """

    totals: NDArray[np.float64]
    residual_moments: NDArray[np.float64]
    square_moments: NDArray[np.float64]
    rate: float


@compiled(error_model="numpy")
def add_up(terms: NDArray[np.float32], n: int) -> Real:
    """Return the sum of n terms in an order that no processor changes: eight sums, then theirs."""
    a = b = c = d = e = f = g = h = np.float32(0.0)
    whole = n - n % 8
    for i in range(0, whole, 8):
        a += terms[i]
        b += terms[i + 1]
        c += terms[i + 2]
        d += terms[i + 3]
        e += terms[i + 4]
        f += terms[i + 5]
        g += terms[i + 6]
        h += terms[i + 7]
    total = ((a + e) + (c + g)) + ((b + f) + (d + h))
    for i in range(whole, n):
        total += terms[i]
    return total


@compiled
def clamp(p: Real, low: Real, high: Real) -> Real:
    """Return `p` within the range of the labels; a NaN stays one."""
    return low if p < low else (high if p > high else p)


@compiled
def gradient_square(p: Real, y: Real) -> Real:
    """Return the squared derivative of VW's squared loss :math:`(p - y)^2`."""
    return 4.0 * (p - y) * (p - y)


@compiled(error_model="numpy")
def invariant_step(p: Real, y: Real, eta: Real, ppu: Real) -> Real:
    """Return the step of the importance-invariant update: it never passes the label.

    :math:`(y - p)(1 - e^{-2 η ppu}) / ppu`, and its limit :math:`2 η (y - p)` for small ppu. An
    example of weight h has h η for η: as if its gradient had been followed for h times as long.
    """
    if eta * ppu < 1e-6:
        return 2.0 * eta * (y - p)
    return (y - p) * (1.0 - exp(float(-2.0 * eta * ppu))) / ppu


@compiled(error_model="numpy")
def normalized_step(
    totals: NDArray[np.float64], p: Real, y: Real, h: Real, eta: float, ppu: Real, norm: Real
) -> Real:
    r"""Return the multiplier of :math:`z_i / \sqrt{γ_i}` in ω's update; adds the example to μ.

    Parameters
    ----------
    totals : ndarray of float64, shape (8,)
    norm : float
        :math:`Σ z_i^2` of this example.
    """
    totals[NORM] += h * norm
    totals[STEPS] += h
    mu = math.sqrt(totals[STEPS] / totals[NORM])
    return invariant_step(p, y, h * eta, ppu * mu) * mu


@compiled(error_model="numpy", inline="always")
def learn_adaptive(
    w: NDArray[np.float32],
    g: NDArray[np.float32],
    inverse: NDArray[np.float32],
    v: NDArray[np.float32],
    z: NDArray[np.float32],
    size: int,
    y: Real,
    h: Real,
    eta: float,
    totals: NDArray[np.float64],
) -> Real:
    """Predict one example, then learn it with VW's update.

    Parameters
    ----------
    w, g, inverse : ndarray of float32, shape (>= size,)
        ω, γ and 1 / N of the example's features; changed in place.
    v : ndarray of float32, shape (>= size,)
        Values of the features.
    z : ndarray of float32, shape (>= 3 * size,)
        Room for the scaled values, and for the terms of two sums.
    size : int
        How many features there are.
    y, h : float
        The label and the weight, which is above 0.
    eta : float
        Learning rate.
    totals : ndarray of float64, shape (8,)

    Returns
    -------
    float
        The prediction, clamped to the labels seen *before* this one. VW's update (and the
        progressive loss VW prints) clamps to a range that includes the present label; so does
        the update here, but a prediction must not know its label.
    """
    # Predict, and count the features and those that exceed their largest magnitude.
    terms, moved = z[size : 2 * size], z[2 * size : 3 * size]
    grown = np.int32(0)
    emitted = np.int32(0)
    for i in range(size):
        z[i] = v[i] * inverse[i]
        terms[i] = w[i] * z[i]
        grown += np.int32(abs(z[i]) > 1)
        emitted += np.int32(v[i] != 0)
    totals[EMITTED] += emitted
    p = add_up(terms, size)
    prediction = clamp(p, totals[LOW], totals[HIGH])
    totals[LOW] = min(totals[LOW], y)
    totals[HIGH] = max(totals[HIGH], y)
    p_update = clamp(p, totals[LOW], totals[HIGH])
    if p_update == y:  # VW then takes no note of the example at all, not even in N
        return prediction
    # A new largest magnitude shrinks γ; ω is free of scale.
    if grown:
        for i in range(size):
            growth = abs(z[i])
            if growth > 1.0:
                g[i] /= growth * growth
                inverse[i] = np.float32(1.0) / abs(v[i])
                z[i] = v[i] * inverse[i]
    # Add the squared gradient, and sum up the norm and the prediction change per unit of update.
    square = np.float32(h * gradient_square(p_update, y))
    for i in range(size):
        z2 = z[i] * z[i]
        g[i] += square * z2
        rate = np.float32(1.0) / np.sqrt(g[i]) if g[i] > 0 else np.float32(0.0)
        terms[i] = z2
        moved[i] = z2 * rate
        z[i] *= rate
    # Take the step.
    norm, ppu = add_up(terms, size), add_up(moved, size)
    step = np.float32(normalized_step(totals, p_update, y, h, eta, ppu, norm))
    for i in range(size):
        w[i] += step * z[i]
    return prediction
