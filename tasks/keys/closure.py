"""The files that code reaches by its imports, and what they say: what a key must hold of them.

Imports are read, not run: a name that is only made while the code runs, as for
``importlib.import_module``, is not seen. What a distribution brought does not count.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from itertools import chain, islice
from pathlib import Path

from leaseboard.algorithms.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
"""Where `algorithms`, `tasks` and `flows` are: in a checkout `leaseboard` has links to them."""

_FRONT = "leaseboard"
"""The package that hands on what others hold."""
_FRONT_FILE = Path(__file__).parents[2] / "__init__.py"
_ROOMS = ("algorithms", "flows", "tasks")
_OURS = (f"{_FRONT}.algorithms.", f"{_FRONT}.tasks.")


def module_file(module: str) -> Path:
    """Where a module of this project is, unless it is a package."""
    return _place(module).with_suffix(".py")


def _place(module: str) -> Path:
    return ROOT.joinpath(*module.split(".")[1:])


def reachable(
    start: Iterable[Path],
    apart: tuple[str, ...] = (),
    although: tuple[str, ...] = (),
    *,
    beside: frozenset[Path] = frozenset(),
) -> frozenset[Path]:
    """The files in `start`, and those of this project and of the user that they import.

    - `apart`: modules and packages of this project that are left out with all that only they
      import.
    - `although`: modules in `apart` that count nevertheless.
    - `beside`: folders that users' code may import from, after all that Python finds without them.
    """
    left_out = tuple(f"{name}." for name in apart)
    found: set[Path] = set()
    todo = [path for path in start if path.is_file()]
    while todo:
        path = todo.pop()
        if path in found:
            continue
        found.add(path)
        tops = set()
        for module in _located(_read(path)[0]):
            if not module.startswith(_OURS):
                tops.add(module.partition(".")[0])
            elif module in although or not f"{module}.".startswith(left_out):
                base = _place(module)
                todo += [p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file()]
        if not _is_ours(path):
            for top in tops - {_FRONT} - sys.stdlib_module_names:
                todo += files_of(top, beside)
    return frozenset(found)


def _located(modules: Iterable[str]) -> Iterator[str]:
    """`modules` with the places of what is imported from `leaseboard`; of all of it if unnamed."""
    for module in modules:
        top, _, name = module.partition(".")
        if top != _FRONT or name.partition(".")[0] in _ROOMS:
            yield module
        else:
            places = _exported()
            yield from [places[name]] if name in places else places.values()


@functools.cache
def _exported() -> dict[str, str]:
    """The module of each name that `leaseboard` hands on, by its own imports."""
    tree = ast.parse(_FRONT_FILE.read_bytes())
    return {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_OURS)
        for alias in node.names
    }


def hash_of(files: Iterable[Path]) -> str:
    """A hash of what the code in `files` says; comments, docstrings and layout do not count.

    Nor does the folder where the code is on this machine.
    """
    said = sorted(f"{_named(source)}\0{_read(source)[1]}" for source in files)
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:12]


def _named(path: Path) -> str:
    """The file as code can name it: inside its package, or by its name alone."""
    if _is_ours(path):
        return path.relative_to(ROOT).as_posix()
    top = path.parent
    while (top / "__init__.py").is_file():
        top = top.parent
    return path.relative_to(top).as_posix()


def _is_ours(path: Path) -> bool:
    places = (*(ROOT / room for room in _ROOMS), _FRONT_FILE.parent)
    return any(path.is_relative_to(place) for place in places)


def files_of(top: str, beside: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """The files of a module or package as a new process finds it; see `code_of`.

    Raises UsageError if two folders of `beside` have it: which of them is imported would be an
    accident.
    """
    found = (finder.find_spec(top, None) for finder in sys.meta_path)  # editable installs' too
    everywhere = next(filter(None, found), None)
    if everywhere:
        return code_of(everywhere)
    specs = {str(folder): PathFinder.find_spec(top, [str(folder)]) for folder in beside}
    having = sorted(folder for folder, spec in specs.items() if spec)
    if len(having) > 1:
        raise UsageError(
            f"the user's files of one job find {top!r} in {' and in '.join(having)}: rename one"
        )
    return chain.from_iterable(code_of(spec) for spec in specs.values() if spec)


def code_of(spec: ModuleSpec) -> Iterator[Path]:
    """The files of a module; of a package all, as what is imported of it may import the rest.

    Of an archive it is the archive. None of what a distribution brought: see
    `leaseboard.tasks.keys.versions.code_version`.
    """
    for place in map(Path, spec.submodule_search_locations or [spec.origin or ""]):
        if not is_installed(place):
            holding = (each for each in (place, *place.parents) if each.is_file())
            files = place.rglob("*.py") if place.is_dir() else islice(holding, 1)
            yield from (file.resolve() for file in files)


def is_installed(place: Path) -> bool:
    """Whether a distribution put it there."""
    return not {"site-packages", "dist-packages"}.isdisjoint(place.parts)


def _read(path: Path) -> tuple[frozenset[str], str]:
    """What a file imports, anywhere in it, and a digest of what its code says.

    Comments, layout and texts that stand alone, such as docstrings, say nothing. A user's file
    that is no Python stands for itself.
    """
    state = path.stat()
    return _parsed(path, state.st_mtime_ns, state.st_size)


@functools.cache
def _parsed(path: Path, _changed: int, _size: int) -> tuple[frozenset[str], str]:
    content = path.read_bytes()
    try:
        tree = ast.parse(content)
        modules = frozenset(_imported(tree))
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list):
                body[:] = [statement for statement in body if not _is_text(statement)]
        return modules, hashlib.sha256(ast.dump(tree).encode()).hexdigest()
    except (SyntaxError, ValueError, RecursionError):
        return frozenset(), hashlib.sha256(content).hexdigest()


def _imported(tree: ast.AST) -> Iterator[str]:
    """The modules that a file may import, anywhere in it, but for those of its own package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if node.module != _FRONT:  # of which the names alone say what is needed
                yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _is_text(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr):
        return False
    value = statement.value
    return isinstance(value, ast.Constant) and isinstance(value.value, str)
