"""Records of values that are computed once: trials of arms, and probes of configurations.

It is a SQLite file in the cache, or a PostgreSQL where several machines work, which then share
what each of them computes. Nothing is ever changed in it: a record is appended or it is not.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from leaseboard.tasks.machine import environment
from leaseboard.tasks.store.database import INSERT, Database, StoreSchema

Record = dict[str, Any]

_SQLITE = "sqlite:///"
_TABLES = sa.MetaData()
_RECORDS = sa.Table(
    "leaseboard_records",
    _TABLES,
    sa.Column("name", sa.String(96), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("record", sa.Text, nullable=False),
    sqlite_with_rowid=False,
)
_FIX = (
    "fix that, delete it and its values are computed again, or name another with LEASEBOARD_STORE"
)
_SCHEMA = StoreSchema("records", _TABLES, "store", _FIX, patience=600)


class Records:
    """Records of one key, in their order: as many as were read, see `refresh`."""

    def __init__(self, database: Database, key: Mapping[str, Any]) -> None:
        self._database = database
        whole = json.dumps(key, sort_keys=True, separators=(",", ":"), default=str)
        self.name = hashlib.sha256(whole.encode()).hexdigest()
        self._read: list[Record] = []

    def __len__(self) -> int:
        return len(self._read)

    def __getitem__(self, number: int) -> Record:
        return self._read[number]

    def refresh(self) -> None:
        """Read what was appended since the last look."""
        with self._database.begin() as connection:
            self._read_from(connection)

    def _read_from(self, connection: sa.Connection) -> None:
        columns = _RECORDS.c
        query = sa.select(columns.record).order_by(columns.number)
        rest = query.where(columns.name == self.name, columns.number >= len(self._read))
        lines = connection.execute(rest).scalars().all()
        self._read += json.loads(f"[{','.join(lines)}]")  # one call: half the time

    def extend(self, compute: Callable[[int], Record | None]) -> bool:
        """Append one record, unless another process has meanwhile; return whether it was.

        If several processes want the same record at once, one computes it and the others wait.

        - `compute`: called with the record's number, in one process at a time for this key. If it
          raises or returns None, nothing is appended.
        """
        known = len(self._read)
        with self._database.lock(self.name):
            self.refresh()
            if len(self._read) > known or (record := compute(known)) is None:
                return False
            line = json.dumps(record, sort_keys=True, separators=(",", ":"))
            values = {"name": self.name, "number": known, "record": line}
            with self._database.begin() as connection:
                made = INSERT[connection.dialect.name](_RECORDS).values(values)
                connection.execute(made.on_conflict_do_nothing())
                self._read_from(connection)
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
        if not self._read:
            self.extend(append)
        return (self._read or made)[0], bool(made)


class Store:
    """Records by key; any number of processes may use it, and be killed at any moment.

    - `place`: a SQLite file, which the first look makes, with its folders; as text, as users
      write it, such a file or the address of a PostgreSQL with its password. By default what
      ``LEASEBOARD_STORE`` says, else a file in the cache.

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
        place = environment.store_place() if place is None else place
        if isinstance(place, str) and (":" not in place or place.startswith(_SQLITE)):
            place = Path(place.removeprefix(_SQLITE)).expanduser().absolute()
        self.place = place
        self._database = Database(self.place, _SCHEMA)

    def records(self, key: Mapping[str, Any]) -> Records:
        """Return the records of `key`, which holds everything that they depend on."""
        return Records(self._database, key)
