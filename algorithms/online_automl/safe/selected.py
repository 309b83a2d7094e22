"""Selection of features: of very many the few that the error of a ridge regression speaks for.

A last part of the stream is remembered. Every `EVERY` examples, in up to `STEPS` steps, a feature
joins the selected ones if the errors that the regression on these makes there go with it, or with
its absolute value. With errors e and the standardised feature z that is

    (Σ e z)² / Σ e² z² > 2 ln 2d + `MARGIN`,

the square of a self-normalised sum, which is seldom above 2 ln 2d for any of 2d features (z, and
|z| - .8) that say nothing, however heavy the tails of both [1]_; so where d features are noise few
of them join. This is sure independence screening [2]_, iterated: as errors become smaller, weaker
features are seen.

A selected feature has a *slot*, and keeps it; where none is free, one that weighs more than twice
as much takes the slot of the one that weighs least. The regression then learns what is remembered
from the beginning.

References
----------
.. [1] De la Peña, Lai, Shao. Self-normalized processes. 2009, theorem 2.14.
.. [2] Fan, Lv. Sure independence screening for ultrahigh dimensional feature space. Journal of the
       Royal Statistical Society B 70, 2008.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online.kernel import Doubles, Floats, Slots
from leaseboard.algorithms.online_automl.safe.scale import COUNT, MEAN, deviation
from leaseboard.algorithms.reference.ridge import CLIP, reweigh, rotate, solve
from leaseboard.algorithms.transcendental import exp, log

EMPTY = -1
"""A slot without a feature."""

EVERY = 100
"""Examples between two selections; once the memory is full, between every fifth of them."""

STEPS = 4
"""Times in a selection that features may join, each with the errors of the one before."""

A_STEP = 16
"""Features that join in a step, at most."""

MARGIN = 3.0
"""By how much a feature's evidence is above that of noise."""

ALIKE, THE_SAME = 0.7, 0.95
"""Of two features with a higher correlation only one joins in a step, or ever."""

MOST_REMEMBERED = 2048
"""Examples."""

MEMORY = 2**22
"""Numbers that are remembered, at most: 16 MB."""

TINY = 1e-300
"""The least divisor, where all errors are 0."""

MEAN_MAGNITUDE = 0.8
"""About the mean of |z| where z is standard normal, √(2 / π)."""

FARTHEST = 1e6
"""Deviations from the mean beyond which no model learns a label."""


class Ridge(NamedTuple):
    """State of a ridge regression, see `leaseboard.algorithms.reference.ridge.learn_ridge`."""

    triangle: Doubles
    rotated: Doubles
    weights: Doubles


def new_ridge(n_features: int) -> Ridge:
    """Return a ridge regression that has seen nothing."""
    n = n_features + 1
    return Ridge(np.diag([0.0, *[1.0] * n_features]), np.zeros(n), np.zeros(n))


