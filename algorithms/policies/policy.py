"""What all policies over arms share: the loop, the events, and the round of first pulls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from algorithms.base import Run
from algorithms.benches.pulls import Feedback, PullsAlgorithm, PullsBench, Unit
from algorithms.errors import UsageError
from algorithms.events import (
    BoundsUpdated,
    ChampionChanged,
    ConfigurationAdmitted,
    Eliminated,
    Event,
    LeaseGranted,
    TrialFinished,
)
from algorithms.seeds import generator

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Problem:
    """What a policy knows before the first pull.

    Attributes
    ----------
    n_arms : int
        K.
    budget : float
        T trials, or B seconds.
    unit : {"trials", "cpu_seconds"}
    tunable : tuple of bool
        Whether an arm has any hyperparameter at all.
    repeats : int
        How many independent runs are played side by side.
    """

    n_arms: int
    budget: float
    unit: Unit = "trials"
    tunable: tuple[bool, ...] = ()
    repeats: int = 1


class Policy(ABC):
    """The state of a policy in `repeats` independent runs played side by side.

    All state has the shape (repeats, n_arms); a single job is one repeat. So the formulae of a
    paper are written once, over the last axis, and serve a job as well as a simulation.
    """

    initial_round: ClassVar[bool] = True
    """Whether every arm is pulled once, in order, before the policy decides anything."""

    def __init__(self, problem: Problem) -> None:
        shape = (problem.repeats, problem.n_arms)
        self.problem = problem
        self.t = 0
        self.pulls: Ints = np.zeros(shape, dtype=np.intp)
        self.best: Floats = np.zeros(shape)
        self.candidates: Bools = np.ones(shape, dtype=np.bool_)
        self._runs: Ints = np.arange(problem.repeats)

    def select(self) -> Ints:
        """The arm to pull next in each run, shape (repeats,)."""
        if self.initial_round and self.t < self.problem.n_arms:
            return np.full(self.problem.repeats, self.t, dtype=np.intp)
        return self._choose()

    def certain(self) -> list[int]:
        """Arms that the first run will pull next, each once, whatever the rewards will be."""
        if self.initial_round:
            return list(range(self.t, self.problem.n_arms))
        return []

    def update(self, arm: Ints, reward: Floats, cost: Floats) -> None:
        """Learn what the chosen arms gave, and what it cost in the budget's unit."""
        at = (self._runs, arm)
        self.t += 1
        self.pulls[at] += 1
        self.best[at] = np.maximum(self.best[at], reward)
        self._learn(arm, reward, cost)

    def bounds(self) -> tuple[Floats, Floats] | None:
        """Lower and upper bounds of every arm's final reward, if the policy keeps any."""
        return None

    def standing(self) -> dict[str, Floats]:
        """What the policy thinks of every arm by now, by name: shapes (repeats, n_arms)."""
        bounds = self.bounds()
        return {} if bounds is None else {"lower": bounds[0], "upper": bounds[1]}

    @abstractmethod
    def _choose(self) -> Ints:
        """The arm to pull next, shape (repeats,)."""

    @abstractmethod
    def _learn(self, arm: Ints, reward: Floats, cost: Floats) -> None:
        """Update the policy's own statistics; `t`, `pulls` and `best` are up to date."""


