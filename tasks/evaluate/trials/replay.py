"""Trials of one data set, split and space: replayed from the store, or run when asked for.

`BudgetedTrials` are those under a budget in seconds: stopped at its end, with models and forecasts
kept.
"""

from __future__ import annotations

import base64
import math
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, asdict, dataclass, replace
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.benches.pulls import UNAFFORDABLE, Trial
from leaseboard.algorithms.seeds import derive_seed
from leaseboard.tasks.evaluate.trials import evaluate, optimisers
from leaseboard.tasks.evaluate.trials.evaluate import (
    Arrays,
    Order,
    TrialData,
    TrialOutcome,
    fitted_in,
)
from leaseboard.tasks.evaluate.trials.optimisers import Optimiser, Suggestion
from leaseboard.tasks.evaluate.trials.spaces import Space
from leaseboard.tasks.evaluate.trials.worker import TrialLimits, close_resting, resting
from leaseboard.tasks.keys.versions import recorded_key
from leaseboard.tasks.store.recorded import Record, Records, Store

_LIBRARIES = {
    "guided": ("hyperopt",),
    "tpe": ("hyperopt",),
    "smac": ("smac", "ConfigSpace"),
    "bohb": ("smac", "ConfigSpace"),
    "random": (),
}

RECENT = 3
"""Trials of an arm whose median cost says what its next one will take."""


