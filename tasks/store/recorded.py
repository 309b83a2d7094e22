"""Records of values that are computed once: trials of arms, and probes of configurations.

It is a SQLite file in the cache, or a PostgreSQL where several machines work, which then share
what each of them computes. Nothing is ever changed in it: a record is appended or it is not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.machine import paths

if TYPE_CHECKING:
    from leaseboard.tasks.store.record_table import RecordTable

Record = dict[str, Any]

_SQLITE = "sqlite:///"
_MAGIC = b"SQLite format 3\0"


class Store:
    """Records by key; any number of processes may use it, and be killed at any moment.

    - `place`: a SQLite file, which the first record makes, with its folders; as text, as users
      write it, such a file or the address of a PostgreSQL with its password. By default what
      ``LEASEBOARD_STORE`` says, else a file in the cache.

    Raises UsageError if a user names a file that holds something else.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()) / "store.sqlite")
    >>> records = store.records({"data": "wine", "rows": 1000})
    >>> records.extend(lambda number: {"number": number, "correct": 850})
    True
    >>> list(records)
    [{'correct': 850, 'number': 0}]
    """

    def __init__(self, place: Path | str | None = None) -> None:
        place = paths.store_place() if place is None else place
        self.place = place if isinstance(place, Path) else _named(place)

    @cached_property
    def table(self) -> RecordTable:
        """The table of the records, imported late: its libraries take a fifth of a second."""
        from leaseboard.tasks.store.record_table import table_at

        return table_at(self.place)

    def records(self, key: Mapping[str, Any]) -> Records:
        """Return the records of `key`, which holds everything that they depend on."""
        return Records(self, key)


class Records:
    """Records of one key, in their order: as many as were read, see `refresh`."""

    def __init__(self, store: Store, key: Mapping[str, Any]) -> None:
        self._store = store
        whole = json.dumps(key, sort_keys=True, separators=(",", ":"), default=str)
        self.name = hashlib.sha256(whole.encode()).hexdigest()
        self._read: list[Record] = []

    def __len__(self) -> int:
        return len(self._read)

    def __getitem__(self, number: int) -> Record:
        return self._read[number]

    def refresh(self) -> None:
        """Read what was appended since the last look."""
        table = self._store.table
        last = self._read[-1:]
        found = table.read(self.name, len(self._read) - len(last))
        if last and found[:1] != last:  # those that were read were found damaged since
            self._read, found, last = [], table.read(self.name, 0), []
        self._read += found[len(last) :]

    def extend(self, compute: Callable[[int], Record | None]) -> bool:
        """Append one record, unless another process has meanwhile; return whether it was.

        If several processes want the same record at once, one computes it and the others wait.

        - `compute`: called with the record's number, in one process at a time for this key. If it
          raises or returns None, nothing is appended.
        """
        known = len(self._read)
        with self._store.table.database.lock(self.name):
            self.refresh()
            if len(self._read) > known:
                return False
            record = compute(len(self._read))
            if record is None:
                return False
            number = len(self._read)
            self._read.append(self._store.table.append(self.name, number, record))
        return True

    def once(self, compute: Callable[[], tuple[Record, bool]]) -> tuple[Record, bool]:
        """Return the only record of this key, and whether it was computed now.

        - `compute`: returns it, and whether it would come out so again; else it is not appended.
        """
        made: list[Record] = []

        def append(_: int) -> Record | None:
            record, lasting = compute()
            made.append(record)
            return record if lasting else None

        self.refresh()
        while not self._read and not made:
            self.extend(append)
        return (self._read or made)[0], bool(made)


def _named(place: str) -> Path | str:
    """Return the file or the address that a user named."""
    if ":" in place and not place.startswith(_SQLITE):
        return place
    path = Path(place.removeprefix(_SQLITE)).expanduser().absolute()
    if not _is_free(path):
        raise UsageError(f"{str(path)!r} holds something else than a store: name another file")
    return path


def _is_free(path: Path) -> bool:
    """Return whether the file is missing, or a SQLite file: others must not be renamed."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) in (_MAGIC, b"")
    except FileNotFoundError:
        return True
    except OSError:
        return False
