"""Import of what users write next to the package: ``path/to/file.py:Class``."""

import hashlib
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType

from typing_extensions import override

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

    @override
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
