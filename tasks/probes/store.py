"""The probe store: records written once and read back alike, by any number of processes."""

from __future__ import annotations

import fcntl
import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

_STRIPES = 64


class Store:
    """Records by key in one SQLite file.

    The first record of a key is the record for good, unless `put` is told to replace it. A
    process may be killed at any moment: SQLite rolls a half-written record back, and the kernel
    releases the locks of the dead.

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

    def get(self, key: str) -> dict[str, Any] | None:
        """The record of `key`, or None."""
        if not self.path.exists():
            return None
        with self._connect() as database:
            row = database.execute("SELECT record FROM records WHERE key = ?", (key,)).fetchone()
        return None if row is None else json.loads(row[0])

    def put(self, key: str, record: Mapping[str, Any], *, replace: bool = False) -> dict[str, Any]:
        """Write a record; returns the one that stands, which is the first unless replaced."""
        verb = "REPLACE" if replace else "IGNORE"
        text = json.dumps(record, sort_keys=True)
        with self._connect() as database:
            database.execute(f"INSERT OR {verb} INTO records VALUES (?, ?)", (key, text))  # noqa: S608 - a constant
            row = database.execute("SELECT record FROM records WHERE key = ?", (key,)).fetchone()
        standing: dict[str, Any] = json.loads(row[0])
        return standing

    @contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Hold `key` against other processes and threads; must not be nested.

        Who looks again under the lock computes a record that is missing, and nobody else does.
        """
        folder = self.path.with_suffix(".locks")
        folder.mkdir(parents=True, exist_ok=True)
        stripe = zlib.crc32(key.encode()) % _STRIPES
        with (folder / f"{stripe:02d}").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            try:
                yield
            finally:
                # Closing is not enough: a child that another thread forked meanwhile has the
                # same open file, and would hold the lock until it ends.
                fcntl.flock(handle, fcntl.LOCK_UN)

    def __len__(self) -> int:
        if not self.path.exists():
            return 0
        with self._connect() as database:
            (count,) = database.execute("SELECT count(*) FROM records").fetchone()
        return int(count)

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        # A connection for each use: none may be carried into a forked child.
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self.path, timeout=600)) as database, database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS records (key TEXT PRIMARY KEY, record TEXT NOT NULL)"
                " WITHOUT ROWID"
            )
            yield database
