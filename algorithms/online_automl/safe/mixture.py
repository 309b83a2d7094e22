"""The prediction of many live models: a posterior mean that forgets, kept near the baselines.

Each live model is a hypothesis "the label is Gaussian around my prediction". With equal priors
and the noise variance σ² estimated by the best model's recent loss, its posterior weight is

    w_c ∝ exp(-(L_c - L_best) / (2 σ²)),   σ² = L_best / N,

where L_c discounts c's squared losses by γ an example and N = Σ γ^s is their effective number.
This is dynamic model averaging [1]_. Without forgetting it is the exponentially weighted
predictor, whose regret to the best live model is at most ln(b) / η as long as squared loss is
η-exp-concave there, η ≤ 1 / (2 max (p - y)²) [2]_; σ² in the place of the maximum reacts
faster. What bounds the loss is that this mean is not the prediction, but the first of a few
experts that are averaged (`leaseboard.algorithms.online_automl.safe.aggregate`); others are
baselines.

References
----------
.. [1] Raftery, Karny, Ettler. Online prediction under model uncertainty via dynamic model
       averaging. Technometrics 52, 2010. https://doi.org/10.1198/TECH.2009.08104
.. [2] Cesa-Bianchi, Lugosi. Prediction, learning, and games. 2006, section 3.3.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online.kernel import Doubles, Floats, Slots
from leaseboard.algorithms.online_automl.safe.aggregate import ALLOWED, aggregate, weigh
from leaseboard.algorithms.online_automl.safe.expansion import MEAN_SO_FAR, Block
from leaseboard.algorithms.online_automl.safe.selected import FARTHEST
from leaseboard.algorithms.transcendental import exp

Flags = NDArray[np.bool_]

MASS, COUNT, FIRST, LOST, SHARE_OF_BOUND = range(5)
"""The fields of `Mixture.totals`: N of the module's formula, the examples, what all lost on the
first, where all predict 0; from there on what the predictions lost, and the largest share of what
the best baseline's loss and the theorem's constant allow that this ever was."""

N_TOTALS = 5

ADVANTAGE, SQUARES, LOSS, LOSS_SQUARES = 0, 1, 2, 3
"""The columns of `Mixture.sums`."""


class Mixture(NamedTuple):
    """State of the slots, those of models first and those of simple models after them.

    Attributes
    ----------
    losses : ndarray of float64, shape (n_slots,)
        Discounted sums of loss, L_c.
    totals : ndarray of float64, shape (N_TOTALS,)
        See `MASS` and those after it.
    scores : ndarray of float64, shape (n_slots,)
        Sums of squared loss.
    sums : ndarray of float64, shape (n_slots, 4)
        Of D, of D², of the model's own loss and of its square, where D is the champion's loss
        minus the model's on one example, over the window that both have in common.
    aggregated : ndarray of float64
        See `leaseboard.algorithms.online_automl.safe.aggregate`.
    place : ndarray of float64, shape (2,)
        Models learn labels less the first and over the second; 0 while all labels are equal.
    untrained : ndarray of bool, shape (n_slots,)
        Models that have learned nothing yet: they take their losses, but have no weight.
    """

    losses: Doubles
    totals: Doubles
    scores: Doubles
    sums: Doubles
    aggregated: Doubles
    place: Doubles
    untrained: Flags


@compiled
def learning_rate(live: Slots, losses: Doubles, mass: float) -> float:
    """Return η = 1 / (2 σ²), so that the weight of a model is exp(-η (L_c - L_best)).

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


@compiled
def posterior_mean(outputs: Doubles, live: Slots, losses: Doubles, eta: float) -> float:
    """Return the average of the live models' predictions by their posterior weights.

    Parameters
    ----------
    outputs : ndarray of float64, shape (n_slots,)
    live : ndarray of int64, shape (n_live,)
        The occupied slots.
    losses : ndarray of float64, shape (n_slots,)
        Discounted sums of loss, L_c.
    eta : float
        See `learning_rate`; where it is infinite, the models of least loss share all weight.

    Examples
    --------
    >>> outputs, live = np.array([0.0, 1.0]), np.arange(2)
    >>> posterior_mean(outputs, live, np.array([1.0, 1.0]), 5.0)
    0.5
    >>> round(posterior_mean(outputs, live, np.array([1.0, 1.2]), 5.0), 4)
    0.2689
    """
    # The least loss, by which no weight overflows.
    best = math.inf
    for slot in live:
        best = min(best, losses[slot])
    # Weights that fall with the excess over it, and the mean.
    total = 0.0
    mean = 0.0
    for slot in live:
        excess = losses[slot] - best
        weight = exp(-eta * excess) if excess > 0.0 else 1.0
        total += weight
        mean += weight * outputs[slot]
    return mean / total


