"""Learning rates in a race: each has learners of its own, and all learn the same examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from leaseboard.algorithms.apple.class_learners import Targets
from leaseboard.algorithms.apple.learner import MonomialLearner
from leaseboard.algorithms.apple.monomials import Monomial, readable
from leaseboard.algorithms.apple.update import DROPPED
from leaseboard.algorithms.benches.holdout import Floats
from leaseboard.algorithms.benches.predictions import squared_losses
from leaseboard.algorithms.errors import DivergedError
from leaseboard.algorithms.events import FeaturesExpanded

RATES = (0.5, 0.25, 1.0, 0.1, 4.0)
"""What is tried where no rate is given. The first answers until another one has lost less."""

PREFIX = 10_000
"""How many examples choose the finalists of `RATES`: early, a large rate is better than later, so
these are the best and the best of the smaller ones."""

FINALISTS = 2

FINAL = 40_000
"""How many examples the finalists learn; their losses of the last `PREFIX` decide."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """What line 7 did: the new parents, |S_{k+1}|, and the highest degree in it."""

    parents: tuple[Monomial, ...]
    size: int
    degree: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """Examples learned without a break: their predictions, and the expansion at their end."""

    predictions: Floats
    expansion: Expansion | None = None


@dataclass(slots=True, eq=False)
class Entrant:
    """A learning rate, with a learner for each target.

    Attributes
    ----------
    configuration : int
    rate : float
    learners : tuple of MonomialLearner
    chunks : tuple of iterator of Chunk
        Of each learner; they break at the same examples.
    learned : int
        Examples so far, passes counted.
    counted_from : int
        The first example whose loss counts.
    loss_sum : float
        The squared losses of its predictions in the first pass, over all targets.
    epoch : int
    """

    configuration: int
    rate: float
    learners: tuple[MonomialLearner, ...]
    chunks: tuple[Iterator[Chunk], ...]
    counted_from: int = 0
    learned: int = 0
    loss_sum: float = 0.0
    epoch: int = 0

    def advance(self, targets: Targets) -> list[Chunk]:
        """Learn the next chunk of every target, and count its loss if it is of the first pass."""
        step = [next(chunks) for chunks in self.chunks]
        stop = self.learned + len(step[0].predictions)
        if stop <= targets.shape[1]:
            new = slice(max(self.counted_from - self.learned, 0), None)
            self.loss_sum += loss(step, targets[:, self.learned : stop], new)
        self.learned = stop
        return step

    def expanded(
        self, at: int, names: Sequence[str], step: Sequence[Chunk]
    ) -> Iterator[FeaturesExpanded]:
        """An event if `step` ended in an expansion; of several targets what all of them found."""
        found = [chunk.expansion for chunk in step if chunk.expansion]
        if not found:
            return
        self.epoch += 1
        parents = dict.fromkeys(parent for expansion in found for parent in expansion.parents)
        yield FeaturesExpanded(
            at=at,
            epoch=self.epoch,
            parents=tuple(readable(parent, names) for parent in parents),
            size=sum(expansion.size for expansion in found),
            degree=max(expansion.degree for expansion in found),
            configuration=self.configuration,
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """An entrant that diverged, and why."""

    configuration: int
    reason: str


def advance(
    entrants: Sequence[Entrant], targets: Targets
) -> tuple[list[tuple[Entrant, list[Chunk]]], list[Failure]]:
    """A step of every entrant, and those that diverged in it.

    Raises DivergedError if nobody is left.
    """
    learned, failures = [], []
    for entrant in entrants:
        try:
            learned.append((entrant, entrant.advance(targets)))
        except DivergedError as error:
            failures.append(Failure(entrant.configuration, str(error)))
    if not learned:
        raise DivergedError(failures[-1].reason)
    return learned, failures


def predicted(step: Sequence[Chunk]) -> Floats:
    """What is handed in: a number for each example, or of many classes one for each class."""
    every = [chunk.predictions for chunk in step]
    return every[0] if len(every) == 1 else np.column_stack(every)


def loss(step: Sequence[Chunk], targets: Targets, counted: slice) -> float:
    """Return the squared losses of the counted examples of a step, over all targets."""
    return sum(
        float(squared_losses(chunk.predictions[counted], target[counted]).sum())
        for chunk, target in zip(step, targets, strict=True)
    )


def metrics_of(learners: Sequence[MonomialLearner]) -> dict[str, float]:
    """What a run says of its champion beside the score; of many classes for all of them."""
    return {
        "features_per_example": sum(learner.features_per_example for learner in learners),
        "nonzeros_per_example": learners[0].mean_nonzeros,
        "monomials": float(sum(learner.size for learner in learners)),
        "degree": float(max(learner.max_degree for learner in learners)),
        "collisions": float(sum(learner.totals[DROPPED] for learner in learners)),
    }
