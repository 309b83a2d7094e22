"""What can go wrong, by who can mend it. Every message names the value, the rule and the mend."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any


class LeaseboardError(Exception):
    """An error whose message is one line for a person; shown without a traceback."""


class UsageError(LeaseboardError, ValueError):
    """The user asked for something that does not exist or cannot be (exit code 64)."""


class SettingError(UsageError):
    """One setting of an algorithm or option of a bench is wrong.

    Attributes
    ----------
    setting : str
        Its name.
    """

    def __init__(self, error: UsageError, setting: str) -> None:
        super().__init__(str(error))
        self.setting = setting

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (UsageError(str(self)), self.setting)


class UserFileError(LeaseboardError):
    """A Python file of the user's cannot be used: ``mine.py:3: ValueError: what was wrong``."""


class DataError(UsageError):
    """The data exist but cannot be used as asked: a constant target, a NaN, a bad digest."""


class DataUnavailableError(LeaseboardError):
    """The data are not here and cannot be had now; a suite reports such jobs as skipped."""


class BrokenDownloadError(DataUnavailableError):
    """The source answered, and stopped before the end: another try may have it."""


class SkipError(LeaseboardError):
    """A job cannot run here for a stated reason, such as an extra that is not installed."""


class DivergedError(LeaseboardError):
    """A model's predictions left the finite numbers; the job's status is ``diverged``."""


class AuditError(LeaseboardError):
    """An algorithm broke an invariant that every scheduler must keep; the job fails."""


class BrokenPromiseError(LeaseboardError):
    """An algorithm does not keep what `leaseboard.algorithms.checks` asks of every one."""


class NotYoursError(BrokenPromiseError, AttributeError):
    """An algorithm reached for what belongs to its bench."""


def short(text: str, most: int = 200) -> str:
    """`text` as far as a line has room for it: what was given may be megabytes.

    Examples
    --------
    >>> short("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


@contextmanager
def naming(path: PurePath) -> Iterator[None]:
    """Put the file's name into an error of the system that has none.

    A full disk or a file that may not grow is told when bytes are written, without the name.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def invalid(what: str, errors: Sequence[Mapping[str, Any]]) -> UsageError:
    """The error for a value that pydantic refused with these ``errors()``.

    Where only a few names are allowed, the nearest is told.
    """
    first = errors[0]
    kinds = {error["type"] for error in errors if error["loc"][:1] == first["loc"][:1]}
    if kinds - {"none_required"} == {"literal_error"} and isinstance(first["input"], str):
        names = re.findall(r"'([^']*)'", first["ctx"]["expected"])
        return UsageError(f"{what}: {unknown('value', first['input'], names)}")
    return UsageError(
        f"{what}={short(repr(first.get('input')))}: {first['msg'].removeprefix('Value error, ')}"
    )


def unknown(what: str, value: str, known: Iterable[str]) -> UsageError:
    """The error for a name that is not known, with the nearest one that is.

    Examples
    --------
    >>> str(unknown("algorithm", "chaca", ["apple", "chacha"]))
    "unknown algorithm 'chaca': did you mean 'chacha'? Known: apple, chacha"
    """
    names = sorted(known)
    near = difflib.get_close_matches(short(value), names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return UsageError(
        f"unknown {what} {short(value)!r}: {hint}Known: {', '.join(names) or 'none'}"
    )
