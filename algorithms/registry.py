"""Every algorithm by name: a row of ``registry.csv`` each, imported only when it is built."""

import csv
import importlib
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaseboard.algorithms import plugins
from leaseboard.algorithms.base import Algorithm, configured, setting_names
from leaseboard.algorithms.errors import SettingError, UsageError, unknown
from leaseboard.algorithms.plugins import Plugin, blaming, import_file


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
    environment : dict of str to str
        Presets of its environment's options, as its paper has them.
    """

    name: str
    target: str
    summary: str
    source: str
    settings: Mapping[str, str]
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


def plugin(name: str) -> Plugin | None:
    """Return the plugin that adds the algorithm `name`; None for ours and for files."""
    return None if name in _BY_NAME else plugins.find(name)


def file_of(name: str) -> Path | None:
    """Return the file of a user's algorithm or of a plugin's; None for another name."""
    if added := plugin(name):
        return added.file
    return plugins.file_of(name)


def entry(name: str) -> Entry:
    """Return the entry of `name`; raise UsageError with the nearest name if it is unknown."""
    if name not in _BY_NAME:
        raise unknown("algorithm", name, [*_BY_NAME, *plugins.names()])
    return _BY_NAME[name]


def environment_presets(name: str) -> Mapping[str, str]:
    """Return the options of its environment that `name` has unless a job says otherwise."""
    return _BY_NAME[name].environment if name in _BY_NAME else {}


def algorithm_class(name: str) -> type[Algorithm]:
    """Return the class behind a name, a plugin's too, or behind ``path/to/file.py:Class``."""
    if added := plugin(name):
        return _algorithm({name: added.load()}, name, added.file)
    if path := plugins.file_of(name):
        return _algorithm(vars(import_file(path, "algorithm")), name.rpartition(":")[2], path)
    module, _, attribute = entry(name).target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def build(name: str, settings: Mapping[str, Any] | None = None) -> Algorithm:
    """Return the algorithm `name` with `settings`; UsageError names a wrong setting and why.

    Strings are converted to the setting's type, so that the command line's ``--set b=5`` works.
    """
    cls = algorithm_class(name)
    settings, known = settings or {}, setting_names(cls)
    for key in settings:
        if key not in known:
            raise SettingError(unknown(f"setting of {name}", key, known), key)
    path = file_of(name)
    if path is None:
        return configured(cls, name, {**_BY_NAME[name].settings, **settings})
    with blaming(path):
        return configured(cls, name, settings)


def _algorithm(there: Mapping[str, Any], attribute: str, path: Path) -> type[Algorithm]:
    """Return the algorithm called `attribute` among what is there; UsageError without it."""
    algorithms = {name: found for name, found in there.items() if inspect.isclass(found)
                  and issubclass(found, Algorithm) and found is not Algorithm}  # fmt: skip
    if attribute not in algorithms:
        raise UsageError(
            f"{path} has no algorithm {attribute!r}: write {path}:CLASS for a subclass of"
            f" Algorithm in it; there are {', '.join(algorithms) or 'none'}"
        )
    return algorithms[attribute]