@dataclass(eq=False)
class StoredTrials:
    """Trials from the store; those that were never run are run in a worker and stored.

    - `data`: what they learn from.
    - `optimiser`: tunes each arm alone; ``guided`` on these `shares` of the training rows.
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
    shares: Sequence[float] = (1.0,)

    def __post_init__(self) -> None:
        self.arms = tuple(self.space.arms)
        self.tunable = tuple(arm.tunable for arm in self.space.arms.values())
        self.spent_cpu_seconds = 0.0
        self._streams: dict[tuple[str, str], _TrialStream] = {}
        self._arrays: Arrays | None = None
        self._lock = threading.Lock()

    def trial(self, arm: int, n: int) -> Trial:
        """Return trial number `n` of the optimiser of `arm` alone."""
        return self._get(self._stream_of(arm), n)

    def joint_trial(self, optimiser: str, n: int) -> Trial:
        """Return trial number `n` of `optimiser` over the whole space."""
        return self._get(self._stream(optimiser, self.space), n)

    def close(self) -> None:
        """End the workers, which otherwise wait for the next trials of this process."""
        close_resting()

    def _get(self, stream: _TrialStream, n: int) -> Trial:
        with stream.lock:
            while not stream.has(n):
                stream.records.extend(lambda number: self._compute(stream, number))
            return self._as_trial(stream.records[n], stream.learner_seed(n))

    def _stream_of(self, arm: int) -> _TrialStream:
        return self._stream(self.optimiser, self.space.restricted([self.arms[arm]]))

    def _stream(self, optimiser: str, space: Space) -> _TrialStream:
        name = (optimiser, next(iter(space.arms)) if len(space.arms) == 1 else "")
        with self._lock:
            if name not in self._streams:
                self._streams[name] = self._new_stream(optimiser, space)
            return self._streams[name]

    def _new_stream(self, optimiser: str, space: Space) -> _TrialStream:
        optimisers.require(optimiser)
        learners = {arm.estimator for arm in space.arms.values()}
        seed = derive_seed(self.seed, optimiser, *space.arms)
        key = recorded_key(
            code=(__name__, *self.data.code),
            libraries=(*_LIBRARIES[optimiser], *(["lightgbm"] if "lightgbm" in learners else [])),
            classes=[name for name in learners if ":" in name],
            data=self.data.identity,
            arms={name: arm.model_dump() for name, arm in space.arms.items()},
            optimiser=optimiser,
            seed=seed,
            limits=self.limits and [self.limits.cpu_seconds, self.limits.memory_mb],
            **({"shares": list(self.shares)} if optimiser == "guided" else {}),
        )
        return _TrialStream(self.store.records(key), optimiser, space, seed, self.shares)

    def _compute(self, stream: _TrialStream, n: int) -> Record:
        suggestion, thought = stream.suggest(n)
        outcome = self._run(self._order(suggestion, stream.learner_seed(n)))
        with self._lock:
            self.spent_cpu_seconds += outcome.cpu_seconds + thought[0]
        return _record(suggestion, outcome, thought)

    def _order(self, suggestion: Suggestion, seed: int) -> Order:
        arm = self.space.arms[suggestion.arm]
        values = {**arm.constants, **suggestion.parameters}
        return Order(arm.estimator, values, seed, suggestion.fidelity)

    def _run(self, order: Order) -> TrialOutcome:
        """Run `order` in this process, or in a worker."""
        with self._lock:
            if self._arrays is None:
                self._arrays = self.data.arrays()
        if self.limits is None:
            return evaluate.run(order, self._arrays)
        with resting(self.limits) as worker:
            return worker.run(order, self._arrays)

    def _as_trial(self, record: Record, seed: int) -> Trial:
        same = ("parameters", "reward", "test", "status", "reason", "fidelity")
        return Trial(
            arm=self.arms.index(record["arm"]),
            cpu_seconds=record["cpu_seconds"] + record["suggest_cpu_seconds"],
            wall_seconds=record["wall_seconds"] + record["suggest_wall_seconds"],
            seed=seed,
            **{name: record[name] for name in same},
        )


class _TrialStream:
    """The trials of one optimiser on its arms, and what continues them."""

    def __init__(
        self, records: Records, optimiser: str, space: Space, seed: int, shares: Sequence[float]
    ) -> None:
        self.records = records
        self.lock = threading.Lock()
        self._seed = seed
        self._make = lambda: optimisers.make(optimiser, space, seed, shares)
        self._optimiser: Optimiser | None = None
        self._told = 0

    def has(self, n: int) -> bool:
        """Return whether trial `n` is on record; what others appended is read if it was not."""
        if len(self.records) <= n:
            self.records.refresh()
        return len(self.records) > n

    def learner_seed(self, n: int) -> int:
        """Return the random state of the learner of trial `n`."""
        return derive_seed(self._seed, "learner", n)

    def suggest(self, n: int) -> tuple[Suggestion, tuple[float, float]]:
        """Return what trial `n` shall be, and the CPU and wall seconds of that decision."""
        if self._optimiser is None or n < self._told:  # a damaged record is made again
            self._optimiser, self._told = self._make(), 0
        for past in range(self._told, n):
            record = self.records[past]
            made = Suggestion(record["arm"], record["parameters"], record["fidelity"])
            self._optimiser.tell(past, made, record["reward"])
        self._told = n
        cpu, wall = thread_time(), perf_counter()
        suggestion = self._optimiser.suggest(n)
        return suggestion, (thread_time() - cpu, perf_counter() - wall)


def _record(suggestion: Suggestion, outcome: TrialOutcome, beside: tuple[float, float]) -> Record:
    """Return what is kept of a trial; `beside`: the seconds that it took outside of its run."""
    came_of = ("reward", "test", "cpu_seconds", "wall_seconds", "status", "reason")
    return asdict(suggestion) | {name: getattr(outcome, name) for name in came_of} | {
        "suggest_cpu_seconds": beside[0],
        "suggest_wall_seconds": beside[1],
    }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A trial that was judged: its forecasts, and where its models are."""

    order: Order
    score: float
    forecasts: NDArray[Any]
    cpu_seconds: float
    wall_seconds: float
    file: Path | None
    """Its pickled models, fold by fold; None if another process ran it."""


