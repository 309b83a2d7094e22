"""Time in which this process compiles or loads kernels: it is told apart from what they do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter, thread_time

from leaseboard.algorithms import hooks

_spent = [0.0, 0.0]
_begun: list[float] = []


def compile_seconds() -> tuple[float, float]:
    """Return the CPU and wall seconds so far; the wall seconds are those of what runs now, too."""
    cpu, wall = _spent
    return cpu, wall + sum(perf_counter() - each for each in _begun[:1])


@contextmanager
def measured() -> Iterator[None]:
    """Count the block, which compiles or loads a kernel, and perhaps further ones in it.

    The caller has numba's lock, so no two threads are here at the same time.
    """
    if _begun:
        yield
        return
    cpu, wall = thread_time(), perf_counter()
    _begun.append(wall)
    try:
        yield
    finally:
        _spent[:] = _spent[0] + thread_time() - cpu, _spent[1] + perf_counter() - wall
        _begun.clear()


hooks.measured = measured
