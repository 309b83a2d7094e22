"""Forked children that run untrusted code, give one answer, and how they ended.

The parent has imported what the child needs, and never runs such code itself. A fork takes
milliseconds; a new interpreter takes a second to import the same. The module also sets the limits
of processes.
"""

from __future__ import annotations

import gc
import json
import math
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, NoReturn, Self

import threadpoolctl

from leaseboard.tasks.machine.addresses import discreet
from leaseboard.tasks.machine.disk import fault_of_disk
from leaseboard.tasks.processes.child import Called
from leaseboard.tasks.processes.limits import Ending
from leaseboard.tasks.processes.subprocesses import MOST_BYTES, Silence, await_answer


def over_cpu(seconds: float) -> Ending:
    """Return the ending of what used too much CPU time."""
    return Ending("timeout", f"over the limit of {seconds:g} s of CPU time")


def over_wall(seconds: float) -> Ending:
    """Return the ending of what took too long."""
    return Ending("timeout", f"over the limit of {seconds:g} s of wall time")


def over_memory(megabytes: float) -> Ending:
    """Return the ending of what used too much memory."""
    return Ending("memout", f"over the limit of {megabytes:g} MB of memory", lasting=False)


def post_mortem(code: int, who: str, cpu_seconds: float | None = None) -> Ending:
    """Return the ending of a process without an answer, by its exit code.

    - `code`: as `subprocess.Popen.returncode`: the negative number of the signal that killed it.
    - `cpu_seconds`: its limit, at which the kernel sends a signal.

    Examples
    --------
    >>> post_mortem(-9, "the learner").lasting
    False
    >>> post_mortem(7, "the learner").reason
    'the learner ended with exit code 7'
    """
    if code >= 0:
        return Ending("crash", f"{who} ended with exit code {code}")
    if cpu_seconds is not None and -code in {signal.SIGXCPU, signal.SIGPROF}:
        return over_cpu(cpu_seconds)
    killed = f"killed by {signal_name(-code)}"
    if -code == signal.SIGKILL:  # not by us: callers know what they kill
        killed += " (the system does that when memory runs out)"
        return Ending("crash", killed, lasting=False)
    return Ending("crash", killed)


def no_answer(
    silence: Silence,
    code: int | None,
    who: str,
    *,
    cpu_seconds: float | None = None,
    wall_seconds: float = math.inf,
) -> Ending:
    """Return the ending of a child without an answer: too long, no end, or its exit code."""
    if silence is Silence.LONG:
        return Ending("crash", str(silence))
    if silence is Silence.LATE or code is None:
        return over_wall(wall_seconds)
    return post_mortem(code, who, cpu_seconds)


def signal_name(number: int) -> str:
    """Return the name of a signal; those for real time have none.

    Examples
    --------
    >>> signal_name(9), signal_name(40)
    ('SIGKILL', 'signal 40')
    """
    return {each.value: each.name for each in signal.Signals}.get(number, f"signal {number}")


_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of linux/prctl.h


class Fork:
    """Child of this process that runs `work` and answers with the bytes that it returns.

    Its `cpu_seconds` include the children that it waited for; they are zero while it runs.

    - `closed`: descriptors of this process that the child must not have.
    """

    def __init__(self, work: Callable[[], bytes], closed: Iterable[int] = ()) -> None:
        ours, theirs = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _run_in_child(work, theirs, (ours, *closed))
        os.close(theirs)
        self._channel = Connection(ours, writable=False)
        self._code: int | None = None
        self.cpu_seconds = 0.0

    def answer(
        self, seconds: float = math.inf, given_up: Callable[[], bool] = lambda: False
    ) -> bytes | Silence:
        """Return the child's answer, or why it did not come within `seconds` or was given up."""
        return await_answer(
            self._channel, lambda: self.code is not None, seconds, given_up, most_bytes=MOST_BYTES
        )

    @property
    def code(self) -> int | None:
        """Exit code of the child, as `subprocess.Popen.returncode`; None while it runs."""
        if self._code is None:
            self._wait(os.WNOHANG)
        return self._code

    def kill(self) -> None:
        """Kill the child and wait for its end. Its own children are not ended."""
        if self._code is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self._wait(0)

    def _wait(self, options: int) -> None:
        pid, status, usage = os.wait4(self.pid, options)
        if pid:
            self._code = os.waitstatus_to_exitcode(status)
            self.cpu_seconds = usage.ru_utime + usage.ru_stime

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.kill()
        self._channel.close()


