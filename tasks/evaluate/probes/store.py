"""The probe store: records written once and read back alike, by any number of processes."""

from __future__ import annotations

import fcntl
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tasks.evaluate.recorded import Record, identity, named, sealed, set_aside, unsealed, unusable

Value = TypeVar("Value")

_STRIPES = 64
_MAGIC = b"SQLite format 3\0"
_TRIES = 5
_DAMAGE = (
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_ERROR,  # a table of our name that is not ours
    sqlite3.SQLITE_IOERR_SHORT_READ,
    sqlite3.SQLITE_NOTADB,
)
"""What SQLite says of a file that holds something else than it should."""


class Store:
    """Records by key in one SQLite file.

    The first record of a key is the record for good, unless `put` is told to replace it. A
    process may be killed at any moment: SQLite rolls a half-written record back, and the kernel
    releases the locks of the dead. A file that is damaged is named, set aside and made anew.

    Parameters
    ----------
    path : Path
        Made with its folders when the first record is written.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()) / "store.sqlite")
    >>> store.put("configuration 0, 1000 rows", {"correct": 850})
    {'correct': 850}
    >>> store.put("configuration 0, 1000 rows", {"correct": 901})
    {'correct': 850}
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, key: str) -> Record | None:
        """The record of `key`, or None."""

        def read(database: sqlite3.Connection) -> Record | None:
            return _standing(database, key)

        return self._with_database(read) if self._exists() else None

    def put(self, key: str, record: Mapping[str, Any], *, replace: bool = False) -> Record:
        """Write a record; returns the one that stands, which is the first unless replaced."""
        verb = "REPLACE" if replace else "IGNORE"

        def write(database: sqlite3.Connection) -> Record:
            values = (key, sealed(record))
            database.execute(f"INSERT OR {verb} INTO records VALUES (?, ?)", values)  # noqa: S608 - a constant
            standing = _standing(database, key)
            assert standing is not None
            return standing

        return self._with_database(write)

    @contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Hold `key` against other processes and threads; must not be nested.

        Who looks again under the lock computes a record that is missing, and nobody else does.
        """
        with self._locked(f"{zlib.crc32(key.encode()) % _STRIPES:02d}"):
            yield

    def __len__(self) -> int:
        def count(database: sqlite3.Connection) -> int:
            return int(database.execute("SELECT count(*) FROM records").fetchone()[0])

        return self._with_database(count) if self._exists() else 0

    def _exists(self) -> bool:
        with named(self.path):
            return identity(self.path) != 0

    def _with_database(self, action: Callable[[sqlite3.Connection], Value]) -> Value:
        """What `action` gives, on a new database if this one is damaged."""
        for _ in range(_TRIES):
            with named(self.path):
                found = identity(self.path)
                if self.path.is_dir():
                    self._set_aside(found)
            try:
                with self._connect() as database:
                    return action(database)
            except sqlite3.Error as error:
                if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) not in _DAMAGE:
                    raise unusable(self.path, str(error)) from error
                self._set_aside(found)
            except ValueError:
                self._set_aside(found)
        raise unusable(self.path, f"it was damaged {_TRIES} times in a row")

    def _set_aside(self, found: int) -> None:
        """Rename the file that was `found` damaged, unless another process has done so."""
        with self._locked("damaged"), named(self.path):
            if found and identity(self.path) == found:
                set_aside(self.path)

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        folder = self.path.with_suffix(".locks")
        with named(folder):
            folder.mkdir(parents=True, exist_ok=True)
            handle = (folder / name).open("w")
        with handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            try:
                yield
            finally:
                # Closing is not enough: a child that another thread forked meanwhile has the
                # same open file, and would hold the lock until it ends.
                fcntl.flock(handle, fcntl.LOCK_UN)

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        # A connection for each use: none may be carried into a forked child.
        with named(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self.path, timeout=600)) as database, database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS records (key TEXT PRIMARY KEY, record BLOB NOT NULL)"
                " WITHOUT ROWID"
            )
            yield database


def is_store(path: Path) -> bool:
    """Whether `path` is free, or a SQLite file: anything else is not ours to set aside."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) in (_MAGIC, b"")
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _standing(database: sqlite3.Connection, key: str) -> Record | None:
    row = database.execute("SELECT record FROM records WHERE key = ?", (key,)).fetchone()
    if row is None:
        return None
    return unsealed(row[0] if isinstance(row[0], bytes) else b"")
