"""Clocks by which a job is measured, and checks that a user's code has not changed them.

They are bound here, before any such code is imported, so replacing ``time.process_time`` changes
no measurement. Deeper changes are found by `changed` in the process itself, and by `disagreement`
with the measurements of another process.
"""

import resource
import sys
import time
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter, process_time

from leaseboard.tasks.machine import kernel_time

CPU_TOLERANCE = (1.0, 0.1)
WALL_TOLERANCE = (5.0, 0.2)
"""Seconds, and share of what was measured outside, by which a job's own clocks may differ: a
fork's start and end are not on them, and on a busy machine its answer waits to be read."""


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of the children that it has waited for."""
    children = getrusage(RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def all_seconds() -> tuple[float, float]:
    """Return `cpu_seconds`, and wall seconds."""
    return cpu_seconds(), perf_counter()


def working_seconds() -> tuple[float, float]:
    """Return `all_seconds` without those in which kernels were compiled.

    A user's code could have its own work counted as compiling: what runs it is measured in full.
    """
    cpu, wall = kernel_time.compile_seconds()
    return cpu_seconds() - cpu, perf_counter() - wall


_HOMES = (time, resource, kernel_time, sys.modules[__name__])
_GENUINE = {
    name: getattr(home, name)
    for home in _HOMES
    for name in vars(home)
    if name.startswith(("time", "perf_counter", "process_time", "thread_time", "monotonic",
                        "clock_gettime", "getrusage", "cpu_seconds", "all_seconds",
                        "working_seconds", "compile_seconds"))
    and callable(getattr(home, name))
}  # fmt: skip


def changed() -> str:
    """Return which clocks of `time` or of this project's modules were replaced; empty if none.

    Examples
    --------
    >>> changed()
    ''
    """
    ours = [
        module
        for name, module in list(sys.modules.items())
        if name.startswith(("leaseboard.tasks.", "leaseboard.flows."))
    ]
    found = sorted(
        {
            f"{module.__name__}.{name}"
            for module in (*_HOMES, *ours)
            for name, genuine in _GENUINE.items()
            if (value := vars(module).get(name, genuine)) is not genuine and value is not time
        }
    )
    return f"it changed {', '.join(found)}: an algorithm must not change the clocks" * bool(found)


def disagreement(reported: tuple[float, float], measured: tuple[float, float]) -> str:
    """Return what is wrong with the seconds that a job reports; empty if nothing is.

    - `reported`: CPU and wall seconds of the whole job by the clocks of its own process.
    - `measured`: the same by the process that forked it.
    """
    for name, own, outer, (least, share) in (
        ("CPU", reported[0], measured[0], CPU_TOLERANCE),
        ("wall", reported[1], measured[1], WALL_TOLERANCE),
    ):
        if abs(outer - own) > least + share * outer:
            return (
                f"the job's own clocks say {own:.2f} s of {name} time, the pool measured"
                f" {outer:.2f} s: an algorithm must not change the clocks"
            )
    return ""
