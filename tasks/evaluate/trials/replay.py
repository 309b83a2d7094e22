"""Trials of one dataset, split and space: replayed from the store, or run when asked for.

`BudgetedTrials` are those under a budget in seconds: stopped at its end, with models and
predictions kept.
"""

from __future__ import annotations

import base64
import math
import resource
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.environments.pulls import UNAFFORDABLE, Trial, Trials
from leaseboard.algorithms.errors import SkipError
from leaseboard.algorithms.seeds import derive_seed
from leaseboard.tasks.evaluate.trials import evaluate, optimisers, recipes
from leaseboard.tasks.evaluate.trials.evaluate import (
    Arrays,
    Judged,
    Order,
    TrialData,
    TrialOutcome,
    fitted_in,
)
from leaseboard.tasks.evaluate.trials.optimisers import Optimiser, Suggestion
from leaseboard.tasks.evaluate.trials.spaces import Space
from leaseboard.tasks.keys.versions import recorded_key
from leaseboard.tasks.processes.limits import Limits
from leaseboard.tasks.store.recorded import Record, Records, Store

_LIBRARIES = {
    "guided": ("hyperopt",),
    "tpe": ("hyperopt",),
    "smac": ("smac", "ConfigSpace"),
    "bohb": ("smac", "ConfigSpace"),
    "random": (),
}

BETWEEN_RUNGS = 4
"""Factor by which the next fit of a trial has more rows."""
OF_TREES = 0.5
"""Boosting begins if this share of its usual seconds is left; it then has fewer trees."""
RECENT = 3
"""Trials of an arm whose median cost says what its next one will take."""


class _TrialStream:
    """Trials of one optimiser on its arms, and the optimiser that continues them."""

    def __init__(
        self, records: Records, optimiser: str, space: Space, seed: int, shares: Sequence[float]
    ) -> None:
        self.records = records
        self.lock = threading.Lock()
        self._seed = seed
        self._make = lambda: optimisers.make(optimiser, space, seed, shares)
        self._optimiser: Optimiser | None = None
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
        if self._optimiser is None or n < self._known:  # a damaged record is made again
            self._optimiser, self._known = self._make(), 0
        for past in range(self._known, n):
            record = self.records[past]
            self._optimiser.tell(past, _suggestion(record), record["reward"])
        self._known = n
        cpu, wall = thread_time(), perf_counter()
        suggestion = self._optimiser.suggest(n)
        return suggestion, (thread_time() - cpu, perf_counter() - wall)