def remembered(n_features: int) -> int:
    """Return how many examples of `n_features` are remembered.

    Examples
    --------
    >>> remembered(100), remembered(10_000)
    (2048, 419)
    """
    return max(1, min(MOST_REMEMBERED, MEMORY // n_features))


@compiled
def target_of(label: float, scale: Doubles, classes: bool) -> float:
    """Return the label as regressions on the past learn it; 0 while all are equal."""
    # Of numbers it is standardised, as far as `FARTHEST`.
    if classes:
        return label
    spread = deviation(scale)
    value = (label - scale[MEAN]) / spread if spread > 0.0 else 0.0
    return float(min(max(value, -FARTHEST), FARTHEST))


@compiled
def choose(example: Floats | Doubles, n_past: int, slots: Slots, row: Doubles) -> None:
    """Write a regression's row: the constant, the labels' past, the selected features.

    Parameters
    ----------
    example : ndarray of float, shape (at least n_past + n_features,)
        The labels' past and the features, standardised.
    """
    # The constant and the labels' past, then slot after slot.
    row[0] = 1.0
    for j in range(n_past):
        row[1 + j] = example[j]
    for slot in range(len(slots)):
        column = slots[slot]
        row[1 + n_past + slot] = example[n_past + column] if column >= 0 else 0.0


@compiled
def value_of(row: Doubles, weights: Doubles) -> float:
    """Return the prediction of a ridge regression for a row, for classes the log odds."""
    value = 0.0
    for j in range(len(row)):
        value += weights[j] * row[j]
    return value


@compiled
def weigh_row(
    weights: Doubles, row: Doubles, label: float, importance: float, classes: bool
) -> float:
    """Weigh a row by its importance, for classes at these weights; return its label so weighed."""
    # Of classes the row and the label of a step of reweighted least squares.
    root = math.sqrt(importance)
    if classes:
        label = reweigh(row, value_of(row, weights), label)
    for j in range(len(row)):
        row[j] *= root
    return root * label


@compiled
def learn_row(ridge: Ridge, row: Doubles, label: float, importance: float, classes: bool) -> None:
    """Take an example into a ridge regression, for classes at its weights so far."""
    label = weigh_row(ridge.weights, row, label, importance, classes)
    rotate(ridge.triangle, ridge.rotated, row, label)


@compiled
def select(
    memory: Floats, slots: Slots, ridge: Ridge, scale: Doubles, moments: Doubles, classes: bool
) -> None:
    """Let features join, if it is time.

    Parameters
    ----------
    memory : ndarray of float32, shape (n, n_past + n_features + 2)
        Labels' past, features, label and importance; the next example is written where the
        oldest is.
    slots : ndarray of int64
        The selected features, or `EMPTY`; updated.
    ridge : Ridge
        The regression on `choose`'s row; updated.
    scale, moments : ndarray of float64
        See `leaseboard.algorithms.online_automl.safe.scale` and
        `leaseboard.algorithms.reference.ridge.standardise`.
    classes : bool
        The regression is logistic.
    """
    seen, n, width = int(scale[COUNT]), len(memory), memory.shape[1]
    if seen % (EVERY if seen <= n else 5 * EVERY):
        return
    # What is remembered, by the moments of today.
    triangle, rotated, weights = ridge
    n_past = len(weights) - 1 - len(slots)
    rows = _standard(memory, n_past, scale, moments)
    row, errors, slopes = np.empty(len(weights)), np.empty(n), np.empty(width - 2 - n_past)
    for _ in range(STEPS):
        # The errors that the regression makes on what is remembered.
        for t in range(n):
            choose(rows[t], n_past, slots, row)
            value = value_of(row, weights)
            label = target_of(float(memory[t, width - 2]), scale, classes)
            error = label - (1.0 - 2.0 / (exp(value) + 1.0) if classes else value)
            errors[t] = memory[t, width - 1] * error
        # Their mean says nothing: errors of 0 are of examples that do not count.
        errors = np.where(errors != 0.0, errors - errors.sum() / min(seen, n), 0.0)
        if not _join(rows, errors, n_past, slots, weights, slopes):
            return
        # With other features it learns all that from the beginning.
        triangle[:], rotated[:], weights[:] = 0.0, 0.0, 0.0
        for j in range(1, len(row)):
            triangle[j, j] = 1.0
        for age in range(n):  # from the oldest on
            t = (seen + age) % n
            importance = float(memory[t, width - 1])
            if importance > 0.0:
                choose(rows[t], n_past, slots, row)
                label = target_of(float(memory[t, width - 2]), scale, classes)
                learn_row(ridge, row, label, importance, classes)
                if classes or age == n - 1:
                    solve(triangle, rotated, weights)


@compiled
def _standard(memory: Floats, n_past: int, scale: Doubles, moments: Doubles) -> Floats:
    """Return what is remembered, standardised by all examples so far; 0 where nothing is."""
    n, width = len(memory), memory.shape[1] - 2
    centers, factors, spread = np.zeros(width), np.zeros(width), deviation(scale)
    # Center and factor of each column.
    for j in range(width):
        if j < n_past:
            centers[j], factors[j] = scale[MEAN], 1.0 / spread if spread > 0.0 else 0.0
        elif moments[1, j - n_past] > 0.0:
            centers[j] = moments[0, j - n_past]
            factors[j] = math.sqrt(scale[COUNT] / moments[1, j - n_past])
    # All rows by these; those without importance stay 0.
    rows = np.zeros((n, width), dtype=np.float32)
    for t in range(n):
        for j in range(width if memory[t, width + 1] > 0.0 else 0):
            rows[t, j] = min(max((memory[t, j] - centers[j]) * factors[j], -CLIP), CLIP)
    return rows


@compiled
def _join(
    rows: Floats, errors: Doubles, n_past: int, slots: Slots, weights: Doubles, slopes: Doubles
) -> bool:
    """Give slots to the features that the errors speak for most; return whether there were any."""
    d = len(slopes)
    sums, norms, lengths = np.zeros((2, d)), np.zeros((2, d)), np.zeros(d)
    own = weights[1 + n_past :]
    # Sums of the errors along each feature and its absolute value.
    for t in range(len(rows)):
        error = errors[t]
        if error == 0.0:
            continue
        for j in range(d):
            z = np.float64(rows[t, n_past + j])
            along, across = error * z, error * (abs(z) - MEAN_MAGNITUDE)
            sums[0, j] += along
            sums[1, j] += across
            norms[0, j] += along * along
            norms[1, j] += across * across
            lengths[j] += z * z
    # The evidence of each, and the slope that it would have; selected ones have none.
    evidence, least = np.zeros(d), 2.0 * log(2.0 * d) + MARGIN
    for j in range(d):
        slopes[j] = abs(sums[0, j]) / max(lengths[j], 1.0)
        for k in range(2):
            evidence[j] = max(evidence[j], sums[k, j] ** 2 / max(norms[k, j], TINY))
    for column in slots[slots >= 0]:
        evidence[column] = 0.0
    # Those of most evidence join, if there is a slot and none is nearly there already.
    joined = 0
    for _ in range(4 * A_STEP):
        best = int(np.argmax(evidence))
        if evidence[best] <= least or joined == A_STEP:
            break
        evidence[best] = 0.0
        slot = _free(slots, own, slopes[best])
        if slot != EMPTY and not _is_alike(rows, best, n_past, slots, own, lengths):
            # What joins in this step is not to be replaced in it.
            slots[slot], own[slot] = best, math.inf
            joined += 1
    return joined > 0


@compiled
def _is_alike(
    rows: Floats, column: int, n_past: int, slots: Slots, weights: Doubles, lengths: Doubles
) -> bool:
    """Return whether a feature is nearly a selected one, or like one that joins in this step."""
    for slot in range(len(slots)):
        other, product = slots[slot], 0.0
        if other == EMPTY:
            continue
        # The correlation with the feature in the slot.
        for t in range(len(rows)):
            product += rows[t, n_past + column] * rows[t, n_past + other]
        most = ALIKE if weights[slot] == math.inf else THE_SAME
        if product**2 > most**2 * lengths[column] * lengths[other]:
            return True
    return False


@compiled
def _free(slots: Slots, weights: Doubles, slope: float) -> int:
    """Return an empty slot, else one whose weight is less than half of `slope`, or `EMPTY`."""
    least = EMPTY
    for slot in range(len(slots)):
        if slots[slot] == EMPTY:
            return slot
        # The lightest of those that weigh little.
        light = 2.0 * abs(weights[slot]) < slope
        if light and (least == EMPTY or abs(weights[slot]) < abs(weights[least])):
            least = slot
    return least