@compiled(inline="always")
def consider(
    row: Doubles, slots: Slots, baselines: Slots, known: Mixture, experts: Doubles
) -> float:
    """Return the aggregate of the posterior mean and the baselines, written into `experts`."""
    # The posterior mean is the first expert, the baselines are the others.
    eta = learning_rate(slots, known.losses, known.totals[MASS])
    experts[0] = posterior_mean(row, slots, known.losses, eta)
    for k in range(len(baselines)):
        experts[1 + k] = row[baselines[k]]
    return aggregate(experts, known.aggregated)


@compiled
def mix(
    outputs: Floats,
    block: Block,
    live: Slots,
    baselines: Slots,
    champion: int,
    gamma: float,
    known: Mixture,
    learns: bool,
    predictions: Floats,
) -> None:
    """Predict example after example, each before its label is used.

    Parameters
    ----------
    outputs : ndarray of float32, shape (n, b)
        Progressive outputs of the models, in their own unit.
    block : Block
        With what simple models predict; what the models do is written into its `values`.
    live : ndarray of int64
        Slots with models.
    baselines : ndarray of int64
        Slots of what the prediction must stay near.
    champion : int
        The slot whose loss the challengers' is paired with.
    gamma : float
        What a loss is worth one example later.
    known : Mixture
        Updated.
    learns : bool
        False predicts only.
    predictions : ndarray of float32, shape (n,)
        Written.
    """
    losses, scores, sums = known.losses, known.scores, known.sums
    totals, aggregated = known.totals, known.aggregated
    slots = mixed(live, outputs.shape[1], block.values.shape[1])
    # A model that has learned nothing has no weight on its first example.
    weighed, count = np.empty(len(slots), dtype=np.int64), 0
    for slot in slots:
        if not known.untrained[slot]:
            weighed[count] = slot
            count += 1
    weighed = weighed[:count]
    experts = np.empty(1 + len(baselines))
    for t in range(len(predictions)):
        row, label = block.values[t], np.float64(block.labels[t])
        low, high = block.limits[t, 0], block.limits[t, 1]
        # Prediction, by what was lost so far.
        in_own_unit(row, outputs[t], known.place, low, high)
        exact = consider(row, weighed, baselines, known, experts)
        predictions[t] = exact
        importance = np.float64(block.importances[t])
        if importance <= 0.0 or not learns:
            continue
        prediction = np.float64(predictions[t])
        # Before the first label all predict 0: what that loses shows nothing but where 0 is.
        first = totals[COUNT] == 0.0
        seen = 0.0 if first else block.shown[t]
        totals[MASS] = gamma * totals[MASS] + importance
        totals[COUNT] += 1.0
        # Take the losses, and their differences from the champion's.
        if len(weighed) < len(slots):
            weighed = slots
            known.untrained[:] = False
        standard = importance * (row[champion] - seen) ** 2
        for slot in slots:
            loss = importance * (row[slot] - seen) ** 2
            losses[slot] = gamma * losses[slot] + loss
            difference = standard - loss
            sums[slot, ADVANTAGE] += difference
            sums[slot, SQUARES] += difference * difference
            sums[slot, LOSS] += loss
            sums[slot, LOSS_SQUARES] += loss * loss
            scores[slot] += importance * (row[slot] - label) ** 2
        if first:
            totals[FIRST] = importance * label * label
            continue
        # Weigh the experts; the first three labels are shown even beyond the range.
        weigh(experts, label, min(max(seen, low), high), high - low, aggregated, importance)
        # Hold what was lost against what the theorem allows.
        lost = importance * (prediction - label) ** 2
        aggregated[ALLOWED] += max(0.0, lost - importance * (exact - label) ** 2)
        totals[LOST] += lost
        best = math.inf
        for slot in baselines:
            best = min(best, scores[slot] - totals[FIRST])
        allowed = best + aggregated[ALLOWED]
        if allowed > 0.0:
            totals[SHARE_OF_BOUND] = max(totals[SHARE_OF_BOUND], totals[LOST] / allowed)


@compiled
def mixed(live: Slots, b: int, n_slots: int) -> Slots:
    """Return the `live` slots and the simple models', which are those from `b` on."""
    found = np.empty(len(live) + n_slots - b, dtype=np.int64)
    for place in range(len(found)):
        found[place] = live[place] if place < len(live) else b + place - len(live)
    return found


@compiled
def targets_of(shown: Doubles, place: Doubles) -> Floats:
    """Return the labels in the models' unit, of which `place` has a spread."""
    targets = np.empty(len(shown), dtype=np.float32)
    for t in range(len(shown)):
        targets[t] = min(max((shown[t] - place[0]) / place[1], -FARTHEST), FARTHEST)
    return targets


@compiled
def in_own_unit(row: Doubles, outputs: Floats, place: Doubles, low: float, high: float) -> None:
    """Write what the models predict, in the labels' own unit and range."""
    b, center, spread = len(outputs), place[0], place[1]
    for slot in range(b):
        # While all labels are equal a model's prediction is their mean.
        if spread != 0.0:
            row[slot] = min(max(center + spread * outputs[slot], low), high)
        else:
            row[slot] = row[b + MEAN_SO_FAR]
