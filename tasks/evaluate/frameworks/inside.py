"""Program inside a framework's environment: ``python inside.py DESCRIPTOR PROGRAM ARGUMENTS…``.

It imports nothing of Leaseboard. The files next to it do not form a package there, and their
folder is the last that is searched, where they hide no library of the same name. A program's
``main`` takes this module, the connection to Leaseboard, whose messages are pickles, and the
arguments. What libraries print is not a message, and no child of this process inherits it.
"""

import importlib
import os
import resource
import sys
from multiprocessing.connection import Connection
from pathlib import Path

_STATUS = Path("/proc/self/status")


def spent_seconds() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return sum(sum(resource.getrusage(kind)[:2]) for kind in kinds)


def peak_memory_mb() -> float:
    """Return the most that this process or one of its children held, in millions of bytes.

    Linux counts what the process that started this one held among what `resource` says of it, so
    it is asked for the process itself where there is a ``/proc``.
    """
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, all others KiB
    own, children = (
        resource.getrusage(who).ru_maxrss * unit
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    if _STATUS.exists():
        lines = _STATUS.read_text(encoding="utf-8").splitlines()
        own = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    return max(own, children) / 1e6


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))
    descriptor, program, *arguments = sys.argv[1:]
    os.set_inheritable(int(descriptor), False)
    main = importlib.import_module(program).main
    main(sys.modules[__name__], Connection(int(descriptor)), *arguments)
