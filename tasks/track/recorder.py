"""Tracking in a thread of its own, which logs jobs that are over while others still run."""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.job import FAILURES, Result
from leaseboard.tasks.machine.progress import Activity
from leaseboard.tasks.track.store import TrackingError

if TYPE_CHECKING:
    from leaseboard.tasks.track.tracker import Tracker

Value = TypeVar("Value")

RETRY_SECONDS = (1.0, 4.0, 8.0)
"""A busy or restarting store gets four tries."""
PATIENCE_SECONDS = 60.0
"""No new try after that: a store that accepts calls and never answers takes a minute for each."""


class Recorder:
    """Thread that logs each job that is over, and never delays a job or loses its result.

    What could not be logged is one line in `problems`. The next run logs it, because it looks at
    what the store has and not at what was tried.

    - `earlier`: jobs that were done before; those missing from the store are logged as well.
    - `open_tracker`: opens the store, in the thread: importing MLflow takes a second. With None
      no job is logged.
    """

    def __init__(
        self, out: Path, earlier: list[Result], open_tracker: Callable[[], Tracker] | None
    ) -> None:
        self.problems: list[str] = []
        self._out = out
        self._open = open_tracker
        self._statuses: Counter[str] = Counter()
        self._queue: queue.SimpleQueue[Result | None] = queue.SimpleQueue()
        self._abandon = threading.Event()
        self._thread = threading.Thread(target=self._work, name="recorder")
        for result in earlier:
            self._queue.put(result)

    def job_is_over(self, result: Result) -> None:
        """Log a job some time soon."""
        self._queue.put(result)

    def __enter__(self) -> Self:
        if self._open is not None:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait until all is logged; after an interruption only for the job that is written."""
        if kind is not None:
            self._abandon.set()
        self._queue.put(None)
        if self._open is not None:
            total = self._queue.qsize()
            with Activity("MLflow", total, "jobs", lambda: total - self._queue.qsize()):
                self._thread.join()

    def _work(self) -> None:
        try:
            assert self._open is not None  # else the thread is not started
            tracker = self._patiently(self._open)
            while (result := self._queue.get()) is not None and not self._abandon.is_set():
                self._statuses[result.status] += 1
                folder = results.job_folder(self._out, result.key)
                self._patiently(partial(tracker.log, result, folder))
            failed = FAILURES & set(self._statuses)
            status = "KILLED" if self._abandon.is_set() else "FAILED" if failed else "FINISHED"
            self._patiently(lambda: tracker.close(status, dict(self._statuses)))
        except TrackingError as error:
            self.problems.append(f"{error}; the next run logs what is missing")
        except Exception as error:  # noqa: BLE001  (no one would see a thread's exception)
            what = f"{type(error).__name__}: {error}".partition("\n")[0]
            self.problems.append(f"logging to MLflow failed: {what}")

    def _patiently(self, action: Callable[[], Value]) -> Value:
        """Call `action`, which uses the store, again after a while if it fails."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        for pause in RETRY_SECONDS:
            try:
                return action()
            except TrackingError:
                if time.monotonic() > deadline:
                    raise
                if self._abandon.wait(pause):
                    break
        return action()


def log_all(results: Sequence[Result], out: Path, name: str, uri: str) -> None:
    """Log results of `out` that are missing from the store as runs of the experiment `name`.

    Raises TrackingError if something could not be logged.
    """
    from leaseboard.tasks.track.tracker import Tracker

    keys = [result.key for result in results]
    with Recorder(out, list(results), lambda: Tracker(uri, name, keys)) as recorder:
        pass
    if recorder.problems:
        raise TrackingError("; ".join(recorder.problems))
