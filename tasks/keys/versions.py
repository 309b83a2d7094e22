"""The versions of the code that a result or a recorded value can depend on."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any
from uuid import uuid4

from leaseboard.algorithms import registry
from leaseboard.algorithms.user_files import file_of
from leaseboard.tasks.keys.closure import (
    code_of,
    files_of,
    hash_of,
    is_installed,
    module_file,
    reachable,
)

_PROCESS = uuid4().hex

_READING = ("leaseboard.tasks.fetch", "leaseboard.tasks.machine.paths")
"""Modules that read the data, whose digest stands for them in every key."""

_KINDS_OF_COLUMNS = "leaseboard.tasks.fetch.columns"
"""Reads data and is asked again when they are encoded, so it counts."""

_USING = (
    "leaseboard.algorithms.audit",
    "leaseboard.algorithms.base",
    "leaseboard.algorithms.benches",
    "leaseboard.algorithms.events",
    "leaseboard.algorithms.policies",
    "leaseboard.algorithms.registry",
    "leaseboard.tasks.keys.closure",
    "leaseboard.tasks.jobs.suites.suite",
    "leaseboard.tasks.machine.disk",
    "leaseboard.tasks.machine.yaml_files",
    "leaseboard.tasks.jobs.job",
    "leaseboard.tasks.store.database",
    "leaseboard.tasks.store.record_table",
    "leaseboard.tasks.store.recorded",
    "leaseboard.tasks.keys.versions",
)
"""Modules that ask for recorded values, use or keep them; none of their code makes one."""

LIBRARIES = ("numpy", "scikit-learn", "scipy")
"""What every recorded value is computed with. Other versions may compute other numbers."""


def code_version(
    algorithm: str,
    bench: str,
    files: Iterable[Path] = (),
    classes: Iterable[str] = (),
    programs: Iterable[str] = (),
) -> str:
    """A hash of the algorithm's module, its bench and all they import of this project.

    Of a user's file the modules count too that it imports from beside it or from ``PYTHONPATH``.

    Comments, docstrings and layout do not count. Reading data does not count either: the data's
    digest stands for it. Nor do installed packages, a user's file's neither: jobs are the same
    ones in every installation, so that their scores can be compared.

    - `bench`: the kind of its bench.
    - `files`: those of the user that its settings and its bench's options name.
    - `classes`: those that it trains, as ``package.module:Class``.
    - `programs`: modules of this project that it runs elsewhere, so that no import names them.
    """
    file = file_of(algorithm)
    named = {each.resolve() for each in (*files, *([file] if file else []))}
    beside = frozenset(each.parent for each in named)
    modules_of_classes = {name.partition(":")[0].partition(".")[0] for name in classes}
    users = named.union(*(files_of(top, beside) for top in modules_of_classes))
    modules = [f"leaseboard.tasks.jobs.benches.{bench}", *programs]
    presets = ""
    if file is None:
        entry = registry.entry(algorithm)
        modules.append(entry.target.partition(":")[0])
        presets = str(entry.settings or "")
    start = frozenset(map(module_file, modules))
    # A user's file may change while we run; ours do not, and a suite has thousands of jobs.
    code = hash_of(_making([*start, *users], beside=beside)) if users else _hash_of_ours(start)
    return hashlib.sha256(f"{code}{presets}".encode()).hexdigest()[:12]


def read_ahead(kinds: Iterable[str]) -> None:
    """Read what any algorithm on these kinds of bench depends on, for this process's forks."""
    _making(module_file(f"leaseboard.tasks.jobs.benches.{kind}") for kind in kinds)


def recorded_key(
    *,
    code: Iterable[str],
    libraries: Iterable[str] = (),
    classes: Iterable[str] = (),
    **given: Any,
) -> dict[str, Any]:
    """What a recorded value is filed under: what it was asked for, and the code that makes it.

    A value that other code or other libraries made is never an answer. A job's own key holds no
    version of a library, so that scores can be compared between installations; but the trials
    and probes of one comparison must come from one.

    - `code`: modules of this project that make the value; what they import counts too, see
      `sources`.
    - `libraries`: distributions beside `LIBRARIES`.
    - `classes`: learners from anywhere, as ``package.module:Class``.
    - `**given`: data, seeds and options.
    """
    return given | {
        "code": _code_hash(*code),
        "libraries": {name: _library_version(name) for name in (*LIBRARIES, *libraries)},
        "classes": {name: _class_version(name) for name in classes},
    }


def sources(*modules: str) -> frozenset[Path]:
    """The files of `modules` and of what they import of this project to make a value.

    Left out are the modules that read the data, and those that only use what was made.
    """
    return _making(map(module_file, modules), apart=_USING)


def _making(
    start: Iterable[Path],
    apart: tuple[str, ...] = (),
    beside: frozenset[Path] = frozenset(),
) -> frozenset[Path]:
    """What `start` reaches, but for what is `apart` and what reads the data."""
    return reachable(start, (*_READING, *apart), (_KINDS_OF_COLUMNS,), beside=beside)


@functools.cache
def _hash_of_ours(start: frozenset[Path]) -> str:
    return hash_of(_making(start))


@functools.cache
def _code_hash(*modules: str) -> str:
    return hash_of(sources(*modules))


@functools.cache
def _library_version(name: str) -> str:
    return metadata.version(name)


def _class_version(name: str) -> str:
    """What ``module:Class`` depends on; never kept, as a notebook's class may be defined anew."""
    module, _, qualified = name.partition(":")
    if module != "__main__":
        return _package_version(module)
    try:
        found: Any = functools.reduce(getattr, qualified.split("."), sys.modules[module])
        return hashlib.sha256(inspect.getsource(found).encode()).hexdigest()[:12]
    except (OSError, TypeError, AttributeError):  # typed in: no other process may have the same
        return f"of process {_PROCESS}"


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    """The distributions of each package: to look takes as long as a quick learner's probes."""
    return metadata.packages_distributions()


@functools.cache
def _package_version(module: str) -> str:
    """The version of its package, or the hash of its code where it is a user's own."""
    top = module.partition(".")[0]
    spec = importlib.util.find_spec(top)  # of what this process runs, if it has imported it
    if spec is None:
        return "absent"
    places = spec.submodule_search_locations or [spec.origin or ""]
    if is_installed(Path(places[0])):
        owners = set(_distributions().get(top, []))
        return ", ".join(f"{owner} {metadata.version(owner)}" for owner in sorted(owners))
    return hash_of(reachable(code_of(spec)))
