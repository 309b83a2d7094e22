"""The forecast of many live models: a posterior mean that forgets, kept safe by the guard.

Each live model is a hypothesis "the label is Gaussian around my prediction". With equal priors
and the noise variance σ² estimated by the best model's recent loss, its posterior weight is

    w_c ∝ exp(-(L_c - L_best) / (2 σ²)),   σ² = L_best / N,

where L_c discounts c's squared losses by γ an example and N = Σ γ^s is their effective number.
This is dynamic model averaging [1]_. Without forgetting it is the exponentially weighted
forecaster, whose regret to the best live model is at most ln(b) / η as long as squared loss is
η-exp-concave there, η ≤ 1 / (2 max (p - y)²) [2]_; σ² in the place of the maximum reacts
faster, and the guard, not the mixture, is what bounds the loss.

References
----------
.. [1] Raftery, Karny, Ettler. Online prediction under model uncertainty via dynamic model
       averaging. Technometrics 52, 2010. https://doi.org/10.1198/TECH.2009.08104
.. [2] Cesa-Bianchi, Lugosi. Prediction, learning, and games. 2006, section 3.3.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from algorithms.chacha.safe.anchor import ALLOWED, anchored, weigh
from algorithms.chacha.safe.guard import (
    CAP,
    START,
    STARTING,
    guarded_value,
    slack_change,
)

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Slots = NDArray[np.int64]

MASS, SLACK, RECENT, COUNT, FIRST, GIVEN, ANCHOR_LOST, LOST, OVER_ANCHOR, SHARE_OF_BOUND = range(
    10
)
"""The running totals of a mixture: N of the module's formula, the guard's slack, the anchor's
discounted loss, the examples, what all lost on the first, where all forecast 0; from there on what
was given to the slack at the start, what the anchor and the forecasts lost, and the largest ratios
at any time of the forecasts' loss, less what was given, to the anchor's, and of the forecasts'
loss to what the baselines' and the constants allow."""

N_TOTALS = 10

ADVANTAGE, SQUARES, LOSS, LOSS_SQUARES = 0, 1, 2, 3
"""The sums over the window that a model and the champion have in common."""


@njit(cache=True, nogil=True)
def squared_loss(prediction: float, label: float) -> float:
    """(p - y)².

    Examples
    --------
    >>> squared_loss(3.0, 1.0)
    4.0
    """
    return (prediction - label) ** 2


@njit(cache=True, nogil=True)
def learning_rate(live: Slots, losses: Doubles, mass: float) -> float:
    """η = 1 / (2 σ²), so that the weight of a model is exp(-η (L_c - L_best)).

    As the best loss goes to 0, η goes to infinity: no noise is left to excuse an error.

    Examples
    --------
    >>> learning_rate(np.arange(2), np.array([5.0, 8.0]), 10.0)
    1.0
    >>> learning_rate(np.arange(2), np.array([0.0, 8.0]), 10.0)
    inf
    """
    best = math.inf
    for slot in live:
        best = min(best, losses[slot])
    return 0.5 * mass / best if best > 0.0 else math.inf


@njit(cache=True, nogil=True)
def posterior_mean(predictions: Doubles, live: Slots, losses: Doubles, eta: float) -> float:
    """The average of the live models' predictions by their posterior weights.

    Parameters
    ----------
    predictions : ndarray of float64, shape (n_slots,)
    live : ndarray of int64, shape (n_live,)
        The occupied slots.
    losses : ndarray of float64, shape (n_slots,)
        Discounted sums of loss, L_c.
    eta : float
        See `learning_rate`; where it is infinite, the models of least loss share all weight.

    Examples
    --------
    >>> predictions, live = np.array([0.0, 1.0]), np.arange(2)
    >>> posterior_mean(predictions, live, np.array([1.0, 1.0]), 5.0)
    0.5
    >>> round(posterior_mean(predictions, live, np.array([1.0, 1.2]), 5.0), 4)
    0.2689
    """
    best = math.inf
    for slot in live:
        best = min(best, losses[slot])
    total = 0.0
    mean = 0.0
    for slot in live:
        excess = losses[slot] - best
        weight = math.exp(-eta * excess) if excess > 0.0 else 1.0
        total += weight
        mean += weight * predictions[slot]
    return mean / total


