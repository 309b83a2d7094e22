"""Call a function in a child process that may crash, hang or eat its time without harm to us."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any

import threadpoolctl

from tasks.processes.channel import Silence
from tasks.processes.children import confine
from tasks.processes.endings import Ending, over_wall, post_mortem
from tasks.processes.forks import Fork

WALL_FACTOR = 10
WALL_GRACE = 30.0


@dataclass(frozen=True, slots=True)
class Called:
    """How a call ended, its `value` if it is ``ok``, and its cost."""

    ending: Ending
    value: Any = None
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0


def call(function: Callable[[], Any], cpu_seconds: float) -> Called:
    """Run `function` in a forked child, with one thread, and return what it returned.

    The child sees the caller's arrays without a copy. It is ended after `cpu_seconds` of CPU
    time, by the kernel, so that also an orphan ends; and, because a child that sleeps uses none,
    after ten times as much (and half a minute) on the wall clock.

    `function`: its value must be of JSON's types.

    It ends ``ok``, in a ``crash`` (an exception), a ``timeout`` or a ``memout``.
    """
    started = perf_counter()
    # One thread is set here and inherited: set in the child, OpenBLAS would first start its
    # threads there, and each spins for some 20 ms of CPU time.
    with threadpoolctl.threadpool_limits(1), warnings.catch_warnings():
        # Python 3.12 warns of forking with threads; the child takes no lock that they may hold.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = Fork(lambda: _answer(function, cpu_seconds))
    patience = cpu_seconds * WALL_FACTOR + WALL_GRACE
    with child:
        said = child.answer(patience)
        code = child.code
    if not isinstance(said, Silence):
        ending, *rest = json.loads(said)
        return Called(Ending(*ending), *rest)
    if said is Silence.LONG:
        ending = Ending("crash", str(said))
    elif said is Silence.LATE or code is None:
        ending = over_wall(patience)
    else:
        ending = post_mortem(code, "the process", cpu_seconds)
    charged = cpu_seconds if ending.status == "timeout" else 0.0
    return Called(ending, None, charged, perf_counter() - started)


def here(function: Callable[[], Any]) -> Called:
    """Run `function` in this process, without any limit: a fork costs more than a small fit."""
    return Called(*_outcome(function))


def _answer(function: Callable[[], Any], cpu_seconds: float) -> bytes:
    """In the child: call the function, and tell its value or its error."""
    confine(cpu_seconds)
    ending, value, _, wall_seconds = _outcome(function)
    told = [ending.status, ending.reason, ending.lasting]
    return json.dumps([told, value, process_time(), wall_seconds]).encode()


def _outcome(function: Callable[[], Any]) -> tuple[Ending, Any, float, float]:
    """How a call ended, its value, and its seconds."""
    value, ending, cpu, started = None, Ending("ok"), process_time(), perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = function()
    except MemoryError as error:
        ending = Ending("memout", f"MemoryError: {error}", lasting=False)
    except Exception as error:  # noqa: BLE001 - whatever a learner raises is its probe's result
        ending = Ending("crash", f"{type(error).__name__}: {error}".splitlines()[0])
    return ending, value, process_time() - cpu, perf_counter() - started
