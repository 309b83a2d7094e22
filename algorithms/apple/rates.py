"""What apple and its baselines share as Leaseboard algorithms: several learning rates at once.

The paper tunes the learning rate of every algorithm by progressive validation. Here each rate is
a configuration that learns the same examples; the one with the lowest progressive loss is the
champion, and answers. Rates that are given are raced over all examples, as the paper does; the
default is a race of a few on the first examples, which costs a part of it.
"""

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Generator, Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, Union

import numpy as np
from pydantic import BeforeValidator, Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms import events
from leaseboard.algorithms.apple.learner import Learning, Monomial, MonomialLearner, readable
from leaseboard.algorithms.apple.rows import Targets, targets_of, with_bigrams
from leaseboard.algorithms.apple.update import DROPPED
from leaseboard.algorithms.base import Run
from leaseboard.algorithms.environments.arrays import squared_losses
from leaseboard.algorithms.environments.holdout import (
    Floats,
    Holdout,
    HoldoutAlgorithm,
    HoldoutEnvironment,
    Rows,
)
from leaseboard.algorithms.errors import DivergedError

RATES = (0.5, 0.25, 1.0, 0.1, 4.0)
"""What is tried where no rate is given. The first answers until another one has lost less."""

PREFIX = 10_000
"""How many examples choose the finalists of `RATES`: early, a large rate is better than later, so
these are the best and the best of the smaller ones."""

FINALISTS = 2

FINAL = 40_000
"""How many examples the finalists learn; their losses of the last `PREFIX` decide."""


@dataclasses.dataclass(frozen=True, slots=True)
class Expansion:
    """Expansion of line 7: the new parents, |S_{k+1}|, and the highest degree in it."""

    parents: tuple[Monomial, ...]
    size: int
    degree: int


@dataclasses.dataclass(frozen=True, slots=True)
class Chunk:
    """Examples learned without a break: their predictions, and the expansion at their end."""

    predictions: Floats
    expansion: Expansion | None = None


@dataclasses.dataclass(slots=True, eq=False)
class Entrant:
    """Learning rate, with a learner for each target.

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
            known = targets[:, self.learned : stop]
            self.loss_sum += sum(
                float(squared_losses(chunk.predictions[new], target[new]).sum())
                for chunk, target in zip(step, known, strict=True)
            )
        self.learned = stop
        return step

    def expanded(
        self, at: int, names: Sequence[str], step: Sequence[Chunk]
    ) -> Iterator[events.FeaturesExpanded]:
        """Yield an event if `step` ended in an expansion; of several targets what all found."""
        found = [chunk.expansion for chunk in step if chunk.expansion]
        if not found:
            return
        self.epoch += 1
        parents = dict.fromkeys(parent for expansion in found for parent in expansion.parents)
        yield events.FeaturesExpanded(
            at=at,
            epoch=self.epoch,
            parents=tuple(readable(parent, names) for parent in parents),
            size=sum(expansion.size for expansion in found),
            degree=max(expansion.degree for expansion in found),
            configuration=self.configuration,
        )


Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _rate_or_auto(value: Any) -> Any:
    """Return the value, for the type to take; a union's own error speaks of one member."""
    if value == "auto":
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number < math.inf:
        raise ValueError("must be 'auto' or a number above 0")
    return number


RateOrAuto = Annotated[float | Literal["auto"], BeforeValidator(_rate_or_auto)]


def listed(value: Any) -> Any:
    """Let the command line write ``--set rates=0.1,0.5``."""
    return value.split(",") if isinstance(value, str) else value


