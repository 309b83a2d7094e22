"""Where rows come from: a folder of files; `leaseboard.tasks.live.queries` for a database.

A file that was ingested, and that no one has changed for a day before the last update, is not read
again. The moment of a change is that of the file's entry, which the system sets, also if a program
that copies files sets the others. A file that is still being written to is ingested as far as it
goes, if that ends with a line; the rest of it comes with the next update.
"""

import glob
import os
import re
import stat
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from leaseboard.algorithms.errors import DataError, LeaseboardError
from leaseboard.tasks.fetch import dataset, files
from leaseboard.tasks.live.queries import pending_rows
from leaseboard.tasks.live.rows import Batch
from leaseboard.tasks.live.settings import FOLDER, DataSettings
from leaseboard.tasks.machine.progress import counted
from leaseboard.tasks.store.live_model import State

_NOT_YET = (".", "~", "#")
"""What the names of files begin with that a program hides, or is writing."""
_SIGN = re.compile(r"\[([*?[])\]")


def pending(
    data: DataSettings,
    known: State,
    *,
    texts: Callable[[], Collection[str]] = tuple,
    since: float = 0.0,
    again: Collection[str] = (),
) -> Iterator[Batch]:
    """Yield the batches of a source that are not `known`, one after the other.

    Ingest each, so that it is known, before the next one is asked for. A batch that cannot be read
    has its fault in place of rows, and the others follow. A rejected file comes again in the next
    update; of a query, the pieces after a rejected one wait with it.

    - `texts`: called before each file; the columns of a csv that are texts, also if they look like
      numbers; see `leaseboard.tasks.live.contract.Contract.texts`.
    - `since`: in seconds since 1970; known files that were not changed since are not read, but
      for those with a name among `again`, which were rejected.

    Raises UsageError if the source cannot be what was meant: a variable that is not set, a
    watermark that the query does not give.
    """
    if data.kind == FOLDER:
        return _pending_files(data.place, known, texts, since, again)
    return pending_rows(data, known)


def _pending_files(
    pattern: str,
    known: State,
    texts: Callable[[], Collection[str]],
    since: float,
    again: Collection[str],
) -> Iterator[Batch]:
    home, rest = _divided(pattern)
    for error in _unreadable(home, rest):
        is_gone = isinstance(error, FileNotFoundError | NotADirectoryError)
        fix = "no such folder: make it, or fix data.source"
        yield _broken(
            Path(error.filename), home, fix if is_gone else f"cannot be read: {error.strerror}"
        )
    try:
        paths = sorted(home.glob(rest))
    except OSError as error:
        yield _broken(home, home, f"cannot be read: {error.strerror}")
        return
    fresh = dict[str, Path]()
    for path in paths:
        if any(part.startswith(_NOT_YET) for part in path.relative_to(home).parts):
            continue
        try:
            name = path.relative_to(home).as_posix()
            is_known = since and name not in again and known.had_batch(name)
            digest = _digest(path, since if is_known else 0.0)
        except DataError as error:
            yield _broken(path, home, str(error))
            continue
        if digest and not known.knows(digest):
            fresh.setdefault(digest, path)
    for digest, path in counted(fresh.items(), "ingesting", "files"):
        name = path.relative_to(home).as_posix()
        try:
            if path.suffix.lower() in (".csv", ".tsv") and not _ends_a_line(path):
                said = "its last line has no end: it is still being written, or was cut off"
                raise DataError(f"{path}: {said}; end it with a line feed if it is whole")
            frame = files.read(str(path), texts=texts()).frame
        except FileNotFoundError:
            continue
        except OSError as error:
            yield Batch(name, digest, fault=f"{path}: cannot be read: {error.strerror}")
        except LeaseboardError as error:
            if path.exists():
                yield Batch(name, digest, fault=str(error))
        else:
            frame.columns = frame.columns.map(str)
            yield Batch(name, digest, frame.reset_index(drop=True))


def _digest(path: Path, since: float) -> str:
    """Return the digest of a file; empty if it was moved away, or not changed `since`.

    Raises DataError, without its name, if it cannot be read.
    """
    try:
        str(path).encode()
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # to open a pipe would wait for its writer
            raise DataError("is not a file: remove it, or narrow data.source")
        was_changed = max(found.st_ctime, found.st_mtime) >= since
        return dataset.file_digest(path) if was_changed else ""
    except UnicodeEncodeError:
        raise DataError("its name is not UTF-8: rename it") from None
    except FileNotFoundError as error:
        if path.is_symlink():
            raise DataError("a link that leads nowhere: fix or remove it") from error
        return ""
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}") from error


def _unreadable(home: Path, rest: str) -> list[OSError]:
    """Return the errors of folders that a pattern reaches and that cannot be listed."""
    found: list[OSError] = []
    for _ in os.walk(home, onerror=found.append):
        if "/" not in rest:
            break
    is_home = [each for each in found if each.filename == str(home)]
    return is_home or [each for each in found if not isinstance(each, FileNotFoundError)]


def _broken(path: Path, home: Path, why: str) -> Batch:
    """Return a batch in place of a file that cannot be read."""
    name, shown = (
        os.fsencode(each).decode("utf-8", "backslashreplace")
        for each in (path if path == home else path.relative_to(home), path)
    )
    return Batch(name, "", fault=f"{shown}: {why}")


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        if b"\0" in file.read(1000):
            return True  # these are not lines: the reader says what is wrong
        size = file.seek(0, 2)
        file.seek(max(0, size - 1))
        return size == 0 or file.read(1) in b"\r\n"


def _divided(pattern: str) -> tuple[Path, str]:
    """Return the folder in which a pattern begins, and the rest; ``[*]`` is the sign itself."""
    parts = Path(pattern).parts
    fixed = 0
    while fixed < len(parts) - 1 and not glob.has_magic(_SIGN.sub("", parts[fixed])):
        fixed += 1
    return Path(*(_SIGN.sub(r"\1", part) for part in parts[:fixed])), "/".join(parts[fixed:])
