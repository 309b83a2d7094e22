"""Child processes: how they start, answer, are measured, limited and ended.

A `Child` is a fork that runs a function, or another program. Its parent sends it messages and
reads its answers, which are bytes: JSON, a pickle, or numbers; what it prints is never an answer.
At a limit it is killed with all that it started, and `EndedError` says how it ended.
"""

import gc
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Annotated, Any, NamedTuple, NoReturn, Self

import psutil
from pydantic import BaseModel, ConfigDict, Field

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.machine.addresses import discreet
from leaseboard.tasks.machine.disk import fault_of_disk
from leaseboard.tasks.processes.watchdog import descendants, kill_tree, set_option

Limit = Annotated[float, Field(gt=0, le=1e9)]
"""Seconds or megabytes: more than any machine has, and no more than timers and limits accept."""


WALL_FACTOR, WALL_GRACE = 10, 30.0
"""Wall seconds of work on one thread: so many times its CPU seconds, and so many more."""


class Ending(NamedTuple):
    """Status of a job, trial or call, and the reason in one line; empty for ``ok``.

    `lasting` says that a repetition would end equally: a kill, or too little memory within the
    limit, depends on the machine.
    """

    status: str
    reason: str = ""
    lasting: bool = True


class Limits(BaseModel):
    """Limits of one job, beyond which it is stopped; None means no limit.

    CPU seconds and memory are those of a process with all that it started. A job that prints more
    than `output_mb` goes on, and its log is cut.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    wall_seconds: Limit | None = None
    """Wall time."""
    cpu_seconds: Limit | None = None
    """CPU time."""
    memory_mb: Limit | None = None
    """Megabytes of memory."""
    output_mb: Limit | None = 64.0
    """Megabytes that it may print; its log is cut there, and it continues."""

    def breach(self, cpu: float, wall: float, memory: float) -> Ending | None:
        """Return the ending of what took so many seconds and bytes; None within the limits.

        Examples
        --------
        >>> Limits(wall_seconds=3).breach(cpu=0.5, wall=3.1, memory=0).reason
        'over the limit of 3 s of wall time'
        """
        for limit, used, status, what in (
            (self.wall_seconds, wall, "timeout", "s of wall time"),
            (self.cpu_seconds, cpu, "timeout", "s of CPU time"),
            (self.memory_mb, memory / 1e6, "memout", "MB of memory"),
        ):
            if limit is not None and used > limit:
                return Ending(status, f"over the limit of {limit:g} {what}")
        return None


def of_one_thread(cpu_seconds: float, memory_mb: float | None = None) -> Limits:
    """Return the limits of work on one thread, which also ends when it waits for very long."""
    wall = cpu_seconds * WALL_FACTOR + WALL_GRACE
    return Limits(cpu_seconds=cpu_seconds, wall_seconds=wall, memory_mb=memory_mb)


def post_mortem(code: int, who: str) -> Ending:
    """Return the ending of a process without an answer, by its exit code.

    - `code`: as `subprocess.Popen.returncode`: the negative number of the signal that killed it.

    Examples
    --------
    >>> post_mortem(7, "the learner").reason
    'the learner ended with exit code 7'
    >>> post_mortem(-40, "the learner").reason
    'killed by signal 40'
    """
    if code >= 0:
        return Ending("crash", f"{who} ended with exit code {code}")
    names = {each.value: each.name for each in signal.Signals}  # those for real time have none
    killed = f"killed by {names.get(-code, f'signal {-code}')}"
    if -code != signal.SIGKILL:
        return Ending("crash", killed)
    # Not by us: who kills knows why.
    return Ending("crash", f"{killed} (the system does that when memory runs out)", lasting=False)


_POLL_SECONDS = 0.02
_TREE_SECONDS = 0.5
"""Time between searches for a child's own children; the child is measured at each poll."""
_CLOSING_SECONDS = 10.0
"""How much earlier than its end a process may close its channel."""
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of linux/prctl.h
UNLIMITED = Limits()


class EndedError(LeaseboardError):
    """End of a child that will not answer.

    Attributes
    ----------
    ending : Ending
        Its status and the reason.
    code : int, optional
        Its exit code, as `subprocess.Popen.returncode`; None if it was killed here, at a limit.
    """

    def __init__(self, ending: Ending, code: int | None = None) -> None:
        super().__init__(ending.reason)
        self.ending = ending
        self.code = code


class Stop(BaseException):
    """Request to end what a child does; no `except Exception` can delay it."""


