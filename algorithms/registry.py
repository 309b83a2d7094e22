"""Every algorithm by name: a row of ``registry.csv`` each, imported only when it is built."""

import csv
import importlib
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from leaseboard.algorithms import plugins
from leaseboard.algorithms.base import Algorithm, configured, setting_names
from leaseboard.algorithms.errors import SettingError, UsageError, unknown


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


def plugin(name: str) -> EntryPoint | None:
    """Return the plugin that adds the algorithm `name`; None for ours and for files."""
    return None if name in _BY_NAME else plugins.find(name)


def files_of(name: str) -> list[Path]:
    """Return the file of a user's algorithm, or all of a plugin's; none of another name."""
    if added := plugin(name):
        return plugins.files_of(added)
    own = plugins.file_of(name)
    return [own] if own else []


def entry(name: str) -> Entry:
    """Return the entry of `name`; raise UsageError with the nearest name if it is unknown."""
    if name not in _BY_NAME:
        added = {each.name for each in plugins.discovered()}
        raise unknown("algorithm", name, added | {*_BY_NAME})
    return _BY_NAME[name]


def environment_presets(name: str) -> Mapping[str, str]:
    """Return the options of its environment that `name` has unless a job says otherwise."""
    return _BY_NAME[name].environment if name in _BY_NAME else {}


def algorithm_class(name: str) -> type[Algorithm]:
    """Return the class behind a name, a plugin's too, or behind ``path/to/file.py:Class``."""
    if added := plugin(name):
        return _algorithm({name: plugins.load(added)}, name, added.module)
    if path := plugins.file_of(name):
        return _algorithm(vars(plugins.import_file(path)), name.rpartition(":")[2], path)
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
    presets = _BY_NAME[name].settings if name in _BY_NAME else {}
    return configured(cls, name, {**presets, **settings})


def _algorithm(there: Mapping[str, Any], attribute: str, path: object) -> type[Algorithm]:
    """Return the algorithm called `attribute` among what is there; UsageError without it."""
    algorithms = {name: found for name, found in there.items() if inspect.isclass(found)
                  and issubclass(found, Algorithm) and found is not Algorithm}  # fmt: skip
    if attribute not in algorithms:
        raise UsageError(
            f"{path} has no algorithm {attribute!r}: write {path}:CLASS for a subclass of"
            f" Algorithm in it; there are {', '.join(algorithms) or 'none'}"
        )
    return algorithms[attribute]
