"""Where a user's file is imported: a fork of a process of its own, under limits.

The process has imported what such a file needs and never runs one itself, so an answer costs
milliseconds. A file that raises, ends its process, hangs, crashes or eats memory when it is
imported costs one line that names it, with the line of it that ran last.
"""

from __future__ import annotations

import atexit
import importlib
import json
import math
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
from typing import IO, Any

from algorithms.errors import LeaseboardError, SettingError, UsageError, UserFileError
from algorithms.user_files import blamed
from tasks.processes.children import confine, spawn
from tasks.processes.endings import over_wall, post_mortem
from tasks.processes.forks import Fork, Silence
from tasks.processes.leash import adopt_orphans, kill_below
from tasks.processes.limits import Limits

IMPORT = Limits(wall_seconds=60, cpu_seconds=60, memory_mb=4000)
"""What a file may use to be imported and its algorithm to be built."""

_KINDS = {kind.__name__: kind for kind in (UsageError, UserFileError, LeaseboardError)}


class _Quarantine:
    """Our end of the process, which is started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def ask(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """What came of an order; an empty answer if the process was killed over it."""
        with self._lock:
            process = self._started()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                with suppress(BrokenPipeError):
                    process.stdin.write(json.dumps(order, default=str).encode() + b"\n")
                    process.stdin.flush()
                line = process.stdout.readline()
            except BaseException:  # such as Ctrl-C: its answer would be taken for the next one's
                self.close()
                raise
            if not line:
                self.close()
                return {}
            answer: dict[str, Any] = json.loads(line)
            return answer

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = spawn(
                "tasks.jobs.quarantine",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        return self._process


_quarantine = _Quarantine()
atexit.register(_quarantine.close)


def ask(
    function: str,
    file: Path | None,
    *arguments: Any,
    limits: Limits | None = None,
    follow: bool = True,
) -> Any:
    """What ``module:function`` returns in quarantine, in JSON's types.

    Parameters
    ----------
    function : str
        Of this project.
    file : Path, optional
        The user's file that it imports; None if it imports none.
    *arguments
        In JSON's types.
    limits : Limits
        `IMPORT` by default.
    follow : bool
        Know which line of the file runs, so that it can be named; it runs slower.

    Raises
    ------
    LeaseboardError
        The function's own; a `UserFileError` for whatever else became of it.
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
    ended = _quarantine.ask(order)
    if ended.get("said") is None:
        line = ended.get("line", 0)
        place = f"{file}:{line}" if line else str(file or arguments[0])
        raise UserFileError(f"{place}: {_why(ended, limits)}")
    try:
        told = json.loads(ended["said"])
        if "error" not in told:
            return told["value"]
        kind, message, setting = told["error"]
        raised: LeaseboardError = _KINDS[kind](message)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserFileError(f"{file}: its answer is not understood") from error
    raise SettingError(raised, setting) if isinstance(raised, UsageError) and setting else raised


def _why(ended: Mapping[str, Any], limits: Limits) -> str:
    """Why there is no answer; nothing is known of it if the process was killed over it."""
    if ended.get("silence") == Silence.LATE:
        return over_wall(limits.wall_seconds or math.inf).reason
    if ended.get("silence") == Silence.LONG:
        return str(Silence.LONG)
    code = ended.get("code", -signal.SIGKILL)
    return post_mortem(code, "its process", limits.cpu_seconds).reason


def serve(orders: IO[bytes], answers: IO[bytes]) -> None:
    """Answer each line until there is none, or nobody to answer."""
    parent = os.getppid()
    for line in iter(orders.readline, b""):
        order = json.loads(line)
        module, _, name = order["function"].partition(":")
        function = getattr(importlib.import_module(module), name)  # ours, for all forks to come
        with mmap.mmap(-1, 8) as last, Fork(partial(_answer, function, order, last)) as child:
            said = child.answer(
                order["limits"]["wall_seconds"], given_up=lambda: os.getppid() != parent
            )
            ended = {
                **({"silence": said} if isinstance(said, Silence)
                   else {"said": said.decode(errors="replace")}),
                "code": child.code,
                "line": int.from_bytes(last[:], "little"),
            }  # fmt: skip
        kill_below(os.getpid())
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        answers.write(json.dumps(ended).encode() + b"\n")
        answers.flush()


def _answer(function: Callable[..., Any], order: dict[str, Any], last: mmap.mmap) -> bytes:
    """In the fork: call the function, and tell its value or its error."""
    with open(os.devnull, "r+b") as nothing:  # noqa: PTH123  (an open descriptor is wanted)
        for descriptor in range(3):  # neither the orders nor the answers are its own
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
    serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
