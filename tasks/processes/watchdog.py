"""Watchdog process that ends what a run started when the run has ended or was killed.

The run sends it one line an order through a pipe: ``+PID`` to add a process group, ``-PID`` to
remove it. When the pipe closes, every group on its list is killed, with all descendants that have
left it for a session of their own.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

BECOME_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of linux/prctl.h
PATIENCE_SECONDS = 10.0
"""How long processes are killed that go on forking; a fork bomb then stays."""


class Watchdog:
    """Run's end of the pipe; close it last."""

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

    def add(self, pid: int) -> None:
        """Kill the group of `pid` when this process has ended."""
        os.write(self._pipe, b"+%d\n" % pid)  # so few bytes are written at once, from any thread

    def remove(self, pid: int) -> None:
        """Forget `pid`, which has ended: its number may become another's."""
        os.write(self._pipe, b"-%d\n" % pid)

    def close(self) -> None:
        """End the watchdog, which kills what is on its list."""
        os.close(self._pipe)
        self._process.wait()


def set_option(option: int, value: int) -> None:
    """Set an option of this process, of linux/prctl.h, where the system can."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def descendants(pid: int) -> list[int]:
    """Return the processes below `pid`, the nearest first; empty without ``/proc``."""
    found = [pid]
    for each in found:  # it grows meanwhile
        found += _children(each)
    return found[1:]


def kill_tree(pid: int) -> None:
    """Kill `pid`, every descendant, and the process group that it leads, if it leads one.

    `pid` itself goes last: if it is a subreaper, orphans stay below it until then.
    """
    _signal(pid, signal.SIGSTOP)
    kill_below(pid)
    _signal(pid, signal.SIGKILL)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def kill_below(pid: int) -> bool:
    """Kill all descendants of `pid`; return whether none is left.

    A process that a search missed, because it was forked meanwhile or because `pid` adopted it, is
    found by the next. `PATIENCE_SECONDS` bound the time.
    """
    over: set[int] = set()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        found = set(descendants(pid)) - over
        if not found:
            return True
        for each in found:
            _signal(each, signal.SIGKILL)
        over |= set(filter(is_over, found))
    return False


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found


def is_over(pid: int) -> bool:
    """Return whether a process has gone, or is a zombie."""
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
    listed: set[int] = set()
    with os.fdopen(fd) as orders:
        for line in orders:
            number = int(line[1:])
            (listed.add if line[0] == "+" else listed.discard)(number)
    for pid in listed:
        kill_tree(pid)


if __name__ == "__main__":
    main(int(sys.argv[1]))
