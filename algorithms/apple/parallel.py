"""Parallel apple: section 3.2's last paragraph.

    1. In the first pass each node finds its own parents over six epochs.
    2. The union of all nodes' parents is the parent set from then on.
    3. In the other passes the feature set is fixed, and the weights are averaged after each.

Averages go the right way slowly, so that a pass may start beyond the last, on the line from the
one before it: `losses_beyond`.

VW's ``--stage_poly`` has not done step 2 since June 2014: its nodes keep their own parents and
average hashed weights that mean different monomials.
"""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass as plain_dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms import events
from leaseboard.algorithms.apple.apple import Apple, adaptive_expansion
from leaseboard.algorithms.apple.learner import (
    GrowingLearner,
    Monomial,
    largest_magnitudes,
    readable,
)
from leaseboard.algorithms.apple.rates import metrics_of
from leaseboard.algorithms.apple.update import HIGH, LOW, UNSEEN
from leaseboard.algorithms.base import Run
from leaseboard.algorithms.environments.holdout import Floats, HoldoutEnvironment, Rows

Partition = tuple[Rows, Floats]


@plain_dataclass(frozen=True, slots=True)
class Learned:
    """Answer of a node: its learner and its progressive predictions."""

    learner: GrowingLearner
    predictions: Floats


def select(learner: GrowingLearner, partition: Partition, algorithm: Apple) -> Learned:
    """Run step 1 at one node: algorithm 1 on its partition alone, from a copy of `learner`."""
    node = copy.deepcopy(learner)
    chunks = adaptive_expansion(node, *partition, algorithm.growth(len(partition[1])))
    return Learned(node, np.concatenate([chunk.predictions for chunk in chunks]))


def refine(learner: GrowingLearner, partition: Partition) -> Learned:
    """Run step 3 at one node: a pass over its partition with its features unchanged."""
    node = copy.deepcopy(learner)
    return Learned(node, node.learn(*partition))


def united(nodes: Sequence[GrowingLearner], empty: GrowingLearner) -> GrowingLearner:
    """Return `empty` with all parents (step 2) and the averaged weights (step 3)."""
    empty.magnitude = nodes[0].magnitude
    empty.expand(union_of_parents(nodes))
    merge(nodes, empty)
    return empty


@dataclass(frozen=True, kw_only=True)
class ParallelApple(Apple):
    """apple over a partition of the examples: local choice, union of parents, averaged weights.

    Of several learning rates, by default those of `apple`, the one answers whose averaged weights
    lose least on the training rows. The progressive losses of the nodes do not help: each learned
    a part of the examples alone, and the rate that suits the average, which wanders less, is
    higher.

    Parameters
    ----------
    partitions : int
        Nodes, each with its own part of the training rows. All other settings are `Apple`'s.

    Notes
    -----
    The nodes learn one after the other: a job's CPU time is that of all. The paper is silent on
    how the rate of its parallel form was chosen.

    Departs from the paper, which averages repeatedly: if there are more rows than monomials, a
    pass starts beyond the last average, on the line from the average before, by the step that
    loses least on the training rows, 0 among them. Each of K nodes makes a K-th of a single
    node's steps, so that five averages are far from where they go. Chen and Huo 2016, Scalable
    training of deep learning machines (blockwise model-update filtering), go on by 1 - 1/K of the
    way; on nodes of a few hundred rows that fixed step diverges. The answer is an average.
    """

    passes: ClassVar[int] = 5
    """Passes of the paper's experiment."""

    many_classes: ClassVar[bool] = False

    partitions: Annotated[int, Field(ge=1, le=4096)] = 8

    def run(self, env: HoldoutEnvironment, seed: int) -> Run:
        """Run the three steps, one pass after the other."""
        rates = self.tried
        for i, rate in enumerate(rates):
            parameters = {"learning_rate": rate, "partitions": self.partitions}
            yield events.ConfigurationAdmitted(at=0, configuration=i, parameters=parameters)
            yield events.LeaseGranted(at=0, configuration=i, amount=env.budget, slot=i)
        learner = yield from self._race(env, rates)
        if env.scores_test:
            env.submit(learner.predict(self.holdout(env).test.rows))
        env.note(metrics_of([learner]) | {"parents": float(len(learner.parents()))})
        return learner

    def _race(self, env: HoldoutEnvironment, rates: Sequence[float]) -> Run:
        """Yield all passes of all rates; the learner of the rate that did best in the last."""
        holdout = self.holdout(env)
        rows, labels = holdout.train.rows, holdout.train.labels
        averages = [self.learner(rows, rate) for rate in rates]
        for learner in averages:
            learner.magnitude = largest_magnitudes(rows[: env.budget])
        starts = list(averages)
        known = [np.zeros(len(labels), dtype=np.float32)] * len(rates)
        champion = 0
        yield events.ChampionChanged(at=0, configuration=champion, previous=None)
        while env.at < env.budget:
            start, n = env.at, min(env.budget - env.at, len(labels))
            parts = _partitions(rows[:n], labels[:n], self.partitions)
            losses = np.zeros(len(rates))
            work = functools.partial(select, algorithm=self) if start == 0 else refine
            for i, rate in enumerate(rates):
                learned = [work(starts[i], part) for part in parts]
                predictions = np.concatenate([part.predictions for part in learned])
                if i == champion:
                    yield from env.record(predictions)
                trained = [part.learner for part in learned]
                average = united(trained, self.learner(rows, rate))
                starts[i] = average
                now = average.margins(rows[:n])
                ahead = losses_beyond(average, now, known[i][:n], labels[:n])
                losses[i] = ahead[0]
                # More weights than rows can fit these all, whose loss then says nothing.
                if len(parts) > 1 and average.size < n:
                    step = STEPS[int(np.argmin(ahead))]
                    starts[i] = beyond(average, averages[i], step)
                averages[i], known[i] = average, now
                if start == 0:
                    yield events.ParentsMerged(
                        at=n,
                        configuration=i,
                        found=tuple(len(learner.parents()) for learner in trained),
                        parents=tuple(readable(m, holdout.names) for m in average.parents()),
                        size=average.size,
                        degree=average.max_degree,
                    )
            best = int(np.argmin(losses))
            if best != champion:
                yield events.ChampionChanged(at=env.at, configuration=best, previous=champion)
                champion = best
        return averages[champion]


