"""What apple and its baselines share as Leaseboard algorithms: several learning rates at once.

The paper tunes the learning rate of every algorithm by progressive validation. Here each rate is
a configuration that learns the same examples; the one with the lowest progressive loss is the
champion, and answers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass as plain_dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field
from pydantic.dataclasses import dataclass

from algorithms.apple.learner import Learning, MonomialLearner
from algorithms.apple.monomials import Monomial, readable
from algorithms.apple.ngrams import Base, with_bigrams
from algorithms.apple.update import DROPPED
from algorithms.base import Run
from algorithms.benches.holdout import (
    Floats,
    HoldoutAlgorithm,
    HoldoutBench,
    Rows,
)
from algorithms.benches.predictions import squared_losses
from algorithms.errors import DivergedError
from algorithms.events import (
    ChampionChanged,
    ConfigurationAdmitted,
    ConfigurationFailed,
    Event,
    FeaturesExpanded,
    LeaseGranted,
)

Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def listed(value: Any) -> Any:
    """Let the command line write ``--set rates=0.1,0.5``."""
    return value.split(",") if isinstance(value, str) else value


@plain_dataclass(frozen=True, slots=True)
class Expansion:
    """What line 7 did: the new parents, |S_{k+1}|, and the highest degree in it."""

    parents: tuple[Monomial, ...]
    size: int
    degree: int


@plain_dataclass(frozen=True, slots=True)
class Chunk:
    """Examples learned without a break: their predictions, and the expansion at their end."""

    predictions: Floats
    expansion: Expansion | None = None


@plain_dataclass(slots=True, eq=False)
class _Entrant:
    """A learning rate in the race."""

    configuration: int
    learner: MonomialLearner
    chunks: Iterator[Chunk]
    loss_sum: float = 0.0
    epoch: int = 0


@dataclass(frozen=True, kw_only=True)
class OnlineLearner(HoldoutAlgorithm):
    """An online learner of the hold-out bench, run with one or more learning rates.

    Parameters
    ----------
    learning_rate : float
        η of VW's update.
    rates : tuple of float
        Learning rates to try at once instead; progressive validation picks one.
    update : {"adaptive", "sgd"}
        VW's adaptive, normalized, invariant update of the squared loss, or plain SGD with the
        step size :math:`1 / (λ (t + 1))` of Theorem 1.
    regularization : float
        λ of Theorem 1.
    bits : int
        The hashed kernel keeps monomials in a table of 2^bits.
    base : {"unigram", "bigram"}
        The base variables: the features as they are, or for text the words and all pairs of
        neighbouring words of the training texts.
    kernel : {"auto", "plan", "hashed"}
        The dense plan, or the hashed table; ``auto`` takes the plan for dense rows if its
        monomials cannot outgrow the table.
    """

    learning_rate: Rate = 0.5
    rates: Annotated[tuple[Rate, ...], BeforeValidator(listed)] = ()
    update: Literal["adaptive", "sgd"] = "adaptive"
    regularization: Rate = 1e-3
    bits: Annotated[int, Field(ge=1, le=28)] = 18
    base: Literal["unigram", "bigram"] = "unigram"
    kernel: Literal["auto", "plan", "hashed"] = "auto"

    @property
    def capacity(self) -> int:
        """One model for each learning rate."""
        return max(1, len(self.rates))

    @abstractmethod
    def chunks(
        self, learner: MonomialLearner, rows: Rows, labels: Floats, n_first_pass: int
    ) -> Iterator[Chunk]:
        """Learn some examples, whose first pass has `n_first_pass`."""

    def features(self, bench: HoldoutBench) -> Base:
        """The base features; bigrams are made once a bench."""
        holdout = bench.holdout
        if self.base == "unigram":
            return Base(holdout.train.rows, holdout.test.rows, holdout.names)
        return bench.once(with_bigrams, holdout)

    @abstractmethod
    def learner(self, rows: Rows, rate: float) -> MonomialLearner:
        """A learner that has seen nothing, of the kernel that suits `rows`."""

    def learning(self, rate: float) -> Learning:
        """The settings as a learner takes them."""
        return Learning(
            learning_rate=rate,
            update=self.update,
            regularization=self.regularization,
            bits=self.bits,
        )

    def takes_plan(self, rows: Rows, most_monomials: int) -> bool:
        """Whether the plan kernel suits `rows`, whose feature set grows to `most_monomials`."""
        if self.kernel != "auto":
            return self.kernel == "plan"
        return isinstance(rows, np.ndarray) and most_monomials <= 2**self.bits

    def prepare(self, bench: HoldoutBench) -> None:
        """Compile the kernels on a few rows and make the base features."""
        rows = self.features(bench).train
        learner = self.learner(rows, self.learning_rate)
        few = min(4, rows.shape[0])
        for _ in self.chunks(learner, rows[:few], bench.holdout.train.labels[:few], few):
            pass
        learner.predict(rows[:few])

    def run(self, bench: HoldoutBench, seed: int) -> Run:
        """Race the learning rates over the passes that the bench allows."""
        base, labels = self.features(bench), bench.holdout.train.labels
        rows = base.train
        entrants = [
            _Entrant(i, learner, self._passes(bench, learner, rows, labels))
            for i, learner in enumerate(
                self.learner(rows, rate) for rate in self.rates or (self.learning_rate,)
            )
        ]
        yield from _admissions(entrants, bench.budget)
        champion = entrants[0]
        while bench.at < bench.budget:
            start = bench.at
            learned, failures = _advance(entrants)
            if not learned:
                raise DivergedError(failures[-1].reason)
            entrants = [entrant for entrant, _ in learned]
            answer = champion if champion in entrants else entrants[0]
            predictions = next(c.predictions for e, c in learned if e is answer)
            yield from bench.record(predictions)
            if start < len(labels):
                truth = labels[start : start + len(predictions)]
                for entrant, chunk in learned:
                    entrant.loss_sum += float(squared_losses(chunk.predictions, truth).sum())
            yield from _expansions(bench.at, base.names, learned)
            best = min(entrants, key=lambda entrant: entrant.loss_sum)
            if best is not champion:
                yield ChampionChanged(
                    at=bench.at,
                    configuration=best.configuration,
                    previous=champion.configuration,
                )
                champion = best
            for failure in failures:
                yield ConfigurationFailed(
                    at=bench.at, configuration=failure.configuration, reason=failure.reason
                )
        learner = champion.learner
        if bench.scores_test:
            bench.submit(learner.predict(base.test))
        bench.note({**metrics_of(learner), "expansions": float(champion.epoch)})
        return learner

    def _passes(
        self, bench: HoldoutBench, learner: MonomialLearner, rows: Rows, labels: Floats
    ) -> Iterator[Chunk]:
        """The chunks of all passes that the budget allows."""
        n_first_pass = min(len(labels), bench.budget)
        left = bench.budget
        while left > 0:
            n = min(left, len(labels))
            yield from self.chunks(learner, rows[:n], labels[:n], n_first_pass)
            left -= n


def _admissions(entrants: Sequence[_Entrant], budget: int) -> Iterator[Event]:
    """Every rate may learn all there is; the first stands for the answer until one is better."""
    for entrant in entrants:
        i, rate = entrant.configuration, entrant.learner.learning.learning_rate
        yield ConfigurationAdmitted(at=0, configuration=i, parameters={"learning_rate": rate})
        yield LeaseGranted(at=0, configuration=i, amount=budget, slot=i)
    yield ChampionChanged(at=0, configuration=0, previous=None)


@plain_dataclass(frozen=True, slots=True)
class _Failure:
    configuration: int
    reason: str


def _advance(
    entrants: list[_Entrant],
) -> tuple[list[tuple[_Entrant, Chunk]], list[_Failure]]:
    """One chunk of every entrant, and the entrants that diverged in it."""
    learned, failures = [], []
    for entrant in entrants:
        try:
            learned.append((entrant, next(entrant.chunks)))
        except DivergedError as error:
            failures.append(_Failure(entrant.configuration, str(error)))
    return learned, failures


def _expansions(
    at: int, names: Sequence[str], learned: list[tuple[_Entrant, Chunk]]
) -> Iterator[FeaturesExpanded]:
    """An event for each entrant that has just expanded, its parents by name."""
    for entrant, chunk in learned:
        if chunk.expansion:
            entrant.epoch += 1
            yield FeaturesExpanded(
                at=at,
                epoch=entrant.epoch,
                parents=tuple(readable(parent, names) for parent in chunk.expansion.parents),
                size=chunk.expansion.size,
                degree=chunk.expansion.degree,
                configuration=entrant.configuration,
            )


def metrics_of(learner: MonomialLearner) -> dict[str, float]:
    """What a run says of its champion beside the score."""
    return {
        "features_per_example": learner.features_per_example,
        "nonzeros_per_example": learner.mean_nonzeros,
        "monomials": float(learner.size),
        "degree": float(learner.max_degree),
        "collisions": float(learner.totals[DROPPED]),
    }
