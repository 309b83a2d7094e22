"""A watcher that ends what a run started when the run itself is gone, however it ended.

The run talks to it through a pipe, one line an order: ``+PID`` to watch a process group, ``-PID``
to forget it. When the pipe closes, because the run ended or was killed, every group that is still
watched is killed, with all descendants that left it for a session of their own.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path


class Leash:
    """The run's end of the pipe; close it last."""

    def __init__(self) -> None:
        read, write = os.pipe()
        # Its own session: Ctrl-C in a terminal must not reach it before the run is over.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(read)],
            pass_fds=(read,),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(read)
        self._pipe = write
        self._lock = threading.Lock()

    def watch(self, pid: int) -> None:
        """Kill the group of `pid` when this process is gone."""
        self._order(f"+{pid}\n")

    def forget(self, pid: int) -> None:
        """`pid` has ended and its number may be another's now."""
        self._order(f"-{pid}\n")

    def close(self) -> None:
        """End the watcher; what it still watches is killed."""
        os.close(self._pipe)
        self._process.wait()

    def _order(self, line: str) -> None:
        with self._lock:
            os.write(self._pipe, line.encode())


def descendants(pid: int) -> list[int]:
    """The processes below `pid`, the nearest first; empty where there is no ``/proc``."""
    found: list[int] = []
    todo = [pid]
    while todo:
        parent = todo.pop(0)
        with suppress(OSError):
            for thread in Path(f"/proc/{parent}/task").iterdir():
                children = [int(child) for child in (thread / "children").read_text().split()]
                found += children
                todo += children
    return found


def kill_tree(pid: int) -> None:
    """Kill the process group led by `pid` and every descendant outside it."""
    others = descendants(pid)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    for other in others:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(other, signal.SIGKILL)


def main(fd: int) -> None:
    """Follow orders until the pipe closes, then kill what is left."""
    watched: set[int] = set()
    with os.fdopen(fd) as orders:
        for line in orders:
            number = int(line[1:])
            (watched.add if line[0] == "+" else watched.discard)(number)
    for pid in watched:
        kill_tree(pid)


if __name__ == "__main__":
    main(int(sys.argv[1]))
