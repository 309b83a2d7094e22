"""Trials of one dataset, split and space: replayed from the store, or run when asked for.

`TableTrials` are feedbacks of arms that are on record already.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from time import perf_counter, thread_time

import numpy as np
import pandas as pd

from leaseboard.algorithms.environments.pulls import Trial, Trials
from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.algorithms.seeds import derive_seed, generator
from leaseboard.tasks.evaluate.trials import optimisers
from leaseboard.tasks.evaluate.trials.evaluate import (
    Arrays,
    Order,
    TrialOutcome,
    carry_out,
)
from leaseboard.tasks.evaluate.trials.optimisers import OptimisedTrials, Optimiser, Suggestion
from leaseboard.tasks.evaluate.trials.spaces import Space
from leaseboard.tasks.keys.versions import recorded_key
from leaseboard.tasks.processes.child import Limits
from leaseboard.tasks.store.recorded import Record, Records, Store

_LIBRARIES = {
    "guided": ("hyperopt",),
    "tpe": ("hyperopt",),
    "smac": ("smac", "ConfigSpace"),
    "bohb": ("smac", "ConfigSpace"),
    "random": (),
}


class _TrialStream:
    """Trials of one optimiser on its arms, and the optimiser that continues them."""

    def __init__(self, records: Records, optimiser: str, space: Space, seed: int) -> None:
        self.records = records
        self._seed = seed
        self._make = lambda: optimisers.make(optimiser, space, seed)
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
        if self._optimiser is None:
            self._optimiser = self._make()
        for past in range(self._known, n):
            record = self.records[past]
            known = Suggestion(record["arm"], record["parameters"], record["fidelity"])
            self._optimiser.tell(past, known, record["reward"])
        self._known = n
        cpu, wall = thread_time(), perf_counter()
        suggestion = self._optimiser.suggest(n)
        return suggestion, (thread_time() - cpu, perf_counter() - wall)


@dataclass(eq=False, kw_only=True)
class StoredTrials(OptimisedTrials[_TrialStream]):
    """Trials from the store; those that were never run are run in a fork and stored.

    - `data`: names the data in the key: digest, how rows are divided, how columns become numbers.
    - `code`: the modules that split and encode.
    - `arrays`: makes the encoded data; called only if a trial must be run.
    - `limits`: CPU seconds and memory of each trial; without them trials run in this process.
    """

    data: Record
    code: tuple[str, ...]
    arrays: Callable[[], Arrays]
    store: Store
    limits: Limits | None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._arrays: Arrays | None = None

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
        if self._arrays is None:
            self._arrays = self.arrays()
        outcome = carry_out(replace(order, seconds=seconds), self._arrays, self.limits)
        self.spent_cpu_seconds += outcome.cpu_seconds + thought[0]
        return _record(suggestion, outcome, thought)

    def _open(self, optimiser: str, space: Space, seed: int) -> _TrialStream:
        optimisers.require(optimiser)
        learners = {arm.estimator for arm in space.arms.values()}
        key = recorded_key(
            code=(__name__, *self.code),
            libraries=(*_LIBRARIES[optimiser], *learners & {"lightgbm"}),
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


def _record(suggestion: Suggestion, outcome: TrialOutcome, thought: Sequence[float]) -> Record:
    """Return the record of a trial; `thought`: the seconds of the decision."""
    names = ("reward", "test", "cpu_seconds", "wall_seconds", "status", "reason", "measures")
    return asdict(suggestion) | {name: getattr(outcome, name) for name in names} | {
        "suggest_cpu_seconds": thought[0],
        "suggest_wall_seconds": thought[1],
    }  # fmt: skip
