"""Parallel apple: section 3.2's last paragraph.

    1. In the first pass each node finds its own parents over six epochs.
    2. The union of all nodes' parents is the parent set from then on.
    3. In the other passes the feature set is fixed, and the weights are averaged after each.

VW's ``--stage_poly`` has not done step 2 since June 2014: its nodes keep their own parents and
average hashed weights that mean different monomials.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass as plain_dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass

from algorithms.apple.apple import Apple, Growth, adaptive_expansion
from algorithms.apple.averaging import Averaging, merge, union_of_parents
from algorithms.apple.growing import GrowingLearner
from algorithms.apple.learner import largest_magnitudes
from algorithms.apple.monomials import readable
from algorithms.apple.rates import metrics_of
from algorithms.apple.workers import Workers, executor
from algorithms.base import Run
from algorithms.benches.holdout import Floats, HoldoutBench, Rows, squared_losses
from algorithms.events import (
    ChampionChanged,
    ConfigurationAdmitted,
    LeaseGranted,
    ParentsMerged,
)

Partition = tuple[Rows, Floats]


@plain_dataclass(frozen=True, slots=True)
class Learned:
    """What a node hands back: its learner and its progressive predictions."""

    learner: GrowingLearner
    predictions: Floats


def select(learner: GrowingLearner, partition: Partition, growth: Growth) -> Learned:
    """Step 1 at one node: Algorithm 1 on its partition alone."""
    predictions = [np.empty(0, dtype=np.float32)]
    chunks = adaptive_expansion(learner, *partition, growth)
    predictions.extend(chunk.predictions for chunk in chunks)
    return Learned(learner, np.concatenate(predictions))


def refine(learner: GrowingLearner, partition: Partition) -> Learned:
    """Step 3 at one node: a pass over its partition with the features as they are."""
    return Learned(learner, learner.learn(*partition))


def united(
    nodes: Sequence[GrowingLearner], empty: GrowingLearner, averaging: Averaging
) -> GrowingLearner:
    """Step 2, and the average of step 3: `empty` with all parents and the averaged weights."""
    empty.magnitude = nodes[0].magnitude
    empty.expand(union_of_parents(nodes))
    merge(nodes, empty, averaging)
    return empty


@dataclass(frozen=True, kw_only=True)
class ParallelApple(Apple):
    """apple over a partition of the examples: local choice, union of parents, averaged weights.

    Of several learning rates the one with the lowest progressive loss of the first pass goes on.

    Parameters
    ----------
    partitions : int
        Nodes, each with its own part of the training rows. All other settings are `Apple`'s.
    averaging : {"weighted", "plain"}
        See `algorithms.apple.averaging.merge`.
    workers : {"serial", "processes", "dask"}
        Where the nodes run; the events are the same. ``serial`` makes the job's CPU time that
        of all nodes together.
    address : str
        The Dask scheduler; empty starts a local cluster.
    """

    passes: ClassVar[int] = 5
    """Passes over the training rows that the paper's experiment makes."""

    partitions: Annotated[int, Field(ge=1, le=4096)] = 8
    averaging: Averaging = "weighted"
    workers: Workers = "serial"
    address: str = ""

    def run(self, bench: HoldoutBench, seed: int) -> Run:
        """Three steps, one pass after the other."""
        rates = self.rates or (self.learning_rate,)
        for i, rate in enumerate(rates):
            parameters = {"learning_rate": rate, "partitions": self.partitions}
            yield ConfigurationAdmitted(at=0, configuration=i, parameters=parameters)
            yield LeaseGranted(at=0, configuration=i, amount=bench.budget, slot=i)
        with executor(self.workers, self.partitions, self.address) as pool:
            learner = yield from self._passes_of_nodes(bench, pool, rates)
        if bench.scores_test:
            bench.submit(learner.predict(self.features(bench).test))
        bench.note(metrics_of(learner) | {"parents": float(len(learner.parents()))})
        return learner

    def _passes_of_nodes(self, bench: HoldoutBench, pool: Executor, rates: Sequence[float]) -> Run:
        base, labels = self.features(bench), bench.holdout.train.labels
        rows = base.train
        n = min(bench.budget, len(labels))
        parts = _partitions(rows[:n], labels[:n], self.partitions)
        magnitude = largest_magnitudes(rows[:n])
        nodes, predictions, best = self._first_pass(pool, parts, rates, magnitude)
        yield from bench.record(predictions)
        yield ChampionChanged(at=bench.at, configuration=best, previous=None)
        learner = united(nodes, self.learner(rows, rates[best]), self.averaging)
        yield ParentsMerged(
            at=bench.at,
            configuration=best,
            found=tuple(len(node.parents()) for node in nodes),
            parents=tuple(readable(m, base.names) for m in learner.parents()),
            size=learner.size,
            degree=learner.max_degree,
        )
        while bench.at < bench.budget:
            n = min(bench.budget - bench.at, len(labels))
            parts = _partitions(rows[:n], labels[:n], self.partitions)
            results = list(pool.map(refine, [learner] * len(parts), parts))
            yield from bench.record(np.concatenate([result.predictions for result in results]))
            nodes = [result.learner for result in results]
            learner = united(nodes, self.learner(rows, rates[best]), self.averaging)
        return learner

    def _first_pass(
        self,
        pool: Executor,
        parts: Sequence[Partition],
        rates: Sequence[float],
        magnitude: NDArray[np.float64],
    ) -> tuple[list[GrowingLearner], Floats, int]:
        """Every rate at every node: the best rate's nodes, its predictions, and its place."""
        jobs = []
        for rate in rates:
            for part in parts:
                learner = self.learner(part[0], rate)
                learner.magnitude = magnitude
                growth = self.growth(len(part[1]))
                jobs.append((learner, part, growth))
        results = list(pool.map(select, *zip(*jobs, strict=True)))
        of_rate = [results[i : i + len(parts)] for i in range(0, len(results), len(parts))]
        labels = np.concatenate([part[1] for part in parts])
        predictions = [np.concatenate([node.predictions for node in nodes]) for nodes in of_rate]
        best = int(np.argmin([squared_losses(p, labels).sum() for p in predictions]))
        return [node.learner for node in of_rate[best]], predictions[best], best


def _partitions(rows: Rows, labels: Floats, count: int) -> list[Partition]:
    """Neighbouring examples, in `count` parts of almost equal size; fewer if one were empty."""
    cuts = np.linspace(0, len(labels), max(1, min(count, len(labels))) + 1).astype(int)
    return [(rows[start:stop], labels[start:stop]) for start, stop in itertools.pairwise(cuts)]
