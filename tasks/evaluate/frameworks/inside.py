"""Program inside a framework's environment: ``python inside.py DESCRIPTOR PROGRAM ARGUMENTS…``.

It imports nothing of Leaseboard. The files next to it do not form a package there, and nothing is
searched for in their folder, where they would hide libraries of the same name: each is loaded by
its path. A program's ``main`` takes this module, the `Wire` to Leaseboard and the arguments.
"""

import importlib.util
import json
import os
import resource
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import Any

_STATUS = Path("/proc/self/status")


class Wire:
    """End of the socket over which Leaseboard sends orders and receives answers.

    The output of libraries does not reach it, and no child of this process inherits it.
    """

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self._connection = Connection(descriptor)

    def receive(self) -> bytes:
        """Return the next message; EOFError if none comes any more."""
        return self._connection.recv_bytes()

    def send(self, content: bytes) -> None:
        """Send a message."""
        self._connection.send_bytes(content)

    def read(self) -> Any:
        """Return the next message, read as JSON."""
        return json.loads(self.receive())

    def write(self, said: Any) -> None:
        """Send `said` in JSON; arrays and numbers of numpy may be part of it."""
        self.send(json.dumps(said, default=lambda value: value.tolist()).encode())


def sibling(name: str) -> ModuleType:
    """Load the module in the file `name` next to this one."""
    place = Path(__file__).parent / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses and pickles look for it
    spec.loader.exec_module(module)
    return module


def spent_seconds() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


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
    sibling(sys.argv[2]).main(sys.modules[__name__], Wire(int(sys.argv[1])), *sys.argv[3:])
