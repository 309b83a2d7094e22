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
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

_BECOME_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of linux/prctl.h
PATIENCE_SECONDS = 10.0
"""How long processes are killed that go on forking; what is then left, a fork bomb, stays."""


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


def adopt_orphans() -> None:
    """Where the system can: what our children leave behind stays below this process."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(_BECOME_SUBREAPER, 1, 0, 0, 0)


def descendants(pid: int) -> list[int]:
    """The processes below `pid`, the nearest first; empty where there is no ``/proc``."""
    found: list[int] = []
    todo = [pid]
    while todo:
        children = _children(todo.pop(0))
        found += children
        todo += children
    return found


def kill_tree(pid: int) -> None:
    """Kill the process group led by `pid` and every descendant outside it.

    `pid` itself goes last: if it is a subreaper, orphans stay below it until then.
    """
    _signal(pid, signal.SIGSTOP)
    kill_below(pid)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def kill_below(pid: int, kept: Collection[int] = ()) -> bool:
    """Kill all descendants of `pid` but `kept`, also those that keep forking away from it.

    Returns whether none is left. `PATIENCE_SECONDS` bound the time that this may take.
    """
    over: set[int] = set()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        met = _stop_below(pid, kept, over, deadline)
        if not met and time.monotonic() < deadline:  # else the look itself was cut short
            return True
        for other in met:
            _signal(other, signal.SIGKILL)
    return False


def _stop_below(pid: int, kept: Collection[int], over: set[int], deadline: float) -> list[int]:
    """Stop every descendant not known to be `over`, and return it.

    Each is stopped at sight, before it can fork and exit, and the newest first: of a chain of
    forks that one alone is alive. One found to be over is returned too, this once, because its
    children may have come to `pid` after those of `pid` were listed.
    """
    met: list[int] = []
    todo = [pid]
    while todo and time.monotonic() < deadline:
        for child in reversed(_children(todo.pop(0))):
            if child in over:
                continue
            if child not in kept:
                _signal(child, signal.SIGSTOP)
                met.append(child)
                if is_over(child):
                    over.add(child)
                    continue
            todo.append(child)
    return met


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found


def is_over(pid: int) -> bool:
    """Whether a process has gone, or is a zombie."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return status.rpartition(")")[2].split()[0] in "ZX"


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


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
