"""Sandbox that imports a user's file: a fork of a worker process, under limits.

The worker has imported what such a file needs and never runs one itself, so an answer takes
milliseconds. If a file raises, ends its process, hangs, crashes or uses up the memory when it is
imported, one line of error names it.
"""

from __future__ import annotations

import atexit
import importlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from leaseboard.algorithms.errors import LeaseboardError, SettingError, UsageError, UserFileError
from leaseboard.algorithms.user_files import blamed
from leaseboard.tasks.processes.child import EndedError, Stop, limit_memory, named
from leaseboard.tasks.processes.limits import Limits
from leaseboard.tasks.processes.worker import Worker

IMPORT = Limits(wall_seconds=60, cpu_seconds=60, memory_mb=4000)
"""What a file may use to be imported and its algorithm to be built."""

_KINDS = {kind.__name__: kind for kind in (UsageError, UserFileError, LeaseboardError)}
_lock = threading.Lock()
_workers: list[Worker] = []
"""The worker, if it runs."""


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
    limits = limits or IMPORT
    order = {
        "function": function,
        "arguments": arguments,
        "file": file,
        "memory_mb": limits.memory_mb,
        "cwd": Path.cwd(),
    }
    with _lock:
        if not _workers or _workers[0].child.code is not None:
            close()
            _workers.append(Worker(f"{__name__}:answers", forks=True, who="its process"))
        try:
            answer = _workers[0].carry_out(order, limits)
        except EndedError as end:
            raise UserFileError(f"{file or arguments[0]}: {end.ending.reason}") from end
        finally:  # also after Ctrl-C, when its answer would be taken for the next one's
            if not _workers[0].fit:
                close()
    if "error" not in answer:
        return answer["value"]
    kind, message, setting = answer["error"]
    error: LeaseboardError = _KINDS[kind](message)
    raise SettingError(error, setting) if isinstance(error, UsageError) and setting else error


def close() -> None:
    """End the sandbox; the next question starts one again."""
    while _workers:
        _workers.pop().child.kill()


atexit.register(close)


def answers(_argument: str, _forks: bool) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Import, in the worker, what most questions need; return what answers them."""
    importlib.import_module("leaseboard.tasks.jobs.described")
    return _answer


def _answer(order: dict[str, Any]) -> dict[str, Any]:
    """Call the function in the fork, and return its value or its error."""
    if order["memory_mb"]:
        limit_memory(order["memory_mb"])
    try:
        return {"value": named(order["function"])(*order["arguments"])}
    except Stop:
        raise
    except SettingError as error:
        return {"error": ["UsageError", str(error), error.setting]}
    except BaseException as error:  # noqa: BLE001  (any error of a user's file is reported)
        for name, kind in _KINDS.items():
            if isinstance(error, kind):
                return {"error": [name, str(error), ""]}
        if order["file"] is None:
            return {"error": ["LeaseboardError", f"{type(error).__name__}: {error}", ""]}
        return {"error": ["UserFileError", blamed(error, Path(order["file"])), ""]}