class ArmPolicy(PullsAlgorithm):
    """An algorithm that chooses which arm is tuned next."""

    units: ClassVar[tuple[Unit, ...]] = ("trials", "cpu_seconds")
    """The units of a budget that the policy can work with."""

    @abstractmethod
    def policy(self, problem: Problem, rng: np.random.Generator) -> Policy:
        """A fresh state for `problem`; all chance comes from `rng`."""

    def checked(self, problem: Problem) -> Problem:
        """`problem` if the policy can work on it; UsageError says why it cannot."""
        if problem.unit not in self.units:
            raise UsageError(
                f"{type(self).__name__} needs a budget in {' or '.join(self.units)},"
                f" not in {problem.unit}: change the bench's unit or take another policy"
            )
        return problem

    def start(self, problem: Problem, seed: int) -> Policy:
        """A fresh state for `problem`, checked, whose chance is that of `seed`."""
        return self.policy(self.checked(problem), generator(seed, "policy"))

    def run(self, bench: PullsBench, seed: int) -> Run:
        """Pull arms until the budget ends; the answer is the best trial."""
        problem = Problem(len(bench.arms), bench.budget, bench.unit, bench.tunable)
        policy = self.start(problem, seed)
        record = Record(bench)
        yield from record.arms()
        while bench.at < bench.budget:
            before = bench.at
            bench.foresee(policy.certain())
            arm = policy.select()
            yield record.lease(int(arm[0]), before, bench.pulls[int(arm[0])])
            trial = bench.pull(int(arm[0]))
            yield from record.trial(trial)
            candidates = policy.candidates.copy()
            policy.update(arm, np.array([trial.reward]), np.array([bench.at - before]))
            yield from _verdicts(policy, candidates, int(arm[0]), bench.at)
        if all(bench.pulls):
            for name, values in policy.standing().items():
                at_the_end = zip(bench.arms, values[0].tolist(), strict=True)
                bench.note({f"{name}.{arm}": value for arm, value in at_the_end})


class Record:
    """Turns what happens on the bench into events: arms, leases, trials, champions."""

    def __init__(self, bench: PullsBench) -> None:
        self._bench = bench
        self._next = len(bench.arms)
        self._champion: int | None = None
        self._best = bench.best

    def arms(self) -> Iterator[Event]:
        """The arms enter consideration before any trial."""
        for arm, name in enumerate(self._bench.arms):
            yield ConfigurationAdmitted(
                at=0, configuration=arm, parameters={"arm": name}, origin="arm"
            )

    @staticmethod
    def lease(arm: int, at: float, pulled: int) -> LeaseGranted:
        """One more trial for `arm`, which has had `pulled`."""
        return LeaseGranted(at=at, configuration=arm, amount=pulled + 1, fresh=pulled == 0)

    def trial(self, trial: Feedback, origin: str = "trial") -> Iterator[Event]:
        """A trial that the bench has just run, and the change of champion it brought.

        The test score, which no policy is told, is the bench's to add.
        """
        configuration, self._next = self._next, self._next + 1
        at = self._bench.at
        yield ConfigurationAdmitted(
            at=at,
            configuration=configuration,
            parameters={"arm": self._bench.arms[trial.arm], **trial.parameters},
            parent=trial.arm,
            origin=origin,
        )
        yield TrialFinished(
            at=at,
            configuration=configuration,
            arm=trial.arm,
            reward=trial.reward,
            cpu_seconds=trial.cpu_seconds,
            wall_seconds=trial.wall_seconds,
            status=trial.status,
            reason=trial.reason,
            seed=trial.seed,
        )
        if self._bench.best is not self._best:
            yield ChampionChanged(at=at, configuration=configuration, previous=self._champion)
            self._champion, self._best = configuration, self._bench.best


def largest(index: Floats) -> Ints:
    """The arm with the largest index in each run; the first of several."""
    return np.asarray(index.argmax(axis=-1), dtype=np.intp)


def _verdicts(policy: Policy, before: Bools, arm: int, at: float) -> Iterator[Event]:
    """The bounds of the arm just pulled, and the arms that its round eliminated."""
    bounds = policy.bounds()
    if bounds is None:
        return
    lower, upper = bounds[0][0], bounds[1][0]
    yield BoundsUpdated(
        at=at,
        configuration=arm,
        value=float(policy.best[0, arm]),
        lower=float(lower[arm]),
        upper=float(upper[arm]),
        units=float(policy.pulls[0, arm]),
    )
    if before.sum() == policy.candidates.sum():
        return
    leader = int(np.where(policy.candidates[0], lower, -np.inf).argmax())
    for out in np.flatnonzero(before[0] & ~policy.candidates[0]):
        yield Eliminated(
            at=at,
            configuration=int(out),
            reason=(
                f"its upper bound {upper[out]:.4f} does not exceed"
                f" the lower bound {lower[leader]:.4f} of arm {leader}"
            ),
        )
