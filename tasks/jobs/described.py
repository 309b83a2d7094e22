"""Descriptions of algorithms before they run, and what else asks a user's code: in forks.

If a user's file raises, ends its process, hangs, crashes or uses up the memory, one line of error
names it, and nothing that it changes reaches this process.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import setting_names
from leaseboard.algorithms.errors import LeaseboardError, SettingError, UsageError, UserFileError
from leaseboard.algorithms.user_files import blamed
from leaseboard.tasks.jobs.environments.kinds import KINDS
from leaseboard.tasks.keys.closure import hash_of, reachable
from leaseboard.tasks.processes.child import Child, EndedError
from leaseboard.tasks.processes.limits import Limits

IMPORT = Limits(wall_seconds=60, cpu_seconds=60, memory_mb=4000)
"""What a file may use to be imported and its algorithm to be built."""
_KINDS = (UsageError, UserFileError, LeaseboardError)
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
        If the user's file cannot be used, with the line: it is imported in a fork only.
    """
    file = registry.file_of(algorithm)
    if file is None or not file.is_file():
        return _description(algorithm, settings)
    asked = json.dumps(settings, sort_keys=True, default=str)
    path = file.resolve()
    code = hash_of(reachable([path], folders=frozenset([path.parent])))
    # The content too: an error names a line, which a comment moves.
    place = (f"{path}:{algorithm}", path.read_bytes(), code, asked)
    if place not in _known:
        try:
            found = in_fork(lambda: asdict(_description(algorithm, settings)), file)
            _known[place] = Described(**found | {"settings": tuple(found["settings"])})
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
    return Described(kind, tuple(setting_names(cls)), cls.oracle_baseline, cls.baseline)


def in_fork(function: Callable[[], Any], file: Path | None, limits: Limits | None = None) -> Any:
    """Return the value of `function`, in JSON's types, called in a fork.

    Raises its LeaseboardError, and UserFileError for any other failure.

    - `file`: the user's file that it imports; None if it imports none.
    - `limits`: `IMPORT` by default.
    """
    limits = limits or IMPORT

    def work() -> bytes:
        nowhere = Path(os.devnull).open("w")  # noqa: SIM115  (it ends with the fork)
        for number in (1, 2):
            os.dup2(nowhere.fileno(), number)
        sys.stdout = sys.stderr = nowhere
        return json.dumps(_outcome(function, file)).encode()

    with Child.fork(work, who="its process", leads=True) as child:
        try:
            value, error = json.loads(child.answer(limits))
        except EndedError as end:
            raise UserFileError(f"{file}: {end.ending.reason}") from end
    if error is None:
        return value
    kind, message, setting = error
    raised: LeaseboardError = _KINDS[kind](message)
    raise SettingError(raised, setting) if isinstance(raised, UsageError) and setting else raised


def _outcome(function: Callable[[], Any], file: Path | None) -> tuple[Any, Any]:
    """Return the value of a function and its error: kind, message, and setting if one has it."""
    try:
        return function(), None
    except SettingError as error:
        return None, (0, str(error), error.setting)
    except BaseException as error:  # noqa: BLE001  (any error of a user's file is reported)
        for number, kind in enumerate(_KINDS):
            if isinstance(error, kind):
                return None, (number, str(error), "")
        said = blamed(error, file) if file else f"{type(error).__name__}: {error}"
        return None, (1 if file else 2, said, "")
