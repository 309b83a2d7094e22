"""The versions of the code that a result or a recorded value can depend on."""

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
from leaseboard.tasks.keys.closure import (
    code_of,
    files_of,
    hash_of,
    imported,
    is_installed,
    module_file,
    reachable,
)

_PROCESS = uuid4().hex

_READING = ("leaseboard.tasks.fetch", "leaseboard.tasks.machine.paths")
"""Modules that read the data, of which every key has the digest."""

_KINDS_OF_COLUMNS = "leaseboard.tasks.fetch.columns"
"""Reads data and is asked again when they are encoded, so it counts."""

_USING = (
    "leaseboard.algorithms.audit",
    "leaseboard.algorithms.base",
    "leaseboard.algorithms.environments",
    "leaseboard.algorithms.events",
    "leaseboard.algorithms.policies",
    "leaseboard.algorithms.registry",
    "leaseboard.tasks.keys.closure",
    "leaseboard.tasks.jobs.suites.suite",
    "leaseboard.tasks.machine.disk",
    "leaseboard.tasks.machine.yaml_files",
    "leaseboard.tasks.jobs.job",
    "leaseboard.tasks.store.database",
    "leaseboard.tasks.store.recorded",
    "leaseboard.tasks.keys.versions",
)
"""Modules that ask for recorded values, use or keep them; their code makes none."""

LIBRARIES = ("numpy", "scikit-learn", "scipy")
"""Libraries of every result and recorded value. Other versions may compute other numbers."""

_COMPUTING = ("ConfigSpace", "hyperopt", "lightgbm", "pandas", "smac", "vowpalwabbit")
"""Further ones that our code imports, each for the results of what imports it."""


def code_and_libraries(
    algorithm: str,
    environment: str,
    files: Iterable[Path] = (),
    classes: Iterable[str] = (),
    programs: Iterable[str] = (),
) -> tuple[str, str]:
    """Return the version of the code of an algorithm and its environment, and of its libraries.

    The code is all that they import. Of a user's file the modules count too that it imports from
    its folder or from ``PYTHONPATH``. Code that reads data does not count: a key has the digest of
    the data. Of our code count libraries that compute, of a user's code all that are installed.

    - `environment`: its kind.
    - `files`: those of the user that its settings and its environment's options name.
    - `classes`: those that it trains, as ``package.module:Class``.
    - `programs`: modules of this project that it runs elsewhere, so that no import names them.
    """
    file = registry.file_of(algorithm)
    named = {each.resolve() for each in (*files, *([file] if file else []))}
    folders = frozenset(each.parent for each in named)
    modules_of_classes = {name.partition(":")[0].partition(".")[0] for name in classes}
    users = named.union(*(files_of(top, folders) for top in modules_of_classes))
    modules = [f"leaseboard.tasks.jobs.environments.{environment}", *programs]
    presets = ""
    if file is None:
        entry = registry.entry(algorithm)
        modules.append(entry.target.partition(":")[0])
        presets = str(entry.settings or "")
    start = frozenset(map(module_file, modules))
    # A user's file may change while we run; ours do not, and a suite has thousands of jobs.
    code, ours = _ours(start)
    theirs = modules_of_classes
    if users:
        reached = _making([*start, *users], folders=folders)
        code, theirs = hash_of(reached), theirs | imported(reached - _making(start))
    libraries = {f"{name} {_library_version(name)}" for name in (*LIBRARIES, *ours)}
    libraries.update(_installed(top) for top in theirs)
    code = hashlib.sha256(f"{code}{presets}".encode()).hexdigest()[:12]
    return code, ", ".join(sorted(libraries - {""}))


def recorded_key(
    *,
    code: Iterable[str],
    libraries: Iterable[str] = (),
    classes: Iterable[str] = (),
    **given: Any,
) -> dict[str, Any]:
    """Return the key of a recorded value: its request, and the code that makes it.

    A value of other code or other libraries is never an answer.

    - `code`: modules of this project that make the value; what they import counts too, see
      `sources`.
    - `libraries`: distributions in addition to `LIBRARIES`.
    - `classes`: learners from anywhere, as ``package.module:Class``.
    - `**given`: data, seeds and options.
    """
    return given | {
        "code": _code_hash(*code),
        "libraries": {name: _library_version(name) for name in (*LIBRARIES, *libraries)},
        "classes": {name: _class_version(name) for name in classes},
    }


def sources(*modules: str) -> frozenset[Path]:
    """Return the files of `modules` and of what they import of this project to make a value.

    Left out are the modules that read the data, and those that only use what was made.
    """
    return _making(map(module_file, modules), apart=_USING)


def _making(
    start: Iterable[Path], apart: tuple[str, ...] = (), folders: frozenset[Path] = frozenset()
) -> frozenset[Path]:
    """Return what `start` reaches, but for what is `apart` and what reads the data."""
    return reachable(start, (*_READING, *apart), (_KINDS_OF_COLUMNS,), folders=folders)


@functools.cache
def _ours(start: frozenset[Path]) -> tuple[str, list[str]]:
    """Return the hash of our own code, and the libraries that it computes with."""
    made = _making(start)
    found = imported(made)
    return hash_of(made), [
        name for name in _COMPUTING if name in found and importlib.util.find_spec(name)
    ]


@functools.cache
def _code_hash(*modules: str) -> str:
    return hash_of(sources(*modules))


@functools.cache
def _library_version(name: str) -> str:
    return metadata.version(name)


def _class_version(name: str) -> str:
    """Return the version of ``module:Class``; not cached, as a notebook may define it again."""
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
    """Return the distributions of each package, which takes as long as some learner's probes."""
    return metadata.packages_distributions()


@functools.cache
def _package_version(module: str) -> str:
    """Return the version of its package, or the hash of its code where it is a user's own."""
    top = module.partition(".")[0]
    spec = importlib.util.find_spec(top)  # of what this process runs, if it has imported it
    if spec is None:
        return "absent"
    places = spec.submodule_search_locations or [spec.origin or ""]
    if is_installed(Path(places[0])):
        return _installed(top)
    return hash_of(reachable(code_of(spec)))


def _installed(top: str) -> str:
    """Return the distributions of a package with their versions; empty if none installed it."""
    owners = set(_distributions().get(top, []))
    return ", ".join(f"{owner} {metadata.version(owner)}" for owner in sorted(owners))
