"""Descriptions of algorithms before they run, without a user's code in this process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import setting_names
from leaseboard.algorithms.errors import LeaseboardError, UserFileError
from leaseboard.tasks.jobs import sandbox
from leaseboard.tasks.jobs.environments.kinds import KINDS
from leaseboard.tasks.keys.closure import hash_of, reachable

CHECK = "leaseboard.tasks.jobs.described:broken_check"
"""Name of `broken_check` for `sandbox.ask`."""
_known: dict[tuple[str, bytes, str, str], Described | LeaseboardError] = {}
"""By name, the file's content, the code it reaches, and settings: read once a process."""


@dataclass(frozen=True, slots=True)
class Described:
    """Description of an algorithm that can be built with its settings."""

    environment: str
    """The kind of its environment."""
    settings: tuple[str, ...]
    """The names of what can be set."""
    oracle_baseline: bool = False
    """True if it declares to use what cannot be known in time."""
    baseline: bool = False
    """True if it declares to be a naive baseline."""


def describe(algorithm: str, settings: Mapping[str, Any] | None = None) -> Described:
    """Describe `algorithm`, built with `settings`, if any.

    Raises
    ------
    UsageError
        For a name, file or setting that does not exist or cannot be.
    UserFileError
        If the user's file cannot be used, with the line: it is imported in the sandbox only.
    """
    file = registry.file_of(algorithm)
    if file is None or not file.is_file():
        return Described(**description_of(algorithm, settings))
    asked = json.dumps(settings, sort_keys=True, default=str)
    path = file.resolve()
    code = hash_of(reachable([path], folders=frozenset([path.parent])))
    # The content too: an error names a line, which a comment moves.
    place = (f"{path}:{algorithm}", path.read_bytes(), code, asked)
    if place not in _known:
        try:
            function = "leaseboard.tasks.jobs.described:description_of"
            said = sandbox.ask(function, file, algorithm, settings)
            _known[place] = Described(**said | {"settings": tuple(said["settings"])})
        except LeaseboardError as error:
            _known[place] = error
    found = _known[place]
    if isinstance(found, LeaseboardError):
        raise found
    return found


def description_of(algorithm: str, settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the fields of a `Described`; imports the algorithm into this process."""
    cls = registry.algorithm_class(algorithm)
    if settings is not None:
        registry.build(algorithm, settings)
    kind = getattr(cls, "environment", None)
    if kind not in KINDS:
        raise UserFileError(
            f"{algorithm}: its environment is {kind!r}: name one of {', '.join(KINDS)}"
        )
    flags = {"oracle_baseline": cls.oracle_baseline, "baseline": cls.baseline}
    return {"environment": kind, "settings": setting_names(cls), **flags}


def broken_check(algorithm: str, name: str) -> str:
    """Return how the algorithm breaks a check of `leaseboard.algorithms.checks`.

    It imports the algorithm into this process.
    """
    from leaseboard.algorithms import checks

    return checks.broken(algorithm, name)