@dataclass(eq=False)
class StoredTrials(Trials):
    """Trials from the store; those that were never run are run in a fork and stored.

    - `data`: the data of all trials.
    - `optimiser`: tunes each arm alone.
    - `n_rows`: of the training rows, of which ``guided`` takes a share first; 0: it takes all.
    - `seed`: of the optimisers, from which each arm's own is derived, and of the learners.
    - `limits`: CPU seconds and memory of each trial; without them trials run in this process.
    """

    space: Space
    data: TrialData
    _: KW_ONLY
    optimiser: str
    seed: int
    store: Store
    limits: Limits | None
    n_rows: int = 0

    def __post_init__(self) -> None:
        self.arms = tuple(self.space.arms)
        self.tunable = tuple(arm.tunable for arm in self.space.arms.values())
        self._streams: dict[tuple[str, str], _TrialStream] = {}
        self._arrays: Arrays | None = None
        self._lock = threading.Lock()

    def trial(self, arm: int, n: int, seconds: float = math.inf) -> Trial:
        """See `Trials.trial`; one that is stopped is not stored."""
        return self._get(self._stream_of(arm), n, seconds)

    def joint_trial(self, optimiser: str, n: int, seconds: float = math.inf) -> Trial:
        """See `Trials.joint_trial`."""
        return self._get(self._stream(optimiser, self.space), n, seconds)

    def _get(self, stream: _TrialStream, n: int, seconds: float) -> Trial:
        stopped: list[Trial] = []

        def compute(number: int) -> Record | None:
            record, trial = self._compute(stream, number, seconds)
            stopped.extend([] if trial.ended else [trial])
            return record if trial.ended else None

        with stream.lock:
            while not stream.has(n):
                stream.records.extend(compute)
                if stopped:
                    return stopped[0]
            return self._as_trial(stream.records[n], stream.learner_seed(n))

    def _stream_of(self, arm: int) -> _TrialStream:
        return self._stream(self.optimiser, self.space.restricted([self.arms[arm]]))

    def _stream(self, optimiser: str, space: Space) -> _TrialStream:
        name = (optimiser, next(iter(space.arms)) if len(space.arms) == 1 else "")
        with self._lock:
            if name in self._streams:
                return self._streams[name]
            optimisers.require(optimiser)
            learners = {arm.estimator for arm in space.arms.values()}
            more = ["lightgbm"] if "lightgbm" in learners else []
            seed = derive_seed(self.seed, optimiser, *space.arms)
            shares = rungs(self.n_rows, max(arm.rows_at_first for arm in space.arms.values()))
            key = recorded_key(
                code=(__name__, *self.data.code),
                libraries=(*_LIBRARIES[optimiser], *more),
                classes=[name for name in learners if ":" in name],
                data=self.data.identity,
                arms={name: arm.model_dump() for name, arm in space.arms.items()},
                optimiser=optimiser,
                seed=seed,
                limits=self.limits and [self.limits.cpu_seconds, self.limits.memory_mb],
                **({"shares": shares} if optimiser == "guided" else {}),
            )
            records = self.store.records(key)
            made = _TrialStream(records, optimiser, space, seed, shares)
            return self._streams.setdefault(name, made)

    def _compute(self, stream: _TrialStream, n: int, seconds: float) -> tuple[Record, Trial]:
        """Run trial `n` for at most `seconds`."""
        (suggestion, thought), seed = stream.suggest(n), stream.learner_seed(n)
        outcome = self._run(replace(self._order(suggestion, seed), seconds=seconds))
        with self._lock:
            self.spent_cpu_seconds += outcome.cpu_seconds + thought[0]
        record = _record(suggestion, outcome, thought)
        trial = self._as_trial(record, seed)
        if outcome.status == "stopped":
            trial = replace(trial, cpu_seconds=seconds, ended=False)
        return record, trial

    def _order(self, suggestion: Suggestion, seed: int) -> Order:
        arm = self.space.arms[suggestion.arm]
        values = {**arm.constants, **suggestion.parameters}
        return Order(arm.estimator, values, seed, suggestion.fidelity, codes=arm.codes)

    def _run(self, order: Order) -> TrialOutcome:
        """Run `order` in this process, or in a fork; SkipError if it cannot be run here now."""
        with self._lock:
            if self._arrays is None:
                self._arrays = self.data.arrays()
        if self.limits is None:
            outcome = evaluate.run(order, self._arrays)
        else:
            outcome = evaluate.run_apart(order, self._arrays, self.limits)
        if outcome.status == "skipped":  # the machine prevented it
            raise SkipError(outcome.reason)
        return outcome

    def _as_trial(self, record: Record, seed: int) -> Trial:
        same = ("parameters", "reward", "test", "status", "reason", "fidelity", "measures")
        return Trial(
            arm=self.arms.index(record["arm"]),
            cpu_seconds=record["cpu_seconds"] + record["suggest_cpu_seconds"],
            wall_seconds=record["wall_seconds"] + record["suggest_wall_seconds"],
            seed=seed,
            **{name: record[name] for name in same},
        )


def rungs(n_rows: int, rows_at_first: int) -> list[float]:
    """Return the shares of the rows on which a configuration is fitted, one after the other.

    Examples
    --------
    >>> rungs(100_000, 4_000)
    [0.0625, 0.25, 1.0]
    """
    shares = [1.0]
    while n_rows and rows_at_first / n_rows * BETWEEN_RUNGS <= shares[0]:
        shares.insert(0, max(rows_at_first / n_rows, shares[0] / BETWEEN_RUNGS))
    return shares


def _suggestion(record: Record) -> Suggestion:
    return Suggestion(record["arm"], record["parameters"], record["fidelity"])


def _record(suggestion: Suggestion, outcome: TrialOutcome, more: Sequence[float]) -> Record:
    """Return the record of a trial; `more`: the seconds that it took outside of its run."""
    names = ("reward", "test", "cpu_seconds", "wall_seconds", "status", "reason", "measures")
    return asdict(suggestion) | {name: getattr(outcome, name) for name in names} | {
        "suggest_cpu_seconds": more[0],
        "suggest_wall_seconds": more[1],
    }  # fmt: skip


def _seconds() -> NDArray[np.float64]:
    return np.zeros(2)


@dataclass(slots=True)
class _Begun:
    """Progress of a trial that was asked for; seconds are CPU and wall seconds."""

    stream: _TrialStream
    n: int
    """The number of the trial in its stream."""
    took: float = 0.0
    """Seconds that it took without an end."""
    folds: int = 0
    """Folds that were fitted before it was stopped."""
    charged: NDArray[np.float64] = field(default_factory=_seconds)
    """Seconds that were charged for these."""
    a_fold: float = 0.0
    """Seconds that one of them took."""
    judged: Judged | None = None
    """Its predictions on these folds."""


