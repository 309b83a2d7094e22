"""Failpoints: named places at which a test ends a process, or makes it fail, to see what is left.

``LEASEBOARD_FAILPOINT`` arms one: ``NAME=ACTION``, or ``NAME=ACTION@N`` for the N-th passage in a
process, with an action of ``kill``, ``raise`` and ``disk-full``. One other than ``kill`` repeats
at each later passage: a disk stays full. ``record=FILE`` appends the name of each point that is
passed to a file, one a line.
"""

import errno
import os
import signal
from collections import Counter
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
