"""Trials of one dataset, split and space: replayed from the store, or run when asked for.

`BudgetedTrials` are those under a budget in seconds: stopped at its end, with models and
predictions kept.
"""

from __future__ import annotations

import base64
import math
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import KW_ONLY, asdict, dataclass, replace
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.environments.pulls import UNAFFORDABLE, Trial, Trials
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
from leaseboard.tasks.evaluate.trials.worker import (
    TrialLimits,
    TrialWorker,
    close_resting,
    resting,
)
from leaseboard.tasks.keys.versions import recorded_key
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
FOR_STARTS = 0.1
"""Share of the seconds that are left for which further workers are started."""
RECENT = 3
"""Trials of an arm whose median cost says what its next one will take."""


@dataclass(eq=False)
class StoredTrials(Trials):
    """Trials from the store; those that were never run are run in a worker and stored.

    - `data`: the data of all trials.
    - `optimiser`: tunes each arm alone.
    - `n_rows`: of the training rows, of which ``guided`` takes a share first; 0: it takes all.
    - `seed`: of the optimisers, from which each arm's own is derived, and of the learners.
    - `limits`: of each trial; without them trials run in this process, one after the other.
    """

    space: Space
    data: TrialData
    _: KW_ONLY
    optimiser: str
    seed: int
    store: Store
    limits: TrialLimits | None
    n_rows: int = 0

    def __post_init__(self) -> None:
        self.arms = tuple(self.space.arms)
        self.tunable = tuple(arm.tunable for arm in self.space.arms.values())
        self._streams: dict[tuple[str, str], _TrialStream] = {}
        self._stopped: dict[int, Trial] = {}
        """By their seeds, trials that took longer than the seconds that they are charged."""
        self._arrays: Arrays | None = None
        self._lock = threading.Lock()
        self._of_workers = 0.0
        """CPU seconds of the workers."""

    def trial(self, arm: int, n: int, seconds: float = math.inf) -> Trial:
        """See `Trials.trial`; one that is stopped is not stored."""
        return self._get(self._stream_of(arm), n, seconds)

    def joint_trial(self, optimiser: str, n: int, seconds: float = math.inf) -> Trial:
        """See `Trials.joint_trial`."""
        return self._get(self._stream(optimiser, self.space), n, seconds)

    def close(self) -> None:
        """End the workers, which otherwise wait for the next trials of this process."""
        close_resting()

    def _get(self, stream: _TrialStream, n: int, seconds: float) -> Trial:
        with stream.lock:
            while not stream.has(n):
                seed = stream.learner_seed(len(stream.records))
                if seed not in self._stopped or self._stopped[seed].cpu_seconds < seconds:
                    stream.records.extend(lambda number: self._compute(stream, number, seconds))
                elif not stream.has(n):
                    return replace(self._stopped[seed], cpu_seconds=seconds, wall_seconds=seconds)
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

    def _compute(self, stream: _TrialStream, n: int, seconds: float) -> Record | None:
        """Run trial `n`; return its record, or None if it was stopped after `seconds`."""
        (suggestion, thought), seed = stream.suggest(n), stream.learner_seed(n)
        outcome = self._run(replace(self._order(suggestion, seed), seconds=seconds))
        with self._lock:
            self.spent_cpu_seconds += outcome.cpu_seconds + thought[0]
        record = _record(suggestion, outcome, thought)
        if outcome.status != "stopped":
            return record
        stopped = replace(self._as_trial(record, seed), cpu_seconds=seconds, ended=False)
        self._stopped[seed] = stopped
        return None

    def _order(self, suggestion: Suggestion, seed: int) -> Order:
        arm = self.space.arms[suggestion.arm]
        values = {**arm.constants, **suggestion.parameters}
        return Order(arm.estimator, values, seed, suggestion.fidelity, codes=arm.codes)

    def _run(self, order: Order) -> TrialOutcome:
        """Run `order` in this process, or in a worker; SkipError if it cannot be run here now."""
        with self._lock:
            if self._arrays is None:
                self._arrays = self.data.arrays()
        if self.limits is None:
            return evaluate.possible(evaluate.run(order, self._arrays))
        with resting(self.limits) as worker, self._counting(worker):
            return evaluate.possible(worker.run(order, self._arrays))

    @contextmanager
    def _counting(self, worker: TrialWorker) -> Iterator[None]:
        """Count the CPU seconds of a worker, those of its start included."""
        before = worker.cpu_seconds
        yield
        with self._lock:
            self._of_workers += worker.cpu_seconds - before

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


def _suggestion(record: Record) -> Suggestion:
    return Suggestion(record["arm"], record["parameters"], record["fidelity"])


def _record(suggestion: Suggestion, outcome: TrialOutcome, more: tuple[float, float]) -> Record:
    """Return the record of a trial; `more`: the seconds that it took outside of its run."""
    names = ("reward", "test", "cpu_seconds", "wall_seconds", "status", "reason", "measures")
    return asdict(suggestion) | {name: getattr(outcome, name) for name in names} | {
        "suggest_cpu_seconds": more[0],
        "suggest_wall_seconds": more[1],
    }  # fmt: skip


