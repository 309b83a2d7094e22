r"""The weight update of line 4: VW's adaptive, normalized and invariant one.

VW keeps for every feature i a weight w_i, the sum G_i of squared gradients and the largest
magnitude N_i seen. The kernels keep the same state free of scale: :math:`ω_i = w_i N_i` and
:math:`γ_i = G_i / N_i^2` for the value :math:`z_i = x_i / N_i`. Then :math:`w x = ω z`, a new
maximum leaves ω unchanged (VW multiplies w by N_old / N_new), and nothing overflows float32,
where a raw monomial of degree six does.

`leaseboard.algorithms.online.kernel` computes the same update for streams in VW's own order and
units, bit for bit. This one gives up the last bits for sums that are vectorised and powers that
stay finite.

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

from libc.math cimport fabsf, sqrt, sqrtf
from libc.stdint cimport int32_t

import numpy as np

from leaseboard.algorithms.elementary cimport exp

UNSEEN = np.float32(2.0**-100)
"""N of a feature that was never seen non-zero: not 0, so that no branch guards 1 / N."""


cdef float add_up(const float *terms, Py_ssize_t n) noexcept nogil:
    """Return the sum of n terms in an order that no processor changes: eight sums, then theirs."""
    cdef float a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, total
    cdef Py_ssize_t i, whole = n - n % 8
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


cpdef double invariant_step(double p, double y, double eta, double ppu) noexcept nogil:
    """Return the step of the importance-invariant update: it never passes the label.

    :math:`(y - p)(1 - e^{-2 η ppu}) / ppu`, and its limit :math:`2 η (y - p)` for small ppu. An
    example of weight h has h η for η: as if its gradient had been followed for h times as long.
    """
    if eta * ppu < 1e-6:
        return 2.0 * eta * (y - p)
    return (y - p) * (1.0 - exp(-2.0 * eta * ppu)) / ppu


cdef double learn_adaptive(
    float *w, float *g, float *inverse, const float *v, float *z, Py_ssize_t size,
    float y, float h, double eta, double *totals,
) noexcept nogil:
    """Predict one example, then learn it with VW's update.

    Parameters
    ----------
    w, g, inverse : float32, length size
        ω, γ and 1 / N of the example's features; changed in place.
    v : float32, length size
        Values of the features.
    z : float32, length 3 * size
        Room for the scaled values, and for the terms of two sums.
    y, h : float32
        The label and the weight, which is above 0.
    eta : float64
        Learning rate.
    totals : float64, length 8

    Returns
    -------
    float64
        The prediction, clamped to the labels seen *before* this one. VW's update (and the
        progressive loss VW prints) clamps to a range that includes the present label; so does
        the update here, but a prediction must not know its label.
    """
    cdef float *terms = z + size
    cdef float *moved = z + 2 * size
    cdef int32_t grown = 0, emitted = 0
    cdef float p, growth, square, z2, rate, norm, ppu, step
    cdef double prediction, p_update, mu
    cdef Py_ssize_t i
    # Predict, and count the features and those that exceed their largest magnitude.
    for i in range(size):
        z[i] = v[i] * inverse[i]
        terms[i] = w[i] * z[i]
        grown += fabsf(z[i]) > 1
        emitted += v[i] != 0
    totals[EMITTED] += emitted
    p = add_up(terms, size)
    prediction = clamp(p, totals[LOW], totals[HIGH])
    totals[LOW] = y if y < totals[LOW] else totals[LOW]
    totals[HIGH] = y if y > totals[HIGH] else totals[HIGH]
    p_update = clamp(p, totals[LOW], totals[HIGH])
    if p_update == y:  # VW then takes no note of the example at all, not even in N
        return prediction
    # A new largest magnitude shrinks γ; ω is free of scale.
    if grown:
        for i in range(size):
            growth = fabsf(z[i])
            if growth > 1:
                g[i] /= growth * growth
                inverse[i] = <float>1 / fabsf(v[i])
                z[i] = v[i] * inverse[i]
    # Add the squared derivative of the loss (p - y)², and sum up the norm and the prediction
    # change per unit of update.
    square = <float>(h * (4.0 * (p_update - y) * (p_update - y)))
    for i in range(size):
        z2 = z[i] * z[i]
        g[i] += square * z2
        rate = <float>1 / sqrtf(g[i])
        rate = rate if g[i] > 0 else 0
        terms[i] = z2
        moved[i] = z2 * rate
        z[i] *= rate
    norm, ppu = add_up(terms, size), add_up(moved, size)
    # Take the step: the multiplier of z / √γ in the update of ω.
    totals[NORM] += h * norm
    totals[STEPS] += h
    mu = sqrt(totals[STEPS] / totals[NORM])
    step = <float>(invariant_step(p_update, y, h * eta, ppu * mu) * mu)
    for i in range(size):
        w[i] += step * z[i]
    return prediction
