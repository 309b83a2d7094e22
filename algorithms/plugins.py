"""What users add: files, as ``path/to/file.py:Class``, and entry points of distributions.

Plugins are found without an import.
"""

import functools
import hashlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from leaseboard.algorithms.errors import LeaseboardError, UsageError, UserFileError

executed: set[Path] = set()
"""The files that this process has run, also those that failed: they may have changed anything."""

_REFERENCE = re.compile(r"(.*\.py)(:\w*)?", re.DOTALL)


def file_of(text: str) -> Path | None:
    """Return the file of ``path/to/file.py`` or ``path/to/file.py:Class``; None for other texts.

    Examples
    --------
    >>> [file_of(text) is not None for text in ("mine.py:Mine", "pipes.py", "chacha", "a.pyc")]
    [True, True, False, False]
    """
    found = _REFERENCE.fullmatch(text)
    return Path(found[1]) if found else None


@contextmanager
def blaming(path: Path) -> Iterator[None]:
    """Make what the code in `path` raises a `UserFileError` with the line; keep our own errors."""
    try:
        yield
    except LeaseboardError:
        raise
    except (Exception, SystemExit) as error:  # the file may call sys.exit
        raise UserFileError(blamed(error, path)) from error


def blamed(error: BaseException, path: Path) -> str:
    """Return an error in one line, after the last line of `path` that led to it."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [each.lineno for each in frames if Path(each.filename).resolve() == path.resolve()]
    said = str(error).partition("\n")[0]
    if isinstance(error, SyntaxError) and Path(error.filename or "").resolve() == path.resolve():
        lines, said = [error.lineno], error.msg
    place = f"{path}:{lines[-1]}" if lines else str(path)
    return f"{place}: {type(error).__name__}: {said}".rstrip(": ")


def place(error: BaseException) -> str:
    """Return the last line of a user's file that led to an error, such as `` (a.py, line 3)``.

    Empty if none did.
    """
    files = {str(path) for path in executed}
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f" ({Path(each.filename).name}, line {each.lineno})" for each in frames
             if each.filename in files]  # fmt: skip
    return lines[-1] if lines else ""


class _UserFileLoader(SourceFileLoader):
    """Loader of the present source of a file: older compiled code is not read."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def import_file(path: Path, what: str) -> ModuleType:
    """Return the module in `path`, executed once in a process unless the file changes.

    It is registered where dataclasses and pickle look it up, under a name that shadows nothing
    and is the same in every process while path and content are. What is next to it can be
    imported by name, as of a script, then and later; installed modules come first.

    Parameters
    ----------
    path : Path
    what : str
        What it is said to hold, for the message of the `UsageError` if it is not there.

    Raises
    ------
    UsageError
        If the file does not exist.
    UserFileError
        With the line, if running it raises or ends in ``sys.exit``.
    """
    if not path.is_file():
        raise UsageError(f"no {what} file {str(path)!r}: name an existing .py file")
    source = path.read_bytes()
    digest = hashlib.sha256(str(path.resolve()).encode() + b"\n" + source)
    name = f"users_{path.stem}_{digest.hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_loader(name, loader := _UserFileLoader(name, str(path)))
    assert spec is not None
    module = sys.modules[name] = module_from_spec(spec)
    executed.add(path)
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        with blaming(path):
            loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@dataclass(frozen=True, slots=True)
class Plugin:
    """Algorithm of a distribution: an entry point in the group ``leaseboard.algorithms``."""

    point: metadata.EntryPoint

    @property
    def name(self) -> str:
        """Name of what it adds."""
        return self.point.name

    @property
    def source(self) -> str:
        """Distribution and version, as results and pages have it."""
        assert self.point.dist is not None
        return f"{self.point.dist.name} {self.point.dist.version}"

    @property
    def file(self) -> Path:
        """File of the module; UsageError if it is not there."""
        top, *inner = self.point.module.split(".")
        spec = importlib.util.find_spec(top)  # of a top level, so nothing is imported
        file = Path((spec and spec.origin) or "")
        if inner:
            place = file.parent.joinpath(*inner)
            file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        if spec is None or not file.is_file():
            raise UsageError(f"{self.name!r} of {self.source}: no module {self.point.module!r}")
        return file

    def files(self) -> list[Path]:
        """Return all Python files of its package, or its single module."""
        top = self.file
        while (top.parent / "__init__.py").is_file():
            top = top.parent
        return sorted(top.rglob("*.py")) if top.is_dir() else [top]

    def load(self) -> Any:
        """Import it and return what it names; UserFileError with the line, as of a user's file."""
        executed.add(self.file)
        with blaming(self.file):
            return self.point.load()


@functools.cache
def discovered() -> tuple[Plugin, ...]:
    """Return all plugins, by name and distribution, also those of one name."""
    found = map(Plugin, metadata.entry_points(group="leaseboard.algorithms"))
    return tuple(sorted(found, key=lambda each: (each.name, each.source)))


def names() -> list[str]:
    """Return the names of the plugins."""
    return list(dict.fromkeys(each.name for each in discovered()))


def find(name: str) -> Plugin | None:
    """Return the plugin that has a name; None without one.

    Raises UsageError if two distributions have one of that name: which is meant is unknown.
    """
    found = [each for each in discovered() if each.name == name]
    if len(found) > 1:
        by = " and ".join(each.source for each in found)
        raise UsageError(f"{name!r} is an algorithm of {by}: uninstall one of them")
    return found[0] if found else None
