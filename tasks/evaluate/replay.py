"""Trials of one dataset, split and space: replayed from the store, run, or under a budget.

`TableTrials` are feedbacks of arms that are on record already. `BudgetedTrials` are stopped at the
end of a budget in CPU seconds, with models and predictions kept.
"""

import math
import tempfile
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.environments.pulls import UNAFFORDABLE, Trial, Trials
from leaseboard.algorithms.errors import DataError, SkipError, UsageError
from leaseboard.algorithms.seeds import derive_seed, generator
from leaseboard.tasks.evaluate import optimisers, spaces, trials
from leaseboard.tasks.evaluate.optimisers import Optimiser, Suggestion
from leaseboard.tasks.evaluate.spaces import Space
from leaseboard.tasks.evaluate.trials import Arrays, Order, TrialOutcome, carry_out, fitted_in
from leaseboard.tasks.machine.environment import working_seconds
from leaseboard.tasks.machine.versions import recorded_key
from leaseboard.tasks.processes.child import Limits
from leaseboard.tasks.store.database import Record, Records, Store

S = TypeVar("S")


@dataclass(eq=False, kw_only=True)
class OptimisedTrials(Trials, Generic[S]):
    """Trials of a space that optimisers suggest: a stream `S` of them for each.

    - `optimiser`: tunes each arm alone.
    - `seed`: of the optimisers, from which each arm's own is derived, and of the learners.
    """

    space: Space
    optimiser: str
    seed: int

    def __post_init__(self) -> None:
        self.arms = tuple(self.space.arms)
        self.tunable = tuple(arm.tunable for arm in self.space.arms.values())
        self._streams: dict[tuple[str, ...], S] = {}

    def trial(self, arm: int, n: int, seconds: float = math.inf) -> Trial:
        """See `Trials.trial`."""
        alone = self.space.restricted([self.arms[arm]])
        return self._get(self._stream(self.optimiser, alone), n, seconds)

    def joint_trial(self, optimiser: str, n: int, seconds: float = math.inf) -> Trial:
        """See `Trials.joint_trial`."""
        return self._get(self._stream(optimiser, self.space), n, seconds)

    def _stream(self, optimiser: str, space: Space) -> S:
        name = (optimiser, *space.arms)
        if name not in self._streams:
            self._streams[name] = self._open(optimiser, space, derive_seed(self.seed, *name))
        return self._streams[name]

    @abstractmethod
    def _open(self, optimiser: str, space: Space, seed: int) -> S: ...

    @abstractmethod
    def _get(self, stream: S, n: int, seconds: float) -> Trial: ...


class _TrialStream:
    """Trials of one optimiser on its arms, and the optimiser that continues them."""

    def __init__(self, records: Records, optimiser: str, space: Space, seed: int) -> None:
        self.records = records
        self._seed = seed
        self._make = cache(lambda: optimisers.make(optimiser, space, seed))
        self._known = 0
        """Number of trials that the optimiser knows."""

    def has(self, n: int) -> bool:
        """Return whether trial `n` is on record, also by another process."""
        if len(self.records) <= n:
            self.records.refresh()
        return len(self.records) > n

    def learner_seed(self, n: int) -> int:
        """Return the random state of the learner of trial `n`."""
        return derive_seed(self._seed, "learner", n)

    def suggest(self, n: int) -> tuple[Suggestion, tuple[float, float]]:
        """Return the configuration of trial `n`, and the CPU and wall seconds of the decision."""
        optimiser = self._make()
        for past in range(self._known, n):
            record = self.records[past]
            known = Suggestion(record["arm"], record["parameters"], record["fidelity"])
            optimiser.tell(past, known, record["reward"])
        self._known = n
        cpu, wall = thread_time(), perf_counter()
        suggestion = optimiser.suggest(n)
        return suggestion, (thread_time() - cpu, perf_counter() - wall)


