"""Call a function in a child process that may crash, hang or eat its time without harm to us."""

from __future__ import annotations

import math
import multiprocessing
import resource
import signal
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from time import perf_counter, process_time
from typing import Any

import threadpoolctl

from tasks.processes.forks import signal_name

WALL_FACTOR = 10
WALL_GRACE = 30.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a call: `value` if `status` is ``ok``, else a `reason`."""

    status: str
    value: Any = None
    reason: str = ""
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0


def call(function: Callable[[], Any], cpu_seconds: float) -> Outcome:
    """Run `function` in a forked child, with one thread, and return what it returned.

    The child sees the caller's arrays without a copy. It is ended after `cpu_seconds` of CPU
    time, by the kernel, so that also an orphan ends; and, because a child that sleeps uses none,
    after ten times as much (and half a minute) on the wall clock.

    Parameters
    ----------
    function : callable
        Its value must pickle.
    cpu_seconds : float

    Returns
    -------
    Outcome
        ``ok``, ``crash`` (an exception), ``timeout``, or ``memout`` (MemoryError, or killed).
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(function, theirs, cpu_seconds), daemon=True)
    started = perf_counter()
    # One thread is set here and inherited: set in the child, OpenBLAS would first start its
    # threads there, and each spins for some 20 ms of CPU time.
    with threadpoolctl.threadpool_limits(1), warnings.catch_warnings():
        # Python 3.12 warns of forking with threads; the child takes no lock that they may hold.
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    theirs.close()
    timeout = cpu_seconds * WALL_FACTOR + WALL_GRACE
    try:
        outcome: Outcome | None = ours.recv() if ours.poll(timeout) else None
    except EOFError:
        child.join()
        return _death(child.exitcode, cpu_seconds, perf_counter() - started)
    finally:
        child.kill()
        child.join()
        ours.close()
    if outcome is None:
        reason = f"no answer within {timeout:g} s on the wall clock"
        return Outcome("timeout", None, reason, cpu_seconds, perf_counter() - started)
    return outcome


def _child(function: Callable[[], Any], pipe: Connection, cpu_seconds: float) -> None:
    allowed = math.ceil(cpu_seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (allowed, allowed + 1))
    warnings.simplefilter("ignore")
    started = perf_counter()
    try:
        value = function()
        status, reason = "ok", ""
    except MemoryError as error:
        value, status, reason = None, "memout", f"MemoryError: {error}"
    except Exception as error:  # noqa: BLE001 - whatever a learner raises is its probe's result
        value, status, reason = None, "crash", f"{type(error).__name__}: {error}".splitlines()[0]
    spent = process_time()
    pipe.send(Outcome(status, value, reason, spent, perf_counter() - started))


def _death(exitcode: int | None, cpu_seconds: float, wall: float) -> Outcome:
    number = -(exitcode or 0)
    if number == signal.SIGXCPU:
        reason = f"more than {cpu_seconds:g} s of CPU time"
        return Outcome("timeout", None, reason, cpu_seconds, wall)
    if number == signal.SIGKILL:
        return Outcome("memout", None, "killed, likely for want of memory", 0.0, wall)
    name = signal_name(number) if number > 0 else f"exit code {exitcode}"
    return Outcome("crash", None, f"the process died of {name}", 0.0, wall)
