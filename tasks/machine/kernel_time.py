"""Time in which this process compiles or loads kernels, counted apart from what they do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter, thread_time

from leaseboard.algorithms import hooks

_state: tuple[float, float, float | None, int] = (0.0, 0.0, None, 0)
"""CPU and wall seconds, when the present block began, and its process: a fork has left it."""


def compile_seconds() -> tuple[float, float]:
    """Return the CPU and wall seconds so far; the wall seconds are those of what runs now, too.

    They are of all threads: work of one while another compiles is counted as compiling.
    """
    cpu, wall, begun, process = _state
    if begun is not None and process == os.getpid():
        wall += perf_counter() - begun
    return cpu, wall


@contextmanager
def measuring() -> Iterator[None]:
    """Count the time of the block, which compiles or loads a kernel, and perhaps others in it.

    The caller has numba's lock, so no two threads are here at the same time.
    """
    global _state  # noqa: PLW0603  (one assignment, so readers in other threads see all of it)
    cpu, wall, begun, process = _state
    if begun is not None and process == os.getpid():
        yield
        return
    cpu_before, wall_before = thread_time(), perf_counter()
    try:
        _state = cpu, wall, wall_before, os.getpid()
        yield
    finally:
        now = cpu + thread_time() - cpu_before, wall + perf_counter() - wall_before
        _state = *now, None, 0


hooks.measuring = measuring
