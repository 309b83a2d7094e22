"""Worker process: runs jobs, one after another, for `leaseboard.tasks.pool.workers`.

It gets orders in JSON on a channel, and answers there. Standard output and error are a pipe to the
pool, so output of a job is never taken for an answer. A job with untrusted code
(`leaseboard.tasks.jobs.programs`) runs in a fork, which ends with it, so no other job meets what
it changes.
"""

import faulthandler
import importlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from time import perf_counter
from types import FrameType
from typing import Any, NoReturn, cast

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.user_files import executed
from leaseboard.tasks.jobs.job import Job, plain
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.jobs.run import verdict, warm
from leaseboard.tasks.machine.addresses import discreet
from leaseboard.tasks.machine.clocks import cpu_seconds
from leaseboard.tasks.processes.forks import Fork
from leaseboard.tasks.processes.subprocesses import (
    Channel,
    Silence,
    reusable_pids,
    serve,
    to_parent,
)
from leaseboard.tasks.processes.watchdog import adopt_orphans


class Stop(BaseException):
    """Request of the pool to end the job; no `except Exception` of a job can delay it."""


def forked(order: dict[str, Any], channel: Channel) -> dict[str, Any]:
    """Run the ordered job in a fork; return what it ``said``, or the ``code`` of its exit.

    ``measured`` are the CPU and wall seconds of the fork, by clocks out of reach of its code.
    """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the job's own process takes it, as one of us
    clock = perf_counter()
    with Fork(lambda: json.dumps(run(order)).encode(), [channel.fileno()]) as job:
        said = job.answer()
        wall = perf_counter() - clock
    signal.signal(signal.SIGTERM, _stop)
    if said is Silence.LONG:
        return {"status": "crash", "reason": str(said)}
    if isinstance(said, Silence):
        return {"code": job.code}
    return {"said": said.decode(errors="replace"), "measured": [job.cpu_seconds, wall]}


def run(order: dict[str, Any]) -> dict[str, Any]:
    """Run the ordered job; the answer holds a ``result``, or a ``status`` with its ``reason``.

    The result has the seconds of all the order's ``work``. ``kept`` are the children that a later
    job uses again. ``spoilt`` says that a user's file was run by a job that was thought trusted.
    """
    # An earlier job may have changed what belongs to the process.
    os.chdir(order["cwd"])
    signal.signal(signal.SIGTERM, _stop)
    folder = Path(order["folder"])
    job = Job(**order["job"])
    cpu, wall = cpu_seconds(), perf_counter()
    try:
        work = _imported(order["work"])
        given: dict[str, Any] = {"mirrors": tuple(Path(m) for m in order["mirrors"])}
        if order["prepared"]:
            table, parts = order["prepared"]
            given["prepared"] = Prepared(Path(table), parts and Path(parts))
        result, _ = work(job, folder, **given)
        row = plain(result)
        if isinstance(row, dict):  # the pool refuses anything else
            row["job_cpu_seconds"] = cpu_seconds() - cpu
            row["job_wall_seconds"] = perf_counter() - wall
    except BaseException as error:  # noqa: BLE001  (SystemExit too: a job is not the worker)
        status, reason = ("stopped", "") if isinstance(error, Stop) else verdict(error)
        if status in {"crash", "memout"}:
            sys.stderr.write(discreet(traceback.format_exc()))
        usage = isinstance(error, UsageError)
        answer = {"status": status, "reason": reason, "usage": usage}
    else:
        answer = {"result": row}
    sys.stdout.flush()
    sys.stderr.flush()
    return answer | {"kept": reusable_pids(), "spoilt": bool(executed)}


def _imported(target: str) -> Callable[..., Any]:
    """Return the function named ``module:function`` or ``path/to/file.py:function``."""
    module, _, name = target.rpartition(":")
    if module.endswith(".py"):
        sys.path.insert(0, str(Path(module).parent))
        module = Path(module).stem
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def _stop(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise Stop


def main(work: str, *, forks: bool) -> None:
    """Import what jobs, or their forks, need, then serve until the pool closes its end."""
    channel = to_parent()
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    adopt_orphans()
    faulthandler.enable()
    for stream in (sys.stdout, sys.stderr):  # a job may print what the terminal here cannot show
        cast("TextIOWrapper", stream).reconfigure(errors="backslashreplace")
    try:
        _imported(work)
        if forks:
            warm()
        channel.send(json.dumps({"status": "ready", "reason": ""}).encode())
        serve(channel, partial(forked, channel=channel) if forks else run)
    except Stop:
        sys.exit(0)


if __name__ == "__main__":
    main(sys.argv[2], forks=bool(int(sys.argv[3])))
