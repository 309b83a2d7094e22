"""A pool of worker processes that contains whatever a job does.

A worker lives on from job to job, because importing the learners takes seconds. It is killed, with
its whole process group and every descendant, and replaced when a job breaks a limit, kills it, or
answers nonsense. Limits are enforced from here: asked to stop at first, killed after a grace.

Foreign jobs have workers of their own, which fork for each and run no job themselves. Which jobs
are foreign is decided here, before they run.
"""

from __future__ import annotations

import dataclasses
import math
import queue
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.folder.event_logs import mend_log
from leaseboard.tasks.folder.results import EVENTS, LOG
from leaseboard.tasks.jobs.job import Job, Limits, Result
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.jobs.programs import is_foreign
from leaseboard.tasks.jobs.run import RUN_JOB, failed
from leaseboard.tasks.machine.clocks import disagreement
from leaseboard.tasks.pool.process import POLL_SECONDS, Reply, StoppedError, Worker
from leaseboard.tasks.processes.forks import Ending, over_cpu, over_memory, over_wall
from leaseboard.tasks.processes.leash import Leash

NONSENSE = "the worker's answer is not understood"
CHANGED = "the data or the code are not those that were planned"
STALE_BYTES = 1 << 30
"""A worker that still holds so much after a job is replaced, so that the next starts small."""


