"""The pulls bench: one pull is one tuning trial of an arm, such as a learning algorithm."""

from __future__ import annotations

import collections
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.base import Algorithm, Bench, Cost, Score
from leaseboard.algorithms.errors import AuditError, LeaseboardError, UsageError
from leaseboard.algorithms.events import Event, TrialFinished

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Unit = Literal["trials", "cpu_seconds", "wall_seconds"]

OVERRUN = "the budget ended during this trial"
UNAFFORDABLE = "the arm's next trial would take longer than what is left of the budget"
OVER_ITS_SHARE = "the trial's share of the budget ended"
LEAST_TRIALS = 2
"""What is left of a budget that is shared out shall be enough for so many trials."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What one tuning trial came to: a recorded value that every policy replays.

    Attributes
    ----------
    arm : int
        Whose hyperparameters `parameters` are.
    parameters : mapping
        Only those that are active.
    reward : float
        The validation score in [0, 1]; 0 if the trial failed.
    test : float or None
        For the record: no policy is told it, to which it is always None.
    cpu_seconds, wall_seconds : float
        What the trial cost when it was run, the optimiser's suggestion included.
    status : str
        ``ok``, ``crash``, ``timeout``, ``memout`` or ``diverged``.
    reason : str
        Why it failed.
    fidelity : float
        The share of the training rows it saw; what it is charged in units of trials.
    seed : int, optional
        Of the learner, with which its model is made again; None where there is no learner.
    ended : bool
        False if it was stopped after the seconds that it was given, or not begun because it would
        take longer. Nothing is known of it, unless its status is ``ok``: then its reward is of a
        part of it, its fidelity says of which, and asking for it again goes on with it.
    """

    arm: int
    parameters: Mapping[str, Any]
    reward: float
    test: float | None
    cpu_seconds: float
    wall_seconds: float
    status: str = "ok"
    reason: str = ""
    fidelity: float = 1.0
    seed: int | None = None
    ended: bool = True


class Trials(Protocol):
    """Where trials come from: the trial store, or a synthetic problem.

    Trial `n` of an arm is one fixed value: it does not depend on the policy that pulls it.
    """

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms' names."""

    @property
    def tunable(self) -> tuple[bool, ...]:
        """Whether an arm has any hyperparameter; if not, all its trials are alike."""

    @property
    def spent_cpu_seconds(self) -> float:
        """CPU seconds really spent on trials that nobody had run before."""

    def trial(self, arm: int, n: int) -> Trial:
        """The trial number `n`, from 0, of the optimiser that tunes `arm` alone."""

    def joint_trial(self, optimiser: str, n: int) -> Trial:
        """The trial number `n`, from 0, of an `optimiser` of all arms' space at once."""


@runtime_checkable
class Foreseeing(Protocol):
    """Trials that can be run ahead, in parallel, when it is certain that they will be wanted."""

    def foresee(self, wanted: Sequence[tuple[int, int]], seconds: float = math.inf) -> None:
        """Run the trials (arm, n) of `wanted`, each within `seconds`."""


@runtime_checkable
class Stoppable(Protocol):
    """Trials that can be stopped when they have used what is left of a budget in seconds."""

    def trial_within(self, arm: int, n: int, seconds: float) -> Trial:
        """As `Trials.trial`; one that is stopped has not `ended`, and can be asked for again."""

    def joint_trial_within(self, optimiser: str, n: int, seconds: float) -> Trial:
        """As `Trials.joint_trial`."""


@runtime_checkable
class Finite(Protocol):
    """Trials that come to an end, as those of a system which stops by itself."""

    def n_trials(self, arm: int) -> int:
        """How many trials `arm` has in all."""


