"""The files that code reaches by its imports, and the hash of their code, for keys.

Imports are read, not run: a name that is only made while the code runs, as for
``importlib.import_module``, is not seen. Installed distributions do not count.
"""

import ast
import functools
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from itertools import chain
from pathlib import Path
from tempfile import NamedTemporaryFile

from leaseboard.algorithms.caches import cache_dir
from leaseboard.algorithms.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
"""Folder of `algorithms`, `tasks` and `flows`: in a checkout `leaseboard` has links to them."""

_ENTRY = "leaseboard"
"""The package that exports the public names."""
_ENTRY_FILE = Path(__file__).parents[2] / "__init__.py"
_PACKAGES = ("algorithms", "flows", "tasks")
_OURS = (f"{_ENTRY}.algorithms.", f"{_ENTRY}.tasks.")


_KERNEL = re.compile(rb"^\s*from\s+([\w.]+)\s+c?import\s+\(?([\w ,]*)", re.MULTILINE)
"""An import in a kernel's source, which is Cython: the module, and names on its line."""


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
        for module in _located(_read(path)[0]):
            if not module.startswith(_OURS):
                tops.add(module.partition(".")[0])
            elif module in although or not f"{module}.".startswith(left_out):
                base = _place(module)
                files = [base.with_suffix(suffix) for suffix in (".py", ".pyx", ".pxd")]
                todo += [p for p in (*files, base / "__init__.py") if p.is_file()]
        if not _is_ours(path):
            for top in tops - {_ENTRY} - sys.stdlib_module_names:
                todo += files_of(top, folders)
    _keep()
    return frozenset(found)


def _located(modules: Iterable[str]) -> Iterator[str]:
    """Yield `modules`, with the places of names imported from `leaseboard`, of all if unnamed."""
    for module in modules:
        top, _, name = module.partition(".")
        if top != _ENTRY or name.partition(".")[0] in _PACKAGES:
            yield module
        else:
            places = _exported()
            yield from [places[name]] if name in places else places.values()


@functools.cache
def _exported() -> dict[str, str]:
    """Return the module of each name that `leaseboard` exports, by its own imports."""
    tree = ast.parse(_ENTRY_FILE.read_bytes())
    return {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_OURS)
        for alias in node.names
    }


def hash_of(files: Iterable[Path]) -> str:
    """Return a hash of the code in `files`; comments, docstrings and layout do not count.

    Nor does the folder where the code is on this machine.
    """
    code = sorted(f"{_named(source)}\0{_read(source)[1]}" for source in files)
    return hashlib.sha256("\n".join(code).encode()).hexdigest()[:12]


def imported(files: Iterable[Path]) -> set[str]:
    """Return the packages that `files` import, without Python's own and this project."""
    tops = {module.partition(".")[0] for file in files for module in _read(file)[0]}
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
    """Return the files of a module or package as a new process finds it; see `code_of`.

    Raises UsageError if two of `folders` have it: which of them is imported would be an accident.
    """
    found = (finder.find_spec(top, None) for finder in sys.meta_path)  # editable installs' too
    everywhere = next(filter(None, found), None)
    if everywhere:
        return code_of(everywhere)
    specs = {str(folder): PathFinder.find_spec(top, [str(folder)]) for folder in folders}
    having = sorted(folder for folder, spec in specs.items() if spec)
    if len(having) > 1:
        raise UsageError(
            f"the user's files of one job find {top!r} in {' and in '.join(having)}: rename one"
        )
    return chain.from_iterable(code_of(spec) for spec in specs.values() if spec)


def code_of(spec: ModuleSpec) -> Iterator[Path]:
    """Yield the files of a module; of a package all, as any of them may import the rest.

    Of an installed distribution none, see `leaseboard.tasks.keys.versions.code_version`.
    """
    for place in map(Path, spec.submodule_search_locations or [spec.origin or ""]):
        if not is_installed(place):
            files = place.rglob("*.py") if place.is_dir() else [place]
            yield from (file.resolve() for file in files if file.is_file())


def is_installed(place: Path) -> bool:
    """Return whether a distribution installed it."""
    return not {"site-packages", "dist-packages"}.isdisjoint(place.parts)


def _read(path: Path) -> tuple[frozenset[str], str]:
    """Return what a file imports, anywhere in it, and a digest of its code.

    Comments, layout and texts that are statements, such as docstrings, do not count. Of kernels,
    and of a user's file that is not Python, all bytes do.
    """
    state = path.stat()
    return _parsed(path, state.st_mtime_ns, state.st_size)


@functools.cache
def _parsed(path: Path, _changed: int, _size: int) -> tuple[frozenset[str], str]:
    content, known = path.read_bytes(), _known()
    key = hashlib.sha256(content).hexdigest()
    if key not in known:
        known[key] = _parse(content)
        _new.append(key)
    code, *modules = known[key]
    return frozenset(modules), code


def _parse(content: bytes) -> list[str]:
    """Return a digest of the code in a file, and what it imports."""
    try:
        tree = ast.parse(content)
        holding = list(_statements(tree))
        modules = sorted({*_imported(holding)})
        for node in holding:
            if body := getattr(node, "body", None):
                body[:] = [statement for statement in body if not _is_text(statement)]
        return [hashlib.sha256(ast.dump(tree).encode()).hexdigest(), *modules]
    except (SyntaxError, ValueError, RecursionError):
        modules = set()
        for module, names in _KERNEL.findall(content):
            top, *below = module.decode(), *names.decode().replace(",", " ").split()
            modules |= {top, *(f"{top}.{name}" for name in below)}
        return [hashlib.sha256(content).hexdigest(), *sorted(modules)]


MOST_KEPT = 2_000
"""Files of which it is kept what they hold: the last."""
_new: list[str] = []
"""Those of this process, by their digests, that are not kept yet."""


@functools.cache
def _place_of_kept() -> Path:
    # This code and this Python say what is found.
    by = Path(__file__).read_bytes() + sys.version.encode()
    return cache_dir() / "code" / f"{hashlib.sha256(by).hexdigest()[:16]}.json"


@functools.cache
def _known() -> dict[str, list[str]]:
    """Return what earlier processes found in files, by the digests of these."""
    with suppress(OSError, UsageError, ValueError):
        return dict(json.loads(_place_of_kept().read_bytes()))
    return {}


def _keep() -> None:
    """Write what is new for further processes, if this user has a place for it."""
    if not _new:
        return
    _new.clear()
    with suppress(OSError, UsageError):
        place = _place_of_kept()
        place.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=place.parent, delete=False) as made:
            made.write(json.dumps([*_known().items()][-MOST_KEPT:]).encode())
        Path(made.name).replace(place)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all statements below it; not expressions, which are most of a tree."""
    yield node
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        for each in getattr(node, field, ()):
            yield from _statements(each)


def _imported(statements: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the modules that a file may import, anywhere in it, but for those of its package."""
    for node in statements:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if node.module != _ENTRY:  # of which the names alone say what is needed
                yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _is_text(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr):
        return False
    value = statement.value
    return isinstance(value, ast.Constant) and isinstance(value.value, str)
