"""Owners of what outlives a process: which process that is, and whether it still runs.

A process of this machine is looked up, also if the machine was renamed. Of another machine, or of
another container, only the time of its last heartbeat is known; this machine before it was booted
again looks like another one of its name.
"""

import os
import platform
import time
from functools import cache
from pathlib import Path

import psutil

BEAT, GRACE = 60.0, 900.0
"""Seconds from one heartbeat of an owner to the next, and after the last until it counts as gone;
the clocks of two machines differ by less."""


def owner() -> str:
    """Return the name of this process: host, number, start and machine, since numbers recur."""
    return _owner(os.getpid())


@cache
def _owner(pid: int) -> str:
    return f"{platform.node()} {pid} {started(pid)} {_machine()}"


def operator() -> str:
    """Return the user of this process, and where it runs, for the record of what people do."""
    return f"{psutil.Process().username()} on {platform.node()}"


@cache
def _machine() -> str:
    """Return which boot, and whose process numbers these are; empty where no system says that."""
    boot, numbers = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    if not boot.is_file() or not numbers.exists():
        return ""
    return f"{boot.read_text().strip()}.{numbers.stat().st_ino}"


def started(pid: int) -> str:
    """Return when the process started, in ticks since the boot, which no set clock moves.

    Raises OSError if the process does not exist.
    """
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


def is_alive(owner: str, beat: float | None = None) -> bool:
    """Return whether the process named by `owner` still runs.

    - `beat`: the seconds since 1970 at its last heartbeat; without any, one of another host lives,
      and one of another machine of this host's name does not.
    """
    host, pid, since, machine, *_ = *owner.split(" ", 3), "", "", ""
    if host and (machine or host) != (_machine() or platform.node()):
        return host != platform.node() if beat is None else time.time() - beat < GRACE
    try:
        return (
            psutil.Process(int(pid)).status() != psutil.STATUS_ZOMBIE
            and started(int(pid)) == since
        )
    except (ValueError, OSError, psutil.Error):
        return False
