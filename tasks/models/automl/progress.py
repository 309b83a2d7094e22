"""Progress of a search on the terminal: a bar, or a line for each decision."""

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Self

from leaseboard.algorithms.events import (
    ChampionChanged,
    ConfigurationFailed,
    Eliminated,
    Event,
    of,
)
from leaseboard.tasks.machine.terminal import harmless, progress_bar
from leaseboard.tasks.models.automl.findings import with_names


class ProgressView:
    """A sink: at `verbose` 1 a bar of the configurations that left, at 2 a line a decision."""

    def __init__(self, verbose: int, names: Sequence[str]) -> None:
        self._names = names
        self._lines = verbose > 1
        text = "configurations left out; leads: {task.description}"
        self._bar = progress_bar(sys.stdout, len(names), text=text) if verbose == 1 else None

    def __call__(self, event: Event) -> None:
        """Show one event."""
        words = event.words(self._name)
        if self._lines and words:
            sys.stdout.write(harmless(f"{words[0]}: {with_names(words[1], self._names)}") + "\n")
        if self._bar is None:
            return
        for champion in of([event], ChampionChanged):
            self._bar.update(self._bar.task_ids[0], description=self._name(champion.configuration))
        if of([event], Eliminated) or of([event], ConfigurationFailed):
            self._bar.advance(self._bar.task_ids[0])

    def _name(self, number: int) -> str:
        return self._names[number]

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


_SWITCH = "_AUTOLOGGING_GLOBALLY_DISABLED"
_lock = threading.Lock()
_found: list[bool] = []
"""What each fit that runs now found MLflow's switch to be; the first found what the caller set."""


@contextmanager
def without_autologging() -> Iterator[None]:
    """Keep MLflow's autologging, which the caller may have enabled, out of the fits within."""
    mlflow = sys.modules.get("mlflow.utils.autologging_utils")
    if mlflow is None:
        yield
        return
    with _lock:
        _found.append(vars(mlflow)[_SWITCH])
        vars(mlflow)[_SWITCH] = True
    try:
        yield
    finally:
        with _lock:  # the last value: the caller's comes last, whichever fit ends first
            vars(mlflow)[_SWITCH] = _found.pop()