@dataclass(eq=False, kw_only=True)
class BudgetedTrials(StoredTrials):
    """Stored trials that a budget in seconds can stop, and that are charged with all they cost.

    A trial is charged with what this process did since the one before, too. One that would take
    longer than what is left, by those of its arm before it, is not begun; one that does is
    stopped: before a fold that would end too late, and within one if trials have limits. Neither
    is stored. It can be asked for again, and then goes on after the folds that were fitted. Until
    then these are what it is judged by.

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
        self._numbers: dict[int, tuple[_TrialStream, int]] = {}
        """By the seed of a trial that was asked for, its stream and its number there."""
        self._stopped: dict[int, Trial] = {}
        self._took: dict[int, float] = {}
        self._begun: dict[int, tuple[int, float, float]] = {}
        self._partly: dict[int, Judged] = {}
        """By its seed a trial that was stopped, the seconds that it took without an end, the folds
        that were fitted with the CPU and wall seconds charged for them, and their forecasts."""
        self._since = process_time(), perf_counter()
        self._warmed = 0.0
        """What a worker costs before its first trial."""

    def trial_within(self, arm: int, n: int, seconds: float) -> Trial:
        """Return `trial`, which is stopped after `seconds`, or not begun."""
        return self._get(self._stream_of(arm), n, seconds)

    def joint_trial_within(self, optimiser: str, n: int, seconds: float) -> Trial:
        """Return `joint_trial`, which is stopped as `trial_within` is."""
        return self._get(self._stream(optimiser, self.space), n, seconds)

    def foresee(self, wanted: Sequence[tuple[int, int]], seconds: float = math.inf) -> None:
        """Run the missing ones of these trials (arm, n) at once, each within `seconds`."""
        if self.n_jobs > 1 and self.limits:
            streams = [(self._stream_of(arm), n) for arm, n in wanted]
            missing = [(stream, n) for stream, n in streams if not stream.has(n)]
            with ThreadPoolExecutor(self.n_jobs) as pool:
                list(pool.map(lambda each: self._get(*each, seconds), missing))

    def warm(self) -> float:
        """Start the worker and import what the arms need; return the CPU seconds that took."""
        self._since = process_time(), perf_counter()
        if self.limits is not None:
            arms = self.space.arms.values()
            with resting(self.limits) as worker:
                self._warmed = worker.warm(
                    [(arm.estimator, {**arm.constants, **arm.defaults()}) for arm in arms]
                )
        return self._warmed

    def judged(self, seed: int) -> Judged | None:
        """Return what was kept of the trial with this seed; None if it has no forecasts.

        Of one that was stopped between folds they are those of the first rows.
        """
        stream, n = self._numbers[seed]
        if len(stream.records) > n and "forecasts" in stream.records[n]:
            record = stream.records[n]
            return self._judged(stream, n, record, _array(record["forecasts"]))
        return self._partly.get(seed)

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

    def _get(self, stream: _TrialStream, n: int, seconds: float = math.inf) -> Trial:
        with stream.lock:
            self._numbers[stream.learner_seed(n)] = stream, n
            while not stream.has(n):
                number = len(stream.records)
                stream.records.extend(lambda number: self._within(stream, number, seconds))
                if len(stream.records) == number:
                    return self._stopped[stream.learner_seed(number)]
            seed = stream.learner_seed(n)
            trial = self._as_trial(stream.records[n], seed)
            _, cpu, wall = self._begun.pop(seed, (0, 0.0, 0.0))
            return replace(
                trial,
                cpu_seconds=trial.cpu_seconds - cpu,
                wall_seconds=trial.wall_seconds - wall,
            )

    def _within(self, stream: _TrialStream, n: int, seconds: float) -> Record | None:
        """Run trial `n` if `seconds` can be enough; return its record if they were."""
        seed, (suggestion, _) = stream.learner_seed(n), stream.suggest(n)
        if self._predicted(stream, n, suggestion) > seconds:
            outcome = TrialOutcome(status="timeout", reason=UNAFFORDABLE)
            return self._unfinished(_record(suggestion, outcome, (0.0, 0.0)), seed)
        begin, begin_wall = process_time(), perf_counter()
        since = begin - self._since[0], begin_wall - self._since[1]
        order = replace(
            self._order(suggestion, seed),
            keep=str(self._file(stream, n)),
            seconds=seconds - since[self.clock == "wall"],
            clock=self.clock,
        )
        outcome = self._run(order)
        end = perf_counter()
        beside = since[0], end - self._since[1] - outcome.wall_seconds
        if outcome.killed:
            beside = beside[0] + self._warmed, beside[1]
        # What this process did while a worker ran the trial counts for the next one.
        self._since = process_time() if self.limits is None else begin, end
        self.spent_cpu_seconds += outcome.cpu_seconds + beside[0]
        record = _record(suggestion, outcome, beside)
        folds, cpu, wall = self._begun.get(seed, (0, 0.0, 0.0))
        if outcome.status == "stopped":
            if outcome.folds > folds:
                cpu, wall = cpu + outcome.cpu_seconds, wall + outcome.wall_seconds
                self._begun[seed] = outcome.folds, cpu + beside[0], wall + beside[1]
            else:
                self._took[seed] = record[f"{self.clock}_seconds"]
            if outcome.forecasts is not None:
                share = suggestion.fidelity * outcome.folds / self.n_folds
                record |= {"status": "ok", "score": outcome.score, "fidelity": share}
                self._partly[seed] = self._judged(stream, n, record, outcome.forecasts)
            return self._unfinished(record, seed)
        record["cpu_seconds"] += cpu
        record["wall_seconds"] += wall
        if outcome.score is not None:
            record["score"] = outcome.score
        if outcome.forecasts is not None:
            record["forecasts"] = _text(outcome.forecasts)
        return record

    def _unfinished(self, record: Record, seed: int) -> None:
        self._stopped[seed] = replace(self._as_trial(record, seed), ended=False)

    def _predicted(self, stream: _TrialStream, n: int, suggestion: Suggestion) -> float:
        """Return the seconds that trial `n` takes if it costs as the arm's last ones, a row.

        At least what it has taken without an end; 0 if nothing is known. If it has begun, its next
        fold as its others.
        """

        def fits(fidelity: float) -> float:
            return fidelity * (self.n_folds if fidelity == 1 else 1)

        seed = stream.learner_seed(n)
        before = [
            record[f"{self.clock}_seconds"] / fits(record["fidelity"])
            for record in map(stream.records.__getitem__, range(n))
            if record["arm"] == suggestion.arm and record["status"] == "ok"
        ]
        usual = float(np.median(before[-RECENT:])) * fits(suggestion.fidelity) if before else 0.0
        if seed in self._begun:
            folds, *spent = self._begun[seed]
            usual = spent[self.clock == "wall"] / folds
        return max(usual, self._took.get(seed, 0.0))

    def _file(self, stream: _TrialStream, n: int) -> Path:
        return self.keep / f"{stream.records.name[:16]}-{n}.pickle"

    def _judged(
        self, stream: _TrialStream, n: int, record: Record, forecasts: NDArray[Any]
    ) -> Judged:
        file = self._file(stream, n)
        suggestion = Suggestion(record["arm"], record["parameters"], record["fidelity"])
        return Judged(
            order=self._order(suggestion, stream.learner_seed(n)),
            score=record["score"],
            forecasts=forecasts,
            cpu_seconds=record["cpu_seconds"],
            wall_seconds=record["wall_seconds"],
            file=file if file.is_file() else None,
        )


def _text(array: NDArray[Any]) -> list[Any]:
    """Return an array in JSON: its shape, its type, its bytes."""
    content = base64.b64encode(np.ascontiguousarray(array)).decode("ascii")
    return [*array.shape, str(array.dtype), content]


def _array(text: list[Any]) -> NDArray[Any]:
    *shape, kind, content = text
    return np.frombuffer(base64.b64decode(content), dtype=kind).reshape(shape)
