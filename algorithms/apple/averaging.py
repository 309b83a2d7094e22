"""Uniting what several nodes learned: the union of their parents, the average of their weights.

And going on beyond an average, on the line from the one before it.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from algorithms.apple.growing import GrowingLearner
from algorithms.apple.monomials import Monomial
from algorithms.apple.update import EXAMPLES, HIGH, LOW, UNSEEN
from algorithms.benches.holdout import Floats

Averaging = Literal["weighted", "plain"]

STEPS = (0.0, 0.5, 1.0, 2.0, 4.0)
"""How far beyond an average the next pass may start, in ways from the average before it."""


def union_of_parents(nodes: Sequence[GrowingLearner]) -> list[Monomial]:
    """The parents found by any node, by degree; each can be built from those before it.

    Every node's parents hold, with a monomial, the parent that made it, and so does the union.
    """
    union = {monomial for node in nodes for monomial in node.parents()}
    return sorted(union, key=lambda monomial: (len(monomial), monomial))


def merge(nodes: Sequence[GrowingLearner], empty: GrowingLearner, averaging: Averaging) -> None:
    """Fill `empty`, whose feature set holds all of the nodes', with their average.

    Parameters
    ----------
    nodes : sequence of GrowingLearner
        All with the columns' magnitudes of `empty`.
    empty : GrowingLearner
        Has the union of the parents and has learned nothing.
    averaging : {"weighted", "plain"}
        ``weighted`` by the sums of squared gradients, as Agarwal et al. 2014 (A reliable
        effective terascale linear learning system) and VW do; ``plain`` is the mean, in which a
        node that never saw a monomial counts as weight 0. SGD has no such sums and takes the
        mean.
    """
    size = len(empty.w)
    w_sum, g_sum, g_squares, largest = (np.zeros(size) for _ in range(4))
    for node in nodes:
        source, target = empty.places_of(node)
        n = 1 / node.inverse[source].astype(np.float64)
        seen = n > UNSEEN
        source, target, n = source[seen], target[seen], n[seen]
        if empty.sgd:
            w, g = node.w[source] / (node.totals[EXAMPLES] + 1.0), np.ones(len(n))
        else:
            w, g = node.w[source] / n, node.g[source] * n**2
        w_sum[target] += g * w if averaging == "weighted" and not empty.sgd else w
        g_sum[target] += g
        g_squares[target] += g**2
        largest[target] = np.maximum(largest[target], n)
        if len(node.square_moments):
            empty.residual_moments[target] += node.residual_moments[source]
            empty.square_moments[target] += node.square_moments[source]
    empty.totals[:] = np.mean([node.totals for node in nodes], axis=0)
    empty.totals[LOW] = min(node.totals[LOW] for node in nodes)
    empty.totals[HIGH] = max(node.totals[HIGH] for node in nodes)
    known = largest > 0
    if averaging == "plain" or empty.sgd:
        w, g = w_sum / len(nodes), g_sum / len(nodes)
    else:
        w, g = _ratio(w_sum, g_sum), _ratio(g_squares, g_sum)
    n = largest[known]
    empty.inverse[known] = 1 / n
    if empty.sgd:
        empty.w[known] = w[known] * (empty.totals[EXAMPLES] + 1.0)
    else:
        empty.w[known], empty.g[known] = w[known] * n, g[known] / n**2


def losses_beyond(
    average: GrowingLearner, now: Floats, before: Floats, labels: Floats
) -> NDArray[np.float64]:
    """The squared losses of `average` moved on by each of `STEPS`.

    Margins are linear in the weights: `now` are those of the average, `before` of the one before.
    """
    here = now.astype(np.float64)
    moved = here + np.multiply.outer(STEPS, here - before)
    errors = np.clip(moved, *average.label_range) - labels
    return np.asarray((errors**2).sum(axis=1))


def beyond(average: GrowingLearner, before: GrowingLearner, step: float) -> GrowingLearner:
    """A copy of `average` moved on by `step` times its way from `before`, weights alone."""
    moved = copy.deepcopy(average)
    source, target = moved.places_of(before)
    if moved.sgd:
        units = (average.totals[EXAMPLES] + 1.0) / (before.totals[EXAMPLES] + 1.0)
    else:
        units = before.inverse[source].astype(np.float64) / moved.inverse[target]
    start = np.zeros(len(moved.w))
    start[target] = before.w[source] * units
    moved.w[:] += step * (moved.w - start)
    return moved


def _ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