@dataclass(frozen=True, kw_only=True)
class OnlineLearner(HoldoutAlgorithm):
    """Online learner of the hold-out environment, run with one or more learning rates.

    Parameters
    ----------
    learning_rate : float or "auto"
        η of VW's update; by default progressive validation on the first examples picks it.
    rates : tuple of float
        Learning rates to try at once instead; progressive validation on all examples picks one.
    bits : int
        The hashed kernel keeps monomials in a table of 2^bits. Dense rows have a plan of products
        instead, if their monomials cannot outgrow the table.
    base : {"unigram", "bigram"}
        Base variables: the features, or of text the words and all pairs of neighbouring words.
    """

    many_classes: ClassVar[bool] = True

    learning_rate: RateOrAuto = "auto"
    rates: Annotated[tuple[Rate, ...], BeforeValidator(listed)] = ()
    bits: Annotated[int, Field(ge=1, le=28)] = 18
    base: Literal["unigram", "bigram"] = "unigram"

    @property
    def tried(self) -> tuple[float, ...]:
        """Learning rates of the race."""
        if self.rates:
            return self.rates
        if self.learning_rate != "auto":
            return (self.learning_rate,)
        return RATES

    @property
    def capacity(self) -> int:
        """Number of models: one for each learning rate."""
        return len(self.tried)

    @abstractmethod
    def chunks(
        self, learner: MonomialLearner, rows: Rows, labels: Floats, n_first_pass: int
    ) -> Iterator[Chunk]:
        """Learn some examples, whose first pass has `n_first_pass`."""

    def holdout(self, env: HoldoutEnvironment) -> Holdout:
        """Return the examples with the base variables; bigrams are made once an environment."""
        return env.once(with_bigrams, env.holdout) if self.base == "bigram" else env.holdout

    @abstractmethod
    def learner(self, rows: Rows, rate: float) -> MonomialLearner:
        """Return a learner that has seen nothing, of the kernel that suits `rows`."""

    def learning(self, rate: float) -> Learning:
        """Return the settings as a learner takes them."""
        return Learning(learning_rate=rate, bits=self.bits)

    def takes_plan(self, rows: Rows, most_monomials: int) -> bool:
        """Return whether the plan suits `rows`, whose features grow to `most_monomials`."""
        return isinstance(rows, np.ndarray) and most_monomials <= 2**self.bits

    def prepare(self, env: HoldoutEnvironment) -> None:
        """Make the base variables."""
        self.holdout(env)

    def run(self, env: HoldoutEnvironment, seed: int) -> Run:
        """Race the learning rates over the passes that the environment allows.

        Rates that are not given race on the first examples alone, with all epochs. Where these
        are not the whole first pass, the finalists start again on more of them, and then the best
        one on all, with epochs of their full length; what they say of the examples that chose them
        is not asked, since their labels did so.
        """
        holdout = self.holdout(env)
        rows = holdout.train.rows
        targets = targets_of(holdout.train.labels, len(holdout.classes))
        budget, first_pass = env.budget, min(env.n_train, env.budget)
        chooses = len(self.tried) > 1 and not self.rates
        ends = {min(first_pass, PREFIX), min(first_pass, FINAL)} if chooses else set()
        entrants: list[Entrant] = []
        rates, at = list(enumerate(self.tried)), 0
        for until in sorted({*ends, budget}):
            again = at < first_pass or not entrants
            if again:
                entrants.clear()  # of many classes they take gigabytes
                n, counted_from = until if until < first_pass else budget, until - PREFIX
                for i, rate in rates:
                    learners = tuple(self.learner(rows, rate) for _ in targets)
                    chunks = tuple(
                        self._passes(learner, rows, target, n)
                        for learner, target in zip(learners, targets, strict=True)
                    )
                    start = counted_from if at else 0
                    entrants.append(Entrant(i, rate, learners, chunks, start))
            for entrant in entrants:
                i, parameters = entrant.configuration, {"learning_rate": entrant.rate}
                if not at:
                    yield events.ConfigurationAdmitted(
                        at=0, configuration=i, parameters=parameters
                    )
                yield events.LeaseGranted(
                    at=at, configuration=i, amount=until, slot=i, fresh=again
                )
            if not at:  # the first is the answer until one is better
                yield events.ChampionChanged(at=0, configuration=0, previous=None)
            champion = yield from _race(env, entrants, targets, holdout.names, until)
            if until in ends:
                n_best = FINALISTS if until == PREFIX < first_pass else 1
                entrants = yield from _best(entrants, champion, until, n_best)
                rates = [(each.configuration, each.rate) for each in entrants]
            at = until
        model = model_of(champion.learners)
        if env.scores_test:
            env.submit(model.predict(holdout.test.rows))
        env.note({**metrics_of(champion.learners), "expansions": float(champion.epoch)})
        return model

    def _passes(
        self, learner: MonomialLearner, rows: Rows, target: Floats, left: int
    ) -> Iterator[Chunk]:
        """Yield the chunks of `left` examples, pass after pass."""
        first_pass = min(len(target), left)
        while left > 0:
            n = min(left, len(target))
            yield from self.chunks(learner, rows[:n], target[:n], first_pass)
            left -= n