class PullsBench(Bench):
    """Arms to pull until the budget is spent; the score is the best trial's validation score.

    A trial that would end after the budget is cut off: it is charged what was left and its
    reward is 0, because nobody would have seen its score.

    Policies are told no test score; the log gets them in `told`.

    Parameters
    ----------
    trials : Trials
    budget : float
        In `unit`.
    unit : {"trials", "cpu_seconds", "wall_seconds"}
        Recorded seconds make a budget in time that is the same on every replay.
    seed : int
        The environment's seed.
    metric : str
        The name of the validation score.
    shares : bool
        Under a budget in seconds a trial may take half of what is left, and an arm's first
        one its share: what is left, divided by the arms that were not pulled yet. One that takes
        longer is cut off, and the arm's next pull is that trial again. And a trial on a share
        of the rows can be the best until there is one on more of them. One that has ended counts
        although it took more than it might, if that is left of the budget.
    """

    kind: ClassVar[str] = "pulls"
    to_be_spent: ClassVar[bool] = True
    paid: ClassVar[frozenset[str]] = frozenset(("pull", "pull_joint"))
    deeds: ClassVar[frozenset[str]] = paid | {"note"}

    def __init__(
        self,
        trials: Trials,
        budget: float,
        unit: Unit = "trials",
        seed: int = 0,
        metric: str = "validation_accuracy",
        *,
        shares: bool = False,
    ) -> None:
        super().__init__()
        if not budget >= 0:
            raise UsageError(f"a budget of {budget} {unit} is negative: give some, or 0 for none")
        self.unit: Unit = unit
        self.budget = budget
        self.seed = seed
        self.metric = metric
        self.at: float = 0
        self.arms = trials.arms
        self.tunable = trials.tunable
        self.best: Trial | None = None
        self.shares = shares
        self._cost = Cost()
        self._trials = trials
        self._next = [0] * len(trials.arms)
        self._pulls = [0] * len(trials.arms)
        self._best: Trial | None = None
        self._untold: tuple[collections.deque[Trial], ...] = tuple(
            collections.deque() for _ in trials.arms
        )
        self._joint_pulls: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()

    @property
    def pulls(self) -> list[int]:
        """How often each arm was pulled."""
        return list(self._pulls)

    @property
    def cost(self) -> Cost:
        """What all trials cost when they were run; really spent is nothing on replayed ones."""
        return replace(self._cost, spent_cpu_seconds=self._trials.spent_cpu_seconds)

    def foresee(self, arms: Sequence[int]) -> None:
        """Say which arms will be pulled next, each once, whatever the rewards will be."""
        if len(arms) > 1 and isinstance(self._trials, Foreseeing):
            left = len(arms) if self.unit != "trials" else int(self.budget - self.at)
            wanted = [(arm, self._next[arm]) for arm in arms[:left]]
            self._trials.foresee(wanted, min(map(self._may_take, arms)))

    def exhausted(self, arm: int) -> bool:
        """Whether `arm` has no trial left."""
        return isinstance(self._trials, Finite) and self.pulls[arm] >= self._trials.n_trials(arm)

    def pull(self, arm: int) -> Trial:
        """The next trial of `arm`; the budget is charged its recorded cost."""
        n, seconds = self._next[arm], self._may_take(arm)
        if self.unit != "trials" and isinstance(self._trials, Stoppable):
            return self._charge(self._trials.trial_within(arm, n, seconds), seconds)
        return self._charge(self._trials.trial(arm, n), seconds)

    def pull_joint(self, optimiser: str) -> Trial:
        """The next trial of an optimiser that chooses the arm itself."""
        n, left = self._joint_pulls[optimiser], self.budget - self.at
        if self.unit != "trials" and isinstance(self._trials, Stoppable):
            trial = self._trials.joint_trial_within(optimiser, n, left)
        else:
            trial = self._trials.joint_trial(optimiser, n)
        self._joint_pulls[optimiser] += 1
        return self._charge(trial, left)

    def told(self, event: Event) -> Event:
        """The log's form of an event: a trial's with its test score.

        Raises
        ------
        AuditError
            If it tells of a trial that was not run, or of another reward.
        """
        if not isinstance(event, TrialFinished):
            return event
        if not self._untold[event.arm]:
            raise AuditError(f"a trial of arm {event.arm} was told that was not run")
        trial = self._untold[event.arm].popleft()
        if event.reward != trial.reward:
            raise AuditError(
                f"a trial of arm {event.arm} was told with the reward {event.reward:g},"
                f" it had {trial.reward:g}"
            )
        return replace(event, test=trial.test)

    def twin(self) -> PullsBench:
        """A fresh bench on the same trials, which are replayed alike."""
        return PullsBench(
            self._trials, self.budget, self.unit, self.seed, self.metric, shares=self.shares
        )

    def score(self) -> Score:
        """The best trial's validation score; NaN without a pull, LeaseboardError if all failed.

        Its metrics hold the exploitation rate of each arm: its share of the pulls.
        """
        if not any(self.pulls):
            return Score(math.nan, self.metric, "max")
        best = self._best
        if best is None:
            raise LeaseboardError(self._why_nothing())
        failed = self._failures.total()
        pulled = sum(self.pulls)
        metrics = {
            "test": math.nan if best.test is None else best.test,
            "trials": float(pulled),
            "failed_trials": float(failed),
            "arms_pulled": float(sum(count > 0 for count in self.pulls)),
        }
        for arm, pulls in zip(self.arms, self.pulls, strict=True):
            metrics[f"exploitation.{arm}"] = pulls / pulled
        return Score(best.reward, self.metric, "max", self._notes | metrics)

    def _may_take(self, arm: int) -> float:
        """What a trial of `arm` may cost."""
        left, waiting = self.budget - self.at, self._pulls.count(0)
        if not self.shares or self.unit == "trials":
            return left
        return left / max(LEAST_TRIALS, waiting if self._pulls[arm] == 0 else 0)

    def _charge(self, trial: Trial, most: float) -> Trial:
        """Enter `trial`, which may cost `most`."""
        cost = {
            "trials": trial.fidelity,
            "cpu_seconds": trial.cpu_seconds,
            "wall_seconds": trial.wall_seconds,
        }[self.unit]
        if trial.status == "ok" and not math.isfinite(trial.reward):
            trial = _failed(trial, "diverged", "the feedback is not a finite number")
        may_take = self.budget - self.at if self.shares else most
        if cost > may_take * (1 + 1e-9) or not (trial.ended or trial.status == "ok"):
            reason = OVERRUN if most == self.budget - self.at else OVER_ITS_SHARE
            reason = UNAFFORDABLE if trial.reason == UNAFFORDABLE else reason
            share = may_take / cost if trial.ended else 1.0
            trial = _failed(trial, "timeout", reason, share)
            cost *= share
        elif trial.ended:
            self._next[trial.arm] += 1
        self.at = min(self.budget, self.at + cost)
        self._pulls[trial.arm] += 1
        self._untold[trial.arm].append(trial)
        feedback = replace(trial, parameters=dict(trial.parameters), test=None)
        self._cost = self._cost.plus(trial.cpu_seconds, trial.wall_seconds)
        if trial.status != "ok":
            self._failures[trial.reason] += 1
        elif (trial.fidelity == 1 or self.shares) and _standing(trial) > _standing(self._best):
            self._best, self.best = trial, feedback
        return feedback

    def _why_nothing(self) -> str:
        if set(self._failures) <= {OVERRUN, OVER_ITS_SHARE, UNAFFORDABLE}:
            return f"no trial was completed in a budget of {self.budget:g} {self.unit}: raise it"
        (reason, times), *_ = self._failures.most_common(1)
        return (
            f"all {sum(self.pulls)} trials failed, {times} of them because {reason!r}:"
            " choose another space or raise the limits of a trial"
        )


