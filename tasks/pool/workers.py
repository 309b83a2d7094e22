"""Pool of worker processes that contains the effects of a job.

A worker runs many jobs. At a limit the job is asked to stop first, and its worker is killed
after a grace, with every descendant, and replaced. So is the worker of a job with untrusted code,
which is decided here, before the job runs: no other job meets what that changes. Below the pool
are the ways to run a job by one, or in this process.
"""

import atexit
import functools
import json
import os
import pickle
import queue
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.described import is_untrusted
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.jobs.run import RUN_JOB, Sink, ended, failed, run_job, verdict
from leaseboard.tasks.machine.environment import prepare_workers
from leaseboard.tasks.pool.worker import READY, WHO
from leaseboard.tasks.processes.child import Child, EndedError, Ending, Limits
from leaseboard.tasks.processes.watchdog import Watchdog, kill_below

START = Limits(wall_seconds=120.0)
"""How long a worker may import; no job is charged for it."""
STALE_BYTES = 1 << 30
"""Memory of a worker above which it takes no further job, so that the next starts small."""
TAIL_BYTES = 1 << 14
"""Bytes at the end of a log that was cut: a traceback is there."""


class StoppedError(LeaseboardError):
    """Interruption of a run: the job has no result and will run again."""


def _cut(path: Path, megabytes: float | None) -> None:
    """Leave out the middle of a longer log; remove an empty one. No writer may be running."""
    size = path.stat().st_size if path.is_file() else 0
    if path.is_symlink() or path.is_dir():
        return  # of the job's making
    if not size:
        path.unlink(missing_ok=True)
    elif megabytes is not None and size > (most := int(megabytes * 1e6)):
        said = f"the job printed more than {megabytes} MB, the limit output_mb"
        with path.open("rb+") as file:
            file.seek(max(0, size - TAIL_BYTES))
            tail = file.read()
            file.truncate(file.seek(max(0, most - TAIL_BYTES)))
            file.write(f"\n[cut here: {said}; what it printed last:]\n".encode() + tail)


