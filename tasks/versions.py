"""The versions of the code that a result or a recorded value can depend on."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any
from uuid import uuid4

from algorithms import registry
from algorithms.user_files import file_of

_ROOT = Path(__file__).resolve().parent.parent

_PROCESS = uuid4().hex

_READING = ("tasks.fetch", "tasks.paths")
"""Modules that read the data, whose digest stands for them in every key."""

_KINDS_OF_COLUMNS = "tasks.fetch.columns"
"""Reads data and is asked again when they are encoded, so it counts."""

_USING = (
    "algorithms.audit",
    "algorithms.base",
    "algorithms.benches",
    "algorithms.events",
    "algorithms.policies",
    "algorithms.registry",
    "tasks.config",
    "tasks.disk",
    "tasks.jobs",
    "tasks.probes.store",
    "tasks.recorded",
    "tasks.trials.store",
    "tasks.versions",
)
"""Modules that ask for recorded values, use or keep them; none of their code makes one."""

LIBRARIES = ("numpy", "scikit-learn", "scipy")
"""What every recorded value is computed with. Other versions may compute other numbers."""


def code_version(algorithm: str, bench: str, files: Iterable[Path] = ()) -> str:
    """A hash of the algorithm's module, its bench and all they import of this project.

    Comments, docstrings and layout do not count. Reading data does not count either: the data's
    digest stands for it.

    Parameters
    ----------
    algorithm : str
    bench : str
        The kind of its bench.
    files : iterable of Path
        Those of the user that its settings name.
    """
    file = file_of(algorithm)
    if file is None:
        file = _file(registry.entry(algorithm).target.partition(":")[0])
    start = [file.resolve(), _file(f"tasks.benches.{bench}"), *(each.resolve() for each in files)]
    return _digest(tuple(start), _READING)


def read_ahead(kinds: Iterable[str]) -> None:
    """Read what any algorithm on these kinds of bench depends on, for this process's forks."""
    _reachable([_file(f"tasks.benches.{kind}") for kind in kinds], _READING)


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

    Parameters
    ----------
    code : iterable of str
        Modules of this project that make the value; what they import counts too, see `sources`.
    libraries : iterable of str
        Distributions beside `LIBRARIES`.
    classes : iterable of str
        Learners from anywhere, as ``package.module:Class``.
    **given
        Data, seeds and options.
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
    return _reachable([_file(module) for module in modules], (*_READING, *_USING))


@functools.cache
def _code_hash(*modules: str) -> str:
    return _hash_of(sources(*modules))


@functools.cache
def _digest(start: tuple[Path, ...], apart: tuple[str, ...]) -> str:
    """A hash of what `_reachable` finds: milliseconds, and a suite has thousands of jobs."""
    return _hash_of(_reachable(start, apart))


def _hash_of(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for source in sorted(files):
        digest.update(_read(source)[1].encode())
    return digest.hexdigest()[:12]


def _file(module: str) -> Path:
    return _ROOT / (module.replace(".", "/") + ".py")


def _reachable(start: Iterable[Path], apart: tuple[str, ...]) -> frozenset[Path]:
    """The files in `start` and those they import, but for the modules and packages `apart`."""
    found: set[Path] = set()
    todo = [path for path in start if path.is_file()]
    while todo:
        path = todo.pop()
        if path in found:
            continue
        found.add(path)
        for module in _read(path)[0]:
            if module == _KINDS_OF_COLUMNS or not f"{module}.".startswith(
                tuple(f"{name}." for name in apart)
            ):
                base = _ROOT / module.replace(".", "/")
                todo += [p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file()]
    return frozenset(found)


@functools.cache
def _read(path: Path) -> tuple[frozenset[str], str]:
    """What a file imports of this project, anywhere in it, and what its code says.

    Comments, layout and texts that stand alone, such as docstrings, say nothing. A user's file
    that is no Python stands for itself.
    """
    content = path.read_bytes()
    try:
        return _parsed(content)
    except (SyntaxError, ValueError, RecursionError):
        return frozenset(), repr(content)


def _parsed(content: bytes) -> tuple[frozenset[str], str]:
    tree = ast.parse(content)
    modules = _imported(tree)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            body[:] = [statement for statement in body if not _is_text(statement)]
    ours = frozenset(name for name in modules if name.startswith(("algorithms.", "tasks.")))
    return ours, ast.dump(tree)


def _imported(tree: ast.AST) -> list[str]:
    """The modules that a file may import, anywhere in it."""
    modules: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return modules


def _is_text(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr):
        return False
    value = statement.value
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


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
def _package_version(module: str) -> str:
    """The version of its package, or the hash of its code where it is a user's own."""
    top = module.partition(".")[0]
    spec = importlib.util.find_spec(top)
    if spec is None:
        return "absent"
    places = [Path(place) for place in spec.submodule_search_locations or [spec.origin or ""]]
    if {"site-packages", "dist-packages"} & set(places[0].parts):
        owners = set(metadata.packages_distributions().get(top, []))
        return ", ".join(f"{owner} {metadata.version(owner)}" for owner in sorted(owners))
    return _hash_of(
        {
            file
            for place in places
            for file in (place.rglob("*.py") if place.is_dir() else _with_neighbours(place))
        }
    )


def _with_neighbours(start: Path) -> set[Path]:
    """A user's file, and what it imports of the files and packages beside it."""
    found: set[Path] = set()
    todo = [start]
    while todo:
        path = todo.pop()
        if path in found:
            continue
        found.add(path)
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        for top in {module.partition(".")[0] for module in _imported(tree)}:
            todo += [p for p in [start.parent / f"{top}.py"] if p.is_file()]
            todo += (start.parent / top).rglob("*.py")
    return found
