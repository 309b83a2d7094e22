"""What is known of an algorithm before it runs, without running a user's code in this process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import setting_names
from leaseboard.algorithms.errors import LeaseboardError, UserFileError
from leaseboard.algorithms.user_files import file_of
from leaseboard.tasks.jobs import quarantine
from leaseboard.tasks.jobs.benches.kinds import KINDS
from leaseboard.tasks.keys.closure import hash_of, reachable
from leaseboard.tasks.machine import clocks

PROMISE = "leaseboard.tasks.jobs.described:broken_promise"
"""See `broken_promise`; for `quarantine.ask`."""
_known: dict[tuple[str, bytes, str, str], Described | LeaseboardError] = {}
"""By name, the file's content, the code it reaches, and settings: each is asked once a process."""


@dataclass(frozen=True, slots=True)
class Described:
    """An algorithm that can be built with its settings."""

    bench: str
    """The kind of its bench."""
    settings: tuple[str, ...]
    """The names of what can be set."""
    hindsight: bool = False
    """It says that it looks ahead."""
    baseline: bool = False
    """It says that it is what a person would try first."""


def describe(algorithm: str, settings: Mapping[str, Any] | None = None) -> Described:
    """What can be said of `algorithm`, built with `settings` unless they are None.

    Raises
    ------
    UsageError
        For a name, file or setting that does not exist or cannot be.
    UserFileError
        If the user's file cannot be used, with the line: whatever it does when it is imported,
        it does in another process, under limits.
    """
    file = file_of(algorithm)
    if file is None or not file.is_file():
        return Described(**looked_at(algorithm, settings))
    asked = json.dumps(settings, sort_keys=True, default=str)
    path = file.resolve()
    code = hash_of(reachable([path], beside=frozenset([path.parent])))
    # The content too: an error names a line, which a comment moves.
    place = (f"{path}:{algorithm}", path.read_bytes(), code, asked)
    if place not in _known:
        try:
            told = quarantine.ask(
                "leaseboard.tasks.jobs.described:looked_at", file, algorithm, settings
            )
            names = tuple(map(str, told["settings"]))
            says = bool(told["hindsight"]), bool(told["baseline"])
            _known[place] = Described(str(told["bench"]), names, *says)
        except LeaseboardError as error:
            _known[place] = error
    found = _known[place]
    if isinstance(found, LeaseboardError):
        raise found
    return found


def looked_at(algorithm: str, settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """The fields of a `Described`; imports the algorithm into this process."""
    cls = registry.algorithm_class(algorithm)
    if settings is not None:
        registry.build(algorithm, settings)
    bench = getattr(cls, "bench", None)
    if bench not in KINDS:
        raise UserFileError(f"{algorithm}: its bench is {bench!r}: name one of {', '.join(KINDS)}")
    says = {"hindsight": cls.hindsight, "baseline": cls.baseline}
    return {"bench": bench, "settings": setting_names(cls), **says}


def broken_promise(algorithm: str, name: str) -> str:
    """As `leaseboard.algorithms.checks.broken`, and whether the algorithm changes the clocks.

    It imports the algorithm into this process, whose clocks are looked at after that.
    """
    from leaseboard.algorithms import checks

    return checks.broken(algorithm, name) or clocks.changed()
