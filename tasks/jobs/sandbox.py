"""Sandbox that imports a user's file: a fork of a subprocess, under limits.

The subprocess has imported what such a file needs and never runs one itself, so an answer takes
milliseconds. If a file raises, ends its process, hangs, crashes or uses up the memory when it is
imported, one line of error names it.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from leaseboard.algorithms.errors import LeaseboardError, SettingError, UsageError, UserFileError
from leaseboard.algorithms.user_files import blamed
from leaseboard.tasks.processes.forks import Fork, confine, no_answer, post_mortem
from leaseboard.tasks.processes.limits import Limits
from leaseboard.tasks.processes.subprocesses import Silence, Subprocess, serve, to_parent
from leaseboard.tasks.processes.watchdog import adopt_orphans, kill_below

IMPORT = Limits(wall_seconds=60, cpu_seconds=60, memory_mb=4000)
"""What a file may use to be imported and its algorithm to be built."""

_KINDS = {kind.__name__: kind for kind in (UsageError, UserFileError, LeaseboardError)}


_WHO = "its process"
_sandbox = Subprocess(
    "leaseboard.tasks.jobs.sandbox", stdout=subprocess.DEVNULL, start_new_session=True
)
_lock = threading.Lock()
atexit.register(_sandbox.kill)


def ask(
    function: str,
    file: Path | None,
    *arguments: Any,
    limits: Limits | None = None,
) -> Any:
    """Return the value of ``module:function`` in the sandbox, in JSON's types.

    Raises the function's own LeaseboardError, and UserFileError for any other failure.

    - `function`: of this project.
    - `file`: the user's file that it imports; None if it imports none.
    - `*arguments`: in JSON's types.
    - `limits`: `IMPORT` by default.
    """
    order = {
        "function": function,
        "arguments": arguments,
        "file": None if file is None else str(file),
        "limits": (limits or IMPORT).model_dump(),
        "cwd": str(Path.cwd()),
    }
    with _lock:
        try:
            _sandbox.start()
            _sandbox.send(json.dumps(order, default=str).encode())
            said = _sandbox.answer()
        except BaseException:  # such as Ctrl-C: its answer would be taken for the next one's
            _sandbox.kill()
            raise
        if isinstance(said, Silence):
            _sandbox.kill()
            why = post_mortem(-signal.SIGKILL, _WHO).reason
            raise UserFileError(f"{file or arguments[0]}: {why}")
    ended = json.loads(said)
    if "said" not in ended:
        raise UserFileError(f"{file or arguments[0]}: {ended['why']}")
    try:
        found = json.loads(ended["said"])
        if "error" not in found:
            return found["value"]
        kind, message, setting = found["error"]
        raised: LeaseboardError = _KINDS[kind](message)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserFileError(f"{file}: its answer is not understood") from error
    raise SettingError(raised, setting) if isinstance(raised, UsageError) and setting else raised


def forked(order: dict[str, Any], channel: Connection, parent: int) -> dict[str, Any]:
    """Carry out an order in a fork; return what it ``said``, or ``why`` not."""
    module, _, name = order["function"].partition(":")
    function = getattr(importlib.import_module(module), name)  # ours, for all forks to come
    limits = order["limits"]
    with Fork(partial(_answer, function, order), [channel.fileno()]) as child:
        said = child.answer(limits["wall_seconds"], given_up=lambda: os.getppid() != parent)
        if isinstance(said, Silence):
            cpu, wall = limits["cpu_seconds"], limits["wall_seconds"]
            why = no_answer(said, child.code, _WHO, cpu_seconds=cpu, wall_seconds=wall).reason
            ended = {"why": why}
        else:
            ended = {"said": said.decode(errors="replace")}
    kill_below(os.getpid())
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return ended


def _answer(function: Callable[..., Any], order: dict[str, Any]) -> bytes:
    """Call the function in the fork, and return its value or its error in JSON."""
    with open(os.devnull, "r+b") as nothing:  # noqa: PTH123  (an open descriptor is wanted)
        for descriptor in range(3):  # its output is not read
            os.dup2(nothing.fileno(), descriptor)
    os.chdir(order["cwd"])
    confine(order["limits"]["cpu_seconds"], order["limits"]["memory_mb"])
    file = None if order["file"] is None else Path(order["file"])
    found: dict[str, Any]
    try:
        found = {"value": function(*order["arguments"])}
    except BaseException as error:  # noqa: BLE001  (any error of a user's file is reported)
        found = {"error": _description(error, file)}
    return json.dumps(found, default=str).encode()


def _description(error: BaseException, file: Path | None) -> list[str]:
    """Return the kind of an error, its message, and the setting that it names."""
    if isinstance(error, SettingError):
        return ["UsageError", str(error), error.setting]
    for name, kind in _KINDS.items():
        if isinstance(error, kind):
            return [name, str(error), ""]
    if file is None:
        return ["LeaseboardError", f"{type(error).__name__}: {error}", ""]
    return ["UserFileError", blamed(error, file), ""]


def main() -> None:
    """Answer orders until the parent closes its end."""
    adopt_orphans()
    channel = to_parent()
    serve(channel, partial(forked, channel=channel, parent=os.getppid()))


if __name__ == "__main__":
    main()
