"""Kernels that are compiled ahead, on all cores side by side.

numba compiles one function at a time in a process, so each part has a process of its own. What
two of them need is compiled by the first (`leaseboard.algorithms.compilation`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from threading import Thread

import numpy as np

from leaseboard.algorithms import compilation, hooks
from leaseboard.algorithms.compilation import compile_for


def _models() -> None:
    from leaseboard.algorithms.online import placement

    one, many = np.zeros(1, np.float32), np.zeros((1, 1), np.float32)
    slots, handle, number = np.zeros(1, np.int64), np.zeros((1, 4), np.int64), np.float32(0)
    compile_for(placement.learn_live, many, one, one, slots, handle, 0, many)
    example = one, number, number, handle, handle, 0, True, True, one
    compile_for(placement.take_one, *example)


def _intervals() -> None:
    from leaseboard.algorithms.online.conformal import Intervals, follow

    made, one = Intervals(), np.zeros(1, np.float32)
    compile_for(follow, one, one, one, made.rates, made.conformal)


def _expansion() -> None:
    from leaseboard.algorithms.online_automl.safe.expansion import (
        FeatureExpansion,
        advance,
        new_block,
    )

    many, one = np.zeros((1, 1), np.float32), np.zeros(1, np.float32)
    known = FeatureExpansion(1).known
    compile_for(advance, new_block(many, one, one), known, False, 1, 0, True, False)


def _members(classes: int) -> None:
    from leaseboard.algorithms.online.handles import handle_of
    from leaseboard.algorithms.online_automl.members.class_pool import ClassPool
    from leaseboard.algorithms.online_automl.members.number_pool import NumberPool
    from leaseboard.algorithms.online_automl.safe.expansion import new_block

    many, one = np.ones((1, 1), np.float32), np.ones(1, np.float32)
    given = handle_of(*new_block(many, one, one), many, one, one)
    pool = ClassPool(1, classes) if classes else NumberPool(1, 0.9)
    pool.answer(given, 1, learns=True)


def _stream(task: str, classes: int) -> None:
    from leaseboard.tasks.models.stream_model import StreamModel

    StreamModel.new("y", task).prepare(classes)


def _job(algorithm: str, data: str) -> None:
    from leaseboard.tasks.jobs.job import Job
    from leaseboard.tasks.jobs.run import run_job

    with tempfile.TemporaryDirectory() as folder:
        run_job(Job(algorithm, data, 0, 0), Path(folder))


PARTS: dict[str, Callable[[], None]] = {
    "models": _models,
    "members": partial(_members, 0),
    "expansion": _expansion,
    "intervals": _intervals,
    "class-members": partial(_members, 2),
    "regression": partial(_stream, "regression", 0),
    "two-classes": partial(_stream, "classification", 2),
    "classes": partial(_stream, "classification", 3),
    "race": partial(_job, "online-automl", "synthetic:fried?rows=60"),
    "baseline": partial(_job, "online-ridge", "synthetic:fried?rows=60"),
    "published": partial(_job, "chacha-literal", "synthetic:fried?rows=60"),
    "many-features": partial(_job, "online-automl", "sklearn:digits?rows=200"),
    "one-against-all": partial(_job, "vanilla", "sklearn:iris"),
    "apple": partial(_job, "apple", "sklearn:breast_cancer"),
    "apple-regression": partial(_job, "apple", "sklearn:diabetes"),
    "apple-sparse": partial(_job, "apple", "synthetic:fried?rows=300"),
}
"""What `leaseboard warm` compiles, the longest first."""

HELP = ("models", "members", "expansion", "intervals")
"""What further processes do while the first one compiles the rest of a race on a stream."""


def compile_ahead() -> Iterator[str]:
    """Compile all parts in as many processes as there are cores; yield the name of each then."""
    spawned = get_context("spawn"), compilation.begin_quietly
    with ProcessPoolExecutor(os.cpu_count(), *spawned) as pool:
        parts = {pool.submit(compile_part): name for name, compile_part in PARTS.items()}
        for each in as_completed(parts):
            each.result()
            yield parts[each]


@contextmanager
def helped(*, at_once: bool = False) -> Iterator[None]:
    """Let a process on each further core compile `HELP` while others compile the rest.

    It starts when this process compiles its first kernel. With `at_once` others do so, workers for
    example: it starts now, if no kernel of a race on a stream is kept. It ends with this process.
    """
    helpers: list[subprocess.Popen[bytes]] = []

    def help_() -> None:
        spare = min((os.cpu_count() or 1) - 1, len(HELP))
        # A single helper does two parts: this process is quicker with the others itself.
        parts = HELP[:2] if spare == 1 and not at_once else HELP
        for k in range(spare):
            command = [sys.executable, "-P", "-m", __name__, *parts[k::spare]]
            pipe, null = subprocess.PIPE, subprocess.DEVNULL
            helpers.append(subprocess.Popen(command, stdin=pipe, stdout=null, stderr=null))

    if not at_once:
        hooks.beginning.append(help_)
    try:
        if at_once and not compilation.is_kept("take_one"):
            compilation.announce()
            help_()
        yield
    finally:
        if not at_once:
            hooks.beginning.remove(help_)
        for each in helpers:
            each.kill()
            each.communicate()


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)  # nothing comes, and it returns when the other end is closed
    os._exit(0)


if __name__ == "__main__":
    Thread(target=_end_with_parent, daemon=True).start()
    for name in sys.argv[1:]:
        PARTS[name]()
