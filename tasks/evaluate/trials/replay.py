"""`StoredTrials`: the trials of one data set, split and space, replayed or run when asked for."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter, thread_time

from leaseboard.algorithms.benches.pulls import Trial
from leaseboard.algorithms.seeds import derive_seed
from leaseboard.tasks.evaluate.trials import evaluate, optimisers
from leaseboard.tasks.evaluate.trials.evaluate import Arrays, Order, TrialData, TrialOutcome
from leaseboard.tasks.evaluate.trials.optimiser import Optimiser, Suggestion
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


class StoredTrials:
    """Trials from the store; those that nobody has run yet are run in a worker and stored.

    - `optimiser`: tunes each arm alone.
    - `seed`: of the optimisers, from which each arm's own is derived, and of the learners.
    - `limits`: of each trial; without them trials run in this process, one after the other.
    - `n_jobs`: how many trials of different arms may run at once, if it is known that they are
      wanted.
    - `shares`: of the training rows, on which the optimiser ``guided`` fits one after the other.
    """

    def __init__(
        self,
        space: Space,
        data: TrialData,
        *,
        optimiser: str,
        seed: int,
        store: Store,
        limits: TrialLimits | None,
        n_jobs: int = 1,
        shares: Sequence[float] = (1.0,),
    ) -> None:
        self.arms = tuple(space.arms)
        self.tunable = tuple(arm.tunable for arm in space.arms.values())
        self.spent_cpu_seconds = 0.0
        self._space = space
        self._data = data
        self._optimiser = optimiser
        self._seed = seed
        self._store = store
        self._limits = limits
        self._shares = shares
        self._streams: dict[tuple[str, str], TrialStream] = {}
        self._runners = Runners(data.arrays, limits, n_jobs if limits else 1)
        self._lock = threading.Lock()

    def trial(self, arm: int, n: int) -> Trial:
        """The trial number `n` of the optimiser of `arm` alone."""
        return self._get(self._optimiser, self._space.restricted([self.arms[arm]]), n)

    def joint_trial(self, optimiser: str, n: int) -> Trial:
        """The trial number `n` of `optimiser` over the whole space."""
        return self._get(optimiser, self._space, n)

    def foresee(self, wanted: Sequence[tuple[int, int]], seconds: float = math.inf) -> None:
        """Run the missing ones of these trials (arm, n) at once, each to its end."""
        if self._runners.n_jobs > 1:
            missing = [(arm, n) for arm, n in wanted if not self._has(arm, n)]
            with ThreadPoolExecutor(self._runners.n_jobs) as pool:
                list(pool.map(lambda trial: self.trial(*trial), missing))

    def close(self) -> None:
        """End the workers, which otherwise wait for the next trials of this process."""
        close_resting()

    def _get(self, optimiser: str, space: Space, n: int) -> Trial:
        stream = self._stream(optimiser, space)
        with stream.lock:
            if len(stream.records) <= n:
                stream.records.refresh()
            while len(stream.records) <= n:
                stream.records.extend(lambda number: self._compute(stream, number))
            return self._as_trial(stream.records[n], stream.learner_seed(n))

    def _has(self, arm: int, n: int) -> bool:
        stream = self._stream(self._optimiser, self._space.restricted([self.arms[arm]]))
        stream.records.refresh()
        return len(stream.records) > n

    def _stream(self, optimiser: str, space: Space) -> TrialStream:
        name = (optimiser, next(iter(space.arms)) if len(space.arms) == 1 else "")
        with self._lock:
            if name not in self._streams:
                self._streams[name] = self._new_stream(optimiser, space)
            return self._streams[name]

    def _new_stream(self, optimiser: str, space: Space) -> TrialStream:
        optimisers.require(optimiser)
        learners = {arm.estimator for arm in space.arms.values()}
        seed = derive_seed(self._seed, optimiser, *space.arms)
        key = recorded_key(
            code=(__name__, *self._data.code),
            libraries=(*_LIBRARIES[optimiser], *(["lightgbm"] if "lightgbm" in learners else [])),
            classes=[name for name in learners if ":" in name],
            data=self._data.identity,
            arms={name: arm.model_dump() for name, arm in space.arms.items()},
            optimiser=optimiser,
            seed=seed,
            limits=self._limits and [self._limits.cpu_seconds, self._limits.memory_mb],
            **({"shares": list(self._shares)} if optimiser == "guided" else {}),
        )
        return TrialStream(self._store.records(key), optimiser, space, seed, self._shares)

    def _compute(self, stream: TrialStream, n: int) -> Record:
        stream.catch_up(n)
        cpu, wall = thread_time(), perf_counter()
        suggestion = stream.suggest(n)
        thought = thread_time() - cpu, perf_counter() - wall
        outcome = self._runners.run(self._order(suggestion, stream.learner_seed(n)))
        with self._lock:
            self.spent_cpu_seconds += outcome.cpu_seconds + thought[0]
        return record_of(suggestion, outcome, thought)

    def _order(self, suggestion: Suggestion, seed: int) -> Order:
        arm = self._space.arms[suggestion.arm]
        values = {**arm.constants, **suggestion.parameters}
        return Order(arm.estimator, values, seed, suggestion.fidelity)

    def _as_trial(self, record: Record, seed: int) -> Trial:
        return Trial(
            arm=self.arms.index(record["arm"]),
            parameters=record["parameters"],
            reward=record["reward"],
            test=record["test"],
            cpu_seconds=record["cpu_seconds"] + record["suggest_cpu_seconds"],
            wall_seconds=record["wall_seconds"] + record["suggest_wall_seconds"],
            status=record["status"],
            reason=record["reason"],
            fidelity=record["fidelity"],
            seed=seed,
        )


class Runners:
    """Where trials are run: this process, or as many workers as trials may run at once."""

    def __init__(
        self, arrays: Callable[[], Arrays], limits: TrialLimits | None, n_jobs: int
    ) -> None:
        self.n_jobs = n_jobs
        self._get_arrays = arrays
        self._limits = limits
        self._lock = threading.Lock()
        self._room = threading.Semaphore(n_jobs)
        self._arrays: Arrays | None = None

    def run(self, order: Order) -> TrialOutcome:
        """Run `order` where there is room for it."""
        with self._lock:
            if self._arrays is None:
                self._arrays = self._get_arrays()
        if self._limits is None:
            return evaluate.run(order, self._arrays)
        with self._room, resting(self._limits) as worker:
            return worker.run(order, self._arrays)


class TrialStream:
    """The trials of one optimiser on its arms, and what continues them."""

    def __init__(
        self, records: Records, optimiser: str, space: Space, seed: int, shares: Sequence[float]
    ) -> None:
        self.records = records
        self.seed = seed
        self._shares = shares
        self.lock = threading.Lock()
        self._kind = optimiser
        self._space = space
        self._optimiser: Optimiser | None = None
        self._told = 0

    def learner_seed(self, n: int) -> int:
        """The random state of the learner of trial `n`."""
        return derive_seed(self.seed, "learner", n)

    def catch_up(self, n: int) -> None:
        """Tell the optimiser the records before `n` that it has not seen."""
        if self._optimiser is None or n < self._told:  # a damaged record is made anew
            self._optimiser = optimisers.make(self._kind, self._space, self.seed, self._shares)
            self._told = 0
        for past in range(self._told, n):
            record = self.records[past]
            made = Suggestion(record["arm"], record["parameters"], record["fidelity"])
            self._optimiser.tell(past, made, record["reward"])
        self._told = n

    def suggest(self, n: int) -> Suggestion:
        """Trial `n` of an optimiser that has caught up."""
        assert self._optimiser is not None
        return self._optimiser.suggest(n)


def record_of(
    suggestion: Suggestion, outcome: TrialOutcome, thought: tuple[float, float]
) -> Record:
    """What is kept of a trial; `thought`: the seconds of its suggestion."""
    return {
        "arm": suggestion.arm,
        "parameters": dict(suggestion.parameters),
        "fidelity": suggestion.fidelity,
        "reward": outcome.reward,
        "test": outcome.test,
        "cpu_seconds": outcome.cpu_seconds,
        "wall_seconds": outcome.wall_seconds,
        "suggest_cpu_seconds": thought[0],
        "suggest_wall_seconds": thought[1],
        "status": outcome.status,
        "reason": outcome.reason,
    }