@dataclass(eq=False, kw_only=True)
class StoredTrials(OptimisedTrials[_TrialStream]):
    """Trials from the store; those that were never run are run in a fork and stored.

    - `data`: names the data in the key: digest, how rows are divided, how columns become numbers.
    - `arrays`: returns the encoded data, which it makes once, if a trial must be run.
    - `limits`: CPU seconds and memory of each trial; without them trials run in this process.
    """

    data: Record
    arrays: Callable[[], Arrays]
    store: Store
    limits: Limits | None

    def _get(self, stream: _TrialStream, n: int, seconds: float) -> Trial:
        stopped: list[Record] = []

        def compute(number: int) -> Record | None:
            record = self._compute(stream, number, seconds)
            if record["status"] != "stopped":
                return record
            stopped.append(record)
            return None

        seed = stream.learner_seed(n)
        while not stream.has(n):
            stream.records.extend(compute)
            if stopped:
                return replace(self._trial(stopped[0], seed), cpu_seconds=seconds, ended=False)
        return self._trial(stream.records[n], seed)

    def _compute(self, stream: _TrialStream, n: int, seconds: float) -> Record:
        """Run trial `n` for at most `seconds`."""
        suggestion, thought = stream.suggest(n)
        order = order_of(self.space, suggestion, stream.learner_seed(n))
        outcome = carry_out(replace(order, seconds=seconds), self.arrays(), self.limits)
        if not outcome.lasting:
            raise SkipError(f"trial {n + 1} of {order.estimator}: {outcome.reason}: run it again")
        self.spent_cpu_seconds += outcome.cpu_seconds + thought[0]
        names = ("reward", "test", "cpu_seconds", "wall_seconds", "status", "reason", "measures")
        return asdict(suggestion) | {name: getattr(outcome, name) for name in names} | {
            "suggest_cpu_seconds": thought[0], "suggest_wall_seconds": thought[1],
        }  # fmt: skip

    def _open(self, optimiser: str, space: Space, seed: int) -> _TrialStream:
        optimisers.require(optimiser)
        learners = {arm.estimator for arm in space.arms.values()}
        key = recorded_key(
            classes=[name for name in learners if ":" in name],
            data=self.data,
            arms={name: arm.model_dump() for name, arm in space.arms.items()},
            optimiser=optimiser,
            seed=seed,
            limits=self.limits and [self.limits.cpu_seconds, self.limits.memory_mb],
        )
        return _TrialStream(self.store.records(key), optimiser, space, seed)

    def _trial(self, record: Record, seed: int) -> Trial:
        same = ("parameters", "reward", "test", "status", "reason", "fidelity", "measures")
        return Trial(
            arm=self.arms.index(record["arm"]),
            cpu_seconds=record["cpu_seconds"] + record["suggest_cpu_seconds"],
            wall_seconds=record["wall_seconds"] + record["suggest_wall_seconds"],
            seed=seed,
            **{name: record[name] for name in same},
        )


class TableTrials(Trials):
    """Feedbacks of `table`, in its order or drawn without replacement.

    - `table`, shape (n_pulls, n_arms): numbers, none missing.
    - `seed`: of the draw, which has an order of its own for each arm; None keeps the table's.
    """

    def __init__(self, table: pd.DataFrame, seed: int | None) -> None:
        for name in table:
            if not pd.api.types.is_numeric_dtype(table[name]) or table[name].isna().any():
                raise DataError(
                    f"column {name!r} is not an arm's feedback: it must hold numbers only"
                )
        self.arms = tuple(str(name) for name in table)
        self.tunable = (True,) * len(self.arms)
        columns = [table.iloc[:, arm].to_numpy(np.float64) for arm in range(len(self.arms))]
        self._feedback = [
            column if seed is None else generator(seed, "table", arm).permutation(column)
            for arm, column in enumerate(columns)
        ]

    def trial(self, arm: int, n: int, seconds: float = math.inf) -> Trial:
        """Return feedback `n` of `arm`, free of cost; UsageError beyond the table's end."""
        feedback = self._feedback[arm]
        if n >= len(feedback):
            raise UsageError(
                f"the table holds {len(feedback)} feedbacks an arm and arm {self.arms[arm]} is"
                f" pulled for the {n + 1}th time: lower the budget or add rows"
            )
        return Trial(arm, {"pull": n + 1}, float(feedback[n]), None, 0.0, 0.0)


