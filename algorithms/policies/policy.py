"""What all policies over arms share: the loop, the events, and the round of first pulls."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, get_args

import numpy as np
import pydantic
from numpy.typing import NDArray
from pydantic import Field

from leaseboard.algorithms import events
from leaseboard.algorithms.base import Run
from leaseboard.algorithms.environments.pulls import (
    OVERRUN,
    UNAFFORDABLE,
    PullsAlgorithm,
    PullsEnvironment,
    Trial,
    Unit,
)
from leaseboard.algorithms.errors import LeaseboardError, RuleBrokenError, UsageError, short
from leaseboard.algorithms.seeds import generator
from leaseboard.algorithms.user_files import home

Texts = NDArray[np.object_]

_NUMBERS = re.compile(r"(?:[-+]?(?:0x[0-9a-f]+|\d[\d.]*(?:e[-+]?\d+)?)[,\s]*)+", re.IGNORECASE)


def failure_of(trial: Trial) -> str:
    """Return why a trial failed, in one line; empty if it was completed.

    Examples
    --------
    >>> from leaseboard.algorithms.testing import Tiny, tiny_environment
    >>> env = tiny_environment("pulls", Tiny(broken=True))
    >>> failure_of(env.pull(0)), failure_of(env.pull(0))
    ('', 'diverged: NaN in the loss')
    """
    return "" if trial.status == "ok" else f"{trial.status}: {trial.reason}"


def alike(one: str, other: str) -> bool:
    """Return whether two trials failed in the same way but for numbers in their reasons.

    Examples
    --------
    >>> alike("crash: labels [0 1 2], not [0 2]", "crash: labels [0 1], not [1]")
    True
    >>> alike("crash: a label is missing", "timeout: over 5 CPU seconds")
    False
    """
    return _NUMBERS.sub("#", one) == _NUMBERS.sub("#", other)


class Failures:
    """Failures of each arm's latest trials, in independent runs at once.

    Parameters
    ----------
    shape : tuple of int
        (repeats, n_arms).

    Attributes
    ----------
    last : ndarray of str, shape (repeats, n_arms)
        Why the latest trial of each arm failed; empty if it was completed.
    in_a_row : ndarray of int, shape (repeats, n_arms)
        How many of its latest trials failed alike.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.last: Texts = np.full(shape, "", dtype=object)
        self.in_a_row: NDArray[np.intp] = np.zeros(shape, dtype=np.intp)

    def take(self, arm: NDArray[np.intp], failure: Texts | None) -> NDArray[np.bool_]:
        """Return whether the trial of `arm` failed in each run; `failure` says why."""
        runs = np.arange(len(arm))
        before = self.last[runs, arm]
        if failure is None:
            self.last[runs, arm], self.in_a_row[runs, arm] = "", 0
            return np.zeros(len(arm), dtype=np.bool_)
        failed = np.asarray(failure != "", dtype=np.bool_)
        again = np.array([alike(*pair) for pair in zip(before, failure, strict=True)])
        self.in_a_row[runs, arm] = failed * (1 + again * self.in_a_row[runs, arm])
        self.last[runs, arm] = failure
        return failed


Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

RETIRE_AFTER = 3
"""Trials of an arm that fail alike in a row, after which our own policies retire it."""

RETIRED = "failed "
"""Beginning of the reason for which an arm is retired, and of none for which it is eliminated."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Problem as a policy knows it before the first pull.

    Parameters
    ----------
    n_arms : int
        K.
    budget : float
        T trials, or B seconds.
    unit : {"trials", "cpu_seconds", "wall_seconds"}
    tunable : tuple of bool
        Whether an arm has any hyperparameter at all.
    repeats : int
        How many independent runs are played at once.
    retire_after : int
        Failures alike in a row after which an arm is retired; 0 retires none.
    names : tuple of str
        Of the arms, where they have any.
    """

    n_arms: int
    budget: float
    unit: Unit = "trials"
    tunable: tuple[bool, ...] = ()
    repeats: int = 1
    retire_after: int = 0
    names: tuple[str, ...] = ()


