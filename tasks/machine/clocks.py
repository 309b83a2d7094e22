"""Clocks by which a job is measured."""

from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter, process_time

from leaseboard.tasks.machine.kernel_time import compile_seconds


def working_seconds() -> tuple[float, float]:
    """Return CPU and wall seconds without those in which kernels were compiled.

    CPU seconds are of this process and of the children that it has waited for.
    """
    children = getrusage(RUSAGE_CHILDREN)
    cpu, wall = compile_seconds()
    own = process_time() + children.ru_utime + children.ru_stime
    return own - cpu, perf_counter() - wall
