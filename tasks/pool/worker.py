"""The process that runs jobs, one after another, at the command of
`leaseboard.tasks.pool.workers`.

It is told what to do in JSON on a channel, and answers there. Standard output and error
are a pipe to the pool, so nothing that a job prints can be taken for an answer. A job that is
foreign (`leaseboard.tasks.jobs.programs`) runs in a fork, which ends with it: whatever it changes,
no other job meets it.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
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
from leaseboard.tasks.processes.channel import Channel, Silence
from leaseboard.tasks.processes.companion import kept_pids, to_parent
from leaseboard.tasks.processes.forks import Fork
from leaseboard.tasks.processes.leash import adopt_orphans


class Stop(BaseException):
    """The pool asked the job to end; no `except Exception` of a job can hold it up."""


def serve(channel: Channel, *, forks: bool) -> None:
    """Say that the imports are done, then run jobs until the pool closes its end."""
    _tell(channel, {"status": "ready", "reason": ""})
    while (said := channel.receive()) is not None:
        order = json.loads(said)
        _tell(channel, forked(order, channel) if forks else run(order))


def _tell(channel: Channel, answer: dict[str, Any]) -> None:
    channel.send(json.dumps(answer).encode())


def forked(order: dict[str, Any], channel: Channel) -> dict[str, Any]:
    """Run the ordered job in a fork: what it ``said``, or the ``code`` that it ended with.

    ``measured`` are the CPU and wall seconds of the fork, by clocks that no foreign code has met.
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

    The result tells the seconds of all that was done for it, whatever the order's ``work`` is.
    ``kept`` are the children that a later job will need again. ``spoilt`` says that a user's file
    was run, by a job of which that was not known.
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
        if isinstance(row, dict):  # what is none, the pool will not understand
            row["job_cpu_seconds"] = cpu_seconds() - cpu
            row["job_wall_seconds"] = perf_counter() - wall
    except BaseException as error:  # noqa: BLE001  (SystemExit too: a job is not the worker)
        status, reason = ("stopped", "") if isinstance(error, Stop) else verdict(error)
        if status in {"crash", "memout"}:
            sys.stderr.write(discreet(traceback.format_exc()))
        usage = isinstance(error, UsageError)
        return {"status": status, "reason": reason, "usage": usage, **_left()}
    return {"result": row, **_left()}


def _left() -> dict[str, Any]:
    sys.stdout.flush()
    sys.stderr.flush()
    return {"kept": kept_pids(), "spoilt": bool(executed)}


def _imported(target: str) -> Callable[..., Any]:
    """The function named ``module:function`` or ``path/to/file.py:function``."""
    module, _, name = target.rpartition(":")
    if module.endswith(".py"):
        sys.path.insert(0, str(Path(module).parent))
        module = Path(module).stem
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def _stop(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise Stop


def main(work: str, *, forks: bool) -> None:
    """Import what jobs need, and what forks would each import, then serve."""
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
        serve(channel, forks=forks)
    except Stop:
        sys.exit(0)


if __name__ == "__main__":
    main(sys.argv[2], forks=bool(int(sys.argv[3])))
