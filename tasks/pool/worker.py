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
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, cast

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.jobs.job import Job, plain
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.jobs.run import verdict, warm
from leaseboard.tasks.machine.addresses import discreet
from leaseboard.tasks.processes.forks import Fork
from leaseboard.tasks.processes.subprocesses import Silence, reusable_pids, serve, to_parent
from leaseboard.tasks.processes.watchdog import adopt_orphans


class Stop(BaseException):
    """Request of the pool to end the job; no `except Exception` of a job can delay it."""


def forked(order: dict[str, Any], channel: Connection) -> dict[str, Any]:
    """Run the ordered job in a fork; return its answer, or the ``code`` of its exit."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the job's own process takes it, as one of us
    with Fork(lambda: json.dumps(run(order)).encode(), [channel.fileno()]) as job:
        said = job.answer()
    signal.signal(signal.SIGTERM, _stop)
    if said is Silence.LONG:
        return {"status": "crash", "reason": str(said)}
    if isinstance(said, Silence):
        return {"code": job.code}
    answer: dict[str, Any] = json.loads(said)
    return answer | {"kept": []}  # its children end with it


def run(order: dict[str, Any]) -> dict[str, Any]:
    """Run the ordered job; the answer holds a ``result``, or a ``status`` with its ``reason``.

    ``kept`` are the children that a later job uses again.
    """
    # An earlier job may have changed what belongs to the process.
    os.chdir(order["cwd"])
    signal.signal(signal.SIGTERM, _stop)
    folder = Path(order["folder"])
    job = Job(**order["job"])
    try:
        work = _imported(order["work"])
        given: dict[str, Any] = {"mirrors": tuple(Path(m) for m in order["mirrors"])}
        if order["prepared"]:
            table, parts = order["prepared"]
            given["prepared"] = Prepared(Path(table), parts and Path(parts))
        result, _ = work(job, folder, **given)
    except BaseException as error:  # noqa: BLE001  (SystemExit too: a job is not the worker)
        status, reason = ("stopped", "") if isinstance(error, Stop) else verdict(error)
        if status in {"crash", "memout"}:
            sys.stderr.write(discreet(traceback.format_exc()))
        usage = isinstance(error, UsageError)
        answer = {"status": status, "reason": reason, "usage": usage}
    else:
        answer = {"result": plain(result)}
    sys.stdout.flush()
    sys.stderr.flush()
    return answer | {"kept": reusable_pids()}


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
        channel.send_bytes(json.dumps({"status": "ready", "reason": ""}).encode())
        serve(channel, partial(forked, channel=channel) if forks else run)
    except Stop:
        sys.exit(0)


if __name__ == "__main__":
    main(sys.argv[2], forks=bool(int(sys.argv[3])))
