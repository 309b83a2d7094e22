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

import psutil

BECOME_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of linux/prctl.h
PATIENCE_SECONDS = 10.0
"""How long processes are killed that go on forking; a fork bomb then stays."""


class Watchdog:
    """Run's end of the pipe; close it last."""

    def __init__(self) -> None:
        read, write = os.pipe()
        # Its own session: Ctrl-C in a terminal must not reach it before the run is over.
        self._process = subprocess.Popen(
            [sys.executable, "-I", __file__, str(read)],
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


def descendants(pid: int) -> list[psutil.Process]:
    """Return the processes below `pid`."""
    with suppress(psutil.Error):
        return psutil.Process(pid).children(recursive=True)
    return []


def kill_tree(pid: int) -> None:
    """Kill `pid`, every descendant, and the process group that it leads, if it leads one.

    `pid` itself goes last: if it is a subreaper, orphans stay below it until then.
    """
    with suppress(psutil.Error):
        psutil.Process(pid).suspend()
    kill_below(pid)
    for kill in os.kill, os.killpg:
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def kill_below(pid: int) -> bool:
    """Kill all descendants of `pid`; return whether none is left.

    A process that a search missed, because it was forked meanwhile or because `pid` adopted it, is
    found by the next. `PATIENCE_SECONDS` bound the time.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        found = [each for each in descendants(pid) if not is_over(each)]
        if not found:
            return True
        for each in found:
            with suppress(psutil.Error):
                each.kill()
    return False


def is_over(process: psutil.Process) -> bool:
    """Return whether a process has gone, or is a zombie."""
    try:
        return process.status() in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    except psutil.Error:
        return True


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
