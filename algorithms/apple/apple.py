"""apple: adaptive polynomial expansion.

Agarwal, Beygelzimer, Hsu, Langford, Telgarsky 2014, Scalable Nonlinear Learning with Adaptive
Polynomial Expansions, https://arxiv.org/abs/1410.0440. Algorithm 1 is `Apple.chunks`; it
expands at the ends τ_k of a schedule, by the sizes s_k of `expansion_size`. The folklore baselines
of the paper are `Polynomial`: linear, and full expansions of degree two and three.

The paper tunes the learning rate of every algorithm by progressive validation. Here each rate is
a configuration that learns the same examples; the one with the lowest progressive loss is the
champion, and answers. Rates that are given are raced over the first pass, as the paper does; the
default is a race of a few on the first examples, which costs a part of it.
"""

import math
from abc import abstractmethod
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field
from pydantic.dataclasses import dataclass
from scipy import sparse

from leaseboard.algorithms import events
from leaseboard.algorithms.apple.kernel import EXAMPLES
from leaseboard.algorithms.apple.learner import (
    FullLearner,
    GrowingLearner,
    HashedLearner,
    Heuristic,
    Monomial,
    MonomialLearner,
    PlanLearner,
    learned,
    outputs,
    readable,
)
from leaseboard.algorithms.apple.rows import Examples, targets_of, with_bigrams
from leaseboard.algorithms.arrays import Floats, losses
from leaseboard.algorithms.base import Run
from leaseboard.algorithms.environments import holdout
from leaseboard.algorithms.environments.holdout import HoldoutEnvironment, Rows
from leaseboard.algorithms.errors import DivergedError

Learners = tuple[MonomialLearner, ...]

RATES = (0.5, 0.25, 1.0, 0.1, 4.0)
"""What is tried where no rate is given. The first answers until another one has lost less."""

PREFIX = 10_000
"""How many examples choose the finalists of `RATES`: early, a large rate is better than later, so
these are the best and the best of the smaller ones."""

FINALISTS = 2

FINAL = 40_000
"""How many examples the finalists learn; their losses of the last `PREFIX` decide."""

Chunk = tuple[Examples, Floats, list[list[Monomial]]]
"""Examples that were learned without a break; what was predicted of them before, a column for
each target; and the new parents of each target, empty without an expansion at their end."""


