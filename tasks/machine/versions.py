"""The versions of the code and the libraries that a result or a recorded value depends on.

Keys hold them, so a value of other code or other libraries is never an answer. Of this
installation all code counts that can make a value. Of a user's code the files count that it
reaches by its imports, which are read, not run: a name that is only made while the code runs, as
for ``importlib.import_module``, is not seen.
"""

import functools
import hashlib
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib import metadata
from modulefinder import ModuleFinder
from pathlib import Path
from sysconfig import get_path
from typing import Any
from uuid import uuid4

from leaseboard.tasks.machine.environment import LIBRARIES, installed

ROOT = Path(__file__).resolve().parents[2]
"""Folder of `algorithms` and `tasks`: in a checkout `leaseboard` has links to them."""
_AFTER = frozenset({"archive", "folder", "live", "report", "score", "serve", "steps", "track"})
"""Rooms of `tasks` that only see what was made."""
_PROCESS = uuid4().hex


def code_and_libraries(files: Iterable[Path] = (), classes: Iterable[str] = ()) -> tuple[str, str]:
    """Return the version of the code that makes a value, and of its libraries.

    - `files`: those of the user.
    - `classes`: learners from anywhere, as ``package.module:Class``.
    """
    code, found = our_code(), reached(files, map(_top, classes))
    if found[0]:
        code = hashlib.sha256(f"{code}{hash_of(found[0])}".encode()).hexdigest()[:12]
    listed = {f"{name} {version}" for name, version in _libraries().items()}
    return code, ", ".join(sorted(listed.union(map(_distributions_of, found[1])) - {""}))


def recorded_key(classes: Iterable[str] = (), **given: Any) -> dict[str, Any]:
    """Return the key of a recorded value: its request, and the code that makes it.

    - `classes`: learners from anywhere, as ``package.module:Class``.
    - `**given`: data, seeds and options.
    """
    code, libraries = code_and_libraries((), classes)
    # Of one that was typed in, no other process may have the same.
    typed = _PROCESS if "__main__" in map(_top, classes) else ""
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
    """Return the user's files that code reaches, and the other modules that it imports.

    What Python does not find without them is looked up in the folders of `files`.

    - `tops`: further modules and packages that the code imports.
    """
    found = {file.resolve() for file in files if file.is_file()}
    places = [*(str(file.parent) for file in found), *filter(_is_own, sys.path)]
    finder, others = ModuleFinder(places, excludes=["leaseboard"]), set[str]()
    for file in found:
        with suppress(SyntaxError, ValueError, ImportError):  # who runs it reports that
            finder.load_file(str(file))
    for top in tops:
        try:
            finder.import_hook(top)
        except ImportError:
            others.add(top)
    others |= {_top(name) for name in finder.badmodules} - {"leaseboard"}
    loaded = (getattr(each, "__file__", None) for each in finder.modules.values())
    found |= {Path(file) for file in loaded if file}
    return frozenset(found), frozenset(others)


def _is_own(place: str) -> bool:
    """Return whether a folder on Python's path has the user's modules, not installed ones."""
    installed_there = {"site-packages", "dist-packages"} & {*Path(place).parts}
    return not (installed_there or Path(place).is_relative_to(get_path("stdlib")))


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


@functools.cache
def _libraries() -> dict[str, str]:
    return {name: version for name in LIBRARIES if (version := installed(name))}


_distributions = functools.cache(metadata.packages_distributions)


def _distributions_of(top: str) -> str:
    """Return the distributions of a package with their versions; empty if none installed it."""
    owners = set(_distributions().get(top, []))
    return ", ".join(f"{owner} {metadata.version(owner)}" for owner in sorted(owners))