class _Worker:
    """Worker process; `fit` for another job if the last one has left it well."""

    def __init__(self, work: str, environment: Mapping[str, str] | None) -> None:
        self.child = Child.start_module(
            "leaseboard.tasks.pool.worker",
            work,
            env=environment,
            who=WHO,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.fit = self._ready = False

    def wait_until_ready(self, check: Callable[[], None]) -> None:
        """Wait until it has imported what jobs need; EndedError if it cannot."""
        if not self._ready:
            said = self.child.answer(START, check=check)
            if said != READY:
                raise EndedError(Ending("crash", said.decode()))
            self._ready = True

    def run(
        self, order: Sequence[Any], limits: Limits, grace: float, check: Callable[[], None]
    ) -> dict[str, Any]:
        """Return the answer to an order, and end what its job left behind.

        Raises EndedError if there is none: the process has ended or was killed.
        """
        self.child.send(pickle.dumps(order))
        said = self.child.answer(limits, grace=grace, check=check)
        try:
            answer: dict[str, Any] = json.loads(said)
        except ValueError as error:  # the worker's own clean-up failed, and says why
            raise EndedError(Ending("crash", said.decode())) from error
        clean = kill_below(self.child.pid)
        self.fit = clean and "stopped" not in answer and self.child.memory < STALE_BYTES
        return answer


class WorkerPool:
    """At most `size` workers; `run` may be called from as many threads.

    - `work`: the function that runs a job, as ``module:function`` or ``path/to/file.py:function``.
    - `grace_seconds`: how long a job may take to stop when it is asked to.
    - `environment`: variables of the workers in addition to our own.
    """

    def __init__(
        self,
        size: int,
        limits: Limits,
        *,
        work: str = RUN_JOB,
        grace_seconds: float = 5.0,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.size = size
        self.limits = limits
        self._work = work
        self._grace = grace_seconds
        self._environment = environment
        self._watchdog = Watchdog()
        self._idle: queue.SimpleQueue[_Worker | None] = queue.SimpleQueue()
        self._workers: set[_Worker] = set()
        self._ending = threading.Lock()  # an interrupted run ends them from two threads
        self._stopping = threading.Event()
        for _ in range(size):
            self._idle.put(None)

    def warm(self, jobs: int) -> None:
        """Start workers of so many jobs now, which import while the caller does other things.

        No job may be running.
        """
        for _ in range(min(self.size, jobs)):
            self._idle.put(self._idle.get() or self._start())

    def run(self, job: Job, key: str, folder: Path, prepared: Prepared | None = None) -> Result:
        """Run one job to its end, however it ends.

        Raises StoppedError if `stop` was called before that, and the UsageError in which an
        unplanned job ended.

        - `key`: of the planned job; empty for an unplanned one.
        """
        untrusted, worker = is_untrusted(job), self._idle.get()
        try:
            self._check()
            worker = worker or self._start()
            started = datetime.now(UTC).isoformat(timespec="milliseconds")
            found = self._attempt(worker, job, key, folder, prepared)
            spent, pid = worker.child.spent, worker.child.pid
        finally:
            if worker is not None and (untrusted or not worker.fit):
                self._end(worker)
                worker = None
            self._idle.put(worker)
        if isinstance(found, Result):
            return found
        events = results.events_left(folder / results.EVENTS)
        reached = results.rows_reached(events) if found.status in {"timeout", "memout"} else {}
        after = f", after {reached['rows']:,.0f} rows" if reached else ""
        return failed(
            job,
            found.status,
            found.reason + after,
            key=key,
            metrics=reached,
            cpu_seconds=spent[0],
            wall_seconds=spent[1],
            events=results.EVENTS if events else None,
            started=started,
            pid=pid,
        )

    def _attempt(
        self, worker: _Worker, job: Job, key: str, folder: Path, data: Prepared | None
    ) -> Result | Ending:
        """Return the result that a worker found, or how the job ended without one."""
        worker.fit = False
        (folder / results.LOG).touch()  # to which the worker appends
        try:
            worker.wait_until_ready(self._check)
            order = job, folder.resolve(), data, Path.cwd()
            said = worker.run(order, self.limits, self._grace, self._check)
        except EndedError as end:
            return end.ending
        finally:
            if not worker.fit:
                self._end(worker)  # it prints no more
            _cut(folder / results.LOG, self.limits.output_mb)
        if "stopped" in said:
            self._check()
            return Ending("crash", "ended by a SIGTERM that Leaseboard did not send")
        if "result" not in said:
            if said["usage"] and not key:
                raise UsageError(said["reason"])
            return Ending(said["status"], said["reason"])
        result = Result(**said["result"])
        if key in {"", result.key}:
            return result
        return Ending(
            "crash", "the data, the code or the libraries are not those that were planned"
        )

    def stop(self) -> None:
        """Interrupt every running job; a signal handler may call this."""
        self._stopping.set()

    def close(self) -> None:
        """End all workers. No job may be running."""
        for worker in list(self._workers):
            self._end(worker)
        self._watchdog.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self) -> None:
        if self._stopping.is_set():
            raise StoppedError("interrupted")

    def _start(self) -> _Worker:
        worker = _Worker(self._work, self._environment)
        self._watchdog.add(worker.child.pid)
        self._workers.add(worker)
        return worker

    def _end(self, worker: _Worker) -> None:
        with self._ending:
            if worker in self._workers:
                worker.child.kill()
                self._watchdog.remove(worker.child.pid)
                self._workers.discard(worker)


@dataclass(frozen=True, slots=True)
class Attempt:
    """Result of a job, and what it left behind."""

    result: Result
    files: dict[str, bytes] | None = None
    """Files of a job on another machine, by name; else they are in the job's folder."""


def run_one(job: Job, folder: Path, *, here: bool = False, sinks: tuple[Sink, ...] = ()) -> Result:
    """Run one job to its end: a failure is a result; only wrong usage and Ctrl-C are raised.

    - `folder`: gets the job's files.
    - `here`: run such a job in this process, too, not in a worker.
    - `sinks`: see each event of a job in this process.
    """
    if not here and is_untrusted(job):
        with WorkerPool(1, Limits()) as pool:
            return pool.run(job, "", folder)
    try:
        return run_job(job, folder, sinks=sinks)
    except (UsageError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001  (SystemExit too, as in a suite's worker)
        log = functools.partial((folder / results.LOG).write_text, encoding="utf-8")
        return failed(job, *ended(error, log))


RunsJobs = Callable[[Job, str, Prepared | None], Attempt]
"""Runs a job, planned under a key, on prepared inputs, to its end."""


def run_planned(
    pool: WorkerPool, out: Path, job: Job, key: str, prepared: Prepared | None
) -> Attempt:
    """Run a planned job in a process of `pool`; its files go to a folder of `out`."""
    try:
        folder = results.begin(out, key)
        return Attempt(pool.run(job, key, folder, prepared))
    except OSError as error:
        return Attempt(failed(job, *verdict(error), key=key))


def run_unplanned(limits: Limits, out: Path, job: Job, prepared: Prepared | None) -> Attempt:
    """Run a job whose key only its result knows, and record that in `out`."""
    out.mkdir(parents=True, exist_ok=True)
    with (
        results.locked(out, shared=True),
        tempfile.TemporaryDirectory("", results.SCRATCH, out, ignore_cleanup_errors=True) as name,
    ):
        result = lasting_pool(limits).run(job, "", Path(name), prepared)
        shutil.copytree(name, results.begin(out, result.key), dirs_exist_ok=True)
        results.finish(out, result)
        return Attempt(result)


_STARTING = threading.Lock()


def lasting_pool(limits: Limits, work: str = RUN_JOB, store: str = "") -> WorkerPool:
    """Return a pool that lasts as long as this process, with a worker a core.

    - `store`: the address of the store of trials, if it is not that of this process.
    """
    with _STARTING:
        return _lasting(limits, work, store)


@functools.cache
def _lasting(limits: Limits, work: str, store: str) -> WorkerPool:
    prepare_workers()
    environment = {"LEASEBOARD_STORE": store} if store else {}
    pool = WorkerPool(os.cpu_count() or 1, limits, work=work, environment=environment)
    atexit.register(pool.close)
    atexit.register(pool.stop)  # first: a job that still runs is waited for no longer
    return pool