class WorkerPool:
    """At most `size` workers; `run` may be called from as many threads.

    - `mirrors`: handed to every job.
    - `work`: the function that runs a job, as ``module:function`` or ``path/to/file.py:function``.
    - `grace_seconds`: how long a job may take to stop when it is asked to.
    - `environment`: variables of the workers beside our own: no other user can read them, as
      arguments can.
    """

    def __init__(
        self,
        size: int,
        limits: Limits,
        *,
        mirrors: tuple[Path, ...] = (),
        work: str = RUN_JOB,
        grace_seconds: float = 5.0,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.size = size
        self.limits = limits
        self._mirrors = [str(mirror) for mirror in mirrors]
        self._work = work
        self._grace = grace_seconds
        self._environment = environment or {}
        self._leash = Leash()
        # Of our own jobs, and of foreign ones: as many as jobs may run at once.
        self._idle: dict[bool, queue.SimpleQueue[Worker | None]] = {
            foreign: queue.SimpleQueue() for foreign in (False, True)
        }
        self._workers: set[Worker] = set()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        for idle in self._idle.values():
            for _ in range(size):
                idle.put(None)

    def warm(self, jobs: Iterable[Job]) -> None:
        """Start the workers of `jobs` now, so that they import while the caller does other things.

        No job may be running.
        """
        for foreign, count in Counter(map(is_foreign, jobs)).items():
            idle = self._idle[foreign]
            for _ in range(min(self.size, count)):
                idle.put(idle.get() or self._start(forks=foreign))

    def run(self, job: Job, key: str, folder: Path, prepared: Prepared | None = None) -> Result:
        """Run one job, which was planned as `key`, to its end, whatever that is.

        Raises StoppedError if `stop` was called before the job had ended.
        """
        return _came_of(job, folder, *self._outcome(job, folder, prepared), key=key)

    def race(self, job: Job, folder: Path, prepared: Prepared | None = None) -> Result:
        """As `run`, of a job whose key nobody knows yet; UsageError if it ended in one."""
        answer, spent, started = self._outcome(job, folder, prepared)
        if answer.usage:
            raise UsageError(answer.ending.reason)
        return _came_of(job, folder, answer, spent, started)

    def _outcome(
        self, job: Job, folder: Path, prepared: Prepared | None
    ) -> tuple[Reply, tuple[float, float], str]:
        """How a job ended, the CPU and wall seconds that it took, and when it began."""
        foreign = is_foreign(job)
        if not foreign or prepared is None:
            return self._outcome_on(prepared, job, folder, foreign=foreign)
        # A copy of what others map: code of a user's may write to a file, if not to a mapping.
        with tempfile.TemporaryDirectory(prefix="leaseboard-data-") as name:
            return self._outcome_on(prepared.copied(Path(name)), job, folder, foreign=True)

    def _outcome_on(
        self, data: Prepared | None, job: Job, folder: Path, *, foreign: bool
    ) -> tuple[Reply, tuple[float, float], str]:
        worker = self._idle[foreign].get()
        fit = False
        try:
            if self._stopping.is_set():
                raise StoppedError("interrupted before the job began")
            worker = worker or self._start(forks=foreign)
            answer = worker.start(self._stopping)
            cpu, _ = worker.usage()
            clock = time.monotonic()
            started = datetime.now(UTC).isoformat(timespec="seconds")
            if answer is None:
                worker.output.begin(folder / LOG, self.limits.output_mb)
                worker.order(self._order(job, folder, data))
                answer = self._await(worker, cpu, clock)
            fit = answer.fit
            spent = (worker.usage()[0] - cpu, time.monotonic() - clock)
        finally:
            self._idle[foreign].put(self._retire(worker, fit=fit))
        wrong = _clocks_changed(answer, job) or worker.output.fault
        return Reply(Ending("crash", wrong)) if wrong else answer, spent, started

    def stop(self) -> None:
        """Interrupt every running job; safe to call from a signal handler."""
        self._stopping.set()

    def cool(self) -> None:
        """End the workers that have nothing to do; the next job starts one again."""
        for idle in self._idle.values():
            for _ in range(self.size):
                try:
                    worker = idle.get_nowait()
                except queue.Empty:
                    break
                idle.put(self._retire(worker, fit=False))

    def close(self) -> None:
        """End all workers. No job may be running."""
        for worker in list(self._workers):
            self._retire(worker, fit=False)
        self._leash.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _order(self, job: Job, folder: Path, prepared: Prepared | None) -> dict[str, Any]:
        places = prepared and (prepared.table, prepared.parts)
        return {
            "prepared": places and [place and str(place.resolve()) for place in places],
            "job": dataclasses.asdict(job),
            "folder": str(folder.resolve()),
            "cwd": str(Path.cwd()),
            "work": self._work,
            "mirrors": self._mirrors,
        }

    def _start(self, *, forks: bool) -> Worker:
        worker = Worker(self._work, self._environment, forks=forks)
        self._leash.watch(worker.pid)
        with self._lock:
            self._workers.add(worker)
        return worker

    def _retire(self, worker: Worker | None, *, fit: bool) -> Worker | None:
        """The worker if it can take another job, else None after it has been ended."""
        if worker is None:
            return None
        if fit and worker.kill_children() and worker.usage()[1] < STALE_BYTES:
            return worker
        worker.kill()
        self._leash.forget(worker.pid)
        with self._lock:
            self._workers.discard(worker)
        return None

    def _await(self, worker: Worker, cpu: float, clock: float) -> Reply:
        """How the job ended, by itself or at a limit."""
        breach: Ending | None = None
        deadline = float("inf")
        while True:
            try:
                answer = worker.answer(POLL_SECONDS)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                return Reply(Ending("crash", NONSENSE))
            stopped = answer is not None and answer.ending.status == "stopped"
            if stopped and breach is None:
                if self._stopping.is_set():
                    raise StoppedError("interrupted")
                return Reply(Ending("crash", "ended by a SIGTERM that Leaseboard did not send"))
            if answer is not None:
                return Reply(breach) if breach else answer
            if breach is None:
                breach = self._breach(worker, cpu, clock)
                if breach is not None:
                    worker.ask_to_stop()
                    deadline = time.monotonic() + self._grace
            elif time.monotonic() > deadline:
                return Reply(breach)

    def _breach(self, worker: Worker, cpu: float, clock: float) -> Ending | None:
        """The limit that the job has broken by now, if any."""
        used, memory = worker.usage()
        wall, cpu = time.monotonic() - clock, used - cpu
        limits = self.limits
        if self._stopping.is_set():
            raise StoppedError("interrupted")
        if limits.wall_seconds is not None and wall > limits.wall_seconds:
            return over_wall(limits.wall_seconds)
        if limits.cpu_seconds is not None and cpu > limits.cpu_seconds:
            return over_cpu(limits.cpu_seconds)
        if limits.memory_mb is not None and memory > limits.memory_mb * 1e6:
            return over_memory(limits.memory_mb)
        return None


def _clocks_changed(answer: Reply, job: Job) -> str:
    """What is wrong with the seconds that a foreign job tells, if anything is."""
    if answer.measured is None or answer.row is None:
        return ""
    result = _understood(answer.row, job)
    if result is None:
        return ""
    told = (result.job_cpu_seconds or 0.0, result.job_wall_seconds or 0.0)
    return disagreement(told, answer.measured)


def _understood(row: dict[str, Any], job: Job) -> Result | None:
    """The result that a worker answered, None if it is none.

    Whose it is, is not for the job to say: one that another's code ran could name any other.
    """
    try:
        result = Result(**row)
    except (ValidationError, TypeError):
        return None
    if result.status == "ok" and not (result.score is not None and math.isfinite(result.score)):
        return None
    return result.kept_for(job)


def _came_of(
    job: Job,
    folder: Path,
    answer: Reply,
    spent: tuple[float, float],
    started: str,
    *,
    key: str = "",
) -> Result:
    """The result of a job; of one that came to none, with the events that it left."""
    ending = answer.ending
    if answer.row is not None:
        result = _understood(answer.row, job)
        if result is not None and key in {"", result.key}:
            return result
        ending = Ending("crash", NONSENSE if result is None else CHANGED)
    return failed(
        job,
        ending.status,
        ending.reason,
        key=key,
        cpu_seconds=spent[0],
        wall_seconds=spent[1],
        events=EVENTS if mend_log(folder / EVENTS) else None,
        started=started,
    )
