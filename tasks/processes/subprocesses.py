"""Subprocesses of ours that answer orders, one at a time, over a socket, and the channel to them.

What such a process prints is never an answer. It ends when the other end closes. A message is
bytes: JSON, a pickle, or numbers.
"""

from __future__ import annotations

import json
import math
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from multiprocessing.connection import Connection, wait
from typing import Any
from weakref import WeakSet

from leaseboard.tasks.processes.child import Readable

MOST_BYTES = 1 << 26
"""Longest answer of untrusted code that is read."""
_POLL_SECONDS = 0.02


class Silence(StrEnum):
    """Reason why a subprocess did not answer."""

    ENDED = "ended"
    LATE = "late"  # given up: it took too long, or we have no patience
    CLOSED = "closed"  # it can answer no more, but it lives
    LONG = f"its answer is longer than {MOST_BYTES >> 20} MB"


def await_answer(
    channel: Connection,
    ended: Callable[[], bool],
    seconds: float = math.inf,
    given_up: Callable[[], bool] = lambda: False,
    meanwhile: Readable | None = None,
    most_bytes: int | None = None,
) -> bytes | Silence:
    """Return the answer of a child, or why it did not answer.

    The channel is closed here when its other end was found closed.

    - `ended`: returns whether the child has ended. The channel is read once more after that, so a
      last answer is never lost.
    - `seconds`: after these it is late, and may go on.
    - `given_up`: returns whether it is late already.
    - `meanwhile`: output of the child that is read, too.
    - `most_bytes`: longer answers are not read.
    """
    deadline = time.monotonic() + seconds
    over = False
    while True:
        patience = 0.0 if over else max(0.0, min(_POLL_SECONDS, deadline - time.monotonic()))
        watched = [] if channel.closed else [channel.fileno()]
        if meanwhile is not None and meanwhile.open:
            watched.append(meanwhile.fileno())
        ready = wait(watched, patience)
        if meanwhile is not None and meanwhile.fileno() in ready:
            meanwhile.take()
        if not channel.closed and channel.fileno() in ready:
            try:
                return channel.recv_bytes(most_bytes)
            except (EOFError, OSError):
                if channel.closed:  # by itself, before a message that is too long
                    return Silence.LONG
                channel.close()
        elif over:
            return Silence.ENDED
        else:
            over = ended()
        if time.monotonic() > deadline or given_up():
            return Silence.LATE


_CLOSING_SECONDS = 10.0
"""How much earlier than its end a process may close its channel."""


_ours: WeakSet[Subprocess] = WeakSet()


class Subprocess:
    """Parent's end of a process that `start` starts, also again when it has ended.

    - `module`: what it runs; there `to_parent` is its end.
    - `*arguments`: other users can read them: no passwords.
    - `environment`: returns its variables in addition to our own, when it starts.
    - `**options`: of `subprocess.Popen`.
    """

    reusable = True
    """Whether a later job of this process may use it again."""

    def __init__(
        self,
        module: str,
        *arguments: str,
        environment: Callable[[], Mapping[str, str]] = dict,
        **options: Any,
    ) -> None:
        self._module = module
        self._arguments = arguments
        self._environment = environment
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Connection
        _ours.add(self)

    @property
    def pid(self) -> int | None:
        """Number of the process; None while no process runs."""
        return None if self._process is None else self._process.pid

    @property
    def code(self) -> int | None:
        """Exit code of the process, as `subprocess.Popen.returncode`; None while it runs."""
        return None if self._process is None else self._process.poll()

    def start(self) -> bool:
        """Start the process unless it runs; return whether it is a new one."""
        if self.code is not None:
            self.kill()
        if self._process is not None:
            return False
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self._process = self._spawn(theirs.fileno())
            self._channel = Connection(ours.detach())
        return True

    def _spawn(self, descriptor: int) -> subprocess.Popen[bytes]:
        """Start the process, which imports from where this one does."""
        path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        return subprocess.Popen(
            [sys.executable, "-P", "-m", self._module, str(descriptor), *self._arguments],
            env={**os.environ, **path, **self._environment()},
            pass_fds=(descriptor,),
            stdin=subprocess.DEVNULL,
            **self._options,
        )

    def send(self, message: bytes) -> None:
        """Send an order; `answer` reports a process that has ended."""
        with suppress(OSError):
            self._channel.send_bytes(message)

    def answer(
        self, seconds: float = math.inf, meanwhile: Readable | None = None
    ) -> bytes | Silence:
        """Return its answer within `seconds`, or why it is missing; `code` says how it ended.

        A caller that stops waiting kills it, or takes this answer for the next one.
        """
        process, channel = self._process, self._channel
        assert process is not None
        said = await_answer(
            channel,
            lambda: process.poll() is not None,
            seconds,
            lambda: channel.closed,
            meanwhile,
        )
        if said is not Silence.LATE or not channel.closed:
            return said
        try:
            process.wait(timeout=_CLOSING_SECONDS)
        except subprocess.TimeoutExpired:
            return Silence.CLOSED
        return Silence.ENDED

    def kill(self) -> None:
        """Kill it, if it runs, and wait for its end. Its own children are not ended."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            self._channel.close()


def reusable_pids() -> list[int]:
    """Return the subprocesses that this process started, and may use again."""
    return [each.pid for each in _ours if each.reusable and each.pid is not None]


def to_parent() -> Connection:
    """Return, in the subprocess, its end of the channel, which its own children do not inherit."""
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)
    return Connection(descriptor)


def orders(channel: Connection) -> Iterator[bytes]:
    """Yield each message, however long it takes, until the other end closes."""
    while True:
        try:
            order = channel.recv_bytes()
        except (EOFError, OSError):
            return
        yield order


def serve(channel: Connection, answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answer each order, in JSON, until the parent closes its end."""
    for said in orders(channel):
        channel.send_bytes(json.dumps(answer(json.loads(said))).encode())
