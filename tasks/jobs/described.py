"""Descriptions of algorithms before they run, and what else asks a user's code: in forks.

If a user's file raises, ends its process, hangs, crashes or uses up the memory, one line of error
names it, and nothing that it changes reaches this process.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import setting_names
from leaseboard.algorithms.errors import LeaseboardError, UserFileError
from leaseboard.algorithms.plugins import Plugin, blamed, file_of
from leaseboard.tasks.jobs.environments import KINDS
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.machine.versions import hash_of, reached
from leaseboard.tasks.processes.child import Limits, call

IMPORT = Limits(wall_seconds=60, cpu_seconds=60, memory_mb=4000)
"""What a file may use to be imported and its algorithm to be built."""
_known: dict[tuple[str, str, str], Described | LeaseboardError] = {}
"""By name, the code that it reaches, and settings: read once a process."""


@dataclass(frozen=True, slots=True)
class Described:
    """Description of an algorithm that can be built with its settings."""

    environment: str
    """The kind of its environment."""
    settings: tuple[str, ...]
    """The names of what can be set."""


def describe(algorithm: str, settings: Mapping[str, Any] | None = None) -> Described:
    """Describe `algorithm`, built with `settings`, if any.

    Raises
    ------
    UsageError
        For a name, file or setting that does not exist or cannot be.
    UserFileError
        If the user's file cannot be used, with the line: it is imported in a fork only.
    """
    file = registry.file_of(algorithm)
    if file is None or not file.is_file():
        return _description(algorithm, settings)
    path = file.resolve()
    code = hash_of(reached([path])[0])
    place = (f"{path}:{algorithm}", code, json.dumps(settings, sort_keys=True, default=str))
    if place not in _known:
        try:
            _known[place] = in_fork(lambda: _description(algorithm, settings), file)
        except LeaseboardError as error:
            _known[place] = error
    known = _known[place]
    if isinstance(known, LeaseboardError):
        raise known
    return known


def _description(algorithm: str, settings: Mapping[str, Any] | None) -> Described:
    """Describe an algorithm, which is imported into this process."""
    cls = registry.algorithm_class(algorithm)
    if settings is not None:
        registry.build(algorithm, settings)
    kind = getattr(cls, "environment", None)
    if kind not in KINDS:
        raise UserFileError(
            f"{algorithm}: its environment is {kind!r}: name one of {', '.join(KINDS)}"
        )
    return Described(kind, tuple(setting_names(cls)))


def in_fork(function: Callable[[], Any], file: Path | None, limits: Limits | None = None) -> Any:
    """Return the value of `function`, called in a fork.

    Raises its LeaseboardError, and UserFileError for any other failure.

    - `file`: the user's file that it imports; None if it imports none.
    - `limits`: `IMPORT` by default.
    """

    def outcome() -> tuple[Any, LeaseboardError | None]:
        nowhere = Path(os.devnull).open("w")  # noqa: SIM115  (it ends with the fork)
        for number in (1, 2):
            os.dup2(nowhere.fileno(), number)
        sys.stdout = sys.stderr = nowhere
        try:
            return function(), None
        except LeaseboardError as error:
            return None, error
        except BaseException as error:  # noqa: BLE001  (any error of a user's file is reported)
            said = blamed(error, file) if file else f"{type(error).__name__}: {error}"
            return None, UserFileError(said)

    called = call(outcome, limits or IMPORT)
    if called.ending.status != "ok":
        raise UserFileError(f"{file}: {called.ending.reason}")
    value, error = called.value
    if error is not None:
        raise error
    return value


KNOWN = ("sklearn", "lightgbm")
"""Packages whose classes a space may name without its jobs being untrusted."""


def is_untrusted(job: Job) -> bool:
    """Return whether `job` runs a user's code, which may change anything in its process."""
    return bool(files(job) or classes(job, registry.algorithm_class(job.algorithm).environment))


def plugins_of(job: Job) -> list[Plugin]:
    """Return the plugin whose code a job runs, if any."""
    found = registry.plugin(job.algorithm)
    return [] if found is None else [found]


def files(job: Job) -> list[Path]:
    """Return the user's file that a job names as its algorithm, and those of its plugins."""
    own = file_of(job.algorithm)
    return [*([own] if own else []), *(file for each in plugins_of(job) for file in each.files())]


def classes(job: Job, kind: str) -> list[str]:
    """Return the classes of `job`'s arms, as ``module:Class``, outside of `KNOWN` packages."""
    if KINDS[kind] != "arm":
        return []
    from leaseboard.tasks.evaluate.spaces import searched  # learners, for policies alone

    spaces = searched(str(job.environment.get("space", "")), job.environment.get("arms"))
    arms = (arm for space in spaces for arm in space.arms.values())
    named = (arm.estimator for arm in arms if ":" in arm.estimator)
    return [name for name in named if name.partition(":")[0].partition(".")[0] not in KNOWN]


def pinned(job: Job) -> str:
    """Return the pins of the framework of `job` and the versions of its plugins, for its key.

    So another version of River, or of a plugin, has results of its own.

    Examples
    --------
    >>> pinned(Job("online-automl", "synthetic:fried", seed=0, environment_seed=0))
    ''
    """
    from leaseboard.tasks.evaluate import venv

    added = "".join(f" {each.source}" for each in plugins_of(job))
    if registry.file_of(job.algorithm):
        return added
    system = getattr(registry.build(job.algorithm, job.settings), "system", "")
    return f" pins {venv.digest(system)}{added}" if system in venv.names() else added
