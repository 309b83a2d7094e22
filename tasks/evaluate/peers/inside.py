"""Starts a program inside a peer's environment: ``python inside.py PROGRAM ARGUMENTS…``.

It imports nothing of Leaseboard. The files beside it are no package there, and nothing is searched
for in their folder, where they would hide libraries of the same name: each is loaded by its path.
The program's ``main`` takes this module and the arguments.
"""

from __future__ import annotations

import importlib.util
import resource
import sys
from pathlib import Path
from types import ModuleType

_STATUS = Path("/proc/self/status")


def command(python: Path, program: str, *arguments: str) -> list[str]:
    """The command that starts the module `program` of this folder in the environment of `python`.

    Nothing is looked for in its folder, nor among what the user has installed for himself.

    Examples
    --------
    >>> program = "leaseboard.tasks.evaluate.peers.stream_program"
    >>> command(Path("python"), program, "river", "arf")[-3:]
    ['stream_program', 'river', 'arf']
    """
    return [str(python), "-s", "-P", __file__, program.rpartition(".")[2], *arguments]


def beside(name: str) -> ModuleType:
    """The module in the file `name` beside this one."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses and pickles look for it
    spec.loader.exec_module(module)
    return module


def peak_memory_mb() -> float:
    """Of the largest of this process and those that it waited for, in millions of bytes.

    Linux counts what the process that started this one held among what `resource` tells of it, so
    it is asked for the process itself where there is a ``/proc``.
    """
    children = _most_bytes(resource.RUSAGE_CHILDREN)
    if not _STATUS.exists():
        return max(_most_bytes(resource.RUSAGE_SELF), children) / 1e6
    lines = _STATUS.read_text(encoding="utf-8").splitlines()
    peak = next(line for line in lines if line.startswith("VmHWM:"))
    return max(int(peak.split()[1]) * 1024, children) / 1e6


def _most_bytes(who: int) -> int:
    """What macOS tells in bytes, everybody else in KiB."""
    most = resource.getrusage(who).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


if __name__ == "__main__":
    beside(sys.argv[1]).main(sys.modules[__name__], *sys.argv[2:])
