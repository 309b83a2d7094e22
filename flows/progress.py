"""What a person sees while a suite runs: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Self

from algorithms.benches.holdout import ONE_CLASS, SAYS_NOTHING
from flows.terminal import say, tell
from tasks.jobs.job import Result
from tasks.machine.terminal import cell, harmless, show

if TYPE_CHECKING:
    import rich.progress


class Progress:
    """Told of each job that is over, from any thread.

    - `done`: jobs that were done before.
    - `names`: what tables call a data set, by its reference.
    - `file`: standard error by default, so that standard output holds the board alone.
    """

    def __init__(
        self,
        total: int,
        done: int,
        names: Mapping[str, str] | None = None,
        file: IO[str] | None = None,
    ) -> None:
        self._names = names or {}
        self._file = file or sys.stderr
        self._total = total
        self._done = done
        self._lock = threading.Lock()
        self._bar = _bar(self._file, total, done) if self._file.isatty() and total else None

    def __call__(self, result: Result) -> None:
        """Show that one more job is over."""
        with self._lock:
            self._done += 1
            line = harmless(describe(result, self._names.get(result.data, result.data)))
            width = len(str(self._total))
            counted = f"[{self._done:>{width}}/{self._total}] {line}"
            if self._bar is None:
                say(counted, file=self._file)
            else:
                tell(counted)
                if result.status != "ok":
                    show(cell(line), self._bar.console)
                self._bar.update(self._bar.task_ids[0], advance=1, description=line[:60])

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def describe(result: Result, data: str) -> str:
    """One job's outcome in one line, its data set called `data`."""
    what = f"{result.label} on {data}, seed {result.seed}"
    if result.status != "ok" or result.score is None:
        return f"{what}: {result.status}: {result.reason}"
    warning = f": {SAYS_NOTHING}" if ONE_CLASS in result.metrics else ""
    return f"{what}: {result.metric} {result.score:.6g} ({result.cpu_seconds:.2f} CPU s){warning}"


def _bar(file: IO[str], total: int, done: int) -> rich.progress.Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
        console=Console(file=file),
    )
    bar.add_task("", total=total, completed=done)
    return bar