def _partitions(rows: Rows, labels: Floats, count: int) -> list[Partition]:
    """Cut examples in order into `count` parts of almost equal size, fewer if one were empty."""
    cuts = np.linspace(0, len(labels), max(1, min(count, len(labels))) + 1).astype(int)
    return [(rows[start:stop], labels[start:stop]) for start, stop in itertools.pairwise(cuts)]


STEPS = (0.0, 0.5, 1.0, 2.0, 4.0)
"""How far beyond an average the next pass may start, in ways from the average before it."""


def union_of_parents(nodes: Sequence[GrowingLearner]) -> list[Monomial]:
    """Return the parents found by any node, by degree; each can be built from those before it.

    Every node's parents hold, with a monomial, the parent that made it, and so does the union.
    """
    union = {monomial for node in nodes for monomial in node.parents()}
    return sorted(union, key=lambda monomial: (len(monomial), monomial))


def merge(nodes: Sequence[GrowingLearner], empty: GrowingLearner) -> None:
    """Fill `empty`, whose feature set holds all of the nodes', with their average.

    It is weighted by the sums of squared gradients, as Agarwal et al. 2014 (A reliable effective
    terascale linear learning system) and VW do.

    Parameters
    ----------
    nodes : sequence of GrowingLearner
        All with the columns' magnitudes of `empty`.
    empty : GrowingLearner
        Has the union of the parents and has learned nothing.
    """
    size = len(empty.w)
    w_sum, g_sum, g_squares, largest = (np.zeros(size) for _ in range(4))
    for node in nodes:
        source, target = empty.places_of(node)
        n = 1 / node.inverse[source].astype(np.float64)
        seen = n > UNSEEN
        source, target, n = source[seen], target[seen], n[seen]
        w, g = node.w[source] / n, node.g[source] * n**2
        w_sum[target] += g * w
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
    w, g = _ratio(w_sum, g_sum), _ratio(g_squares, g_sum)
    n = largest[known]
    empty.inverse[known] = 1 / n
    empty.w[known], empty.g[known] = w[known] * n, g[known] / n**2


def losses_beyond(
    average: GrowingLearner, now: Floats, before: Floats, labels: Floats
) -> NDArray[np.float64]:
    """Return the squared losses of `average` moved on by each of `STEPS`.

    Margins are linear in the weights: `now` are those of the average, `before` of the one before.
    """
    here = now.astype(np.float64)
    moved = here + np.multiply.outer(STEPS, here - before)
    errors = np.clip(moved, *average.label_range) - labels
    return np.asarray((errors**2).sum(axis=1))


def beyond(average: GrowingLearner, before: GrowingLearner, step: float) -> GrowingLearner:
    """Return a copy of `average` moved on by `step` times its way from `before`, weights alone."""
    moved = copy.deepcopy(average)
    source, target = moved.places_of(before)
    units = before.inverse[source].astype(np.float64) / moved.inverse[target]
    start = np.zeros(len(moved.w))
    start[target] = before.w[source] * units
    moved.w[:] += step * (moved.w - start)
    return moved


def _ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
