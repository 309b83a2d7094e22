"""Where a user's file is imported: a fork of a process of its own, under limits.

The process has imported what such a file needs and never runs one itself, so an answer costs
milliseconds. A file that raises, ends its process, hangs, crashes or eats memory when it is
imported costs one line that names it, with the line of it that ran last.
"""

from __future__ import annotations

import atexit
import importlib
import json
import mmap
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from leaseboard.algorithms.errors import LeaseboardError, SettingError, UsageError, UserFileError
from leaseboard.algorithms.user_files import blamed
from leaseboard.tasks.jobs.job import Limits
from leaseboard.tasks.processes.channel import Channel, Silence
from leaseboard.tasks.processes.companion import Companion, to_parent
from leaseboard.tasks.processes.forks import Fork, confine, no_answer, post_mortem
from leaseboard.tasks.processes.leash import adopt_orphans, kill_below

IMPORT = Limits(wall_seconds=60, cpu_seconds=60, memory_mb=4000)
"""What a file may use to be imported and its algorithm to be built."""

_KINDS = {kind.__name__: kind for kind in (UsageError, UserFileError, LeaseboardError)}


_WHO = "its process"
_quarantine = Companion(
    "leaseboard.tasks.jobs.quarantine", stdout=subprocess.DEVNULL, start_new_session=True
)
_lock = threading.Lock()
atexit.register(_quarantine.kill)


def ask(
    function: str,
    file: Path | None,
    *arguments: Any,
    limits: Limits | None = None,
    follow: bool = True,
) -> Any:
    """What ``module:function`` returns in quarantine, in JSON's types.

    Raises LeaseboardError: the function's own; a `UserFileError` for whatever else became of it.

    - `function`: of this project.
    - `file`: the user's file that it imports; None if it imports none.
    - `*arguments`: in JSON's types.
    - `limits`: `IMPORT` by default.
    - `follow`: know which line of the file runs, so that it can be named; it runs slower.
    """
    limits = IMPORT if limits is None else limits
    order = {
        "function": function,
        "arguments": arguments,
        "file": None if file is None else str(file),
        "limits": limits.model_dump(),
        "follow": follow,
        "cwd": str(Path.cwd()),
    }
    ended = _came_of(order)
    if "said" not in ended:
        line = ended["line"]
        place = f"{file}:{line}" if line else str(file or arguments[0])
        raise UserFileError(f"{place}: {ended['why']}")
    try:
        told = json.loads(ended["said"])
        if "error" not in told:
            return told["value"]
        kind, message, setting = told["error"]
        raised: LeaseboardError = _KINDS[kind](message)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserFileError(f"{file}: its answer is not understood") from error
    raise SettingError(raised, setting) if isinstance(raised, UsageError) and setting else raised


def _came_of(order: Mapping[str, Any]) -> dict[str, Any]:
    """What came of an order: what was said, or why nothing was; and the line that ran last."""
    with _lock:
        try:
            _quarantine.start()
            _quarantine.send(json.dumps(order, default=str).encode())
            said = _quarantine.answer()
        except BaseException:  # such as Ctrl-C: its answer would be taken for the next one's
            _quarantine.kill()
            raise
        if isinstance(said, Silence):
            _quarantine.kill()
            return {"line": 0, "why": post_mortem(-signal.SIGKILL, _WHO).reason}
    ended: dict[str, Any] = json.loads(said)
    return ended


def serve(channel: Channel) -> None:
    """Answer each order until there is none, or nobody to answer."""
    parent = os.getppid()
    while (said := channel.receive()) is not None:
        order = json.loads(said)
        module, _, name = order["function"].partition(":")
        function = getattr(importlib.import_module(module), name)  # ours, for all forks to come
        with (
            mmap.mmap(-1, 8) as last,
            Fork(partial(_answer, function, order, last), [channel.fileno()]) as child,
        ):
            limits = order["limits"]
            told = child.answer(limits["wall_seconds"], given_up=lambda: os.getppid() != parent)
            ended: dict[str, Any] = {"line": int.from_bytes(last[:], "little")}
            if isinstance(told, Silence):
                ended["why"] = no_answer(
                    told, child.code, _WHO,
                    cpu_seconds=limits["cpu_seconds"], wall_seconds=limits["wall_seconds"],
                ).reason  # fmt: skip
            else:
                ended["said"] = told.decode(errors="replace")
        kill_below(os.getpid())
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        channel.send(json.dumps(ended).encode())


def _answer(function: Callable[..., Any], order: dict[str, Any], last: mmap.mmap) -> bytes:
    """In the fork: call the function, and tell its value or its error."""
    with open(os.devnull, "r+b") as nothing:  # noqa: PTH123  (an open descriptor is wanted)
        for descriptor in range(3):  # nobody reads what it prints
            os.dup2(nothing.fileno(), descriptor)
    os.chdir(order["cwd"])
    confine(order["limits"]["cpu_seconds"], order["limits"]["memory_mb"])
    file = None if order["file"] is None else Path(order["file"])
    if file is not None and order["follow"]:
        _follow(file, last)
    told: dict[str, Any]
    try:
        told = {"value": function(*order["arguments"])}
    except BaseException as error:  # noqa: BLE001  (whatever a user's file raises is told)
        told = {"error": _told(error, file)}
    finally:
        sys.settrace(None)
    return json.dumps(told, default=str).encode()


def _told(error: BaseException, file: Path | None) -> list[str]:
    """The kind of an error, its message, and the setting that it names."""
    if isinstance(error, SettingError):
        return ["UsageError", str(error), error.setting]
    for name, kind in _KINDS.items():
        if isinstance(error, kind):
            return [name, str(error), ""]
    if file is None:
        return ["LeaseboardError", f"{type(error).__name__}: {error}", ""]
    return ["UserFileError", blamed(error, file), ""]


def _follow(file: Path, last: mmap.mmap) -> None:
    """Keep the line of `file` that runs where it outlives this process."""
    names = {str(file), str(file.absolute()), str(file.resolve())}

    def line(frame: FrameType, _event: str, _argument: Any) -> Any:
        last[:] = frame.f_lineno.to_bytes(8, "little")
        return line

    def call(frame: FrameType, _event: str, _argument: Any) -> Any:
        return line if frame.f_code.co_filename in names else None

    sys.settrace(call)


def main() -> None:
    """Serve until nobody asks any more."""
    adopt_orphans()
    serve(to_parent())


if __name__ == "__main__":
    main()