class Child:
    """Child process, as its parent sees it: made by `fork`, `start` or `start_module`.

    As a context it is killed at the end.

    Parameters
    ----------
    pid : int
    channel : Connection
        The parent's end.
    who : str
        Its name in reasons, such as "the worker process".
    leads : bool
        Whether it leads a process group, which ends with it in any case.
    process : subprocess.Popen, optional
        Its object, if it has one.
    """

    def __init__(
        self,
        pid: int,
        channel: Connection,
        *,
        who: str = "the process",
        leads: bool = False,
        process: subprocess.Popen[bytes] | None = None,
    ) -> None:
        self.pid = pid
        self._who, self._leads = who, leads
        self._channel, self._process = channel, process
        self._code: int | None = None
        self._ending = threading.RLock()  # an interrupted run ends it from two threads
        self._tree = [psutil.Process(pid)]
        self._looked = self._seen = self._cpu_before = 0.0
        self._begun = time.monotonic()

    @classmethod
    def fork(cls, work: Callable[[], bytes], *, who: str = "the process") -> Self:
        """Fork this process; the child answers with the bytes that `work` returns, and ends.

        It ends with the thread that forked it, too, and what it started ends with it.
        """
        ours, theirs = socket.socketpair()
        with warnings.catch_warnings():
            # Python 3.12 warns of threads, whose locks the child does not take.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            os.setsid()
            _run_in_child(work, theirs.detach(), ours.fileno())
        theirs.close()
        return cls(pid, Connection(ours.detach()), who=who, leads=True)

    @classmethod
    def start(
        cls, program: Sequence[str], *arguments: str, who: str = "the process", **options: Any
    ) -> Self:
        """Start a program, whose arguments are the number of its descriptor, then `arguments`.

        - `*arguments`: other users can read them: no passwords.
        - `**options`: of `subprocess.Popen`.
        """
        ours, theirs = socket.socketpair()
        with ours, theirs:
            number = theirs.fileno()
            process = subprocess.Popen(
                [*program, str(number), *arguments],
                pass_fds=(number,),
                stdin=subprocess.DEVNULL,
                **options,
            )
            return cls(
                process.pid,
                Connection(ours.detach()),
                who=who,
                leads=options.get("start_new_session", False),
                process=process,
            )

    @classmethod
    def start_module(
        cls, name: str, *arguments: str, env: Mapping[str, str] | None = None, **options: Any
    ) -> Self:
        """Start a module of ours, which imports from where this process does; see `start`.

        There `to_parent` is its end of the channel.

        - `env`: variables in addition to our own.
        """
        path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        program = [sys.executable, "-P", "-m", name]
        return cls.start(program, *arguments, env={**os.environ, **path, **(env or {})}, **options)

    @property
    def code(self) -> int | None:
        """Exit code, as `subprocess.Popen.returncode`; None while it runs."""
        with self._ending:
            if self._code is None:
                self._reap(os.WNOHANG)
            return self._code

    @property
    def spent(self) -> tuple[float, float]:
        """CPU seconds, as far as they were seen, and wall seconds since the last `send`."""
        self._measure()
        return self._seen - self._cpu_before, time.monotonic() - self._begun

    @property
    def memory(self) -> int:
        """Resident bytes of the process and all below it."""
        return self._measure()

    def send(self, message: bytes) -> None:
        """Send a message and restart the clocks; `answer` reports a child that has ended."""
        self._measure()
        self._cpu_before, self._begun = self._seen, time.monotonic()
        with suppress(OSError):
            self._channel.send_bytes(message)

    def answer(
        self,
        limits: Limits = UNLIMITED,
        *,
        grace: float = 0.0,
        check: Callable[[], None] = lambda: None,
    ) -> bytes:
        """Return the next message of the child; it is never lost if the child ends after it.

        - `limits`: of what it uses since the last `send`, with all that it started.
        - `grace`: seconds in which it may answer a SIGTERM to its group before it is killed.
        - `check`: called at each look; it may raise, and then the caller ends the child.

        Raises EndedError if no message will come: it has ended, or was killed at a limit.
        """
        closing = float("inf")
        while True:
            code = self.code  # it is asked first: what the child said before its end is read below
            said = self._receive(_POLL_SECONDS if code is None else 0.0)
            if said is not None:
                return said
            if code is not None:
                raise EndedError(post_mortem(code, self._who), code)
            check()
            ending = None
            if limits != UNLIMITED:
                ending = limits.breach(*self.spent, self.memory)
            if self._channel.closed:
                closing = min(closing, time.monotonic() + _CLOSING_SECONDS)
            if time.monotonic() > closing:
                ending = Ending("crash", f"{self._who} closed its channel")
            if ending is not None:
                if grace:
                    self._ask_to_stop(grace)
                self.kill()
                raise EndedError(ending)

    def kill(self) -> None:
        """Kill it and all that it started, and wait for its end; a second time is harmless."""
        with self._ending:
            if self.code is None or self._leads:
                self._leads = False
                kill_tree(self.pid)
            if self._code is None:
                self._reap(0)
            self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def _reap(self, options: int) -> None:
        pid, status = os.waitpid(self.pid, options)
        if pid:
            self._code = os.waitstatus_to_exitcode(status)
            if self._process is not None:
                self._process.returncode = self._code

    def _receive(self, seconds: float) -> bytes | None:
        """Return a message that arrives in time; close the channel if its other end is closed."""
        if wait([] if self._channel.closed else [self._channel], seconds):
            try:
                return self._channel.recv_bytes()
            except (EOFError, OSError):
                self._channel.close()
        return None

    def _ask_to_stop(self, grace: float) -> None:
        """Ask its group to end, and wait until it has answered or ended, at most so long."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGTERM)
        deadline = time.monotonic() + grace
        while self.code is None and time.monotonic() < deadline:
            if self._receive(_POLL_SECONDS) is not None:
                return

    def _measure(self) -> int:
        """Return the resident bytes of the tree, and keep the CPU seconds that were seen of it."""
        now = time.monotonic()
        if now - self._looked > _TREE_SECONDS:
            self._looked = now
            del self._tree[1:]
            for pid in descendants(self.pid):
                with suppress(psutil.Error):
                    self._tree.append(psutil.Process(pid))
        cpu, memory = 0.0, 0
        for process in self._tree:
            with suppress(psutil.Error):
                cpu += sum(process.cpu_times()[:4])  # its own, and of children that it waited for
                memory += process.memory_info().rss
        self._seen = max(self._seen, cpu)  # a process that has gone counts no more
        return memory


def _run_in_child(work: Callable[[], bytes], descriptor: int, of_parent: int) -> NoReturn:
    """Run `work`, send its value, and end the process."""
    code = 1
    # A collection would visit all of the parent's objects and copy their pages: .2 s of CPU time
    # of a fit that takes .01, in every child or in none, by chance of the parent's counters.
    gc.freeze()
    sys.dont_write_bytecode = True  # a later edit of a user's code must not find old bytecode
    try:
        set_option(_DIE_WITH_PARENT, signal.SIGKILL)
        os.close(of_parent)
        Connection(descriptor).send_bytes(work())
        code = 0
    except BaseException:  # noqa: BLE001  (the parent's stack must not be unwound here)
        sys.stderr.write(discreet(traceback.format_exc()))
    finally:
        with suppress(Exception):  # closed, or a disk that is full
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def to_parent() -> Connection:
    """Return, in a program, its end of the channel, which its own children do not inherit."""
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)
    return Connection(descriptor)


def messages(channel: Connection) -> Iterator[bytes]:
    """Yield each message, however long it takes, until the other end closes."""
    with suppress(EOFError, OSError):
        while True:
            yield channel.recv_bytes()


class Called(NamedTuple):
    """Ending of a call, its `value` if it is ``ok``, and its cost."""

    ending: Ending
    value: Any = None
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0


def call(function: Callable[[], Any], limits: Limits) -> Called:
    """Run `function` in a fork, with one thread, and return its value.

    The child sees the caller's arrays without a copy. It ends ``ok``, in a ``crash`` (an
    exception), a ``timeout`` or a ``memout``, or is ``skipped`` if the disk is full. A call that
    breaks the limit of CPU time is charged the limit.

    - `function`: returns a value that can be pickled.
    """
    import threadpoolctl  # of those alone that call

    started = time.perf_counter()

    def answer() -> bytes:
        called = call_here(function)
        return pickle.dumps(called._replace(cpu_seconds=time.process_time()))

    # One thread is set here and inherited: set in the child, OpenBLAS would first start its
    # threads there, and each spins for some 20 ms of CPU time.
    with threadpoolctl.threadpool_limits(1), Child.fork(answer) as child:
        try:
            called: Called = pickle.loads(child.answer(limits))  # noqa: S301 - our own fork
        except EndedError as end:
            late = end.ending.status == "timeout" and limits.cpu_seconds
            return Called(end.ending, None, late or child.spent[0], time.perf_counter() - started)
    return called


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