def order_of(space: Space, suggestion: Suggestion, seed: int) -> Order:
    """Return the order of a suggested configuration."""
    arm = space.arms[suggestion.arm]
    values = {**arm.constants, **suggestion.parameters}
    return Order(arm.estimator, values, seed, suggestion.fidelity, codes=arm.codes)


BETWEEN_RUNGS = 4
"""Factor by which the next fit of a trial has more rows."""
OF_TREES = 0.5
"""Boosting begins if this share of its usual seconds is left; it then has fewer trees."""
RECENT = 3
"""Trials of an arm whose median cost says what its next one will take."""


@dataclass(slots=True)
class Tried:
    """Trial that was begun: what is known of it, and what it took."""

    suggestion: Suggestion
    order: Order
    """Which fits the same model again, and names the file of its models."""
    status: str = ""
    """Empty while it has not ended."""
    cpu_seconds: float = 0.0
    """The last time that it was run."""
    score: float = math.nan
    predictions: Any = None
    """For all validation rows; None of a fit on few rows."""


@dataclass(slots=True)
class _Search:
    """Trials of one optimiser, in their order."""

    optimiser: Optimiser
    tried: list[Tried] = field(default_factory=list)
    ended: list[Trial] = field(default_factory=list)
    """The results of those that have ended: of all but the last of `tried`, or of all."""


