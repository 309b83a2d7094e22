"""The versions of the code that a result or a recorded value can depend on."""

import functools
import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from importlib.machinery import ModuleSpec, PathFinder
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from leaseboard.algorithms import registry

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


_PROCESS = uuid4().hex

_READING = ("leaseboard.tasks.fetch", "leaseboard.tasks.machine.environment")
"""Modules that read the data, of which every key has the digest."""

_KINDS_OF_COLUMNS = "leaseboard.tasks.fetch.columns"
"""Reads data and is asked again when they are encoded, so it counts."""

_USING = (
    "leaseboard.algorithms.audit",
    "leaseboard.algorithms.base",
    "leaseboard.algorithms.environments",
    "leaseboard.algorithms.events",
    "leaseboard.algorithms.policy",
    "leaseboard.algorithms.registry",
    "leaseboard.tasks.keys.versions",
    "leaseboard.tasks.jobs.suites.suite",
    "leaseboard.tasks.machine.disk",
    "leaseboard.tasks.machine.yaml_files",
    "leaseboard.tasks.jobs.job",
    "leaseboard.tasks.store.database",
    "leaseboard.tasks.store.database",
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