class PullsAlgorithm(Algorithm[PullsBench]):
    """Runs on a pulls bench."""

    bench: ClassVar[str] = "pulls"


def _standing(trial: Trial | None) -> tuple[float, float]:
    """What the best trial is best by: one that saw more rows stands above all that saw fewer."""
    return (0.0, -math.inf) if trial is None else (trial.fidelity, trial.reward)


def _failed(trial: Trial, status: str, reason: str, share: float = 1.0) -> Trial:
    """`trial` without its score, after `share` of its cost."""
    return replace(
        trial,
        reward=0.0,
        test=None,
        cpu_seconds=trial.cpu_seconds * share,
        wall_seconds=trial.wall_seconds * share,
        status=status,
        reason=reason,
    )


class Arms(ABC):
    """K arms whose feedbacks are drawn from known distributions."""

    @property
    @abstractmethod
    def n_arms(self) -> int:
        """K."""

    @abstractmethod
    def draw(self, arm: Ints, n: Ints, rng: np.random.Generator) -> Floats:
        """The feedback of pull number `n`, from 1, of `arm`; NaN where it fails."""


@dataclass(frozen=True, slots=True)
class GaussianArms(Arms):
    """Arms with normally distributed feedbacks that do not depend on the number of the pull.

    Attributes
    ----------
    means, sds : tuple of float, length n_arms
    """

    means: tuple[float, ...]
    sds: tuple[float, ...]

    @property
    def n_arms(self) -> int:
        """K."""
        return len(self.means)

    def draw(self, arm: Ints, n: Ints, rng: np.random.Generator) -> Floats:
        """N(mean, sd²) of each arm."""
        return rng.normal(np.asarray(self.means)[arm], np.asarray(self.sds)[arm], np.shape(n))


SEVEN_GAUSSIANS = GaussianArms(
    means=(0.84, 0.84, 0.85, 0.85, 0.88, 0.88, 0.89),
    sds=(0.07, 0.01, 0.04, 0.02, 0.01, 0.02, 0.01),
)
"""Section 4.1 of the ER-UCB paper; arm 1 (here 0) has the largest extreme region."""


@dataclass(frozen=True, slots=True)
class RisingArms(Arms):
    """Arms whose feedbacks rise with the pulls, as an optimiser's trials do.

    The feedback of pull n is ``limit - drop / n**rate - noise |z|`` with z ~ N(0, 1). Without
    noise the curve is increasing, bounded and concave: Assumption 1 of Rising Bandits.

    Attributes
    ----------
    limits, drops, rates : tuple of float, length n_arms
    noise : float
    """

    limits: tuple[float, ...]
    drops: tuple[float, ...]
    rates: tuple[float, ...]
    noise: float = 0.0

    @property
    def n_arms(self) -> int:
        """K."""
        return len(self.limits)

    def draw(self, arm: Ints, n: Ints, rng: np.random.Generator) -> Floats:
        """The curve less its noise."""
        limit, drop, rate = (np.asarray(v)[arm] for v in (self.limits, self.drops, self.rates))
        curve = rising_curve(n, limit, drop, rate)
        return curve - self.noise * np.abs(rng.standard_normal(np.shape(n)))


FOUR_RISING = RisingArms(
    limits=(0.9, 0.85, 0.8, 0.88), drops=(0.4, 0.25, 0.1, 0.6), rates=(0.5, 1.0, 1.0, 0.5)
)
"""Two arms that rise for long, one that ends lower, and one that stops early."""


def rising_curve(n: Ints, limit: Floats, drop: Floats, rate: Floats) -> Floats:
    """The curve limit - drop / n^rate."""
    return np.asarray(limit - drop / n**rate, dtype=np.float64)