@dataclass(eq=False, kw_only=True)
class BudgetedTrials(OptimisedTrials[_Search]):
    """Trials that a budget in CPU seconds can stop, and that are charged with all they cost.

    A trial is charged with all time of this process and its forks since the one before, so that
    what was spent is charged. One that would take longer than
    what is left, by those of its arm before it, is not begun; one that does is stopped if trials
    have limits. It can be asked for again.

    - `limits`: CPU seconds and memory of each trial; without them trials run in this process.
    - `folder`: gets the fitted models.
    """

    arrays: Arrays
    limits: Limits | None
    folder: Path

    def __post_init__(self) -> None:
        super().__post_init__()
        self.n_folds = len(self.arrays.folds)
        self.stoppable = tuple(
            self.n_folds == 1 and spaces.stoppable(arm.estimator)
            for arm in self.space.arms.values()
        )
        self.tried: dict[int, Tried] = {}
        """By the seed of the learner."""
        self._began = self._charged = _spent()

    def warm(self) -> None:
        """Import what the arms need, for no trial to be charged with it."""
        trials.warm()
        for arm in self.space.arms.values():
            with suppress(Exception):  # a trial will meet it again and say so
                spaces.build(arm.estimator, {**arm.constants, **arm.defaults()}, 1, 0)
        self._began = self._charged = _spent()

    def leaders(self) -> list[tuple[float, float]]:
        """Return score and seconds of a fit on all rows of each arm's best trial, best first."""
        found: dict[str, tuple[float, float]] = {}
        for each in self.tried.values():
            if each.predictions is not None:
                arm, share = each.suggestion.arm, each.suggestion.fidelity
                own = each.score, each.cpu_seconds / share
                found[arm] = max(found.get(arm, own), own)
        return sorted(found.values(), reverse=True)

    def refit(self, tried: Tried, seconds: float) -> tuple[list[Any] | None, float]:
        """Return the model of a trial, fitted with its seed on the rows of `Arrays.refit`.

        With it what the fit took. None if that fails, does not end within `seconds`, or falls
        short of the trial's score on rows of which it has learned: luck made the one or unmade
        the other.
        """
        with tempfile.NamedTemporaryFile() as file:
            order = replace(tried.order, keep=file.name, seconds=seconds, refit=True, fidelity=1.0)
            outcome = trials.carry_out(order, self.arrays, self.limits)
            self.spent_cpu_seconds = float((_spent() - self._began)[0])
            worse = outcome.score is None or outcome.score < tried.score
            return (None if worse else fitted_in(file.name)), outcome.cpu_seconds

    def _open(self, optimiser: str, space: Space, seed: int) -> _Search:
        n_rows = min(len(fold.train_y) for fold in self.arrays.folds)
        shares = rungs(n_rows, max(arm.rows_at_first for arm in space.arms.values()))
        return _Search(optimisers.make(optimiser, space, seed, shares))

    def _get(self, stream: _Search, n: int, seconds: float) -> Trial:
        while len(stream.ended) <= n:
            trial = self._go_on(stream, seconds)
            if not trial.ended:
                return trial
            stream.ended.append(trial)
        return stream.ended[n]

    def _go_on(self, search: _Search, seconds: float) -> Trial:
        """Run the next trial of a search if `seconds` can be enough."""
        n = len(search.ended)
        if len(search.tried) == n:
            search.tried.append(self._begun(search.optimiser, n))
        tried = search.tried[n]
        if not self._expected(search, tried) < seconds:
            unaffordable = TrialOutcome(status="timeout", reason=UNAFFORDABLE)
            return self._trial(tried, unaffordable, np.zeros(2), ended=False)
        left = max(0.0, seconds - (_spent() - self._charged)[0])
        order = replace(tried.order, seconds=left)
        outcome = trials.carry_out(order, self.arrays, self.limits)
        now = _spent()
        charge, self._charged = now - self._charged, now
        self.spent_cpu_seconds = float((now - self._began)[0])
        tried.cpu_seconds = outcome.cpu_seconds
        if outcome.status == "stopped":
            return self._trial(tried, outcome, charge, ended=False)
        tried.status = outcome.status
        search.optimiser.tell(n, tried.suggestion, outcome.reward)
        if outcome.predictions is not None:
            tried.score, tried.predictions = outcome.score or 0.0, outcome.predictions
        if outcome.trees:  # a further fit has just as many
            values = {**tried.order.values, "n_estimators": outcome.trees}
            tried.order = replace(tried.order, values=values)
        return self._trial(tried, outcome, charge, ended=True)

    def _begun(self, optimiser: Optimiser, n: int) -> Tried:
        seed = derive_seed(optimiser.seed, "learner", n)
        suggestion = optimiser.suggest(n)
        # Sorted, as events of stored trials have them.
        parameters = dict(sorted(suggestion.parameters.items()))
        suggestion = replace(suggestion, parameters=parameters)
        order = order_of(self.space, suggestion, seed)
        made = Tried(suggestion, replace(order, keep=str(self.folder / f"{seed}.pickle")))
        return self.tried.setdefault(seed, made)

    def _trial(
        self, tried: Tried, outcome: TrialOutcome, charge: NDArray[np.float64], *, ended: bool
    ) -> Trial:
        suggestion = tried.suggestion
        return Trial(
            self.arms.index(suggestion.arm), suggestion.parameters, outcome.reward, None,
            *charge.tolist(), outcome.status, outcome.reason, suggestion.fidelity,
            tried.order.seed, ended,
        )  # fmt: skip

    def _expected(self, search: _Search, tried: Tried) -> float:
        """Return the seconds that a trial takes if it costs as the arm's last ones, by row.

        At least the seconds that it has taken without an end; 0 if nothing is known.
        """

        def fits(fidelity: float) -> float:
            return fidelity * (self.n_folds if fidelity == 1 else 1)

        arm, before = tried.suggestion.arm, search.tried[: len(search.ended)]
        costs = [
            each.cpu_seconds / fits(each.suggestion.fidelity)
            for each in before
            if each.suggestion.arm == arm and each.status == "ok"
        ]
        usual = float(np.median(costs[-RECENT:])) if costs else 0.0
        usual *= fits(tried.suggestion.fidelity)
        if self.stoppable[self.arms.index(arm)]:
            usual *= OF_TREES
        return max(usual, tried.cpu_seconds)


def rungs(n_rows: int, rows_at_first: int) -> list[float]:
    """Return the shares of the rows on which a configuration is fitted, one after the other.

    Examples
    --------
    >>> rungs(100_000, 4_000)
    [0.0625, 0.25, 1.0]
    """
    shares = [1.0]
    while rows_at_first / n_rows * BETWEEN_RUNGS <= shares[0]:
        shares.insert(0, max(rows_at_first / n_rows, shares[0] / BETWEEN_RUNGS))
    return shares


def _spent() -> NDArray[np.float64]:
    """Return the CPU seconds of this process and its forks, and the wall time."""
    return np.array(working_seconds())
