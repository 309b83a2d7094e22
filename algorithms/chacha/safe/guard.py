"""A guard that keeps any forecast within a factor 1 + ρ of a base forecast's loss, for certain.

Let p_t be the base's forecast, q_t the proposed one, y_t the label, and let

    S_t = (1 + ρ) Σ_{s≤t} (p_s - y_s)² - Σ_{s≤t} (ŷ_s - y_s)²

be the *slack*: what the forecasts ŷ may still lose. The guard predicts

    ŷ_t = p_t + clip(q_t - p_t, -δ_t, δ_t),   δ_t = √(S_{t-1} / (1 + 1/ρ)).

**Theorem.** S_t ≥ 0 at all t, so the cumulative squared loss of the guarded forecasts is at
most 1 + ρ times the base's, after every example and on every sequence of examples: no
label needs to be bounded, drawn from a distribution, or independent of the predictions.

*Proof.* S_0 = 0. With e = p_t - y_t and d = ŷ_t - p_t, one step changes the slack by

    (1 + ρ) e² - (e + d)² = ρ e² - 2 d e - d² = ρ (e - d/ρ)² - d² (1 + 1/ρ) ≥ -d² (1 + 1/ρ),

and |d| ≤ δ_t makes this at least -S_{t-1}. ∎

No forecaster with the same guarantee may go further from the base: if d² (1 + 1/ρ) > S_{t-1},
the label y_t = p_t - d/ρ breaks it.

What is used is less than S, or more by what is stated (`algorithms.chacha.safe.mixture.mix`):

- The price of the guard is paid at the start, where nothing has been gained yet that could be put
  at risk. So on the first `STARTING` examples, but for labels out of their range, the base's own
  loss is *given* to the slack besides, `START` times: the bound is (1 + ρ) times the base's loss
  plus what was given.
- A slack that is carried on as less than it is keeps the theorem from there on. After one enormous
  label, on which all lose alike, S would let the forecasts be bad for long; so an example adds no
  more than it would if its label were clipped (`algorithms.chacha.safe.scale`), and no more than
  `CAP` mean losses of the base are carried. That is also the bound for windows: from any example
  on, the guarded loss is at most 1 + ρ times the base's plus the slack that was carried to there.

References
----------
.. [1] Even-Dar, Kearns, Mansour, Wortman. Regret to the best vs. regret to the average.
       Machine Learning 72, 2008: constant regret to one special expert.
.. [2] Sani, Neu, Lazaric. Exploiting easy data in online optimization. NeurIPS 2014: the same
       by a mixture, for bounded losses; the guard needs no bound.
"""

from __future__ import annotations

import math

from numba import njit

START, STARTING = 1.0, 500
"""What the base loses on so many first examples is given to the slack, so many times."""

CAP = 3000.0
"""In mean losses of the base: the largest slack that is carried on."""


@njit(cache=True, nogil=True)
def largest_deviation(slack: float, rho: float) -> float:
    """δ_t: how far a forecast may be from the base model's without risking the guarantee.

    Examples
    --------
    >>> round(largest_deviation(slack=1.01, rho=0.01), 6)
    0.1
    >>> largest_deviation(slack=-1e-12, rho=0.01)
    0.0
    """
    if slack <= 0.0 or rho <= 0.0:
        return 0.0
    return math.sqrt(slack / (1.0 + 1.0 / rho))


@njit(cache=True, nogil=True)
def guarded_value(base: float, proposal: float, slack: float, rho: float) -> float:
    """The forecast nearest to `proposal` that keeps the slack at least 0 for every label.

    Examples
    --------
    >>> guarded_value(base=2.0, proposal=5.0, slack=0.0, rho=0.01)
    2.0
    >>> round(guarded_value(base=2.0, proposal=5.0, slack=1.01, rho=0.01), 6)
    2.1
    """
    most = largest_deviation(slack, rho)
    return base + min(max(proposal - base, -most), most)


@njit(cache=True, nogil=True)
def slack_change(base: float, forecast: float, label: float, rho: float) -> float:
    """What one example adds to the slack for squared loss.

    Examples
    --------
    >>> round(slack_change(base=0.0, forecast=1.0, label=2.0, rho=0.01), 6)
    3.04
    """
    return (1.0 + rho) * (base - label) ** 2 - (forecast - label) ** 2
