"""Where rows come from: a folder of files.

A file that is still being written to is ingested as far as it goes, if that ends with a line; the
rest of it comes with the next update.
"""

import glob
import os
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from leaseboard.algorithms.errors import DataError, LeaseboardError
from leaseboard.tasks.fetch import dataset, files
from leaseboard.tasks.live.rows import Batch
from leaseboard.tasks.live.settings import DataSettings
from leaseboard.tasks.machine.terminal import counted

_NOT_YET = (".", "~", "#")
"""What the names of files begin with that a program hides, or is writing."""
_SIGN = re.compile(r"\[([*?[])\]")


def pending(
    data: DataSettings, knows: Callable[[str], bool], texts: Callable[[], Collection[str]] = tuple
) -> Iterator[Batch]:
    """Yield the new files of a source, one after the other.

    Ingest each before the next one is asked for. A file that cannot be read has its fault in place
    of rows, and the others follow. A rejected file comes again in the next update.

    - `knows`: returns whether content of a digest was ingested.
    - `texts`: called before each file; the columns of a csv that are texts, also if they look like
      numbers; see `leaseboard.tasks.live.contract.Contract.texts`.
    """
    home, rest = _divided(data.pattern)
    try:
        os.scandir(home).close()
    except OSError as error:
        fix = "no such folder: make it, or fix data.source"
        why = fix if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
        yield _broken(home, home, why)
        return
    fresh = dict[str, Path]()
    for path in sorted(home.glob(rest)):
        if any(part.startswith(_NOT_YET) for part in path.relative_to(home).parts):
            continue
        try:
            digest = _digest(path)
        except DataError as error:
            yield _broken(path, home, str(error))
            continue
        if digest and not knows(digest):
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


def _digest(path: Path) -> str:
    """Return the digest of a file; empty if it was moved away.

    Raises DataError, without its name, if it cannot be read.
    """
    try:
        str(path).encode()
        if path.is_file():
            return dataset.file_digest(path)
        if os.path.lexists(path):  # to open a pipe would wait for its writer
            raise DataError("is not a file: remove it, or narrow data.source")
    except UnicodeEncodeError:
        raise DataError("its name is not UTF-8: rename it") from None
    except FileNotFoundError:
        pass
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}") from error
    return ""


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
