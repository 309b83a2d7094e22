"""Peak memory of configuration selection, in multiples of the array that its samples are views of.

``python -m benchmarks.memory DATA [--mirror DIR] [--configurations N]`` runs `abc` with its
defaults and prints what the program takes with every library loaded and no data, the array of
float32 features, the peak of the program with the data and the array, and what the largest probe's
process adds: the working memory of a learner, which shares the array.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.machine.environment import prepare_environment

_LOOK_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes: of the program without data, of the array, of the peak, of the largest probe."""

    program: int
    array: int
    peak: int
    probe: int

    @property
    def arrays(self) -> float:
        """Return the peak beyond the program's own memory, in arrays."""
        return (self.peak - self.program) / self.array

    @property
    def arrays_with_probe(self) -> float:
        """Return the same with the private memory of the largest probe."""
        return (self.peak + self.probe - self.program) / self.array


def measure(
    reference: str, mirrors: tuple[Path, ...] = (), configurations: int | None = None
) -> Memory:
    """Select among `configurations` on `reference`, the environment's own number by default.

    Probes are run unless stored.

    A process has one peak in its life, so call this once.

    Raises
    ------
    DataError
        If every probe ended before it was looked at.
    """
    # Loaded before the data are, so that what they take counts as the program's own.
    import pyarrow.parquet  # noqa: F401

    import leaseboard.tasks.evaluate.learners.classifiers  # noqa: F401
    from leaseboard.algorithms import registry
    from leaseboard.algorithms.base import play
    from leaseboard.tasks.fetch import loading
    from leaseboard.tasks.jobs import environments
    from leaseboard.tasks.jobs.job import Job

    program = psutil.Process().memory_info().rss
    dataset = loading.load(reference, mirrors=mirrors)
    options = {} if configurations is None else {"configurations": configurations}
    env = environments.make("samples", dataset, Job("abc", reference, 0, 0, environment=options))
    with _children_watched() as private:
        for _ in play("abc", registry.build("abc"), env, 0):
            pass
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # Linux counts kilobytes
    if not private:
        raise DataError(
            f"{reference}: no probe lasted {_LOOK_SECONDS} s, so that its memory was not seen:"
            " take more rows, or an empty store"
        )
    rows, columns = dataset.features.shape
    return Memory(program, 4 * rows * columns, peak, max(private))


@contextmanager
def _children_watched() -> Iterator[list[int]]:
    """Note the private bytes of every child while the body runs, many times a second."""
    private, over = list[int](), threading.Event()

    def look() -> None:
        while not over.wait(_LOOK_SECONDS):
            for child in psutil.Process().children():
                with suppress(psutil.NoSuchProcess):  # it has just ended
                    private.append(child.memory_full_info().uss)

    watch = threading.Thread(target=look)
    watch.start()
    try:
        yield private
    finally:
        over.set()
        watch.join()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Peak memory of configuration selection")
    parser.add_argument("data", help="such as mirror:flights_3m?threshold=15")
    parser.add_argument("--mirror", type=Path, action="append", default=[], help="repeatable")
    parser.add_argument(
        "--configurations", type=int, help="by default as many as the environment draws"
    )
    options = parser.parse_args(arguments)
    prepare_environment()
    with tempfile.TemporaryDirectory() as probes:
        os.environ["LEASEBOARD_CACHE"] = probes
        found = measure(options.data, tuple(options.mirror), options.configurations)
    for name in ("program", "array", "peak", "probe"):
        print(f"{name:8} {getattr(found, name) / 1e6:8.1f} MB")
    print(f"beyond the program, the peak is {found.arrays:.2f} times the array")
    print(f"with the largest probe's own memory, {found.arrays_with_probe:.2f} times")
    return 0


if __name__ == "__main__":
    sys.exit(main())
