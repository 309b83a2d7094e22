"""Failpoints: named places at which a test ends a process, or makes it fail, to see what is left.

``LEASEBOARD_FAILPOINT`` arms one of `POINTS`: ``NAME=ACTION``, or ``NAME=ACTION@N`` for the N-th
passage in a process. An action other than ``kill`` repeats at each later passage: a disk stays
full. ``record=FILE`` appends the name of each point that is passed to a file, one a line.
"""

import errno
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from leaseboard.algorithms.errors import UsageError, unknown

VARIABLE = "LEASEBOARD_FAILPOINT"
SECONDS = 1.0
"""Duration of ``sleep``."""

POINTS = {
    "file.before-rename": "a new file is whole under another name",
    "file.after-rename": "it has its name",
    "run.after-log": "an event log is whole, and its job has no result",
    "run.before-result": "the process that runs a suite has the result of a job",
    "run.after-result": "the result is in the run folder, and not in MLflow",
    "run.before-table": "all jobs are over",
    "run.after-table": "the table of the results is in the run folder",
    "track.before-job": "the run of a job is about to be written to MLflow",
    "track.after-job": "it is in MLflow",
    "merge.after-copy": "a job of another folder is in the scratch folder",
    "merge.between-renames": "the old folder of a job has gone, and the new one is not there",
    "prune.after-rows": "the table has no rows of jobs whose folders are about to be removed",
    "store.before-commit": "a transaction of a store or a state is complete",
    "store.after-commit": "it is written",
    "live.after-begin": "an update has begun",
    "live.after-batch": "a group of batches is in the state",
    "live.after-version": "a version is in MLflow's registry, and not marked in the state",
    "live.after-alias": "the aliases of the roles are set",
    "live.after-run": "the run of a live model exists, and has not all days",
    "live.after-close": "what the end of an update found is in the state",
    "live.before-post": "a notification is about to be sent",
    "live.after-post": "it was sent, and is still in the outbox",
    "live.before-end": "all is done but the end of the update",
    "serve.before-log": "predictions are made, and neither logged nor sent",
    "serve.after-log": "they are logged, and not sent",
    "learn.before-save": "the rows of a table are learned, and the model is not saved",
    "learn.after-save": "the model is saved",
}
"""What has happened at each point."""

_passages: Counter[str] = Counter()


def reach(name: str) -> None:
    """Act as `VARIABLE` says, if it names this point."""
    given = os.environ.get(VARIABLE)
    if not given:
        return
    armed, action, first = _parsed(given)
    if armed == "record":
        with Path(action).open("a", encoding="utf-8") as file:
            file.write(f"{name}\n")  # one write, so that several processes may share the file
    elif armed == name:
        _passages[name] += 1
        if _passages[name] >= first:
            ACTIONS[action](name)


def check() -> None:
    """Raise UsageError if `VARIABLE` names no failpoint, or no action."""
    if given := os.environ.get(VARIABLE):
        _parsed(given)


def _parsed(given: str) -> tuple[str, str, int]:
    """Return the point, its action, and the passage from which on it acts."""
    name, _, action = given.partition("=")
    if name == "record" and action:
        return name, action, 1
    if name not in POINTS:
        raise unknown("failpoint", name, POINTS)
    action, _, first = action.partition("@")
    if action not in ACTIONS or not (first or "1").isdecimal():
        raise UsageError(
            f"{VARIABLE}={given!r} must be NAME=ACTION or NAME=ACTION@N, with an action of"
            f" {', '.join(ACTIONS)}, or record=FILE"
        )
    return name, action, int(first or 1)


def _kill(_: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _raise(name: str) -> None:
    raise RuntimeError(f"failpoint {name}")


def _sleep(_: str) -> None:
    time.sleep(SECONDS)


def _disk_full(_: str) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


ACTIONS: dict[str, Callable[[str], None]] = {
    "kill": _kill, "raise": _raise, "sleep": _sleep, "disk-full": _disk_full,
}  # fmt: skip
