"""Clocks by which a job is measured."""

from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter, process_time


def working_seconds() -> tuple[float, float]:
    """Return CPU seconds, with those of children that were waited for, and wall seconds."""
    children = getrusage(RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime, perf_counter()
