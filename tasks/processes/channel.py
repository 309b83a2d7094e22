"""Messages between two processes of ours: bytes, with their length before them.

What a message holds, JSON or a pickle, is the callers' business.
"""

from __future__ import annotations

import math
import os
import select
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import Protocol

MOST_BYTES = 1 << 26
"""No honest answer of code that is not ours is as long; of a longer one nothing more is read."""
_HEAD = struct.Struct("!Q")
_SHORT_CHUNK, _LONG_CHUNK = 1 << 12, 1 << 20
"""Bytes of the first look at a message, and of the others: room for many costs time by itself."""
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
        message = self.next()
        while self.open and not isinstance(message, bytearray):
            message = self.take()
        return message if isinstance(message, bytearray) else None

    def take(self) -> bytearray | Silence | None:
        """Read once; see `next`."""
        chunk = b""
        with suppress(ConnectionResetError):  # it went, and left something unread
            chunk = os.read(self._descriptor, _LONG_CHUNK if self._heard else _SHORT_CHUNK)
        self.open = bool(chunk)
        self._heard += chunk
        return self.next()

    def next(self) -> bytearray | Silence | None:
        """The next message of what was read, if it is whole by now, or `Silence.LONG`."""
        if len(self._heard) < _HEAD.size:
            return None
        (length,) = _HEAD.unpack_from(self._heard)
        if length > self._most:
            return Silence.LONG
        end = _HEAD.size + length
        if len(self._heard) < end:
            return None
        rest = self._heard[end:]
        del self._heard[end:]
        del self._heard[: _HEAD.size]  # in place: a message may be most of the memory
        message, self._heard = self._heard, rest
        return message

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

    - `ended`: whether the child has ended. The channel is looked at once more after that: what the
      child said as it ended is there by then, and so is always heard.
    - `seconds`: after these it is late, and may go on.
    - `given_up`: whether it is late already.
    """
    said = channel.next()
    if said is not None:
        return said
    deadline = time.monotonic() + seconds
    over = False
    poll = select.poll()  # `select.select` knows no descriptor above 1,023
    for each in (channel, beside):
        if each is not None and each.open:
            poll.register(each, select.POLLIN)
    while True:
        wait = 0.0 if over else max(0.0, min(_POLL_SECONDS, deadline - time.monotonic()))
        ready = _ready(poll, wait)
        if beside is not None and beside.fileno() in ready:
            beside.take()
            if not beside.open:
                poll.unregister(beside)
        if channel.fileno() in ready:
            said = channel.take()
            if said is not None:
                return said
            if not channel.open:
                poll.unregister(channel)
        elif over:
            return Silence.ENDED
        else:
            over = ended()
        if time.monotonic() > deadline or given_up():
            return Silence.LATE


def _ready(poll: select.poll, seconds: float) -> list[int]:
    return [descriptor for descriptor, _ in poll.poll(1000 * seconds)]