class Entrant:
    """Learning rate with a learner for each target.

    Attributes
    ----------
    configuration : int
    rate : float
    learners : tuple of MonomialLearner
    loss_sum : float
        The squared losses, over all targets, of what it predicted before it learned it, from
        example `counted_from` on.
    epoch : int
    """

    def __init__(
        self, configuration: int, rate: float, learners: Learners, counted_from: int
    ) -> None:
        self.configuration, self.rate, self.learners = configuration, rate, learners
        self.counted_from, self.learned, self.epoch, self.loss_sum = counted_from, 0, 0, 0.0

    def learn(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Count the losses of chunks as they are learned, and pass them on."""
        for part, said, expansions in chunks:
            lost = losses(said, part.targets.T).sum(axis=1)
            self.loss_sum += float(lost[max(self.counted_from - self.learned, 0) :].sum())
            self.learned += len(part)
            self.epoch += bool(expansions)
            yield part, said, expansions

    def expanded(
        self, expansions: Sequence[Sequence[Monomial]], at: int, names: Sequence[str]
    ) -> events.FeaturesExpanded:
        """Return the event of an expansion; of several targets what all found."""
        parents = dict.fromkeys(parent for each in expansions for parent in each)
        return events.FeaturesExpanded(
            at=at,
            parents=tuple(readable(parent, names) for parent in parents),
            size=sum(learner.size for learner in self.learners),
            degree=max(learner.max_degree for learner in self.learners),
            configuration=self.configuration,
        )


Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def listed(value: Any) -> Any:
    """Let the command line write ``--set rates=0.1,0.5``."""
    return value.split(",") if isinstance(value, str) else value


@dataclass(frozen=True, kw_only=True)
class OnlineLearner(holdout.HoldoutAlgorithm):
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

    learning_rate: Rate | Literal["auto"] = "auto"
    rates: Annotated[tuple[Rate, ...], BeforeValidator(listed)] = ()
    bits: Annotated[int, Field(ge=1, le=28)] = 18
    base: Literal["unigram", "bigram"] = "unigram"

    @property
    def tried(self) -> tuple[float, ...]:
        """Learning rates of the race."""
        return self.rates or (RATES if self.learning_rate == "auto" else (self.learning_rate,))

    @property
    def capacity(self) -> int:
        """Number of models: one for each learning rate."""
        return len(self.tried)

    @abstractmethod
    def learner(self, examples: Examples, rate: float) -> MonomialLearner:
        """Return a learner that has seen nothing, of the kernel that suits the rows."""

    @abstractmethod
    def chunks(self, learners: Learners, examples: Examples, n_first_pass: int) -> Iterator[Chunk]:
        """Learn some examples, whose first pass has `n_first_pass`."""

    def holdout(self, env: HoldoutEnvironment) -> holdout.Holdout:
        """Return the examples with the base variables; bigrams are made once an environment."""
        return env.once(with_bigrams, env.holdout) if self.base == "bigram" else env.holdout

    def examples(self, env: HoldoutEnvironment) -> Examples:
        """Return the examples of the first pass."""
        data, n = self.holdout(env), min(env.n_train, env.budget)
        return Examples(data.train.rows[:n], targets_of(data.train.labels[:n], len(data.classes)))

    def takes_plan(self, examples: Examples, most_monomials: int) -> bool:
        """Return whether the plan suits rows whose features grow to `most_monomials`."""
        return isinstance(examples.rows, np.ndarray) and most_monomials <= 2**self.bits

    def prepare(self, env: HoldoutEnvironment) -> None:
        """Make the base variables."""
        self.holdout(env)

    def run(self, env: HoldoutEnvironment, seed: int) -> Run:
        """Race the learning rates in the first pass; the best one makes the others."""
        examples = self.examples(env)
        champion = yield from self._race(env, examples)
        learners, i, at = champion.learners, champion.configuration, env.at
        if at < env.budget:
            yield events.LeaseGranted(
                at=at, configuration=i, amount=env.budget, slot=i, fresh=False
            )
        while env.at < env.budget:
            again = examples.at(slice(env.budget - env.at))
            for _, said, _ in self.chunks(learners, again, len(examples)):
                yield from env.record(as_numbers(said))
        env.submit(as_numbers(outputs(learners, self.holdout(env).test.rows)))
        env.note({**metrics_of(learners), "expansions": float(champion.epoch)})

    def _race(
        self, env: HoldoutEnvironment, examples: Examples
    ) -> Generator[events.Event, None, Entrant]:
        """Race the learning rates over the first pass; return the one that lost least.

        Rates that are not given race on the first examples alone, with all epochs. Where these
        are not the whole first pass, the finalists start again on more of them, and then the best
        one on all, with epochs of their full length; what they say of the examples that chose them
        is not recorded, since their labels did so.
        """
        n, at = len(examples), 0
        chooses = len(self.tried) > 1 and not self.rates
        rates = dict(enumerate(self.tried))
        entrants: list[Entrant] = []
        for until in sorted({min(n, PREFIX), min(n, FINAL), n}) if chooses else [n]:
            part, start = examples.at(slice(until)), until - PREFIX if at else 0
            entrants.clear()  # of many classes they take gigabytes
            for i, rate in rates.items():
                learners = tuple(self.learner(part, rate) for _ in part.targets)
                entrants.append(Entrant(i, rate, learners, start))
                if not at:
                    given = {"learning_rate": rate}
                    yield events.ConfigurationAdmitted(at=0, configuration=i, parameters=given)
                yield events.LeaseGranted(at=at, configuration=i, amount=until, slot=i)
            if not at:  # the first is the answer until one is better
                yield events.ChampionChanged(at=0, configuration=0, previous=None)
            entrants = yield from self._stage(env, entrants, part, at)
            champion, at = entrants[0], until
            if not chooses:
                continue
            n_best = FINALISTS if until == PREFIX < n else 1
            slower = [e.configuration for e in entrants if e.rate <= champion.rate]
            rates = {i: rates[i] for i in slower[:n_best]}
            of = f"examples {start} to {at}" if start else f"the first {at} examples"
            losses = {e.configuration: e.loss_sum / max(at - start, 1) for e in entrants}
            for i in (i for i in losses if i not in rates):
                least = losses[champion.configuration]
                reason = f"its loss of {of} is {losses[i]:.4g}, the least {least:.4g}"
                yield events.Eliminated(at=at, configuration=i, reason=reason)
        return champion

    def _stage(
        self, env: HoldoutEnvironment, entrants: Sequence[Entrant], examples: Examples, at: int
    ) -> Generator[events.Event, None, list[Entrant]]:
        """Learn `examples`, of which `at` are recorded; those that are left, by their loss.

        The predictions of the champion so far are recorded, at the start the first entrant's.
        Raises DivergedError if no entrant is left.
        """
        champion, n, names = entrants[0], len(examples), self.holdout(env).names
        learning = {e: e.learn(self.chunks(e.learners, examples, n)) for e in entrants}
        while champion.learned < n:
            steps, failures = {}, {}
            for entrant, chunks in learning.items():
                try:
                    steps[entrant] = next(chunks)
                except DivergedError as error:
                    failures[entrant] = str(error)
            if not steps:
                raise DivergedError(failures.popitem()[1])
            learning = {entrant: learning[entrant] for entrant in steps}
            answer = champion if champion in steps else next(iter(steps))
            if answer.learned > at:
                yield from env.record(as_numbers(steps[answer][1][at - answer.learned :]))
                at = answer.learned
            for entrant, (_, _, expansions) in steps.items():
                if expansions:
                    yield entrant.expanded(expansions, at, names)
            best = min(steps, key=lambda entrant: entrant.loss_sum)
            if best is not champion:
                was, champion = champion.configuration, best
                i = best.configuration
                yield events.ChampionChanged(at=at, configuration=i, previous=was)
            for entrant, reason in failures.items():
                i = entrant.configuration
                yield events.ConfigurationFailed(at=at, configuration=i, reason=reason)
        return sorted(learning, key=lambda entrant: entrant.loss_sum)


def opened(rates: Sequence[float], budget: float, **more: float) -> Iterator[events.Event]:
    """Admit a configuration for each learning rate, and lease it the whole budget."""
    for i, rate in enumerate(rates):
        parameters = {"learning_rate": rate, **more}
        yield events.ConfigurationAdmitted(at=0, configuration=i, parameters=parameters)
        yield events.LeaseGranted(at=0, configuration=i, amount=budget, slot=i)


def as_numbers(columns: Floats) -> Floats:
    """Return a number for each example, or of many targets one for each."""
    return columns[:, 0] if columns.shape[1] == 1 else columns


def metrics_of(learners: Sequence[MonomialLearner]) -> dict[str, float]:
    """Return the metrics of a champion next to its score, of many classes for all of them."""
    return {
        "monomials": float(sum(learner.size for learner in learners)),
        "degree": float(max(learner.max_degree for learner in learners)),
    }


def epoch_ends(n_examples: int, epochs: int = 6) -> tuple[int, ...]:
    """Return the ends :math:`τ_k = ⌈n k / K⌉` of the paper's epochs (3.1), equally spaced.

    Each is there once, and before the last example: the features grow at the end of each epoch
    but the last.

    Examples
    --------
    >>> epoch_ends(100)
    (17, 34, 50, 67, 84)
    """
    ends = {-(-n_examples * k // epochs) for k in range(1, epochs)}
    return tuple(sorted(end for end in ends if end < n_examples))


def expansion_size(mean_nonzeros: float, alpha: float) -> int:
    """Return :math:`s_k = ⌊s^α⌋`, at least 1.

    Parameters
    ----------
    mean_nonzeros : float
        s, the average number of non-zero base features of an example so far. It counts the
        constant feature: only then do Tables 2 and 3 of the paper have equal columns where
        they do (three of them for ``skin``, s = 2.95, and not two for ``letter``, s = 15.58).
    alpha : float

    Examples
    --------
    >>> [expansion_size(3.95, alpha) for alpha in (0.5, 0.75, 1.0)]
    [1, 2, 3]
    """
    return max(1, math.floor(math.pow(mean_nonzeros, alpha)))


@dataclass(frozen=True, kw_only=True)
class Apple(OnlineLearner):
    """Adaptive polynomial expansion: monomials grown from those with the largest weights.

    Good where interactions matter and a full quadratic expansion costs too much.

    Parameters
    ----------
    alpha : float
        α: each epoch makes :math:`s^α` monomials parents, s the average number of non-zero
        features of an example, the constant counted.
    epochs : int
        Epochs of the first pass; the features grow at the end of each but the last. Further
        passes learn with frozen parents.
    heuristic : {"weight", "raw-weight", "ssm"}
        What orders the candidates. ``weight`` is :math:`|w_m| N_m` with the largest magnitude
        N_m of the monomial; ``raw-weight`` is :math:`|w_m|`; ``ssm`` is section 2.3's estimate
        of :math:`E[r^2 m^2] / E[m^2]`.
    fallback : bool
        Section 2.4: the last of the s_k places goes to a monomial of the smallest degree, so
        that every monomial is reached in the end.

    Notes
    -----
    Departs from the paper: line 6 orders by weight magnitude, the default here by magnitude
    times the monomial's largest value, because that is what the authors' implementation does
    (`raw-weight` is the line as printed; on the paper's sets the two differ little).

    The tables 2 and 3 of the paper head the apple columns in reverse: the one headed "(1)" is
    α = 0.125.

    Examples
    --------
    >>> from leaseboard.algorithms.checks import tiny_environment
    >>> from leaseboard.algorithms.base import play
    >>> events = list(play("apple", Apple(alpha=0.5), tiny_environment("holdout"), 0))
    >>> round(events[-1].score, 3)
    0.035
    """

    alpha: Annotated[float, Field(ge=0, le=2)] = 1.0
    epochs: Annotated[int, Field(ge=1, le=100)] = 6
    heuristic: Heuristic = "weight"
    fallback: bool = False

    def learner(self, examples: Examples, rate: float) -> GrowingLearner:
        """Return the plan where every monomial that the epochs can add fits into 2^bits."""
        d = len(examples.scale)
        most = d * (1 + (self.epochs - 1) * expansion_size(d + 1, self.alpha))
        kind = PlanLearner if self.takes_plan(examples, most) else HashedLearner
        return kind(examples.scale, rate, self.bits, moments=self.heuristic == "ssm")

    def chunks(self, learners: Learners, examples: Examples, n_first_pass: int) -> Iterator[Chunk]:
        """Run algorithm 1 over some examples for each target; line 1 is a new learner.

        ========  =======================================================
        symbol    here
        ========  =======================================================
        t, τ_k    examples learned so far, the end of the present epoch
        w_t, S_k  kept by a learner
        s_k       `expansion_size`
        M_k       `chosen`
        P_k       marked in the learner's slots
        ========  =======================================================

        Yields
        ------
        Chunk
            The examples up to the end of an epoch. A further call with the same learners
            continues it.

        Notes
        -----
        Departs from the paper: a monomial whose weight is 0 is never chosen, because it was never
        seen and line 6 does not say which of many such should be.
        """
        ends = epoch_ends(n_first_pass, self.epochs)
        t, done = int(learners[0].totals[EXAMPLES]), 0
        while done < len(examples):  # line 2
            tau = next((end for end in ends if end > t), None)
            part = examples.at(slice(done, tau and done + tau - t))
            predictions, expansions = learned(learners, part), []  # lines 3 and 4
            done, t = done + len(part), t + len(part)
            for learner in learners if t == tau else ():  # line 5
                assert isinstance(learner, GrowingLearner)
                s_k = expansion_size(learner.mean_nonzeros, self.alpha)
                chosen = learner.choose(s_k, self.heuristic, fallback=self.fallback)  # line 6
                expansions.append([learner.monomial(slot) for slot in chosen])
                learner.expand(chosen)  # lines 7 and 8
            yield part, predictions, expansions


@dataclass(frozen=True, kw_only=True)
class Polynomial(OnlineLearner):
    """All monomials up to a degree: linear, quadratic, cubic.

    The same update, plan and table as `apple`, without its choice: every monomial is there from
    the first example.

    Parameters
    ----------
    degree : int

    Notes
    -----
    The paper gives `cubic` a table of 2^24 and all others 2^18; the registered name does too.
    As in VW, the square of an indicator is the indicator, and not another feature; VW decides
    that by the value 1 in an example, we by a column of zeros and ones.
    """

    degree: Annotated[int, Field(ge=1, le=8)] = 1

    def learner(self, examples: Examples, rate: float) -> MonomialLearner:
        """Return a learner that is expanded in full."""
        scale, indicators = examples.scale, indicator_columns(examples.rows)
        if self.takes_plan(examples, math.comb(len(scale) + self.degree, self.degree)):
            plan = PlanLearner(scale, rate)
            plan.expand_all(self.degree, indicators)
            return plan
        return FullLearner(scale, rate, self.bits, self.degree, indicators)

    def chunks(self, learners: Learners, examples: Examples, n_first_pass: int) -> Iterator[Chunk]:
        """Learn with the features unchanged."""
        yield examples, learned(learners, examples), []


def indicator_columns(rows: Rows) -> NDArray[np.bool_]:
    """Return the columns that hold nothing but 0 and 1.

    Examples
    --------
    >>> indicator_columns(np.array([[0, 1, 2], [1, 1, 0]], dtype=np.float32))
    array([ True,  True, False])
    """
    if not sparse.issparse(rows):
        return np.asarray(((rows == 0) | (rows == 1)).all(axis=0))
    other = np.zeros(rows.shape[1], dtype=np.bool_)
    other[rows.indices[(rows.data != 0) & (rows.data != 1)]] = True
    return ~other
