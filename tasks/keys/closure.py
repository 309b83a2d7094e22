"""The files that code reaches by its imports, and the hash of them, for keys.

Imports are read, not run: a name that is only made while the code runs, as for
``importlib.import_module``, is not seen. Installed distributions do not count.
"""

import functools
import hashlib
import importlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.machinery import ModuleSpec, PathFinder
from itertools import chain
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
"""Folder of `algorithms`, `tasks` and `flows`: in a checkout `leaseboard` has links to them."""

_ENTRY = "leaseboard"
"""The package that exports the public names."""
PLACES: Mapping[str, str] = importlib.import_module(_ENTRY).PLACES
_ENTRY_FILE = Path(__file__).parents[2] / "__init__.py"
_PACKAGES = ("algorithms", "flows", "tasks")
_OURS = (f"{_ENTRY}.algorithms.", f"{_ENTRY}.tasks.")


_IMPORT = re.compile(
    rb"(?:^|[;:])[ \t]*(?:from[ \t]+(\w[\w.]*)[ \t]+c?import[ \t]*(\([^)]*\)|[^\n;]*)"
    rb"|import[ \t]+([^\n;]*))",
    re.MULTILINE,
)
"""An import in Python or Cython, anywhere in a file, but for those of its own package: the module
and the names that are imported from it, or the modules."""
_NAME = re.compile(rb"(\w[\w.]*)(?:[ \t]+as[ \t]+\w+)?")


def module_file(module: str) -> Path:
    """Return the file of a module of this project that is not a package."""
    place = _place(module)
    kernel = place.with_suffix(".pyx")
    return kernel if kernel.is_file() else place.with_suffix(".py")


def _place(module: str) -> Path:
    return ROOT.joinpath(*module.split(".")[1:])


def reachable(
    start: Iterable[Path],
    apart: tuple[str, ...] = (),
    although: tuple[str, ...] = (),
    *,
    folders: frozenset[Path] = frozenset(),
) -> frozenset[Path]:
    """Return the files in `start`, and those of this project and of the user that they import.

    - `apart`: modules and packages of this project that are left out with all that only they
      import.
    - `although`: modules in `apart` that count nevertheless.
    - `folders`: users' code may import from them what Python does not find without them.
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
        for module in _located(_read(path).modules):
            if not module.startswith(_OURS):
                tops.add(module.partition(".")[0])
            elif module in although or not f"{module}.".startswith(left_out):
                base = _place(module)
                files = [base.with_suffix(suffix) for suffix in (".py", ".pyx", ".pxd")]
                todo += [p for p in (*files, base / "__init__.py") if p.is_file()]
        if not _is_ours(path):
            for top in tops - {_ENTRY} - sys.stdlib_module_names:
                todo += files_of(top, folders)
    return frozenset(found)


def _located(modules: Iterable[str]) -> Iterator[str]:
    """Yield `modules`, with the places of names imported from `leaseboard`, of all if unnamed."""
    for module in modules:
        top, _, name = module.partition(".")
        if top != _ENTRY or name.partition(".")[0] in _PACKAGES:
            yield module
        else:
            yield from [PLACES[name]] if name in PLACES else PLACES.values()


def hash_of(files: Iterable[Path]) -> str:
    """Return a hash of `files`; the folder where they are on this machine does not count."""
    code = sorted(f"{_named(source)}\0{_read(source).digest}" for source in files)
    return hashlib.sha256("\n".join(code).encode()).hexdigest()[:12]


def imported(files: Iterable[Path]) -> set[str]:
    """Return the packages that `files` import, without Python's own and this project."""
    tops = {module.partition(".")[0] for file in files for module in _read(file).modules}
    return tops - {_ENTRY} - sys.stdlib_module_names


def _named(path: Path) -> str:
    """Return the file as code can name it: inside its package, or by its name alone."""
    if _is_ours(path):
        return path.relative_to(ROOT).as_posix()
    top = path.parent
    while (top / "__init__.py").is_file():
        top = top.parent
    return path.relative_to(top).as_posix()


def _is_ours(path: Path) -> bool:
    places = (*(ROOT / package for package in _PACKAGES), _ENTRY_FILE.parent)
    return any(path.is_relative_to(place) for place in places)


def files_of(top: str, folders: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """Return the files of a module or package as a new process finds it; see `code_of`."""
    found = (finder.find_spec(top, None) for finder in sys.meta_path)  # editable installs' too
    everywhere = next(filter(None, found), None)
    if everywhere:
        return code_of(everywhere)
    specs = (PathFinder.find_spec(top, [str(folder)]) for folder in sorted(folders))
    return chain.from_iterable(code_of(spec) for spec in specs if spec)


def code_of(spec: ModuleSpec) -> Iterator[Path]:
    """Yield the files of a module; of a package all, as any of them may import the rest.

    Of an installed distribution none, see `leaseboard.tasks.keys.versions.code_and_libraries`.
    """
    for place in map(Path, spec.submodule_search_locations or [spec.origin or ""]):
        if not is_installed(place):
            files = place.rglob("*.py") if place.is_dir() else [place]
            yield from (file.resolve() for file in files if file.is_file())


def is_installed(place: Path) -> bool:
    """Return whether a distribution installed it."""
    return not {"site-packages", "dist-packages"}.isdisjoint(place.parts)


class _FileCode(NamedTuple):
    """Digest of a file, and the modules that it may import."""

    digest: str
    modules: frozenset[str]


def _read(path: Path) -> _FileCode:
    """Return what a file holds; it is read again if it has changed."""
    state = path.stat()
    return _parsed(path, state.st_mtime_ns, state.st_size)


@functools.cache
def _parsed(path: Path, _changed: int, _size: int) -> _FileCode:
    content = path.read_bytes()
    modules = set()
    for module, names, direct in _IMPORT.findall(content):
        listed = [name.decode() for name in _NAME.findall(re.sub(rb"#.*", b"", names or direct))]
        top = module.decode()
        if top and top != _ENTRY:  # of that the names alone say what is needed
            modules.add(top)
        modules.update(f"{top}.{name}" if top else name for name in listed)
    return _FileCode(hashlib.sha256(content).hexdigest(), frozenset(modules))
