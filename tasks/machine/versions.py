"""The versions of the code and the libraries that a result or a recorded value depends on.

Keys hold them, so a value of other code or other libraries is never an answer. Of this
installation all code counts that can make a value. Of a user's code the files count that it
reaches by its imports, which are read, not run: a name that is only made while the code runs, as
for ``importlib.import_module``, is not seen.
"""

import ast
import functools
import hashlib
import sys
from collections.abc import Iterable
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any
from uuid import uuid4

from leaseboard.tasks.machine.environment import LIBRARIES, installed

ROOT = Path(__file__).resolve().parents[2]
"""Folder of `algorithms` and `tasks`: in a checkout `leaseboard` has links to them."""
_AFTER = frozenset({"archive", "folder", "live", "report", "score", "serve", "steps", "track"})
"""Rooms of `tasks` that only see what was made."""


def code_and_libraries(files: Iterable[Path] = (), classes: Iterable[str] = ()) -> tuple[str, str]:
    """Return the version of the code that makes a value, and of its libraries.

    - `files`: those of the user.
    - `classes`: learners from anywhere, as ``package.module:Class``.
    """
    code, found = our_code(), reached(files, map(_top, classes))
    if found[0]:
        code = hashlib.sha256(f"{code}{hash_of(found[0])}".encode()).hexdigest()[:12]
    listed = {f"{name} {installed(name)}" for name in LIBRARIES if installed(name)}
    return code, ", ".join(sorted(listed.union(map(_distributions_of, found[1])) - {""}))


def recorded_key(classes: Iterable[str] = (), **given: Any) -> dict[str, Any]:
    """Return the key of a recorded value: its request, and the code that makes it.

    - `classes`: learners from anywhere, as ``package.module:Class``.
    - `**given`: data, seeds and options.
    """
    code, libraries = code_and_libraries((), classes)
    # One that was typed in may be typed again, as in a notebook.
    typed = uuid4().hex if "__main__" in map(_top, classes) else ""
    return given | {"code": code, "libraries": libraries, "typed": typed}


def our_files() -> list[Path]:
    """Return the files of this installation that can make a value."""
    every = (p for top in ("algorithms", "tasks") for p in (ROOT / top).rglob("*.p[yx]*"))
    return [path for path in every if path.suffix in {".py", ".pyx", ".pxd"}
            and path.relative_to(ROOT).parts[1] not in _AFTER]  # fmt: skip


@functools.cache
def our_code() -> str:
    """Return a hash of `our_files`, the same wherever the installation is."""
    return hash_of(our_files())


def reached(
    files: Iterable[Path], tops: Iterable[str] = ()
) -> tuple[frozenset[Path], frozenset[str]]:
    """Return the user's files that code reaches, and the packages that a distribution installed.

    Of a package all files count, as any of them may import the rest. What Python does not find
    without them is looked up in the folders of `files`.

    - `tops`: further modules and packages that the code imports.
    """
    start = [file.resolve() for file in files]
    folders = [str(file.parent) for file in start]
    found, owned, known = set[Path](), set[str](), {"leaseboard", *sys.stdlib_module_names}
    todo: list[Path | str] = [*start, *tops]
    while todo:
        each = todo.pop()
        if isinstance(each, Path):
            if each.is_file() and each not in found:
                found.add(each)
                todo += _imported(each.read_bytes())
        elif each not in known:
            known.add(each)
            for place in _places(each, folders):
                if {"site-packages", "dist-packages"} & {*place.parts}:
                    owned.add(each)
                else:
                    own = place.rglob("*.py") if place.is_dir() else [place]
                    todo += [file.resolve() for file in own]
    return frozenset(found), frozenset(owned)


def _places(top: str, folders: list[str]) -> list[Path]:
    """Return the folders or the file of a module as a new process finds it."""
    found = (finder.find_spec(top, None) for finder in sys.meta_path)  # editable installs' too
    spec = next(filter(None, found), None) or PathFinder.find_spec(top, folders)
    places = spec and (spec.submodule_search_locations or [spec.origin or ""])
    return [Path(place) for place in places or ()]


@functools.cache
def _imported(code: bytes) -> frozenset[str]:
    """Return the modules and packages that code imports, anywhere in it."""
    try:
        nodes = [*ast.walk(ast.parse(code))]
    except (SyntaxError, ValueError):  # who runs it reports that
        return frozenset()
    names = [each.name for node in nodes if isinstance(node, ast.Import) for each in node.names]
    names += [str(node.module) for node in nodes
              if isinstance(node, ast.ImportFrom) and not node.level]  # fmt: skip
    return frozenset(map(_top, names))


def _top(name: str) -> str:
    return name.partition(":")[0].partition(".")[0]


def hash_of(files: Iterable[Path]) -> str:
    """Return a hash of `files`; the folder where they are on this machine does not count."""
    code = sorted(
        f"{_named(file)}\0{hashlib.sha256(file.read_bytes()).hexdigest()}" for file in files
    )
    return hashlib.sha256("\n".join(code).encode()).hexdigest()[:12]


def _named(path: Path) -> str:
    """Return the file as code can name it: inside its package, or by its name alone."""
    if path.is_relative_to(ROOT):
        return path.relative_to(ROOT).as_posix()
    top = path.parent
    while (top / "__init__.py").is_file():
        top = top.parent
    return path.relative_to(top).as_posix()


_distributions = functools.cache(metadata.packages_distributions)


def _distributions_of(top: str) -> str:
    """Return the distributions of a package with their versions; empty if none installed it."""
    owners = set(_distributions().get(top, []))
    return ", ".join(f"{owner} {metadata.version(owner)}" for owner in sorted(owners))
