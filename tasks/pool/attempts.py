"""What runs a job: worker processes here, with a run folder for what comes of it."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.job import Job, Limits, Result
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.jobs.run import failed
from leaseboard.tasks.machine.environment import prepare_workers
from leaseboard.tasks.pool.workers import WorkerPool


@dataclass(frozen=True, slots=True)
class Attempt:
    """A job that was run somewhere."""

    result: Result
    folder: Path | None = None
    """Holds what it left behind: in the run folder."""
    files: dict[str, bytes] | None = None
    """In its place what a job on another machine left behind, by name."""

    @property
    def log(self) -> bytes:
        """What the job itself printed."""
        if self.folder is not None and (self.folder / results.LOG).is_file():
            return (self.folder / results.LOG).read_bytes()
        return (self.files or {}).get(results.LOG, b"")


class RunsJobs(Protocol):
    """Runs a job to its end, whatever that is, wherever it is called."""

    def __call__(self, job: Job, key: str, prepared: Prepared | None) -> Attempt:
        """What came of `job`, which was planned as `key`, on data that were prepared."""
        ...


@dataclass(frozen=True, slots=True)
class Here:
    """Runs jobs in the processes of a pool; what they leave is in the run folder `out`."""

    pool: WorkerPool
    out: Path

    def __call__(self, job: Job, key: str, prepared: Prepared | None) -> Attempt:
        """Run `job` in a folder of its own, which is empty before."""
        try:
            folder = results.begin(self.out, key)
            return Attempt(self.pool.run(job, key, folder, prepared), folder)
        except OSError as error:
            place = error.filename or self.out
            return Attempt(failed(job, "crash", f"{place}: {error.strerror}", key=key))


@dataclass(frozen=True, slots=True)
class Unplanned:
    """Runs jobs that nobody has planned, one by one, and keeps their results in `out`."""

    limits: Limits
    out: Path

    def __call__(self, job: Job, key: str, prepared: Prepared | None) -> Attempt:
        """Run `job`, whose key is known by its result."""
        del key
        self.out.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=results.SCRATCH, dir=self.out))
        try:
            result = _processes(self.limits).race(job, folder, prepared)
            return Attempt(result, self._kept(result, folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _kept(self, result: Result, folder: Path) -> Path:
        begun = results.begin(self.out, result.key)
        shutil.copytree(folder, begun, dirs_exist_ok=True)
        results.finish(self.out, result)
        return begun


_STARTING = threading.Lock()
_pools: dict[Limits, WorkerPool] = {}


def _processes(limits: Limits) -> WorkerPool:
    """Worker processes that live as long as this one, a core each, in an environment of ours."""
    with _STARTING:
        if limits not in _pools:
            prepare_workers()
            _pools[limits] = pool = WorkerPool(os.cpu_count() or 1, limits)
            atexit.register(pool.close)
            atexit.register(pool.stop)  # first: a job that still runs is waited for no longer
        return _pools[limits]
