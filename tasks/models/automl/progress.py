"""Progress of a search on the terminal: a bar."""

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
from leaseboard.tasks.machine.terminal import progress_bar


class ProgressView:
    """A sink: a bar of the configurations that left, if that is asked for."""

    def __init__(self, names: Sequence[str], *, shown: bool) -> None:
        self._names = names
        text = "configurations left out; leads: {task.description}"
        self._bar = progress_bar(sys.stdout, len(names), text=text) if shown else None

    def __call__(self, event: Event) -> None:
        """Show one event."""
        if self._bar is None:
            return
        bar, task = self._bar, self._bar.task_ids[0]
        for champion in of([event], ChampionChanged):
            bar.update(task, description=self._names[champion.configuration])
        if of([event], Eliminated) or of([event], ConfigurationFailed):
            bar.advance(task)

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
