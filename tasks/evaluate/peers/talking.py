"""A peer's program in a process of its own that is spoken with through its pipes."""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.evaluate.peers.apart import environment, last_word
from leaseboard.tasks.processes.endings import over_wall, post_mortem
from leaseboard.tasks.processes.leash import kill_tree

PATIENCE = 300.0
"""Wall seconds after which a program that does not answer is ended, and its job fails."""

_PIECE = 1 << 16


class GoneError(LeaseboardError):
    """The program ended before it answered; `word` is the last thing that it said."""

    def __init__(self, reason: str, word: str) -> None:
        super().__init__(f"{reason}: {word}")
        self.word = word


class TalkingProcess:
    """A program in a group of processes of its own, on one thread, in an empty folder.

    - `command`: how it is started.
    - `who`: what errors call it.
    - `patience`: wall seconds that it may take for an answer.
    """

    def __init__(self, command: Sequence[str], who: str, patience: float) -> None:
        self._who = who
        self._patience = patience
        self._heard = b""
        self._folder = tempfile.TemporaryDirectory(prefix="peer-")
        self._said = Path(self._folder.name) / "said.txt"
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                bufsize=0,
                cwd=self._folder.name,
                env=environment(),
                start_new_session=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders, self._answers = self._process.stdin, self._process.stdout
        self._ready = select.poll()  # which knows no limit of descriptors, as `select` does
        self._ready.register(self._answers, select.POLLIN)

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    def send(self, content: bytes) -> None:
        """Tell it `content`."""
        with suppress(BrokenPipeError):  # it has gone, which is told when its answer is awaited
            self._orders.write(content)

    def end(self) -> None:
        """Tell it that nothing more comes."""
        with suppress(BrokenPipeError):  # the same
            self._orders.close()

    def receive(self, n: int, when: str = "") -> bytes:
        """The next `n` bytes that it answers.

        `when`: what it was doing, for the errors: GoneError if it has ended, LeaseboardError if
        it takes too long.
        """
        deadline = time.monotonic() + self._patience
        while len(self._heard) < n:
            self._hear(n - len(self._heard), deadline, when)
        content, self._heard = self._heard[:n], self._heard[n:]
        return content

    def line(self, when: str = "") -> bytes:
        """The next line that it answers, without its end; as `receive`."""
        deadline = time.monotonic() + self._patience
        while b"\n" not in self._heard:
            self._hear(_PIECE, deadline, when)
        line, _, self._heard = self._heard.partition(b"\n")
        return line

    def close(self) -> None:
        """End it and all that it started."""
        kill_tree(self._process.pid)
        self._process.wait()
        for pipe in (self._orders, self._answers):
            with suppress(BrokenPipeError):  # nobody needs what was left in it
                pipe.close()
        self._folder.cleanup()

    def _hear(self, most: int, deadline: float, when: str) -> None:
        if not self._ready.poll(1000 * max(0.0, deadline - time.monotonic())):
            raise LeaseboardError(f"{self._who}{when}: {over_wall(self._patience).reason}")
        part = os.read(self._answers.fileno(), most)
        if not part:
            code = self._process.wait()
            reason = post_mortem(code, self._who).reason
            raise GoneError(f"{reason}{when}", last_word(self._said))
        self._heard += part