WALL_FACTOR = 10
WALL_GRACE = 30.0


def call(function: Callable[[], Any], cpu_seconds: float) -> Called:
    """Run `function` in a forked child, with one thread, and return its value.

    The child sees the caller's arrays without a copy. The kernel ends it after `cpu_seconds` of
    CPU time, also as an orphan; and because a child that sleeps uses none, it is ended after ten
    times as much (and half a minute) on the wall clock.

    It ends ``ok``, in a ``crash`` (an exception), a ``timeout`` or a ``memout``, or is
    ``skipped`` if the disk is full.

    - `function`: returns a value of JSON's types.
    """

    def answer() -> bytes:
        confine(cpu_seconds)
        called = call_here(function)
        return json.dumps(called._replace(cpu_seconds=time.process_time())).encode()

    started = time.perf_counter()
    # One thread is set here and inherited: set in the child, OpenBLAS would first start its
    # threads there, and each spins for some 20 ms of CPU time.
    with threadpoolctl.threadpool_limits(1), warnings.catch_warnings():
        # Python 3.12 warns of forking with threads; the child takes no lock that they may hold.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = Fork(answer)
    patience = cpu_seconds * WALL_FACTOR + WALL_GRACE
    with child:
        said = child.answer(patience)
        code = child.code
    if not isinstance(said, Silence):
        ending, *rest = json.loads(said)
        return Called(Ending(*ending), *rest)
    ending = no_answer(said, code, "the process", cpu_seconds=cpu_seconds, wall_seconds=patience)
    charged = cpu_seconds if ending.status == "timeout" else 0.0
    return Called(ending, None, charged, time.perf_counter() - started)


def call_here(function: Callable[[], Any]) -> Called:
    """Run `function` in this process without limits: a fork costs more than a small fit."""
    value, ending = None, Ending("ok")
    cpu, started = time.process_time(), time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = function()
    except MemoryError as error:
        ending = Ending("memout", f"MemoryError: {error}", lasting=False)
    except Exception as error:  # noqa: BLE001  (any error is an ending)
        crash = Ending("crash", f"{type(error).__name__}: {error}".splitlines()[0])
        full = fault_of_disk(error)
        ending = Ending("skipped", full, lasting=False) if full else crash
    return Called(ending, value, time.process_time() - cpu, time.perf_counter() - started)


def _run_in_child(work: Callable[[], bytes], pipe: int, closed: Iterable[int]) -> NoReturn:
    """Run `work`, send its value, and end the process."""
    code = 1
    # A collection would visit all of the parent's objects and copy their pages: .2 s of CPU time
    # of a fit that takes .01, in every child or in none, by chance of the parent's counters.
    gc.freeze()
    sys.dont_write_bytecode = True  # a later edit of a user's code must not find old bytecode
    try:
        if sys.platform == "linux":
            import ctypes

            ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        for descriptor in closed:
            os.close(descriptor)
        Connection(pipe, readable=False).send_bytes(work())
        code = 0
    except BaseException:  # noqa: BLE001  (the parent's stack must not be unwound here)
        sys.stderr.write(discreet(traceback.format_exc()))
    finally:
        with suppress(Exception):  # closed, or a disk that is full
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def confine(cpu_seconds: float | None = None, memory_mb: float | None = None) -> None:
    """Set limits that the kernel enforces on this process, also when its parent has ended.

    Beyond `cpu_seconds`, in whole seconds, it is killed by SIGXCPU; beyond `memory_mb` of data
    it gets a MemoryError. It leaves no core.
    """
    if cpu_seconds is not None:
        seconds = math.ceil(cpu_seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    if memory_mb is not None:
        size = int(memory_mb * 1e6)
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