class Policy(ABC):
    """State of a policy in `repeats` independent runs played at once.

    All state has the shape (repeats, n_arms); a single job is one repeat. So the formulae of a
    paper are written once, over the last axis, and serve a job as well as a simulation.

    An arm whose trials fail alike again and again is retired: no candidate any more, however much
    the policy expects of it. A policy without a candidate has nothing to select.

    Parameters
    ----------
    problem : Problem
    settings : ArmPolicy, optional
        The algorithm whose state it is.
    rng : Generator, optional
        Randomness comes only from it.
    """

    initial_round: ClassVar[bool] = True
    """Whether every arm is pulled once, in order, before the policy decides anything."""

    def __init__(
        self, problem: Problem, settings: Any = None, rng: np.random.Generator | None = None
    ) -> None:
        shape = (problem.repeats, problem.n_arms)
        self.problem, self.settings = problem, settings
        self.rng: Any = rng
        self.t = 0
        self.pulls: Ints = np.zeros(shape, dtype=np.intp)
        self.best: Floats = np.zeros(shape)
        self.candidates: Bools = np.ones(shape, dtype=np.bool_)
        self.retired: Bools = np.zeros(shape, dtype=np.bool_)
        self.failures = Failures(shape)
        self.failed: Bools = np.zeros(problem.repeats, dtype=np.bool_)
        self._runs: Ints = np.arange(problem.repeats)
        self.order: list[int] = list(range(problem.n_arms))

    def select(self) -> Ints:
        """Return the arm to pull next in each run, shape (repeats,)."""
        if not self.candidates.any(axis=-1).all():
            raise LeaseboardError("no arm is left to pull: all are retired or eliminated")
        if self.initial_round and self.t < self.problem.n_arms:
            return np.full(self.problem.repeats, self.order[self.t], dtype=np.intp)
        repeats, n_arms = self.problem.repeats, self.problem.n_arms
        return chosen(self._choose(), repeats, n_arms, type(self))

    def certain(self) -> list[int]:
        """Return arms that the first run will pull next, each once, for any rewards."""
        return self.order[self.t :] if self.initial_round else []

    def update(
        self, arm: Ints, reward: Floats, cost: Floats, failure: Texts | None = None
    ) -> None:
        """Learn the rewards of the chosen arms, and their cost in the budget's unit.

        `failure` says why each trial failed, and is empty where it was completed; None says that
        all were.
        """
        at = (self._runs, arm)
        self.t += 1
        self.pulls[at] += 1
        self.best[at] = np.maximum(self.best[at], reward)
        self.failed = self.failures.take(arm, failure)
        if self.problem.retire_after and self.failed.any():
            self.retired |= self.failures.in_a_row >= self.problem.retire_after
            self.candidates &= ~self.retired
        self._learn(arm, reward, cost)

    def retire(self, arm: Ints, why: str) -> None:
        """Take `arm` from the candidates in all runs, as it cannot be pulled any more."""
        at = (self._runs, arm)
        self.failures.last[at] = why
        self.retired[at], self.candidates[at] = True, False

    def bounds(self) -> tuple[Floats, Floats] | None:
        """Return lower and upper bounds of every arm's final reward, if the policy has any."""
        return None

    def standing(self) -> dict[str, Floats]:
        """Return the policy's present values of every arm, by name: shapes (repeats, n_arms)."""
        bounds = self.bounds()
        return {} if bounds is None else {"lower": bounds[0], "upper": bounds[1]}

    @abstractmethod
    def _choose(self) -> Ints:
        """Return the arm to pull next, one of `candidates`, shape (repeats,)."""

    @abstractmethod
    def _learn(self, arm: Ints, reward: Floats, cost: Floats) -> None:
        """Update the policy's own statistics.

        `t`, `pulls`, `best`, `failed` and `candidates` are up to date.
        """

    def _largest(self, index: Floats) -> Ints:
        """Return the candidate with the largest index in each run; the first of several."""
        return np.asarray(np.where(self.candidates, index, -np.inf).argmax(axis=-1), dtype=np.intp)

    def _drawn(self, rng: np.random.Generator) -> Ints:
        """Draw a candidate uniformly in each run."""
        arm = rng.integers(self.problem.n_arms, size=self.problem.repeats)
        while (out := np.logical_not(self.candidates[self._runs, arm])).any():
            arm[out] = rng.integers(self.problem.n_arms, size=int(out.sum()))
        return arm


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True)
class ArmPolicy(PullsAlgorithm):
    """Algorithm that chooses which arm is tuned next.

    Parameters
    ----------
    retire_after : int
        An arm whose trials failed alike so often in a row, for the same reason but for its
        numbers, is retired: it gets no trial any more. 0 retires none, as in the papers.

    Notes
    -----
    The papers do not say what a failed trial is: here it has the reward 0, and its arm is pulled
    on. That takes a trial a round from the others, and most of them from policies to which an arm
    far below the others seems as attractive as one far above; our own policies retire such an arm
    after `RETIRE_AFTER`.
    """

    units: ClassVar[tuple[Unit, ...]] = get_args(Unit)
    """The units of a budget that the policy can work with."""

    may_stop: ClassVar[bool] = True
    """When all its arms are retired, or eliminated."""

    retire_after: Annotated[int, Field(ge=0)] = 0

    state: ClassVar[type[Policy]]
    """What decides; a policy that is made otherwise overrides `policy`."""

    def policy(self, problem: Problem, rng: np.random.Generator) -> Policy:
        """Return a fresh state for `problem`; Randomness comes only from `rng`."""
        return self.state(problem, self, rng)

    def start(self, problem: Problem, seed: int) -> Policy:
        """Return a fresh state for `problem`, whose randomness is that of `seed`.

        Raises UsageError for a budget in a unit that the policy cannot work with.
        """
        if problem.unit not in self.units:
            raise UsageError(
                f"{type(self).__name__} needs a budget in {' or '.join(self.units)},"
                f" not in {problem.unit}: change the environment's unit or take another policy"
            )
        problem = replace(problem, retire_after=self.retire_after)
        made: object = self.policy(problem, generator(seed, "policy"))
        if not isinstance(made, Policy):
            raise RuleBrokenError(
                f"`policy` of {home(type(self))} gave {short(repr(made), 60)}: return a Policy"
            )
        return made

    def run(self, env: PullsEnvironment, seed: int) -> Run:
        """Pull arms until the budget ends or none is left; the answer is the best trial."""
        problem = Problem(len(env.arms), env.budget, env.unit, env.tunable, names=tuple(env.arms))
        policy = self.start(problem, seed)
        record = Record(env)
        yield from record.arms()
        while env.at < env.budget and policy.candidates.any():
            before = env.at
            env.prefetch(policy.certain())
            arm = policy.select()
            yield record.lease(int(arm[0]), before, env.pulls[int(arm[0])])
            trial = env.pull(int(arm[0]))
            yield from record.trial(trial)
            if trial.reason == OVERRUN:  # which says nothing about the arm
                break
            candidates = policy.candidates.copy()
            if trial.reason == UNAFFORDABLE:  # nor does this, but what is left only shrinks
                policy.retire(arm, UNAFFORDABLE)
            else:
                failure = np.array([failure_of(trial)], dtype=object)
                cost = np.array([env.at - before])
                policy.update(arm, np.array([trial.reward]), cost, failure)
            yield from _verdicts(policy, candidates, int(arm[0]), env.at)
        env.note({"retired_arms": float(policy.retired.sum())})
        if policy.pulls.all():
            for name, values in policy.standing().items():
                at_the_end = zip(env.arms, values[0].tolist(), strict=True)
                env.note({f"{name}.{arm}": value for arm, value in at_the_end})