@dataclass(slots=True)
class _BudgetedTrial:
    """Progress of a trial that was asked for."""

    stream: _TrialStream
    n: int
    """The number of the trial in its stream."""
    stopped: Trial | None = None
    """The trial when it was stopped last."""
    took: float = 0.0
    """Seconds that it took without an end."""
    folds: int = 0
    """Folds that were fitted before it was stopped; these seconds were charged for them."""
    cpu: float = 0.0
    wall: float = 0.0
    a_fold: float = 0.0
    """Seconds that one of them took."""
    judged: Judged | None = None
    """Its predictions on these folds."""


@dataclass(eq=False, kw_only=True)
class BudgetedTrials(StoredTrials):
    """Stored trials that a budget in seconds can stop, and that are charged with all they cost.

    A trial is charged with all time of this process and its workers since the one before, so that
    what was spent is charged, with several workers, too. One that would take longer than what is
    left, by those of its arm before it, is not begun; one that does is stopped: before a fold that
    would end too late, and within one if trials have limits. Neither is stored. It can be asked
    for again, and then goes on after the folds that were fitted. Until then these are what it is
    judged by.

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
        self._progress: dict[int, _BudgetedTrial] = {}
        """By the seed of the trial."""
        self._charged = self._spent()
        self._start = 0.0
        """Seconds that a worker takes before its first trial."""
        self.stoppable = tuple(
            self.n_folds == 1 and recipes.stoppable(arm.estimator)
            for arm in self.space.arms.values()
        )

    def prefetch(self, wanted: Sequence[tuple[int, int]], seconds: float = math.inf) -> None:
        """Run the missing ones of these trials (arm, n) at once, each within `seconds`.

        Only as many run at once as could be started for a share of these seconds.
        """
        streams = [(self._stream_of(arm), n) for arm, n in wanted]
        missing = [(stream, n) for stream, n in streams if not stream.has(n)]
        pays = FOR_STARTS * seconds * len(missing) / (self._start or 1.0)
        at_once = int(min(self.n_jobs, len(missing), 1 + pays))
        if at_once > 1 and self.limits is not None:
            with ThreadPoolExecutor(at_once) as pool:
                for trial in pool.map(lambda each: self._get(*each, seconds), missing):
                    if not trial.ended:  # the next one is charged with what it took
                        self._charged -= trial.cpu_seconds, trial.wall_seconds

    def warm(self) -> float:
        """Start the worker and import what the arms need; return the CPU seconds that took."""
        before = self._spent()
        if self.limits is not None:
            with resting(self.limits) as worker:
                self._warm(worker)
        self._charged = self._spent()
        self._start = float((self._charged - before)[self._counted])
        return self._of_workers

    def _warm(self, worker: TrialWorker) -> None:
        """Have a worker import what the arms need, unless it has."""
        if not worker.warmed:
            arms = self.space.arms.values()
            with self._counting(worker):
                worker.warm([(arm.estimator, {**arm.constants, **arm.defaults()}) for arm in arms])

    def _spent(self) -> NDArray[np.float64]:
        """Return the CPU seconds of this process and its workers, and the wall time."""
        return np.array([process_time() + self._of_workers, perf_counter()])

    @property
    def _counted(self) -> int:
        return 1 if self.clock == "wall" else 0

    def judged(self, seed: int) -> Judged | None:
        """Return the predictions of the trial with this seed; None if it has none.

        Of one that was stopped between folds they are those of the first rows.
        """
        known = self._progress[seed]
        records = known.stream.records
        if len(records) > known.n and "predictions" in records[known.n]:
            record = records[known.n]
            *shape, kind, content = record["predictions"]
            array = np.frombuffer(base64.b64decode(content), dtype=kind).reshape(shape)
            return self._judged(known.stream, known.n, record, array)
        return known.judged

    def leaders(self) -> list[tuple[float, float]]:
        """Return score and seconds of a fit on all rows of each arm's best trial, best first."""
        found: dict[str, tuple[float, float]] = {}
        for known in self._progress.values():
            if len(known.stream.records) > known.n:
                record = known.stream.records[known.n]
                if "predictions" in record:
                    cost = record[f"{self.clock}_seconds"] / record["fidelity"]
                    found[record["arm"]] = max(
                        found.get(record["arm"], (-math.inf, 0.0)), (record["score"], cost)
                    )
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
            self.spent_cpu_seconds += outcome.cpu_seconds
            models = [model for model, _ in fitted_in(file.name)]
            return (models if outcome.status == "ok" else None), outcome

    def _get(self, stream: _TrialStream, n: int, seconds: float) -> Trial:
        with stream.lock:
            while not stream.has(n):
                number = len(stream.records)
                stream.records.extend(lambda number: self._within(stream, number, seconds))
                stopped = self._at(stream, number).stopped
                if len(stream.records) == number and stopped is not None:
                    return stopped
            known = self._at(stream, n)
            trial = self._as_trial(stream.records[n], stream.learner_seed(n))
            cpu, wall = trial.cpu_seconds - known.cpu, trial.wall_seconds - known.wall
            known.folds, known.cpu, known.wall = 0, 0.0, 0.0
            return replace(trial, cpu_seconds=cpu, wall_seconds=wall)

    def _at(self, stream: _TrialStream, n: int) -> _BudgetedTrial:
        return self._progress.setdefault(stream.learner_seed(n), _BudgetedTrial(stream, n))

    def _within(self, stream: _TrialStream, n: int, seconds: float) -> Record | None:
        """Run trial `n` if `seconds` can be enough; return its record if they were."""
        known, (suggestion, _) = self._at(stream, n), stream.suggest(n)
        seed = stream.learner_seed(n)
        if not self._predicted(known, suggestion) < seconds:
            outcome = TrialOutcome(status="timeout", reason=UNAFFORDABLE)
            record = _record(suggestion, outcome, (0.0, 0.0))
            known.stopped = replace(self._as_trial(record, seed), ended=False)
            return None
        if self.limits is not None:
            with resting(self.limits) as worker:  # it may be new: a further one, or one was killed
                self._warm(worker)
        with self._lock:
            left = max(0.0, seconds - (self._spent() - self._charged)[self._counted])
        order, keep = self._order(suggestion, seed), str(self._file(stream, n))
        order = replace(order, keep=keep, seconds=left, clock=self.clock)
        outcome = self._run(order)
        with self._lock:
            now = self._spent()
            charge, self._charged = now - self._charged, now
            self.spent_cpu_seconds += float(charge[0])
        more = float(charge[0]) - outcome.cpu_seconds, float(charge[1]) - outcome.wall_seconds
        record = _record(suggestion, outcome, more)
        if outcome.status == "stopped":
            if outcome.folds > known.folds:
                took = outcome.wall_seconds if self._counted else outcome.cpu_seconds
                known.a_fold = took / (outcome.folds - known.folds)
                known.folds = outcome.folds
                known.cpu += outcome.cpu_seconds + more[0]
                known.wall += outcome.wall_seconds + more[1]
            else:
                known.took = record[f"{self.clock}_seconds"]
            if outcome.predictions is not None:
                share = suggestion.fidelity * outcome.folds / self.n_folds
                record |= {"status": "ok", "score": outcome.score, "fidelity": share}
                known.judged = self._judged(stream, n, record, outcome.predictions)
            known.stopped = replace(self._as_trial(record, seed), ended=False)
            return None
        record["cpu_seconds"] += known.cpu
        record["wall_seconds"] += known.wall
        if outcome.score is not None:
            record["score"] = outcome.score
        if outcome.trees:  # a further fit has just as many
            record["trees"] = outcome.trees
        if (array := outcome.predictions) is not None:  # in JSON: its shape, its type, its bytes
            content = base64.b64encode(np.ascontiguousarray(array)).decode("ascii")
            record["predictions"] = [*array.shape, str(array.dtype), content]
        return record

    def _predicted(self, known: _BudgetedTrial, suggestion: Suggestion) -> float:
        """Return the seconds that a trial takes if it costs as the arm's last ones, by row.

        At least the seconds that it has taken without an end; 0 if nothing is known. If it has
        begun, its next fold takes as long as its others.
        """

        def fits(fidelity: float) -> float:
            return fidelity * (self.n_folds if fidelity == 1 else 1)

        before = [
            record[f"{self.clock}_seconds"] / fits(record["fidelity"])
            for record in map(known.stream.records.__getitem__, range(known.n))
            if record["arm"] == suggestion.arm and record["status"] == "ok"
        ]
        usual = float(np.median(before[-RECENT:])) * fits(suggestion.fidelity) if before else 0.0
        if known.folds:
            usual = known.a_fold
        if self.stoppable[self.arms.index(suggestion.arm)]:
            usual *= OF_TREES
        return max(usual, known.took)

    def _file(self, stream: _TrialStream, n: int) -> Path:
        return self.keep / f"{stream.records.name[:16]}-{n}.pickle"

    def _judged(
        self, stream: _TrialStream, n: int, record: Record, predictions: NDArray[Any]
    ) -> Judged:
        file, order = (
            self._file(stream, n),
            self._order(_suggestion(record), stream.learner_seed(n)),
        )
        if "trees" in record:
            order = replace(order, values={**order.values, "n_estimators": record["trees"]})
        return Judged(
            order=order, score=record["score"], predictions=predictions,
            cpu_seconds=record["cpu_seconds"], wall_seconds=record["wall_seconds"],
            file=file if file.is_file() else None,
        )  # fmt: skip
