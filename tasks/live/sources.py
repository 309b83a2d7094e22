"""Where rows come from: a folder of files; `leaseboard.tasks.live.queries` for a database.

A file that no one has written to is not read again. It is known by its device, its number there,
its size and the moments at which it was written to and its entry was changed. The last one is set
by the system, also if a program that copies files sets the others. A file that was changed a
moment ago may be changed again in the same tick of a clock, so its fingerprint is not stored yet.
"""

import glob
import hashlib
import math
import os
import re
import stat
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from leaseboard.algorithms.errors import DataError, LeaseboardError
from leaseboard.tasks.fetch import dataset, files
from leaseboard.tasks.live.queries import pending_rows
from leaseboard.tasks.live.rows import Batch
from leaseboard.tasks.live.settings import FOLDER, DataSettings
from leaseboard.tasks.machine.progress import counted
from leaseboard.tasks.store.live_model import State

MOMENT = 0.2
"""Seconds in which a file that no one writes to stays unchanged."""
UNCHANGED = 3.0
"""Seconds after its last change from which on a file has a fingerprint: FAT's tick is 2."""
_LINES = (".csv", ".tsv")
_NOT_YET = (".", "~", "#")
"""What the names of files begin with that a program is writing."""
_SIGN = re.compile(r"\[([*?[])\]")


def pending(
    data: DataSettings,
    known: State,
    *,
    texts: Callable[[], Collection[str]] = tuple,
    moment: float = MOMENT,
) -> Iterator[Batch]:
    """Yield the batches of a source that are not `known`, one after the other.

    Ingest each, so that it is known, before the next one is asked for. A batch that cannot be read
    has its fault in place of rows, and the others follow. A rejected file comes again in the next
    update; of a query, the pieces after a rejected one wait with it.

    - `texts`: called before each file; the columns of a csv that are texts, also if they look like
      numbers; see `leaseboard.tasks.live.contract.Contract.texts`.
    - `moment`: a file that is written to within so many seconds waits for the next update.

    Raises UsageError if the source cannot be what was meant: a variable that is not set, a
    watermark that the query does not give.
    """
    if data.kind == FOLDER:
        return _pending_files(data.place, known, texts, moment)
    return pending_rows(data, known)


def _pending_files(
    pattern: str, known: State, texts: Callable[[], Collection[str]], moment: float
) -> Iterator[Batch]:
    home, rest = _divided(pattern)
    for error in _unreadable(home, rest):
        is_gone = isinstance(error, FileNotFoundError | NotADirectoryError)
        fix = "no such folder: make it, or fix data.source"
        why = fix if is_gone else f"cannot be read: {error.strerror}"
        yield _broken(Path(error.filename), home, why)
    try:
        paths = [path for path in sorted(home.glob(rest)) if not _is_hidden(path, home)]
    except OSError as error:
        yield _broken(home, home, f"cannot be read: {error.strerror}")
        return
    before, stored = {path: fingerprint_of(path, math.inf) for path in paths}, known.fingerprints()
    fresh, found, new = dict[Path, str](), set[str](), dict[str, str]()
    for path in paths:
        fingerprint = fingerprint_of(path)
        if fingerprint and stored.get(name_of(path)) == fingerprint:
            continue
        try:
            digest = _digest(path)
        except DataError as error:
            yield _broken(path, home, str(error))
            continue
        if not digest:
            continue
        if known.knows(digest):
            if fingerprint:
                new[name_of(path)] = fingerprint
        elif digest not in found:
            found.add(digest)
            fresh[path] = digest
    gone = stored.keys() - {name_of(path) for path in paths}
    if new or gone:
        known.save_fingerprints(new, gone)
    if fresh:
        time.sleep(moment)
    for path, digest in counted(fresh.items(), "ingesting", "files"):
        batch = _read(path, path.relative_to(home).as_posix(), digest, texts())
        if before[path] and fingerprint_of(path, math.inf) == before[path]:
            yield batch


def _read(path: Path, name: str, digest: str, texts: Collection[str]) -> Batch:
    try:
        if path.suffix.lower() in _LINES and not _ends_a_line(path):
            return Batch(name, digest, fault=(
                f"{path}: its last line has no end: it is still being written, or was cut off;"
                " end it with a line feed if it is whole"
            ))  # fmt: skip
        frame = files.read(str(path), texts=texts).frame
    except OSError as error:
        return Batch(name, digest, fault=f"{path}: cannot be read: {error.strerror}")
    except LeaseboardError as error:
        return Batch(name, digest, fault=str(error))
    frame.columns = frame.columns.map(str)
    return Batch(name, digest, frame.reset_index(drop=True))


def _unreadable(home: Path, rest: str) -> list[OSError]:
    """Return the errors of folders that a pattern reaches and that cannot be listed."""
    found: list[OSError] = []
    for _ in os.walk(home, onerror=found.append):
        if "/" not in rest:
            break
    is_home = [each for each in found if each.filename == str(home)]
    return is_home or [each for each in found if not isinstance(each, FileNotFoundError)]


def _digest(path: Path) -> str:
    """Return the digest of a file, empty if it was moved away; DataError if it is not a file."""
    try:
        str(path).encode()
        if not stat.S_ISREG(path.stat().st_mode):  # to open a pipe would wait for its writer
            raise DataError("is not a file: remove it, or narrow data.source")
        return dataset.file_digest(path)
    except UnicodeEncodeError:
        raise DataError("its name is not UTF-8: rename it") from None
    except FileNotFoundError as error:
        if path.is_symlink():
            raise DataError("a link that leads nowhere: fix or remove it") from error
        return ""
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}") from error


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


def _is_hidden(path: Path, home: Path) -> bool:
    """Return whether a program hides a file, or is writing it."""
    return any(part.startswith(_NOT_YET) for part in path.relative_to(home).parts)


def _divided(pattern: str) -> tuple[Path, str]:
    """Return the folder in which a pattern begins, and the rest; ``[*]`` is the sign itself."""
    parts = Path(pattern).parts
    fixed = 0
    while fixed < len(parts) - 1 and not glob.has_magic(_SIGN.sub("", parts[fixed])):
        fixed += 1
    return Path(*(_SIGN.sub(r"\1", part) for part in parts[:fixed])), "/".join(parts[fixed:])


def name_of(path: Path) -> str:
    """Return the name under which the fingerprint of a file is stored."""
    return hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()


def fingerprint_of(path: Path, now: float | None = None) -> str:
    """Return what changes with each write to a file; empty if that is too fresh, or it is gone.

    - `now`: the seconds since 1970; by default those of the clock.
    """
    try:
        found = path.stat()
    except OSError:
        return ""
    now = time.time() if now is None else now
    if max(found.st_mtime, found.st_ctime) > now - UNCHANGED:
        return ""
    parts = found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
    return " ".join(map(str, parts))
