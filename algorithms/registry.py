"""Every algorithm by name: a row of ``registry.csv`` each, imported only when it is built."""

import csv
import importlib
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaseboard.algorithms import plugins, user_files
from leaseboard.algorithms.base import Algorithm, configured, setting_names
from leaseboard.algorithms.errors import SettingError, UsageError, unknown
from leaseboard.algorithms.plugins import Plugin
from leaseboard.algorithms.user_files import blaming, classes_in, import_file


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of ``registry.csv``: a name of the command line, and what it means.

    Attributes
    ----------
    name : str
    target : str
        The class that it builds, as ``package.module:Class``.
    summary, source : str
        What ``leaseboard list`` prints.
    settings : dict of str to str
        Presets; in the file ``name=value`` with spaces between.
    unrepeatable : str
        Why two runs with one seed may differ; empty if they do not. Such a score is never called
        a lie because another run has another.
    environment : dict of str to str
        Presets of its environment's options, as its paper has them.
    """

    name: str
    target: str
    summary: str
    source: str
    settings: Mapping[str, str]
    unrepeatable: str
    environment: Mapping[str, str]


def _read() -> Iterator[Entry]:
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, restval=""):
            settings, environment = (
                dict(each.split("=") for each in row.pop(name).split())
                for name in ("settings", "environment")
            )
            target = f"{__package__}.{row.pop('target')}"
            yield Entry(**row, target=target, settings=settings, environment=environment)


ENTRIES = tuple(_read())
_BY_NAME = {entry.name: entry for entry in ENTRIES}


def names() -> list[str]:
    """Return all registered names, in the order of the table."""
    return list(_BY_NAME)


def owner_of(title: str, algorithm: str) -> str | None:
    """Return another algorithm that readers know by a title of `algorithm`; None if it is free.

    Case and punctuation do not matter, nor a note: what follows a bracket, comma or colon. A note
    also tells variants apart, such as ``chacha-flaml`` from ``chacha``.
    """
    owner = _BY_TITLE.get(_letters(title))
    if owner is None:
        owner = _BY_TITLE.get(_letters(re.split(r"[(\[{,:;]", title)[0]))
        if algorithm.startswith(f"{owner}-"):
            return None
    return None if owner == algorithm else owner


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


_BY_TITLE = {
    _letters(title): entry.name
    for entry in reversed(ENTRIES)
    if not entry.source.startswith("after ")
    for title in (entry.source.partition(", ")[2] or entry.name, entry.summary)
}
_BY_TITLE |= {_letters(name): name for name in _BY_NAME}
"""Names by their letters, and by those of a paper's title, of which they are the first name."""


def plugin(name: str) -> Plugin | None:
    """Return the plugin that adds the algorithm `name`; None for ours and for files."""
    return None if name in _BY_NAME else plugins.find("algorithms", name)


def file_of(name: str) -> Path | None:
    """Return the file of a user's algorithm or of a plugin's; None for another name."""
    found = user_files.file_of(name)
    if found is None and (added := plugin(name)):
        return added.file
    return found


def entry(name: str) -> Entry:
    """Return the entry of `name`; raise UsageError with the nearest name if it is unknown.

    Of a file without a class the error names those that are in it.
    """
    if name not in _BY_NAME:
        if name.endswith(".py"):
            written = f"write {name}:CLASS"
            if found := classes_in(Path(name)):
                written = "write " + " or ".join(f"{name}:{each}" for each in found)
            raise UsageError(f"algorithm {name!r} names a file and no class in it: {written}")
        raise unknown("algorithm", name, [*_BY_NAME, *plugins.names("algorithms")])
    return _BY_NAME[name]


def unrepeatable(name: str) -> str:
    """Return why two runs of `name` with one seed may differ; empty if nothing is known of it."""
    return _BY_NAME[name].unrepeatable if name in _BY_NAME else ""


def environment_presets(name: str) -> Mapping[str, str]:
    """Return the options of its environment that `name` has unless a job says otherwise."""
    return _BY_NAME[name].environment if name in _BY_NAME else {}


def algorithm_class(name: str) -> type[Algorithm]:
    """Return the class behind a name, a plugin's too, or behind ``path/to/file.py:Class``."""
    if path := user_files.file_of(name):
        return _algorithm(vars(import_file(path, "algorithm")), name.rpartition(":")[2], path)
    if added := plugin(name):
        return _algorithm({name: added.load()}, name, added.file)
    module, _, attribute = entry(name).target.partition(":")
    found: type[Algorithm] = getattr(importlib.import_module(module), attribute)
    return found


def build(name: str, settings: Mapping[str, Any] | None = None) -> Algorithm:
    """Return the algorithm `name` with `settings`; UsageError names a wrong setting and why.

    Strings are converted to the setting's type, so that the command line's ``--set b=5`` works.
    """
    cls = algorithm_class(name)
    settings, known = settings or {}, setting_names(cls)
    for key, value in settings.items():
        if key not in known:
            raise unknown_setting(name, key, value, known)
    path = file_of(name)
    if path is None:
        return configured(cls, name, {**_BY_NAME[name].settings, **settings})
    with blaming(path):
        return configured(cls, name, settings)


def unknown_setting(name: str, key: str, value: Any, known: Iterable[str]) -> SettingError:
    """Return the error for a setting that is not known.

    Where its value is what another name of the same source ends with, that name is given.

    Examples
    --------
    >>> str(unknown_setting("chacha", "preset", "literal", ["b"]))
    "unknown setting of chacha 'preset': take the algorithm 'chacha-literal'"
    """
    for other in ENTRIES if name in _BY_NAME else ():
        if other.source == entry(name).source and other.name.endswith(f"-{value}"):
            reason = f"unknown setting of {name} {key!r}: take the algorithm {other.name!r}"
            return SettingError(UsageError(reason), key)
    return SettingError(unknown(f"setting of {name}", key, known), key)


def _algorithm(there: Mapping[str, Any], attribute: str, path: Path) -> type[Algorithm]:
    """Return the algorithm called `attribute` among what is there; UsageError without it."""
    found = there.get(attribute)
    if found is not None and not inspect.isclass(found):
        kind = type(found).__name__
        raise UsageError(f"{path}: {attribute!r} is a {kind}: name a subclass of Algorithm")
    if not (inspect.isclass(found) and issubclass(found, Algorithm)):
        classes = [n for n, c in there.items() if inspect.isclass(c)
                   and issubclass(c, Algorithm) and c is not Algorithm]  # fmt: skip
        raise unknown(f"algorithm in {path}", attribute, classes)
    return found