def _race(
    env: HoldoutEnvironment,
    entrants: Sequence[Entrant],
    targets: Targets,
    names: Sequence[str],
    until: int,
) -> Generator[events.Event, None, Entrant]:
    """Learn until so many examples are recorded; the entrant that lost least in the first pass.

    The predictions of the champion so far are recorded, at the start the first entrant's.
    Raises DivergedError if no entrant is left.
    """
    champion = entrants[0]
    while env.at < until:
        learned: list[tuple[Entrant, list[Chunk]]] = []
        failures: dict[int, str] = {}
        for entrant in entrants:
            try:
                learned.append((entrant, entrant.advance(targets)))
            except DivergedError as error:
                failures[entrant.configuration] = str(error)
        if not learned:
            raise DivergedError(failures.popitem()[1])
        entrants = [entrant for entrant, _ in learned]
        answer, step = next((e for e in learned if e[0] is champion), learned[0])
        new = answer.learned - env.at
        if new > 0:  # a number for each example, or of many classes one for each class
            said = [chunk.predictions for chunk in step]
            predictions = said[0] if len(said) == 1 else np.column_stack(said)
            yield from env.record(predictions[-new:])
        for entrant, its_step in learned:
            yield from entrant.expanded(env.at, names, its_step)
        best = min(entrants, key=lambda entrant: entrant.loss_sum)
        if best is not champion:
            was, champion = champion.configuration, best
            yield events.ChampionChanged(at=env.at, configuration=best.configuration, previous=was)
        for i, reason in failures.items():
            yield events.ConfigurationFailed(at=env.at, configuration=i, reason=reason)
    return champion


def _best(
    entrants: Sequence[Entrant], champion: Entrant, at: int, n: int
) -> Generator[events.Eliminated, None, list[Entrant]]:
    """Return the champion and the best of smaller rates, `n` in all; eliminate the others.

    Those that had failed are not among them.
    """
    alive = [entrant for entrant in entrants if entrant.learned == champion.learned]
    alive.sort(key=lambda entrant: entrant.loss_sum)
    best = [entrant for entrant in alive if entrant.rate <= champion.rate][:n]
    for entrant in alive:
        if entrant in best:
            continue
        start = entrant.counted_from
        own, least = (each.loss_sum / max(at - start, 1) for each in (entrant, champion))
        of = f"examples {start} to {at}" if start else f"the first {at} examples"
        reason = f"its loss of {of} is {own:.4g}, the least {least:.4g}"
        yield events.Eliminated(at=at, configuration=entrant.configuration, reason=reason)
    return best


def metrics_of(learners: Sequence[MonomialLearner]) -> dict[str, float]:
    """Return the metrics of a champion next to its score, of many classes for all of them."""
    return {
        "features_per_example": sum(learner.features_per_example for learner in learners),
        "nonzeros_per_example": learners[0].mean_nonzeros,
        "monomials": float(sum(learner.size for learner in learners)),
        "degree": float(max(learner.max_degree for learner in learners)),
        "collisions": float(sum(learner.totals[DROPPED] for learner in learners)),
    }


class ClassLearners:
    """Learners of all classes as one model, in the order of the classes."""

    def __init__(self, learners: Sequence[MonomialLearner]) -> None:
        self.learners = tuple(learners)
        if not self.learners:
            raise ValueError("no learners: there is one for each class")

    def predict(self, rows: Rows) -> Floats:
        """Return each class's number, shape (n_examples, n_classes); the largest wins."""
        return np.column_stack([learner.predict(rows) for learner in self.learners])


Model: TypeAlias = Union["MonomialLearner", ClassLearners]


def model_of(learners: Sequence[MonomialLearner]) -> Model:
    """Return one learner is itself the model."""
    return learners[0] if len(learners) == 1 else ClassLearners(learners)
