"""Descriptions of algorithms before they run, and what else asks a user's code: in forks.

If a user's file raises, ends its process, hangs, crashes or uses up the memory, one line of error
names it, and nothing that it changes reaches this process.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import setting_names
from leaseboard.algorithms.errors import LeaseboardError, UserFileError
from leaseboard.algorithms.plugins import blamed, source_of
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
    files = registry.files_of(algorithm)
    if not files or not files[0].is_file():
        return _description(algorithm, settings)
    given = json.dumps(settings, sort_keys=True, default=str)
    place = (f"{files[0].resolve()}:{algorithm}", hash_of(reached(files)[0]), given)
    if place not in _known:
        try:
            _known[place] = in_fork(lambda: _description(algorithm, settings), files)
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


def in_fork(
    function: Callable[[], Any], files: Sequence[Path], limits: Limits | None = None
) -> Any:
    """Return the value of `function`, called in a fork.

    Raises its LeaseboardError, and UserFileError for any other failure.

    - `files`: those of the user's algorithm that it imports; none if it imports none.
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
            return None, UserFileError(blamed(error, *files))

    called = call(outcome, limits or IMPORT)
    if called.ending.status != "ok":
        code = "".join(f"{file}: " for file in files[:1])
        raise UserFileError(f"{code}{called.ending.reason}")
    value, error = called.value
    if error is not None:
        raise error
    return value


KNOWN = ("sklearn", "lightgbm")
"""Packages whose classes a space may name without its jobs being untrusted."""


def is_untrusted(job: Job) -> bool:
    """Return whether `job` runs a user's code, which may change anything in its process."""
    name = job.algorithm
    return bool(
        registry.files_of(name) or classes(job, registry.algorithm_class(name).environment)
    )


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
    """Return the pins of the framework of `job`, or the version of its plugin, for its key.

    So another version of River, or of a plugin, has results of its own.

    Examples
    --------
    >>> pinned(Job("online-automl", "synthetic:fried", seed=0, environment_seed=0))
    ''
    """
    from leaseboard.tasks.evaluate import venv

    if plugin := registry.plugin(job.algorithm):
        return f" {source_of(plugin)}"
    if registry.files_of(job.algorithm):
        return ""
    system = getattr(registry.build(job.algorithm, job.settings), "system", "")
    return f" pins {venv.digest(system)}" if system in venv.names() else ""