class Record:
    """Events of an environment of arms: admissions, leases, trials, champions."""

    def __init__(self, env: PullsEnvironment) -> None:
        self._env = env
        self._next = len(env.arms)
        self._champion: int | None = None
        self._best = env.best

    def arms(self) -> Iterator[events.Event]:
        """Admit the arms, before any trial."""
        for arm, name in enumerate(self._env.arms):
            yield events.ConfigurationAdmitted(
                at=0, configuration=arm, parameters={"arm": name}, origin="arm"
            )

    @staticmethod
    def lease(arm: int, at: float, pulled: int) -> events.LeaseGranted:
        """Grant one more trial to `arm`, which has had `pulled`."""
        return events.LeaseGranted(at=at, configuration=arm, amount=pulled + 1, fresh=pulled == 0)

    def trial(self, trial: Trial, origin: str = "trial") -> Iterator[events.Event]:
        """Report a trial that the environment has just run, and a change of champion.

        The environment adds the test score, which policies do not see.
        """
        configuration, self._next = self._next, self._next + 1
        at = self._env.at
        yield events.ConfigurationAdmitted(
            at=at,
            configuration=configuration,
            parameters={"arm": self._env.arms[trial.arm], **trial.parameters},
            parent=trial.arm,
            origin=origin,
        )
        yield events.TrialFinished(
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
        if self._env.best is not self._best:
            yield events.ChampionChanged(
                at=at, configuration=configuration, previous=self._champion
            )
            self._champion, self._best = configuration, self._env.best


def _verdicts(policy: Policy, before: Bools, arm: int, at: float) -> Iterator[events.Event]:
    """Report the bounds of the arm just pulled, and the arms that ceased to be candidates."""
    bounds = policy.bounds()
    if bounds is not None:
        lower, upper = bounds[0][0], bounds[1][0]
        yield events.BoundsUpdated(
            at=at,
            configuration=arm,
            value=float(policy.best[0, arm]),
            lower=float(lower[arm]),
            upper=float(upper[arm]),
            units=float(policy.pulls[0, arm]),
        )
    failures = policy.failures
    for out in np.flatnonzero(before[0] & ~policy.candidates[0]):
        if not policy.retired[0, out]:  # eliminated, by a policy that keeps bounds
            assert bounds is not None
            leader = int(np.where(policy.candidates[0], lower, -np.inf).argmax())
            reason = (
                f"its upper bound {upper[out]:.4f} does not exceed"
                f" the lower bound {lower[leader]:.4f} of arm {leader}"
            )
        elif (reason := failures.last[0, out]) != UNAFFORDABLE:
            reason = f"{RETIRED}{failures.in_a_row[0, out]} times in a row: {reason}"
        yield events.Eliminated(at=at, configuration=int(out), reason=reason)


def chosen(choice: object, repeats: int, n_arms: int, policy: type) -> NDArray[np.intp]:
    """Return the arm that `policy` chose in each run.

    An answer of another form would be broadcast, taken for a mask, or fail far from here.

    Parameters
    ----------
    choice : object
        What `_choose` returned.
    repeats, n_arms : int
        How many runs there are, and K.
    policy : type
        The class that chose, for the message.

    Raises
    ------
    RuleBrokenError
        Unless it is integers from 0 to K - 1, shape (repeats,).

    Examples
    --------
    >>> chosen([2, 0], 2, 3, dict)
    array([2, 0])
    >>> chosen(np.array([2, 3]), 2, 3, dict)  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    leaseboard.algorithms.errors.RuleBrokenError: `_choose` of builtins:dict gave 3:
    return integers of shape (2,), an arm of 0..2 for each run
    """
    try:
        arms = np.asarray(choice)
    except ValueError:  # lists of different lengths
        arms = np.empty(0)
    gave = ""
    if arms.shape != (repeats,) or arms.dtype.kind not in "iu":
        is_array = isinstance(choice, np.ndarray)
        gave = f"{arms.dtype} of shape {arms.shape}" if is_array else short(repr(choice), 60)
    # A third of what `min` and `max` take, before every trial of every simulated run.
    elif arms[arms.argmin()] < 0 or arms[arms.argmax()] >= n_arms:
        gave = str(arms.min() if arms.min() < 0 else arms.max())
    if gave:
        raise RuleBrokenError(
            f"`_choose` of {home(policy)} gave {gave}: return integers of shape ({repeats},),"
            f" an arm of 0..{n_arms - 1} for each run"
        )
    return arms