@njit(cache=True, nogil=True)
def guarded_forecast(
    values: Doubles,
    live: Slots,
    anchor: float,
    losses: Doubles,
    totals: Doubles,
    rho: float,
) -> np.float32:
    """The posterior mean, as far as the guard lets it leave the anchor."""
    eta = learning_rate(live, losses, totals[MASS])
    mean = posterior_mean(values, live, losses, eta)
    value = guarded_value(anchor, mean, totals[SLACK], rho)
    forecast = np.float32(value)
    if abs(np.float64(forecast) - anchor) > abs(value - anchor):
        # Rounding must not carry the forecast further than the guard allows.
        forecast = np.nextafter(forecast, np.float32(anchor))
    return forecast


@njit(cache=True, nogil=True)
def mix(
    values: Doubles,
    labels: Floats,
    shown: Doubles,
    limits: Doubles,
    live: Slots,
    experts: Slots,
    champion: int,
    gamma: float,
    rho: float,
    losses: Doubles,
    totals: Doubles,
    anchor: Doubles,
    windows: Doubles,
    scores: Doubles,
    forecasts: Floats,
) -> None:
    """Forecast example after example, each before its label is used.

    Parameters
    ----------
    values : ndarray of float64, shape (n, n_slots)
        Progressive predictions of the live models and of their companions.
    labels : ndarray of float32, shape (n,)
    shown, limits : ndarray of float64, shapes (n,) and (n, 2)
        The labels as models learn them, and the range that they are clipped to.
    live, losses
        See `posterior_mean`; `losses` is updated.
    experts : ndarray of int64
        Whose loss the guard compares with.
    champion : int
        The slot whose loss the challengers' is paired with.
    gamma : float
        What a loss is worth one example later.
    rho : float
        See `algorithms.chacha.safe.guard`.
    totals : ndarray of float64, shape (N_TOTALS,)
        Updated.
    anchor : ndarray of float64
        See `algorithms.chacha.safe.anchor`; updated.
    windows : ndarray of float64, shape (n_slots, 4)
        Sums of D, of D², of the model's own loss and of its square, where D is the champion's
        loss minus the model's on one example; updated.
    scores : ndarray of float64, shape (n_slots,)
        Sums of squared loss; updated.
    forecasts : ndarray of float32, shape (n,)
        Written.
    """
    for t in range(len(labels)):
        row = values[t]
        label = np.float64(labels[t])
        # Before the first label all forecast 0: what that loses says nothing but where 0 is.
        first = totals[COUNT] == 0.0
        seen = 0.0 if first else shown[t]
        exact = anchored(row, experts, anchor)
        base = np.float64(np.float32(exact))  # what can be forecast: for it the guard is exact
        forecasts[t] = guarded_forecast(row, live, base, losses, totals, rho)
        forecast = np.float64(forecasts[t])
        totals[MASS] = gamma * totals[MASS] + 1.0
        totals[COUNT] += 1.0
        begins = not first and totals[COUNT] <= STARTING and label == seen
        gift = START * (base - label) ** 2 if begins else 0.0
        totals[RECENT] = gamma * totals[RECENT] + (base - seen) ** 2
        # What a label beyond the range would add hides bad forecasts for long.
        change = min(
            slack_change(base, forecast, label, rho),
            slack_change(base, forecast, seen, rho),
        )
        most = CAP * totals[RECENT] / totals[MASS]
        totals[SLACK] = min(totals[SLACK] + change + gift, most)
        anchor[ALLOWED] += max(0.0, (base - label) ** 2 - (exact - label) ** 2)
        standard = squared_loss(row[champion], seen)
        for slot in live:
            loss = squared_loss(row[slot], seen)
            losses[slot] = gamma * losses[slot] + loss
            difference = standard - loss
            windows[slot, ADVANTAGE] += difference
            windows[slot, SQUARES] += difference * difference
            windows[slot, LOSS] += loss
            windows[slot, LOSS_SQUARES] += loss * loss
            scores[slot] += squared_loss(row[slot], label)
        if first:
            totals[FIRST] = label * label
            continue
        weigh(row, experts, label, limits[t, 0], limits[t, 1], anchor)
        totals[GIVEN] += gift
        totals[ANCHOR_LOST] += (base - label) ** 2
        totals[LOST] += (forecast - label) ** 2
        if totals[ANCHOR_LOST] > 0.0:
            over = (totals[LOST] - totals[GIVEN]) / totals[ANCHOR_LOST]
            totals[OVER_ANCHOR] = max(totals[OVER_ANCHOR], over)
        best = math.inf
        for slot in experts:
            best = min(best, scores[slot] - totals[FIRST])
        allowed = (1.0 + rho) * (best + anchor[ALLOWED]) + totals[GIVEN]
        if allowed > 0.0:
            totals[SHARE_OF_BOUND] = max(totals[SHARE_OF_BOUND], totals[LOST] / allowed)
