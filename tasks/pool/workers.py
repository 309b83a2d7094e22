"""Pool of worker processes that contains the effects of a job.

A worker serves many jobs. At a limit the job is asked to stop first, and its worker is killed
after a grace, with every descendant, and replaced. Jobs with untrusted code have workers of their
own, which fork for each. Which jobs these are is decided here, before they run.
"""

import dataclasses
import importlib
import queue
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import ValidationError

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.tasks.folder.event_logs import repair_log, rows_reached
from leaseboard.tasks.folder.results import EVENTS, LOG
from leaseboard.tasks.jobs.job import Job, Result, first_fault, plain
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.jobs.programs import is_untrusted
from leaseboard.tasks.jobs.run import RUN_JOB, failed, verdict, warm
from leaseboard.tasks.machine.addresses import discreet
from leaseboard.tasks.pool.log import Output
from leaseboard.tasks.processes.child import EndedError, Stop
from leaseboard.tasks.processes.limits import Ending, Limits
from leaseboard.tasks.processes.watchdog import Watchdog
from leaseboard.tasks.processes.worker import Worker


class StoppedError(LeaseboardError):
    """Interruption of a run: the job has no result and will run again."""


class _Member(NamedTuple):
    worker: Worker
    output: Output


class WorkerPool:
    """At most `size` workers; `run` may be called from as many threads.

    - `mirrors`: passed to every job.
    - `work`: the function that runs a job, as ``module:function`` or ``path/to/file.py:function``.
    - `grace_seconds`: how long a job may take to stop when it is asked to.
    - `environment`: variables of the workers in addition to our own.
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
        self._environment = environment
        self._watchdog = Watchdog()
        # For trusted jobs, and for untrusted ones: as many as jobs may run at once.
        self._idle: dict[bool, queue.SimpleQueue[_Member | None]] = {
            untrusted: queue.SimpleQueue() for untrusted in (False, True)
        }
        self._members: set[_Member] = set()
        self._ending = threading.Lock()  # an interrupted run ends them from two threads
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
        untrusted = is_untrusted(job)
        member = self._idle[untrusted].get()
        try:
            self._check()
            member = member or self._start(forks=untrusted)
            started = datetime.now(UTC).isoformat(timespec="milliseconds")
            found = self._attempt(member, job, key, folder, prepared)
            spent = member.worker.child.spent
        finally:
            self._idle[untrusted].put(self._rest(member))
        if member.output.fault:
            found = Ending(*verdict(member.output.fault))
        if isinstance(found, Result):
            return found
        events = EVENTS if repair_log(folder / EVENTS) else None
        limited = events and found.status in {"timeout", "memout"}
        reached = rows_reached(folder / EVENTS) if limited else {}
        after = f", after {reached['rows']:,.0f} rows" if reached else ""
        return failed(
            job,
            found.status,
            found.reason + after,
            key=key,
            metrics=reached,
            cpu_seconds=spent[0],
            wall_seconds=spent[1],
            events=events,
            started=started,
        )

    def _attempt(
        self, member: _Member, job: Job, key: str, folder: Path, data: Prepared | None
    ) -> Result | Ending:
        """Return the result that a worker found, or how the job ended without one."""
        worker, output = member
        try:
            worker.wait_until_ready(self._check)
        except EndedError as end:
            why = f"{end.ending.reason}: {output.last_line()}".rstrip(": ")
            return Ending("crash", why)
        output.begin(folder / LOG, self.limits.output_mb)
        places = data and (data.table, data.parts)
        order = {
            "prepared": places and [place and str(place.resolve()) for place in places],
            "job": dataclasses.asdict(job),
            "folder": str(folder.resolve()),
            "cwd": str(Path.cwd()),
            "mirrors": self._mirrors,
        }
        try:
            said = worker.carry_out(order, self.limits, grace=self._grace, check=self._check)
        except EndedError as end:
            return end.ending
        if "stopped" in said:
            self._check()
            return Ending("crash", "ended by a SIGTERM that Leaseboard did not send")
        if "result" not in said:
            if said["usage"] and not key:
                raise UsageError(said["reason"])
            return Ending(said["status"], said["reason"])
        try:
            result = Result(**said["result"])
        except ValidationError as error:
            return Ending("crash", f"the worker's answer is not understood: {first_fault(error)}")
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
        for member in list(self._members):
            self._end(member)
        self._watchdog.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self) -> None:
        if self._stopping.is_set():
            raise StoppedError("interrupted")

    def _start(self, *, forks: bool) -> _Member:
        output = Output()
        worker = Worker(
            f"{__name__}:carries_out",
            self._work,
            forks=forks,
            who="the worker process",
            output=output,
            env=self._environment,
        )
        member = _Member(worker, output)
        self._watchdog.add(worker.child.pid)
        self._members.add(member)
        return member

    def _rest(self, member: _Member | None) -> _Member | None:
        """Return the member if its worker is fit for another job, else end it and return None."""
        if member is not None and member.worker.fit:
            member.output.end()
            return member
        self._end(member)
        return None

    def _end(self, member: _Member | None) -> None:
        with self._ending:
            if member in self._members:
                member.worker.child.kill()
                member.output.close()
                self._watchdog.remove(member.worker.child.pid)
                self._members.discard(member)


def carries_out(work: str, forks: bool) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return, in a worker, what runs a job by the function called `work`; see `Worker`."""
    module, _, name = work.rpartition(":")
    if module.endswith(".py"):
        sys.path.insert(0, str(Path(module).parent))
        module = Path(module).stem
    function = getattr(importlib.import_module(module), name)
    if forks:
        warm()
    return partial(_run_ordered, function)


def _run_ordered(function: Callable[..., Any], order: dict[str, Any]) -> dict[str, Any]:
    """Return the ``result`` of the ordered job, or a ``status`` with its ``reason``."""
    try:
        given: dict[str, Any] = {"mirrors": tuple(map(Path, order["mirrors"]))}
        if order["prepared"]:
            table, parts = order["prepared"]
            given["prepared"] = Prepared(Path(table), parts and Path(parts))
        result, _ = function(Job(**order["job"]), Path(order["folder"]), **given)
        return {"result": plain(result)}
    except Stop:
        raise
    except BaseException as error:  # noqa: BLE001  (SystemExit too: a job is not the worker)
        status, reason = verdict(error)
        if status in {"crash", "memout"}:
            sys.stderr.write(discreet(traceback.format_exc()))
        return {"status": status, "reason": reason, "usage": isinstance(error, UsageError)}
