"""A process of ours that answers orders, one at a time, over a socket of its own.

What it prints is no answer, whoever prints it. It goes when nobody is at the other end.
"""

from __future__ import annotations

import math
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from leaseboard.tasks.processes.channel import Beside, Channel, Silence, hear
from leaseboard.tasks.processes.forks import spawn

_CLOSING_SECONDS = 1.0
"""How much earlier than its end a process may close its channel."""


_ours: WeakSet[Companion] = WeakSet()


class Companion:
    """Our end of the process, which `start` starts, and starts again when it has ended.

    - `module`: what it runs; there `to_parent` is its end.
    - `*arguments`: anybody can read them: no passwords.
    - `environment`: its variables beside our own, when it starts.
    - `**options`: of `subprocess.Popen`.
    """

    kept = True
    """A later job of this process may use it again."""

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
        self._channel = Channel(-1)
        _ours.add(self)

    @property
    def pid(self) -> int | None:
        """None while there is no process."""
        return None if self._process is None else self._process.pid

    @property
    def code(self) -> int | None:
        """How the process ended, as `subprocess.Popen.returncode`; None while it lives."""
        return None if self._process is None else self._process.poll()

    def start(self) -> bool:
        """Have it live; returns whether it is a new one, which knows nothing yet."""
        if self.code is not None:
            self.kill()
        if self._process is not None:
            return False
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self._process = self._spawn(theirs.fileno())
            self._channel = Channel(ours.detach())
        return True

    def _spawn(self, descriptor: int) -> subprocess.Popen[bytes]:
        """Start the process, which finds the end of its channel at `descriptor`."""
        return spawn(
            self._module,
            *(str(descriptor), *self._arguments),
            environment=self._environment(),
            pass_fds=(descriptor,),
            stdin=subprocess.DEVNULL,
            **self._options,
        )

    def send(self, message: bytes) -> None:
        """Send an order; that the process has gone is noticed when its answer is awaited."""
        with suppress(ConnectionError):
            self._channel.send(message)

    def answer(
        self, seconds: float = math.inf, beside: Beside | None = None
    ) -> bytearray | Silence:
        """What it answers within `seconds`, or why it does not; if it ended, `code` says how.

        Who stops to listen in between kills it, or takes this answer for the next one.
        """
        process, channel = self._process, self._channel
        assert process is not None
        said = hear(
            channel, lambda: process.poll() is not None, seconds, lambda: not channel.open, beside
        )
        if said is not Silence.LATE or channel.open:
            return said
        try:
            process.wait(timeout=_CLOSING_SECONDS)
        except subprocess.TimeoutExpired:
            return Silence.CLOSED
        return Silence.ENDED

    def kill(self) -> None:
        """End it, if it lives; returns when it has gone. What it started is not ended."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            self._channel.close()


def kept_pids() -> list[int]:
    """The companions that this process started, and may use again."""
    return [each.pid for each in _ours if each.kept and each.pid is not None]


def to_parent() -> Channel:
    """In the process: its end of the channel, which nothing that it starts inherits."""
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)
    return Channel(descriptor)
