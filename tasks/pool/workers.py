"""Pool of worker processes that contains the effects of a job.

A worker serves many jobs, because importing the learners takes seconds. It is killed, with its
process group and every descendant, and replaced when a job breaks a limit or kills it. Limits are
enforced from here: the job is asked to stop first, and killed after a grace.

Jobs with untrusted code have workers of their own, which fork for each job and run none
themselves. Which jobs these are is decided here, before they run.
"""

import dataclasses
import queue
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.folder.event_logs import repair_log, rows_reached
from leaseboard.tasks.folder.results import EVENTS, LOG
from leaseboard.tasks.jobs.job import Job, Result, first_fault
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.jobs.programs import is_untrusted
from leaseboard.tasks.jobs.run import RUN_JOB, failed, verdict
from leaseboard.tasks.pool.process import POLL_SECONDS, Reply, StoppedError, Worker
from leaseboard.tasks.processes.forks import Ending, over_cpu, over_memory, over_wall
from leaseboard.tasks.processes.limits import Limits
from leaseboard.tasks.processes.watchdog import Watchdog

NONSENSE = "the worker's answer is not understood"
CHANGED = "the data, the code or the libraries are not those that were planned"
STALE_BYTES = 1 << 30
"""Memory of a worker above which it is replaced after a job, so that the next starts small."""


class WorkerPool:
    """At most `size` workers; `run` may be called from as many threads.

    - `mirrors`: passed to every job.
    - `work`: the function that runs a job, as ``module:function`` or ``path/to/file.py:function``.
    - `grace_seconds`: how long a job may take to stop when it is asked to.
    - `environment`: variables of the workers in addition to our own, which other users cannot
      read, as they can arguments.
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
        self._watchdog = Watchdog()
        # For trusted jobs, and for untrusted ones: as many as jobs may run at once.
        self._idle: dict[bool, queue.SimpleQueue[Worker | None]] = {
            untrusted: queue.SimpleQueue() for untrusted in (False, True)
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
        for untrusted, count in Counter(map(is_untrusted, jobs)).items():
            idle = self._idle[untrusted]
            for _ in range(min(self.size, count)):
                idle.put(idle.get() or self._start(forks=untrusted))

    def run(self, job: Job, key: str, folder: Path, prepared: Prepared | None = None) -> Result:
        """Run one job to its end, however it ends.

        Raises StoppedError if `stop` was called before that, and the UsageError in which an
        unplanned job ended.

        - `key`: of the planned job; empty for an unplanned one.
        """
        reply, spent, started = self._attempt(job, folder, prepared, untrusted=is_untrusted(job))
        if reply.usage and not key:
            raise UsageError(reply.ending.reason)
        ending = reply.ending
        if reply.row is not None:
            try:
                result = Result(**reply.row)
            except ValidationError as error:
                ending = Ending("crash", f"{NONSENSE}: {first_fault(error)}")
            else:
                if key in {"", result.key}:
                    return result
                ending = Ending("crash", CHANGED)
        events = EVENTS if repair_log(folder / EVENTS) else None
        limited = events and ending.status in {"timeout", "memout"}
        reached = rows_reached(folder / EVENTS) if limited else {}
        after = f", after {reached['rows']:,.0f} rows" if reached else ""
        return failed(
            job,
            ending.status,
            ending.reason + after,
            key=key,
            metrics=reached,
            cpu_seconds=spent[0],
            wall_seconds=spent[1],
            events=events,
            started=started,
        )

    def _attempt(
        self, job: Job, folder: Path, data: Prepared | None, *, untrusted: bool
    ) -> tuple[Reply, tuple[float, float], str]:
        """Return how a job ended, the CPU and wall seconds that it took, and when it began."""
        worker = self._idle[untrusted].get()
        fit = False
        try:
            if self._stopping.is_set():
                raise StoppedError("interrupted before the job began")
            worker = worker or self._start(forks=untrusted)
            reply = worker.wait_until_ready(self._stopping)
            cpu, _ = worker.usage()
            clock = time.monotonic()
            started = datetime.now(UTC).isoformat(timespec="milliseconds")
            if reply is None:
                worker.output.begin(folder / LOG, self.limits.output_mb)
                worker.order(self._order(job, folder, data))
                reply = self._await(worker, cpu, clock)
            fit = reply.fit
            spent = (worker.usage()[0] - cpu, time.monotonic() - clock)
        finally:
            self._idle[untrusted].put(self._retire(worker, fit=fit))
        if worker.output.fault:
            reply = Reply(Ending(*verdict(worker.output.fault)))
        return reply, spent, started

    def stop(self) -> None:
        """Interrupt every running job; a signal handler may call this."""
        self._stopping.set()

    def cool(self) -> None:
        """End the idle workers; the next job starts one again."""
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
        self._watchdog.close()

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
        self._watchdog.add(worker.pid)
        with self._lock:
            self._workers.add(worker)
        return worker

    def _retire(self, worker: Worker | None, *, fit: bool) -> Worker | None:
        """Return the worker if it is fit for another job, else end it and return None."""
        if worker is None:
            return None
        if fit and worker.kill_children() and worker.usage()[1] < STALE_BYTES:
            return worker
        worker.kill()
        self._watchdog.remove(worker.pid)
        with self._lock:
            self._workers.discard(worker)
        return None

    def _await(self, worker: Worker, cpu: float, clock: float) -> Reply:
        """Return how the job ended, by itself or at a limit."""
        breach: Ending | None = None
        deadline = float("inf")
        while True:
            answer = worker.answer(POLL_SECONDS)
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
        """Return the ending by a limit that the job has broken, if any."""
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
