"""The pulls environment: one pull is one tuning trial of an arm, such as a learning algorithm."""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from leaseboard.algorithms import events
from leaseboard.algorithms.base import Algorithm, Cost, Environment, Score
from leaseboard.algorithms.errors import LeaseboardError, UsageError

Unit = Literal["trials", "cpu_seconds", "wall_seconds"]

OVERRUN = "the budget ended during this trial"
UNAFFORDABLE = "the arm's next trial would take longer than what is left of the budget"
OVER_ITS_SHARE = "the trial's share of the budget ended"
OF_FIRST = 0.75
"""Share of a budget that is shared out which the first trial may take if it can be stopped."""
LEAST_TRIALS = 2
"""What is left of a budget that is shared out shall be enough for so many trials."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Result of one tuning trial: a recorded value that every policy replays.

    Attributes
    ----------
    arm : int
        Whose hyperparameters `parameters` are.
    parameters : mapping
        Only those that are active.
    reward : float
        The validation score in [0, 1]; 0 if the trial failed.
    test : float or None
        For the record: policies always see None.
    cpu_seconds, wall_seconds : float
        What the trial cost when it was run, the optimiser's suggestion included.
    status : str
        ``ok``, ``crash``, ``timeout``, ``memout`` or ``diverged``.
    reason : str
        Why it failed.
    fidelity : float
        The share of the training rows it saw; what it is charged in units of trials.
    seed : int, optional
        Of the learner, with which its model is made again; None without a learner.
    ended : bool
        False if it was stopped after the seconds that it was given, or not begun because it would
        take longer. Nothing is known of it, unless its status is ``ok``: then its reward is of a
        part of it, its fidelity says of which, and asking for it again goes on with it.
    measures : mapping of str to float
        Of the test rows, for the record: policies see none.
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
    measures: Mapping[str, float] = field(default_factory=dict)


class Trials(ABC):
    """Source of trials: the trial store, a table, or a synthetic problem.

    Trial `n` of an arm is one fixed value: it does not depend on the policy that pulls it.

    Attributes
    ----------
    arms : tuple of str
        The arms' names.
    tunable : tuple of bool
        Whether an arm has any hyperparameter; if not, all its trials are alike.
    stoppable : tuple of bool
        Whether a trial of an arm that its seconds end has a result, if that is known.
    spent_cpu_seconds : float
        CPU seconds that were really spent on trials that were not recorded before.
    """

    arms: tuple[str, ...]
    tunable: tuple[bool, ...]
    stoppable: tuple[bool, ...] = ()
    spent_cpu_seconds: float = 0.0

    @abstractmethod
    def trial(self, arm: int, n: int, seconds: float = math.inf) -> Trial:
        """Return trial number `n`, from 0, of the optimiser that tunes `arm` alone.

        Where trials can be stopped, one that does not end within `seconds` has not `ended`, and
        can be asked for again.
        """

    def joint_trial(self, optimiser: str, n: int, seconds: float = math.inf) -> Trial:
        """Return trial number `n`, from 0, of an `optimiser` of all arms' space at once.

        Raises UsageError where arms have no hyperparameters of ours.
        """
        arms = ", ".join(self.arms[:3])
        raise UsageError(f"{optimiser} cannot run: {arms} have no hyperparameters to tune jointly")


class NoTrialError(LeaseboardError):
    """The budget ended before any trial."""


class PullsEnvironment(Environment):
    """Arms to pull until the budget is spent; the score is the best trial's validation score.

    A trial that would end after the budget is cut off: it is charged what was left and its
    reward is 0, because its score would not have been seen.

    It reports leases, trials and the best one as events; policies see no test score.

    Parameters
    ----------
    trials : Trials
    budget : float
        In `unit`.
    unit : {"trials", "cpu_seconds", "wall_seconds"}
        Recorded seconds make a budget in time that is the same on every replay.
    metric : str
        The name of the validation score.
    reserve : callable
        Seconds of the budget that trials shall leave, as known at the time.
    shares : bool
        Under a budget in seconds a trial may take half of what is left. The first of all may take
        `OF_FIRST` of it if it has a result whenever it is stopped. Any other arm's first trial may
        take its share: what is left, divided by the arms that were not pulled yet. One that
        takes longer is cut off, and the arm's next pull is that trial again. And a trial on a
        share of the rows can be the best until there is one on more of them. One that has ended
        counts although it took more than it might, if that is left of the budget.
    """

    kind: ClassVar[str] = "pulls"

    unit: Unit

    def __init__(
        self,
        trials: Trials,
        budget: float,
        unit: Unit = "trials",
        metric: str = "validation_accuracy",
        *,
        shares: bool = False,
        reserve: Callable[[], float] = lambda: 0.0,
    ) -> None:
        super().__init__(unit, budget)
        self.metric = metric
        self.arms, self.tunable = trials.arms, trials.tunable
        self._best: Trial | None = None
        self.shares = shares and unit != "trials"
        self.pulls = [0] * len(trials.arms)
        self._reserve = reserve
        self._trials = trials
        # Of all trials when they were run; replayed ones add nothing to what is spent.
        self.cost: Cost = Cost(spent_cpu_seconds=trials.spent_cpu_seconds)
        self._next = [0] * len(trials.arms)
        self._champion: int | None = None
        self._joint_pulls: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()

    def admit(self) -> Iterator[events.Event]:
        """Admit the arms, before any trial."""
        for arm, name in enumerate(self.arms):
            yield events.ConfigurationAdmitted(
                at=0, configuration=arm, parameters={"arm": name}, origin="arm"
            )

    def pull(self, arm: int) -> Generator[events.Event, None, Trial]:
        """Lease one more trial to `arm`, and run it; the budget is charged its recorded cost."""
        yield self._lease(arm)
        most = self._may_take(arm)
        trial = self._trials.trial(arm, self._next[arm], self._limit(most))
        return (yield from self._charge(trial, most))

    def pull_joint(self, optimiser: str) -> Generator[events.Event, None, Trial]:
        """Run the next trial of an optimiser that chooses the arm itself."""
        n, left = self._joint_pulls[optimiser], self._left()
        trial = self._trials.joint_trial(optimiser, n, self._limit(left))
        self._joint_pulls[optimiser] += 1
        yield self._lease(trial.arm)
        return (yield from self._charge(trial, left))

    def _lease(self, arm: int) -> events.Event:
        n = self.pulls[arm]
        return events.LeaseGranted(at=self.at, configuration=arm, amount=n + 1, fresh=n == 0)

    def _limit(self, most: float) -> float:
        """Return the seconds of a trial that may cost `most` units."""
        return math.inf if self.unit == "trials" else most

    def score(self) -> Score:
        """Return the best trial's validation score; NaN without a pull.

        Its metrics hold the exploitation rate of each arm: its share of the pulls.

        Raises
        ------
        LeaseboardError
            If all trials failed.
        """
        pulled = sum(self.pulls)
        if not pulled:
            return Score(math.nan, self.metric, "max")
        best = self._best
        if best is None:
            if set(self._failures) <= {OVERRUN, OVER_ITS_SHARE, UNAFFORDABLE}:
                raise NoTrialError(
                    f"no trial was completed in a budget of {self.budget:g} {self.unit}: raise it"
                )
            (reason, times), *_ = self._failures.most_common(1)
            raise LeaseboardError(
                f"all {pulled} trials failed, {times} of them because {reason!r}:"
                " choose another space or raise the limits of a trial"
            )
        metrics = {
            **best.measures,
            "test": math.nan if best.test is None else best.test,
            "trials": float(pulled),
            "failed_trials": float(self._failures.total()),
        }
        for arm, pulls in zip(self.arms, self.pulls, strict=True):
            metrics[f"exploitation.{arm}"] = pulls / pulled
        return Score(best.reward, self.metric, "max", self._notes | metrics)

    def _left(self) -> float:
        """Return what is left of the budget.

        What was spent on trials that run ahead of their pulls is gone before it is charged.
        """
        ahead = self._trials.spent_cpu_seconds if self.unit == "cpu_seconds" else 0.0
        left = self.budget - min(self.budget, max(self.at, ahead if self.shares else 0.0))
        return max(0.0, left - self._reserve()) if self.shares else left

    def _may_take(self, arm: int) -> float:
        """Return what a trial of `arm` may cost."""
        left, waiting = self._left(), self.pulls.count(0)
        if not self.shares:
            return left
        is_first = waiting == len(self.arms)
        if is_first and self._trials.stoppable and self._trials.stoppable[arm]:
            return left * OF_FIRST
        return left / max(LEAST_TRIALS, waiting if self.pulls[arm] == 0 and not is_first else 0)

    def _charge(self, trial: Trial, most: float) -> Generator[events.Event, None, Trial]:
        """Charge and report `trial`, which may cost `most`; return what a policy sees of it."""
        cost = trial.fidelity if self.unit == "trials" else getattr(trial, self.unit)
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
        number = len(self.arms) + sum(self.pulls)
        self.pulls[trial.arm] += 1
        feedback = replace(trial, parameters=dict(trial.parameters), test=None, measures={})
        cost_of_all = self.cost.plus(trial.cpu_seconds, trial.wall_seconds)
        self.cost = replace(cost_of_all, spent_cpu_seconds=self._trials.spent_cpu_seconds)
        yield events.ConfigurationAdmitted(
            at=self.at,
            configuration=number,
            parameters={"arm": self.arms[trial.arm], **trial.parameters},
            parent=trial.arm,
            origin="trial",
        )
        yield events.TrialFinished(
            at=self.at,
            configuration=number,
            arm=trial.arm,
            reward=trial.reward,
            test=trial.test,
            cpu_seconds=trial.cpu_seconds,
            wall_seconds=trial.wall_seconds,
            status=trial.status,
            reason=trial.reason,
            seed=trial.seed,
        )
        if trial.status != "ok":
            self._failures[trial.reason] += 1
        elif (trial.fidelity == 1 or self.shares) and _standing(trial) > _standing(self._best):
            self._best = trial
            yield events.ChampionChanged(at=self.at, configuration=number, previous=self._champion)
            self._champion = number
        return feedback


class PullsAlgorithm(Algorithm[PullsEnvironment]):
    """Algorithm that runs on a pulls environment."""

    environment: ClassVar[str] = "pulls"


def _standing(trial: Trial | None) -> tuple[float, float]:
    """Return what trials are compared by: one on more rows is above all on fewer."""
    return (0.0, -math.inf) if trial is None else (trial.fidelity, trial.reward)


def _failed(trial: Trial, status: str, reason: str, share: float = 1.0) -> Trial:
    """Return `trial` without its score, after `share` of its cost."""
    return replace(
        trial,
        reward=0.0,
        test=None,
        cpu_seconds=trial.cpu_seconds * share,
        wall_seconds=trial.wall_seconds * share,
        status=status,
        reason=reason,
    )
