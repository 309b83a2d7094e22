"""What users add: files, as ``path/to/file.py:Class``, and entry points of distributions.

Plugins are found without an import.
"""

import functools
import hashlib
import re
import sys
import traceback
from importlib.machinery import SourceFileLoader
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from leaseboard.algorithms.errors import UsageError

executed: set[str] = set()
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


def blamed(error: BaseException, *files: Path) -> str:
    """Return an error in one line, after the last line of a user's file that led to it.

    If none did, after the first of `files`.
    """
    frames = traceback.extract_tb(error.__traceback__)
    lines, said = [(each.filename, each.lineno) for each in frames], str(error)
    if isinstance(error, SyntaxError) and error.filename in executed:
        lines, said = [(error.filename, error.lineno)], error.msg
    places = [f"{file}: " for file in files[:1]]
    places += [f"{file}:{line}: " for file, line in lines if file in executed]
    first = said.partition("\n")[0]
    return f"{''.join(places[-1:])}{type(error).__name__}: {first}".rstrip(": ")


class _UserFileLoader(SourceFileLoader):
    """Loader of the present source of a file: older compiled code is not read."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def import_file(path: Path) -> ModuleType:
    """Return the module in `path`, executed once in a process unless the file changes.

    It is registered where dataclasses and pickle look it up, under a name that shadows nothing
    and is the same in every process while path and content are. What is next to it can be
    imported by name, as of a script, then and later; installed modules come first.

    Raises
    ------
    UsageError
        If the file does not exist.
    """
    if not path.is_file():
        raise UsageError(f"no algorithm file {str(path)!r}: name an existing .py file")
    digest = hashlib.sha256(str(path.resolve()).encode() + b"\n" + path.read_bytes())
    name = f"users_{path.stem}_{digest.hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    module = sys.modules[name] = ModuleType(name)
    module.__file__ = str(path)
    executed.add(str(path))
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        _UserFileLoader(name, str(path)).exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@functools.cache
def discovered() -> list[EntryPoint]:
    """Return all plugins, by name and distribution, also those of one name."""
    found = entry_points(group="leaseboard.algorithms")
    return sorted(found, key=lambda each: (each.name, source_of(each)))


def find(name: str) -> EntryPoint | None:
    """Return the plugin that has a name; None without one.

    Raises UsageError if two distributions have one of that name: which is meant is unknown.
    """
    found = [each for each in discovered() if each.name == name]
    if len(found) > 1:
        by = " and ".join(map(source_of, found))
        raise UsageError(f"{name!r} is an algorithm of {by}: uninstall one of them")
    return found[0] if found else None


def source_of(plugin: EntryPoint) -> str:
    """Return distribution and version of a plugin, as results and pages have it."""
    dist: Any = plugin.dist
    return f"{dist.name} {dist.version}"


def files_of(plugin: EntryPoint) -> list[Path]:
    """Return all Python files of its package, or its single module; UsageError without one."""
    spec = find_spec(plugin.module.partition(".")[0])  # of a top level, so nothing is imported
    if spec is None or spec.origin is None:
        raise UsageError(f"{plugin.name!r} of {source_of(plugin)}: no module {plugin.module!r}")
    top = Path(spec.origin)
    return sorted(top.parent.rglob("*.py")) if top.name == "__init__.py" else [top]


def load(plugin: EntryPoint) -> Any:
    """Import a plugin and return what it names."""
    executed.update(map(str, files_of(plugin)))
    return plugin.load()
