"""Messages between two processes of ours: bytes, with their length before them.

What a message holds, JSON or a pickle, is the callers' business.
"""

from __future__ import annotations

import math
import os
import selectors
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import Protocol

MOST_BYTES = 1 << 26
"""No honest answer of code that is not ours is as long; of a longer one nothing more is read."""
_HEAD = struct.Struct("!Q")
_CHUNK_BYTES = 1 << 20
_POLL_SECONDS = 0.02


class Silence(StrEnum):
    """Why there is no answer."""

    ENDED = "ended"
    LATE = "late"  # given up: it took too long, or we have no patience
    CLOSED = "closed"  # it can answer no more, but it lives
    LONG = f"its answer is longer than {MOST_BYTES >> 20} MB"


class Beside(Protocol):
    """What is emptied while an answer is waited for, so that its writers can go on."""

    open: bool

    def fileno(self) -> int:
        """For `select`."""
        ...

    def take(self) -> bool:
        """Take what is there."""
        ...


class Channel:
    """One end of a pipe or of a socket.

    `most_bytes`: a longer message is not taken.

    `open`: False once the other end was found to be closed.
    """

    def __init__(self, descriptor: int, most_bytes: float = math.inf) -> None:
        self._descriptor = descriptor
        self._most = most_bytes
        self._length: int | None = None  # of the message that comes, when its head is there
        self._heard = bytearray()
        self.open = True

    def fileno(self) -> int:
        """For `select`."""
        return self._descriptor

    def send(self, message: bytes) -> None:
        """Send a message, or raise a `ConnectionError` if nobody is at the other end."""
        rest = memoryview(_HEAD.pack(len(message)) + message)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def receive(self) -> bytearray | None:
        """The next message, however long it takes; None if the other end closes before."""
        message = None
        while self.open and not isinstance(message, bytearray):
            message = self.take()
        return message

    def take(self) -> bytearray | Silence | None:
        """Read once, and nothing of the message after: `select` would not tell of that.

        The message if it is whole by now, or `Silence.LONG`.
        """
        wanted = _HEAD.size if self._length is None else self._length
        chunk = b""
        with suppress(ConnectionResetError):  # it went, and left something unread
            chunk = os.read(self._descriptor, min(wanted - len(self._heard), _CHUNK_BYTES))
        self.open = bool(chunk)
        self._heard += chunk
        if len(self._heard) < wanted:
            return None
        whole, self._heard = self._heard, bytearray()
        if self._length is None:
            (self._length,) = _HEAD.unpack(whole)
            if self._length > self._most:
                return Silence.LONG
            if self._length:
                return None
            whole = bytearray()
        self._length = None
        return whole

    def close(self) -> None:
        """Close this end."""
        os.close(self._descriptor)


def hear(
    channel: Channel,
    ended: Callable[[], bool],
    seconds: float = math.inf,
    given_up: Callable[[], bool] = lambda: False,
    beside: Beside | None = None,
) -> bytearray | Silence:
    """What a child answers, or why it does not.

    - `ended`: whether the child has ended. It is asked before the channel is looked at, each time:
      what the child said as it ended is there by then, and so is always heard.
    - `seconds`: after these it is late, and may go on.
    - `given_up`: whether it is late already.
    """
    deadline = time.monotonic() + seconds
    while True:
        over = ended()
        wait = 0.0 if over else min(_POLL_SECONDS, deadline - time.monotonic())
        with selectors.PollSelector() as poll:  # `select` knows no descriptor above 1,023
            for each in (channel, beside):
                if each is not None and each.open:
                    poll.register(each, selectors.EVENT_READ)
            ready = [key.fileobj for key, _ in poll.select(max(0.0, wait))]
        if beside is not None and beside in ready:
            beside.take()
        if channel in ready:
            said = channel.take()
            if said is not None:
                return said
        elif over:
            return Silence.ENDED
        if time.monotonic() > deadline or given_up():
            return Silence.LATE
