"""Ways to run a job: in worker processes here, with a run folder for its results, or directly."""

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
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.jobs.programs import is_untrusted
from leaseboard.tasks.jobs.run import Sink, failed, run_job, verdict
from leaseboard.tasks.machine.addresses import discreet
from leaseboard.tasks.machine.environment import prepare_workers
from leaseboard.tasks.pool.workers import WorkerPool
from leaseboard.tasks.processes.limits import Limits


@dataclass(frozen=True, slots=True)
class Attempt:
    """Result of a job, and what it left behind."""

    result: Result
    folder: Path | None = None
    """Folder of the job's files, in the run folder."""
    files: dict[str, bytes] | None = None
    """Files of a job on another machine, by name, in place of the folder."""
    model: Any = None
    """Model of a job in this process; None if its algorithm has none."""
    trace: str = ""
    """Traceback of a crash in this process."""

    @property
    def log(self) -> bytes:
        """Output of the job, or where it crashed in this process."""
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
    here: bool = False,
    sinks: tuple[Sink, ...] = (),
) -> Attempt:
    """Run one job to its end: a failure is a result; only wrong usage and Ctrl-C are raised.

    - `folder`: gets the job's files.
    - `key`: of a job that was planned.
    - `here`: run such a job in this process, too, not in a worker.
    - `sinks`: see each event of a job in this process.
    """
    if not here and is_untrusted(job):
        with WorkerPool(1, Limits(), mirrors=mirrors) as pool:
            return Attempt(pool.run(job, key, folder), folder)
    try:
        result, model = run_job(job, folder, mirrors=mirrors, sinks=sinks)
    except (UsageError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001  (SystemExit too, as in a suite's worker)
        status, reason = verdict(error)
        trace = discreet(traceback.format_exc()) if status in {"crash", "memout"} else ""
        return Attempt(failed(job, status, reason), folder, trace=trace)
    return Attempt(result, folder, model=model)


RunsJobs = Callable[[Job, str, Prepared | None], Attempt]
"""Runs a job, planned under a key, on prepared inputs, to its end."""


def run_planned(
    pool: WorkerPool, out: Path, job: Job, key: str, prepared: Prepared | None
) -> Attempt:
    """Run a planned job in a process of `pool`; its files go to a folder of `out`."""
    try:
        folder = results.begin(out, key)
        return Attempt(pool.run(job, key, folder, prepared), folder)
    except OSError as error:
        return Attempt(failed(job, *verdict(error), key=key))


def run_unplanned(limits: Limits, out: Path, job: Job, prepared: Prepared | None) -> Attempt:
    """Run a job whose key only its result knows, and record that in `out`."""
    out.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=results.SCRATCH, dir=out))
    try:
        result = _processes(limits).run(job, "", folder, prepared)
        home = results.begin(out, result.key)
        shutil.copytree(folder, home, dirs_exist_ok=True)
        results.finish(out, result)
        return Attempt(result, home)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_STARTING = threading.Lock()
_pools: dict[Limits, WorkerPool] = {}


def _processes(limits: Limits) -> WorkerPool:
    """Return a pool that lasts as long as this process, with a worker a core."""
    with _STARTING:
        if limits not in _pools:
            prepare_workers()
            _pools[limits] = pool = WorkerPool(os.cpu_count() or 1, limits)
            atexit.register(pool.close)
            atexit.register(pool.stop)  # first: a job that still runs is waited for no longer
        return _pools[limits]
