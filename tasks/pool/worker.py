"""The program of a worker process: it runs the jobs that a `WorkerPool` orders, one by one.

It is used again while it is well, because importing the learners takes seconds.
"""

import faulthandler
import importlib
import json
import os
import pickle
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, cast

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.folder.results import LOG
from leaseboard.tasks.jobs.job import Result, plain
from leaseboard.tasks.jobs.run import ended
from leaseboard.tasks.processes.child import Stop, messages, to_parent
from leaseboard.tasks.processes.watchdog import BECOME_SUBREAPER, set_option

READY = b"ready"
FILE_BYTES = 8 << 30
"""Most bytes of one file that a job writes, so that none fills a disk before a log is cut."""
WHO = "the worker process"
"""Its name in reasons."""


def main(work: str) -> None:
    """Import what jobs need, then run them until the parent closes its end of the channel.

    - `work`: the function that runs a job, see `leaseboard.tasks.pool.workers.WorkerPool`.
    """
    channel = to_parent()
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    set_option(BECOME_SUBREAPER, 1)  # orphans of a job become our children
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    least = FILE_BYTES if most == resource.RLIM_INFINITY else min(FILE_BYTES, most)
    resource.setrlimit(resource.RLIMIT_FSIZE, (least, most))
    faulthandler.enable()
    for stream in (sys.stdout, sys.stderr):  # a job may print what the terminal here cannot show
        cast("TextIOWrapper", stream).reconfigure(errors="backslashreplace")
    try:
        function = _function(work)
        sys.dont_write_bytecode = True  # a later edit of a user's code must not find old bytecode
        channel.send_bytes(READY)
        for message in messages(channel):
            job, folder, prepared, place = pickle.loads(message)  # noqa: S301 - our own parent's
            _print_to(os.open(folder / LOG, os.O_WRONLY | os.O_APPEND))
            os.chdir(place)  # an earlier job may have changed what belongs to the process
            channel.send_bytes(_run(partial(function, job, folder, prepared=prepared)))
    except Stop:
        sys.exit(0)
    except Exception as error:  # noqa: BLE001  (the parent reports it as the job's)
        channel.send_bytes(f"{type(error).__name__}: {error}".encode())


def _function(work: str) -> Callable[..., Any]:
    """Return the function called ``module:function`` or ``path/to/file.py:function``."""
    module, _, name = work.rpartition(":")
    if module.endswith(".py"):
        sys.path.insert(0, str(Path(module).parent))
        module = Path(module).stem
    return getattr(importlib.import_module(module), name)


def _run(function: Callable[[], Result]) -> bytes:
    """Run a job; return its ``result``, a ``status`` with its ``reason``, or ``stopped``."""
    signal.signal(signal.SIGTERM, _stop)  # an earlier job may have changed it
    try:
        result = function()
        sys.stdout.flush()
        answer = {"result": plain(result)}
    except Stop:
        answer = {"stopped": True}
    except BaseException as error:  # noqa: BLE001  (SystemExit too: a job is not the worker)
        status, reason = ended(error, partial(print, end="", file=sys.stderr))
        answer = {"status": status, "reason": reason, "usage": isinstance(error, UsageError)}
    with suppress(OSError):  # a disk that is full
        sys.stdout.flush()
        sys.stderr.flush()
    _print_to(os.open(os.devnull, os.O_WRONLY))
    return json.dumps(answer, default=str).encode()


def _print_to(descriptor: int) -> None:
    """Send what this process prints, and what it starts, to a descriptor from now on; close it."""
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def _stop(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise Stop


if __name__ == "__main__":
    main(*sys.argv[2:])
