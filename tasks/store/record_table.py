"""The table of trials and probes: the records of each key, numbered in their order."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

from leaseboard.tasks.store.database import INSERT, Database, StoreSchema
from leaseboard.tasks.store.recorded import Record

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
SCHEMA = StoreSchema("records", _TABLES, "store", _FIX, patience=600)


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
