"""What runs a job: worker processes here, with a run folder for what comes of it."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.job import Job, Limits, Result
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.jobs.programs import is_foreign
from leaseboard.tasks.jobs.run import RUN_JOB, failed, run_job, verdict
from leaseboard.tasks.machine.addresses import discreet
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
    model: Any = None
    """What a job in this process found; None if its algorithm has no model."""
    trace: str = ""
    """The traceback of a crash in this process."""

    @property
    def log(self) -> bytes:
        """What the job itself printed, or where it crashed in this process."""
        if self.trace:
            return self.trace.encode()
        if self.folder is not None and (self.folder / results.LOG).is_file():
            return (self.folder / results.LOG).read_bytes()
        return (self.files or {}).get(results.LOG, b"")


def run_one(
    job: Job,
    folder: Path,
    *,
    key: str = "",
    mirrors: tuple[Path, ...] = (),
    work: str = RUN_JOB,
    here: bool = False,
) -> Attempt:
    """Run one job to its end, whatever that is: a failure is a result, not an exception.

    Wrong usage and Ctrl-C are raised all the same.

    - `folder`: gets what the job leaves behind.
    - `key`: of a job that was planned.
    - `work`: what runs a job with code of a user's, see `WorkerPool`.
    - `here`: run such a job in this process, too, in place of a worker.
    """
    if not here and is_foreign(job):
        with WorkerPool(1, Limits(), mirrors=mirrors, work=work) as pool:
            result = pool.run(job, key, folder) if key else pool.race(job, folder)
        return Attempt(result, folder)
    try:
        result, model = run_job(job, folder, mirrors=mirrors)
    except (UsageError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001  (SystemExit too, as in a suite's worker)
        status, reason = verdict(error)
        trace = discreet(traceback.format_exc()) if status in {"crash", "memout"} else ""
        return Attempt(failed(job, status, reason), folder, trace=trace)
    return Attempt(result, folder, model=model)


RunsJobs = Callable[[Job, str, Prepared | None], Attempt]
"""Runs a job, which was planned as a key, on data that were prepared, to its end."""


def run_planned(
    pool: WorkerPool, out: Path, job: Job, key: str, prepared: Prepared | None
) -> Attempt:
    """Run a planned job in a process of `pool`; what it leaves is in a folder of `out`."""
    try:
        folder = results.begin(out, key)
        return Attempt(pool.run(job, key, folder, prepared), folder)
    except OSError as error:
        place = error.filename or out
        return Attempt(failed(job, "crash", f"{place}: {error.strerror}", key=key))


def run_unplanned(limits: Limits, out: Path, job: Job, prepared: Prepared | None) -> Attempt:
    """Run a job, whose key is known by its result alone, and keep that in `out`."""
    out.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=results.SCRATCH, dir=out))
    try:
        result = _processes(limits).race(job, folder, prepared)
        kept = results.begin(out, result.key)
        shutil.copytree(folder, kept, dirs_exist_ok=True)
        results.finish(out, result)
        return Attempt(result, kept)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