@dataclass(eq=False, kw_only=True)
class BudgetedTrials(StoredTrials):
    """Stored trials that a budget in seconds can stop, and that are charged with all they cost.

    A trial is charged with all time of this process and its forks since the one before, so that
    what was spent is charged, with several forks at once, too. One that would take longer than
    what is left, by those of its arm before it, is not begun; one that does is stopped: before a
    fold that would end too late, and within one if trials have limits. Neither is stored. It can
    be asked for again, and then goes on after the folds that were fitted. Until then these are
    what it is judged by.

    - `keep`: the folder that gets the fitted models of trials that are run here.
    - `n_folds`: fits of a trial on all rows, where one on a share of them is a single fit.
    - `clock`: which seconds are counted.
    - `n_jobs`: how many trials of different arms may run at once, if it is known that they are
      wanted.
    - Others as of `StoredTrials`.
    """

    keep: Path
    n_folds: int
    clock: Literal["cpu", "wall"]
    n_jobs: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self._begun: dict[int, _Begun] = {}
        """By the seed of the trial."""
        self._began = self._charged = self._spent()
        self.stoppable = tuple(
            self.n_folds == 1 and recipes.stoppable(arm.estimator)
            for arm in self.space.arms.values()
        )

    def prefetch(self, wanted: Sequence[tuple[int, int]], seconds: float = math.inf) -> None:
        """Run the missing ones of these trials (arm, n) at once, each within `seconds`."""
        streams = [(self._stream_of(arm), n) for arm, n in wanted]
        missing = [(stream, n) for stream, n in streams if not stream.has(n)]
        at_once = min(self.n_jobs, len(missing))
        if at_once < 2 or self.limits is None:
            return
        import threadpoolctl

        # Each fork sets and resets it for the whole process, so it is set here once.
        with threadpoolctl.threadpool_limits(1), ThreadPoolExecutor(at_once) as pool:
            for trial in pool.map(lambda each: self._get(*each, seconds), missing):
                if not trial.ended:  # the next one is charged with what it took
                    self._charged -= trial.cpu_seconds, trial.wall_seconds

    def warm(self) -> None:
        """Import what the arms need, for no trial to be charged with it."""
        evaluate.warm()
        for arm in self.space.arms.values():
            with suppress(Exception):  # a trial will meet it again and say so
                recipes.build(arm.estimator, {**arm.constants, **arm.defaults()}, 1, 0)
        self._began = self._charged = self._spent()

    def judged(self, seed: int) -> Judged | None:
        """Return the predictions of the trial with this seed; None if it has none.

        Of one that was stopped between folds they are those of the first rows.
        """
        begun = self._begun[seed]
        record = self._recorded(begun)
        if "predictions" not in record:
            return begun.judged
        *shape, kind, content = record["predictions"]
        array = np.frombuffer(base64.b64decode(content), dtype=kind).reshape(shape)
        return self._judged(begun, record, array)

    def leaders(self) -> list[tuple[float, float]]:
        """Return score and seconds of a fit on all rows of each arm's best trial, best first."""
        found: dict[str, tuple[float, float]] = {}
        for record in map(self._recorded, self._begun.values()):
            if "predictions" in record:
                own = record["score"], record[f"{self.clock}_seconds"] / record["fidelity"]
                found[record["arm"]] = max(found.get(record["arm"], own), own)
        return sorted(found.values(), reverse=True)

    def fit_again(
        self, judged: Judged, *, refit: bool = False, seconds: float = math.inf
    ) -> tuple[list[Any] | None, TrialOutcome]:
        """Return the models of a trial, fitted once more with its seed, and the outcome.

        - `refit`: fit on the rows of `Arrays.refit` alone.
        """
        with tempfile.NamedTemporaryFile() as file:
            order = replace(judged.order, keep=file.name, seconds=seconds, clock=self.clock)
            order = replace(order, refit=True, fidelity=1.0) if refit else order
            outcome = self._run(order)
            self.spent_cpu_seconds = float((self._spent() - self._began)[0])
            models = [model for model, _ in fitted_in(file.name)]
            return (models if outcome.status == "ok" else None), outcome

    def _spent(self) -> NDArray[np.float64]:
        """Return the CPU seconds of this process and its forks, and the wall time."""
        kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
        return np.array([sum(sum(resource.getrusage(kind)[:2]) for kind in kinds), perf_counter()])

    def _counted(self, seconds: Sequence[float] | NDArray[np.float64]) -> float:
        """Return the CPU or the wall seconds of a pair, whichever the budget counts."""
        return float(seconds[1 if self.clock == "wall" else 0])

    def _recorded(self, begun: _Begun) -> Record:
        """Return the record of a trial; nothing if it has not ended."""
        records = begun.stream.records
        return records[begun.n] if len(records) > begun.n else {}

    def _at(self, stream: _TrialStream, n: int) -> _Begun:
        return self._begun.setdefault(stream.learner_seed(n), _Begun(stream, n))

    def _get(self, stream: _TrialStream, n: int, seconds: float) -> Trial:
        trial, begun = super()._get(stream, n, seconds), self._at(stream, n)
        if not trial.ended:
            return trial
        (cpu, wall), begun.charged, begun.folds = begun.charged, _seconds(), 0
        return replace(
            trial, cpu_seconds=trial.cpu_seconds - cpu, wall_seconds=trial.wall_seconds - wall
        )

    def _compute(self, stream: _TrialStream, n: int, seconds: float) -> tuple[Record, Trial]:
        """Run trial `n` if `seconds` can be enough."""
        begun, (suggestion, _) = self._at(stream, n), stream.suggest(n)
        seed = stream.learner_seed(n)
        if not self._predicted(begun, suggestion) < seconds:
            outcome = TrialOutcome(status="timeout", reason=UNAFFORDABLE)
            record = _record(suggestion, outcome, (0.0, 0.0))
            return record, replace(self._as_trial(record, seed), ended=False)
        with self._lock:
            left = max(0.0, seconds - self._counted(self._spent() - self._charged))
        order = replace(
            self._order(suggestion, seed),
            keep=str(self._file(begun)), seconds=left, clock=self.clock,
        )  # fmt: skip
        outcome = self._run(order)
        with self._lock:
            now = self._spent()
            charge, self._charged = now - self._charged, now
            self.spent_cpu_seconds = float((now - self._began)[0])
        own = np.array([outcome.cpu_seconds, outcome.wall_seconds])
        record = _record(suggestion, outcome, (charge - own).tolist())
        if outcome.status == "stopped":
            return record, self._interrupted(begun, record, outcome, charge)
        record["cpu_seconds"] += float(begun.charged[0])
        record["wall_seconds"] += float(begun.charged[1])
        if outcome.score is not None:
            record["score"] = outcome.score
        if outcome.trees:  # a further fit has just as many
            record["trees"] = outcome.trees
        if (array := outcome.predictions) is not None:  # in JSON: its shape, its type, its bytes
            content = base64.b64encode(np.ascontiguousarray(array)).decode("ascii")
            record["predictions"] = [*array.shape, str(array.dtype), content]
        return record, self._as_trial(record, seed)

    def _interrupted(
        self, begun: _Begun, record: Record, outcome: TrialOutcome, charge: NDArray[np.float64]
    ) -> Trial:
        """Keep the progress of a trial that was stopped, and return what is known of it."""
        took = self._counted([outcome.cpu_seconds, outcome.wall_seconds])
        if outcome.folds > begun.folds:
            begun.a_fold = took / (outcome.folds - begun.folds)
            begun.folds = outcome.folds
            begun.charged = begun.charged + charge
        else:
            begun.took = took
        if outcome.predictions is not None:
            share = record["fidelity"] * outcome.folds / self.n_folds
            record |= {"status": "ok", "score": outcome.score, "fidelity": share}
            begun.judged = self._judged(begun, record, outcome.predictions)
        seed = begun.stream.learner_seed(begun.n)
        return replace(self._as_trial(record, seed), ended=False)

    def _predicted(self, begun: _Begun, suggestion: Suggestion) -> float:
        """Return the seconds that a trial takes if it costs as the arm's last ones, by row.

        At least the seconds that it has taken without an end; 0 if nothing is known. If it has
        begun, its next fold takes as long as its others.
        """

        def fits(fidelity: float) -> float:
            return fidelity * (self.n_folds if fidelity == 1 else 1)

        before = [
            record[f"{self.clock}_seconds"] / fits(record["fidelity"])
            for record in map(begun.stream.records.__getitem__, range(begun.n))
            if record["arm"] == suggestion.arm and record["status"] == "ok"
        ]
        usual = float(np.median(before[-RECENT:])) * fits(suggestion.fidelity) if before else 0.0
        if begun.folds:
            usual = begun.a_fold
        if self.stoppable[self.arms.index(suggestion.arm)]:
            usual *= OF_TREES
        return max(usual, begun.took)

    def _file(self, begun: _Begun) -> Path:
        return self.keep / f"{begun.stream.records.name[:16]}-{begun.n}.pickle"

    def _judged(self, begun: _Begun, record: Record, predictions: NDArray[Any]) -> Judged:
        file = self._file(begun)
        order = self._order(_suggestion(record), begun.stream.learner_seed(begun.n))
        if "trees" in record:
            order = replace(order, values={**order.values, "n_estimators": record["trees"]})
        return Judged(
            order=order, score=record["score"], predictions=predictions,
            cpu_seconds=record["cpu_seconds"], wall_seconds=record["wall_seconds"],
            file=file if file.is_file() else None,
        )  # fmt: skip
