"""What all policies over arms share: the loop, the events, and the round of first pulls.

Of joint-space optimisers the choice of the arm is one more hyperparameter.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np
import pydantic
from numpy.typing import NDArray
from pydantic import Field

from leaseboard.algorithms import events
from leaseboard.algorithms.base import Run
from leaseboard.algorithms.environments import pulls
from leaseboard.algorithms.environments.pulls import PullsEnvironment, Unit
from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.algorithms.seeds import generator

_NUMBERS = re.compile(r"(?:[-+]?(?:0x[0-9a-f]+|\d[\d.]*(?:e[-+]?\d+)?)[,\s]*)+", re.IGNORECASE)


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
    retire_after : int
        Failures alike in a row after which an arm is retired; 0 retires none.
    """

    n_arms: int
    budget: float
    unit: Unit = "trials"
    tunable: tuple[bool, ...] = ()
    retire_after: int = 0


class Policy:
    """State of a policy in one run.

    An arm whose trials fail alike again and again is retired: no candidate any more, however much
    the policy expects of it. A policy without a candidate has nothing to select.

    Parameters
    ----------
    problem : Problem
    settings : ArmPolicy, optional
        The algorithm whose state it is.
    rng : Generator, optional
        Randomness comes only from it.

    Attributes
    ----------
    t : int
        Trials so far.
    pulls, best, mean, costs : ndarray, shape (n_arms,)
        The number of trials of each arm, their best and mean reward, and what they cost.
    candidates, retired : ndarray of bool, shape (n_arms,)
    failure : list of str
        Why the latest trial of each arm failed; empty if it was completed.
    failures_in_a_row : list of int
        How many of each arm's latest trials failed alike.
    """

    initial_round: ClassVar[bool] = True
    """Whether every arm is pulled once, in order, before the policy decides anything."""

    def __init__(
        self, problem: Problem, settings: Any = None, rng: np.random.Generator | None = None
    ) -> None:
        n_arms = problem.n_arms
        self.problem, self.settings = problem, settings
        self.rng: Any = rng
        self.t = 0
        self.pulls: Ints = np.zeros(n_arms, dtype=np.intp)
        self.best: Floats = np.zeros(n_arms)
        self.mean: Floats = np.zeros(n_arms)
        self.costs: Floats = np.zeros(n_arms)
        self.candidates: Bools = np.ones(n_arms, dtype=np.bool_)
        self.retired: Bools = np.zeros(n_arms, dtype=np.bool_)
        self.failure = [""] * n_arms
        self.failures_in_a_row = [0] * n_arms
        self._begin()

    def _begin(self) -> None:
        """Make the policy's own state."""

    def select(self) -> int:
        """Return the arm to pull next."""
        if not self.candidates.any():
            raise LeaseboardError("no arm is left to pull: all are retired or eliminated")
        if self.initial_round and self.t < self.problem.n_arms:
            return self.t
        return int(self._choose())

    def update(self, arm: int, reward: float, cost: float = 1.0, failure: str = "") -> None:
        """Learn the reward of the chosen arm, and its cost in the budget's unit.

        `failure` says why the trial failed, and is empty if it was completed.
        """
        self.t += 1
        self.pulls[arm] += 1
        self.best[arm] = max(self.best[arm], reward)
        self.mean[arm] += (reward - self.mean[arm]) / self.pulls[arm]
        self.costs[arm] += cost
        if not failure or not alike(self.failure[arm], failure):
            self.failures_in_a_row[arm] = 0
        self.failures_in_a_row[arm] += bool(failure)
        self.failure[arm] = failure
        if 0 < self.problem.retire_after <= self.failures_in_a_row[arm]:
            self.retired[arm], self.candidates[arm] = True, False
        self._learn(arm, reward, cost)

    def retire(self, arm: int, why: str) -> None:
        """Take `arm` from the candidates, as it cannot be pulled any more."""
        self.failure[arm] = why
        self.retired[arm], self.candidates[arm] = True, False

    def bounds(self) -> tuple[Floats, Floats] | None:
        """Return lower and upper bounds of every arm's final reward, if the policy has any."""
        return None

    def index(self) -> Floats | None:
        """Return the index of every arm for the pull about to be made, if the policy has one."""
        return None

    def standing(self) -> dict[str, Floats]:
        """Return the policy's present values of every arm, by name."""
        if (bounds := self.bounds()) is not None:
            return {"lower": bounds[0], "upper": bounds[1]}
        index = self.index()
        return {} if index is None else {"index": index}

    def _choose(self) -> int:
        """Return the arm to pull next, one of `candidates`; by default that of largest `index`."""
        index = self.index()
        assert index is not None
        return self._largest(index)

    def _learn(self, arm: int, reward: float, cost: float) -> None:
        """Update the policy's own statistics; those of `Policy` are up to date."""

    def _largest(self, index: Floats) -> int:
        """Return the candidate with the largest index; the first of several."""
        return int(np.where(self.candidates, index, -np.inf).argmax())

    def _drawn(self) -> int:
        """Draw a candidate uniformly."""
        while True:
            arm = int(self.rng.integers(self.problem.n_arms))
            if self.candidates[arm]:
                return arm


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True)
class ArmPolicy(pulls.PullsAlgorithm):
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
    """What decides."""

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
        return self.state(problem, self, generator(seed, "policy"))

    def run(self, env: PullsEnvironment, seed: int) -> Run:
        """Pull arms until the budget ends or none is left; the answer is the best trial."""
        problem = Problem(len(env.arms), env.budget, env.unit, env.tunable)
        policy = self.start(problem, seed)
        yield from env.admit()
        while env.at < env.budget and policy.candidates.any():
            before = env.at
            arm = policy.select()
            trial = yield from env.pull(arm)
            if trial.reason == pulls.OVERRUN:  # which says nothing about the arm
                break
            candidates = policy.candidates.copy()
            if trial.reason == pulls.UNAFFORDABLE:  # nor does this, but what is left only shrinks
                policy.retire(arm, pulls.UNAFFORDABLE)
            else:
                failure = "" if trial.status == "ok" else f"{trial.status}: {trial.reason}"
                policy.update(arm, trial.reward, env.at - before, failure)
            yield from _verdicts(policy, candidates, arm, env.at)
        env.note({"retired_arms": float(policy.retired.sum())})
        if policy.pulls.all():
            for name, values in policy.standing().items():
                at_the_end = zip(env.arms, values.tolist(), strict=True)
                env.note({f"{name}.{arm}": value for arm, value in at_the_end})


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True)
class JointSpace(pulls.PullsAlgorithm):
    """One optimiser over all arms' hyperparameters at once, with the arm as a hyperparameter.

    Parameters
    ----------
    optimiser : {"tpe", "random", "smac", "bohb"}
        ``tpe`` is hyperopt's; ``random`` draws the arm, then its hyperparameters; ``smac`` and
        ``bohb`` are SMAC's facades and need the extra ``leaseboard[smac]``.

    Notes
    -----
    The fidelity of ``bohb`` is the share of the training rows: 1/9, 1/3 and 1. A trial on a
    share f is charged f trials, and only trials on all rows can become the champion.

    No arm is retired here, however often it fails: what to suggest is the optimiser's own choice,
    and it learns of every failure as the reward 0.
    """

    optimiser: Literal["tpe", "random", "smac", "bohb"] = "tpe"

    def run(self, env: PullsEnvironment, seed: int) -> Run:
        """Run the optimiser's trials in its own order until the budget ends."""
        yield from env.admit()
        while env.at < env.budget:
            trial = yield from env.pull_joint(self.optimiser)
            if trial.reason == pulls.UNAFFORDABLE:
                return  # nor is it the next time


def _verdicts(policy: Policy, before: Bools, arm: int, at: float) -> Iterator[events.Event]:
    """Report the bounds of the arm just pulled, and the arms that ceased to be candidates."""
    bounds = policy.bounds()
    if bounds is not None:
        lower, upper = bounds
        yield events.BoundsUpdated(
            at=at,
            configuration=arm,
            value=float(policy.best[arm]),
            lower=float(lower[arm]),
            upper=float(upper[arm]),
            units=float(policy.pulls[arm]),
        )
    for out in np.flatnonzero(before & ~policy.candidates):
        if not policy.retired[out]:  # eliminated, by a policy that keeps bounds
            assert bounds is not None
            leader = int(np.where(policy.candidates, lower, -np.inf).argmax())
            reason = (
                f"its upper bound {upper[out]:.4f} does not exceed"
                f" the lower bound {lower[leader]:.4f} of arm {leader}"
            )
        elif (reason := policy.failure[out]) != pulls.UNAFFORDABLE:
            reason = f"{RETIRED}{policy.failures_in_a_row[out]} times in a row: {reason}"
        yield events.Eliminated(at=at, configuration=int(out), reason=reason)
