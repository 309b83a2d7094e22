"""Trials under a person's own budget: stopped at its end, with models and forecasts kept."""

from __future__ import annotations

import base64
import math
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.benches.pulls import UNAFFORDABLE, Trial
from leaseboard.tasks.evaluate.trials.evaluate import Order, TrialOutcome, fitted_in
from leaseboard.tasks.evaluate.trials.optimiser import Suggestion
from leaseboard.tasks.evaluate.trials.replay import StoredTrials, TrialStream, record_of
from leaseboard.tasks.evaluate.trials.worker import Imports, resting
from leaseboard.tasks.store.recorded import Record

RECENT = 3
"""Trials of an arm whose median cost says what its next one will take."""


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
    - Others as of `StoredTrials`.
    """

    def __init__(
        self,
        *arguments: Any,
        keep: Path,
        n_folds: int,
        clock: Literal["cpu", "wall"],
        **others: Any,
    ) -> None:
        super().__init__(*arguments, **others)
        self._keep = keep
        self._n_folds = n_folds
        self._clock: Literal["cpu", "wall"] = clock
        self._stopped: dict[tuple[str, int], Trial] = {}
        self._took: dict[tuple[str, int], float] = {}
        self._begun: dict[tuple[str, int], _BegunTrial] = {}
        self._partly: dict[int, Judged] = {}
        """By the seed of a trial, of which some folds were fitted."""
        self._since = process_time(), perf_counter()
        self._warmed = 0.0
        """What a worker costs before its first trial."""

    def trial_within(self, arm: int, n: int, seconds: float) -> Trial:
        """`trial`, which is stopped after `seconds`, or not begun."""
        return self._bounded(self._optimiser, self._space.restricted([self.arms[arm]]), n, seconds)

    def joint_trial_within(self, optimiser: str, n: int, seconds: float) -> Trial:
        """`joint_trial`, which is stopped as `trial_within` is."""
        return self._bounded(optimiser, self._space, n, seconds)

    def foresee(self, wanted: Sequence[tuple[int, int]], seconds: float = math.inf) -> None:
        """Run the missing ones of these trials (arm, n) at once, each within `seconds`."""
        if self._runners.n_jobs > 1:
            missing = [(arm, n) for arm, n in wanted if not self._has(arm, n)]
            with ThreadPoolExecutor(self._runners.n_jobs) as pool:
                list(pool.map(lambda trial: self.trial_within(*trial, seconds), missing))

    def warm(self) -> float:
        """Start the worker and have it import what the arms need; the CPU seconds that took."""
        self._since = process_time(), perf_counter()
        if self._limits is None:
            return 0.0
        arms = self._space.arms.values()
        imports = Imports(
            tuple((arm.estimator, {**arm.constants, **arm.defaults()}) for arm in arms)
        )
        with resting(self._limits) as worker:
            self._warmed = worker.warm(imports)
        return self._warmed

    def judged(self, arm: int, parameters: Mapping[str, Any], seed: int) -> Judged | None:
        """What was kept of the trial with these values and seed; None if it has no forecasts.

        Of one that was stopped between folds they are those of the first rows.
        """
        name = self.arms[arm]
        for stream in self._streams.values():
            for n in range(len(stream.records)):
                record = stream.records[n]
                mine = record["arm"] == name and record["parameters"] == dict(parameters)
                if mine and "forecasts" in record and stream.learner_seed(n) == seed:
                    return self._judged(stream, n, record, _array(record["forecasts"]))
        return self._partly.get(seed)

    def fit_again(
        self, judged: Judged, *, refit: bool = False, seconds: float = math.inf
    ) -> tuple[list[Any] | None, TrialOutcome]:
        """The models of a trial, fitted once more with its seed, and the outcome.

        - `refit`: fit on the rows of `Arrays.refit` alone.
        """
        with tempfile.NamedTemporaryFile() as file:
            order = replace(judged.order, keep=file.name, seconds=seconds, clock=self._clock)
            order = replace(order, refit=True, fidelity=1.0) if refit else order
            outcome = self._runners.run(order)
            self.spent_cpu_seconds += outcome.cpu_seconds
            models = [model for model, _ in fitted_in(file.name)]
            return (models if outcome.status == "ok" else None), outcome

    def _bounded(self, optimiser: str, space: Any, n: int, seconds: float) -> Trial:
        stream = self._stream(optimiser, space)
        with stream.lock:
            stream.records.refresh()
            while len(stream.records) <= n:
                number = len(stream.records)
                stream.records.extend(lambda number: self._compute(stream, number, seconds))
                if len(stream.records) == number:
                    return self._stopped[stream.records.name, number]
            trial = self._as_trial(stream.records[n], stream.learner_seed(n))
            paid = self._begun.pop((stream.records.name, n), _BegunTrial())
            return replace(
                trial,
                cpu_seconds=trial.cpu_seconds - paid.cpu_seconds,
                wall_seconds=trial.wall_seconds - paid.wall_seconds,
            )

    def _compute(self, stream: TrialStream, n: int, seconds: float = math.inf) -> Record | None:
        stream.catch_up(n)
        suggestion, seed = stream.suggest(n), stream.learner_seed(n)
        if self._predicted(stream, n, suggestion) > seconds:
            outcome = TrialOutcome(0.0, None, 0.0, 0.0, "timeout", UNAFFORDABLE)
            return self._unfinished(stream, n, record_of(suggestion, outcome, (0.0, 0.0)))
        begin, begin_wall = process_time(), perf_counter()
        since = begin - self._since[0], begin_wall - self._since[1]
        order = replace(
            self._order(suggestion, seed),
            keep=str(self._file(stream, n)),
            seconds=seconds - since[self._clock == "wall"],
            clock=self._clock,
        )
        outcome = self._runners.run(order)
        end = perf_counter()
        beside = since[0], end - self._since[1] - outcome.wall_seconds
        if outcome.killed:
            beside = beside[0] + self._warmed, beside[1]
        # What this process did while a worker ran the trial counts for the next one.
        self._since = process_time() if self._limits is None else begin, end
        self.spent_cpu_seconds += outcome.cpu_seconds + beside[0]
        record = record_of(suggestion, outcome, beside)
        key = stream.records.name, n
        begun = self._begun.get(key, _BegunTrial())
        if outcome.status == "stopped":
            took = outcome.wall_seconds if self._clock == "wall" else outcome.cpu_seconds
            if outcome.folds > begun.folds:
                begun = self._begun[key] = begun.after(outcome, beside)
            else:
                self._took[key] = took
            if outcome.forecasts is not None:
                share = suggestion.fidelity * outcome.folds / self._n_folds
                record |= {"status": "ok", "score": outcome.score, "fidelity": share}
                self._partly[seed] = self._judged(stream, n, record, outcome.forecasts)
            return self._unfinished(stream, n, record)
        record["cpu_seconds"] += begun.cpu_seconds
        record["wall_seconds"] += begun.wall_seconds
        if outcome.score is not None:
            record["score"] = outcome.score
        if outcome.forecasts is not None:
            record["forecasts"] = _text(outcome.forecasts)
        return record

    def _unfinished(self, stream: TrialStream, n: int, record: Record) -> None:
        trial = self._as_trial(record, stream.learner_seed(n))
        self._stopped[stream.records.name, n] = replace(trial, ended=False)

    def _predicted(self, stream: TrialStream, n: int, suggestion: Suggestion) -> float:
        """Seconds that trial `n` takes if it costs as the arm's last ones, a row.

        At least what it has taken without an end; 0 if nothing is known. If it has begun, its next
        fold as its others.
        """

        def fits(fidelity: float) -> float:
            return fidelity * (self._n_folds if fidelity == 1 else 1)

        field = f"{self._clock}_seconds"
        records = [stream.records[past] for past in range(n)]
        before = [
            record[field] / fits(record["fidelity"])
            for record in records
            if record["arm"] == suggestion.arm and record["status"] == "ok"
        ]
        usual = float(np.median(before[-RECENT:])) * fits(suggestion.fidelity) if before else 0.0
        begun = self._begun.get((stream.records.name, n))
        if begun is not None:
            usual = getattr(begun, field) / begun.folds
        return max(usual, self._took.get((stream.records.name, n), 0.0))

    def _file(self, stream: TrialStream, n: int) -> Path:
        return self._keep / f"{stream.records.name[:16]}-{n}.pickle"

    def _judged(
        self, stream: TrialStream, n: int, record: Record, forecasts: NDArray[Any]
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


@dataclass(frozen=True, slots=True)
class _BegunTrial:
    """Folds of a trial that were fitted before it was stopped, and what was charged for them."""

    folds: int = 0
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0

    def after(self, outcome: TrialOutcome, beside: tuple[float, float]) -> _BegunTrial:
        return _BegunTrial(
            outcome.folds,
            self.cpu_seconds + outcome.cpu_seconds + beside[0],
            self.wall_seconds + outcome.wall_seconds + beside[1],
        )


def _text(array: NDArray[Any]) -> list[Any]:
    """An array in JSON: its shape, its type, its bytes."""
    content = base64.b64encode(np.ascontiguousarray(array)).decode("ascii")
    return [*array.shape, str(array.dtype), content]


def _array(text: list[Any]) -> NDArray[Any]:
    *shape, kind, content = text
    return np.frombuffer(base64.b64decode(content), dtype=kind).reshape(shape)
