"""Errors, by who can fix them. Every message names the value, the rule and the fix.

Packages may be missing: ``pip install .`` brings what learns a stream, example by example; the
others are extras.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any


class LeaseboardError(Exception):
    """An error whose message is one line for a person; shown without a traceback."""


class UsageError(LeaseboardError, ValueError):
    """Error of a user who asked for what does not exist or cannot be (exit code 64).

    Examples
    --------
    >>> from leaseboard.algorithms import registry
    >>> try:
    ...     registry.build("online-automl", {"b": 0})
    ... except UsageError as error:
    ...     print(error)
    online-automl: setting b=0 must be greater than or equal to 1
    """


class SettingError(UsageError):
    """Error of one setting of an algorithm or option of an environment.

    Attributes
    ----------
    setting : str
        Its name.
    """

    def __init__(self, error: UsageError, setting: str = "") -> None:
        super().__init__(str(error))
        self.setting = setting  # which a pickle has in addition to the text


class UserFileError(LeaseboardError):
    """Error of a user's Python file, in one line: ``mine.py:3: ValueError: what was wrong``."""


class DataError(UsageError):
    """Error of data that cannot be used as asked: a constant target, a NaN, a bad digest."""


class DataUnavailableError(LeaseboardError):
    """Error of data that cannot be had now; a suite reports such jobs as skipped."""


class BrokenDownloadError(DataUnavailableError):
    """Error of a source that stopped before the end: another attempt may succeed."""


class SkipError(LeaseboardError):
    """Reason why a job cannot run here, such as an extra that is not installed."""


class DivergedError(LeaseboardError):
    """Error of predictions that left the finite numbers; the job's status is ``diverged``."""


class AuditError(LeaseboardError):
    """Error of an invariant that an algorithm broke; the job fails."""


class RuleBrokenError(LeaseboardError):
    """Error of a requirement of `leaseboard.algorithms.checks` that an algorithm broke."""


def short(text: str, most: int = 200) -> str:
    """Return `text` cut to the length of a line: what was given may be megabytes.

    Examples
    --------
    >>> short("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


@contextmanager
def naming(path: PurePath) -> Iterator[None]:
    """Put the file's name into an error of the system that has none.

    A full disk or a file that may not grow is reported when bytes are written, without the name.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def rule(error: Mapping[str, Any]) -> str:
    """Return the rule that a value breaks, of pydantic's error, to follow the value's name.

    Examples
    --------
    >>> rule({"type": "greater_than", "msg": "Input should be greater than 0"})
    ' must be greater than 0'
    >>> rule({"type": "json_invalid", "msg": "Invalid JSON: EOF"})
    ': Invalid JSON: EOF'
    """
    message = error["msg"].removeprefix("Value error, ")
    message = re.sub("^(Input|List|String|Tuple|Dictionary) should ", "must ", message)
    return f" {message}" if message.startswith(("must ", "is ")) else f": {message}"


def invalid(what: str, errors: Sequence[Mapping[str, Any]]) -> UsageError:
    """Return the error for a value that pydantic refused with these ``errors()``."""
    first = errors[0]
    mine = [error for error in errors if error["loc"][:1] == first["loc"][:1]]
    rules = dict.fromkeys(rule(error) for error in mine if error["type"] != "none_required")
    return UsageError(f"{what}={short(repr(first.get('input')))}{' or'.join(rules)}")


def refused(what: str, kind: str, error: Any) -> UsageError:
    """Return the error for the ValidationError of `what`: a `SettingError` if one option is wrong.

    - `kind`: ``setting`` or ``option``.
    """
    first = error.errors()[0]
    if not first["loc"]:  # they do not go together
        return UsageError(f"{what}{rule(first)}")
    name = str(first["loc"][0])  # what follows is the member of a union, or an item
    return SettingError(invalid(f"{what}: {kind} {name}", error.errors()), name)


MOST_NAMES = 12
"""Number of names that an error lists."""
NEAR = 0.65
"""How alike a name must be to what was written (difflib's ratio) to be proposed."""
LEAST_PART = 3
"""Letters of what was written, from which on names that contain it are proposed, too."""
LISTS = {
    "algorithm": "leaseboard list algorithms",
    "dataset": "leaseboard data list",
    "framework": "leaseboard list frameworks",
    "metric": "leaseboard list metrics",
    "suite": "leaseboard list suites",
}
"""Commands that print the names of a kind; the error for another kind lists the names itself."""


def unknown(what: str, value: str, known: Iterable[str], command: str = "") -> UsageError:
    """Return the error for a name that is not known, with up to three near ones that are.

    - `command`: prints all of them, in the place of that of `LISTS`.

    Examples
    --------
    >>> str(unknown("suite", "quik", ["ci", "quick"]))
    "unknown suite 'quik': did you mean 'quick'? `leaseboard list suites` lists all"
    >>> str(unknown("arm", "knn", ["svm", "tree"]))
    "unknown arm 'knn'; known: svm, tree"
    """
    names = sorted(known)
    close = difflib.get_close_matches(short(value), names, n=3, cutoff=NEAR)
    longer = [name for name in names if len(value) >= LEAST_PART and value in name]
    near = list(dict.fromkeys([*close, *longer]))[:3]
    or_last = " or ".join(filter(None, [", ".join(map(repr, near[:-1])), *map(repr, near[-1:])]))
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    listed = ", ".join(names[:MOST_NAMES]) or "none"
    if what.startswith("setting of ") and ".py:" not in what:
        command = f"leaseboard list {what.removeprefix('setting of ')}"
    command = command or LISTS.get(what, "")
    hint = f": did you mean {or_last}? " if near else ": " if command else "; "
    known_are = f"{'K' if near else 'k'}nown: {listed}{more}"
    rest = f"`{command}` lists all" if command else known_are
    return UsageError(f"unknown {what} {short(value)!r}{hint}{rest}")


PARTS = {
    "tables": ("pandas", "pyarrow", "sklearn", "threadpoolctl", "vowpalwabbit", "lightgbm",
               "hyperopt", "psutil", "arff", "openml", "sqlalchemy", "joblib", "skops", "requests",
               "packaging", "scipy"),
    "flows": ("prefect", "fastapi", "starlette", "uvicorn", "httpx", "apprise",
              "prometheus_client", "mlflow", "plotly", "jinja2", "markupsafe", "cronsim"),
    "dask": ("prefect_dask", "distributed"),
}  # fmt: skip
"""The names by which the packages of each extra are imported; a part has those before it too."""


def command_for(part: str) -> str:
    """Return the line that installs a part, or another extra, from where the project is."""
    return f"pip install '.[{part}]' in a checkout"


def missing(module: str | None) -> str | None:
    """Return what to say where `module` cannot be found; None unless a part brings it.

    Examples
    --------
    >>> missing("prefect.runtime")
    "'prefect' is not installed, and this needs it: pip install '.[flows]' in a checkout"
    >>> missing("antigravity")
    """
    package = (module or "").partition(".")[0]
    for part, modules in PARTS.items():
        if package in modules:
            return f"{package!r} is not installed, and this needs it: {command_for(part)}"
    return None
