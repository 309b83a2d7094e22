"""What outlives a process: files and full disks, owners, and failpoints.

A process of this machine is looked up, also if the machine was renamed. Of another machine, or of
another container, only the time of its last heartbeat is known; this machine before it was booted
again looks like another one of its name.

A failpoint is a named place at which a test ends a process, or makes it fail, to see what is left.
``LEASEBOARD_FAILPOINT`` arms one: ``NAME=ACTION``, or ``NAME=ACTION@N`` for the N-th passage in a
process, with an action of ``kill``, ``raise`` and ``disk-full``. One other than ``kill`` repeats
at each later passage: a disk stays full. ``record=FILE`` appends the name of each point that is
passed to a file, one a line.
"""

import errno
import os
import platform
import signal
import sqlite3
import time
from collections import Counter
from functools import cache
from pathlib import Path

VARIABLE = "LEASEBOARD_FAILPOINT"
_passages: Counter[str] = Counter()


def reach(name: str) -> None:
    """Act as `VARIABLE` says, if it names this point."""
    armed, _, action = os.environ.get(VARIABLE, "").partition("=")
    if armed == "record":
        with Path(action).open("a", encoding="utf-8") as file:
            file.write(f"{name}\n")  # one write, so that several processes may share the file
    if armed != name:
        return
    action, _, first = action.partition("@")
    _passages[name] += 1
    if _passages[name] < int(first or 1):
        return
    match action:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "disk-full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        case _:
            raise RuntimeError(f"failpoint {name}: {action}")


FULL = "the disk is full"
"""Beginning of the reason why a job that a full disk ended has no score."""
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)

_SIDE_FILES = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite keeps next to a database."""


def fault_of_disk(error: BaseException | None) -> str:
    """Return what to do if a full disk caused `error`, which no algorithm can help; else empty."""
    while error is not None:
        full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        if full or (isinstance(error, OSError) and error.errno in _NO_SPACE):
            named = getattr(error, "filename", None)
            place = f" ({named})" if named else ""
            return f"{FULL}{place}: free some of it, and run the same command again"
        error = error.__cause__ or error.__context__
    return ""


def remove_database(path: Path) -> None:
    """Delete a SQLite file and its side files."""
    for suffix in ("", *_SIDE_FILES):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


BEAT, GRACE = 60.0, 900.0
"""Seconds from one heartbeat of an owner to the next, and after the last until it counts as gone;
the clocks of two machines differ by less."""


def owner() -> str:
    """Return the name of this process: host, number, start and machine, since numbers recur."""
    return _owner(os.getpid())


@cache
def _owner(pid: int) -> str:
    # The 20th field: when it started, in ticks since the boot, which no set clock moves.
    return f"{platform.node()} {pid} {_stat(pid)[19]} {_machine()}"


def operator() -> str:
    """Return the user of this process, and where it runs, for the record of what people do."""
    import psutil

    return f"{psutil.Process().username()} on {platform.node()}"


@cache
def _machine() -> str:
    """Return which boot, and whose process numbers these are; empty where no system says that."""
    boot, numbers = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    if not boot.is_file() or not numbers.exists():
        return ""
    return f"{boot.read_text().strip()}.{numbers.stat().st_ino}"


def _stat(pid: int) -> list[str]:
    """Return what Linux says of a process, from its state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def is_alive(owner: str, beat: float | None = None) -> bool:
    """Return whether the process named by `owner` still runs.

    - `beat`: the seconds since 1970 at its last heartbeat; without any, one of another host lives,
      and one of another machine of this host's name does not.
    """
    host, pid, since, machine, *_ = *owner.split(" ", 3), "", "", ""
    if host and (machine or host) != (_machine() or platform.node()):
        return host != platform.node() if beat is None else time.time() - beat < GRACE
    try:
        fields = _stat(int(pid))
    except (ValueError, OSError):
        return False
    return fields[0] not in "ZX" and fields[19] == since
