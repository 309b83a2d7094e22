"""The table of trials and probes: a line of JSON each, and its checksum.

A record that has changed since it was written is renamed with all of its key, and so is a SQLite
file that is damaged: their values are computed again.
"""

import json
import logging
import secrets
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.machine import disk
from leaseboard.tasks.store.database import INSERT, DamagedDatabaseError, Database, StoreSchema

Record = dict[str, Any]
Line = sa.Row[tuple[int, str]]
Value = TypeVar("Value")

_TABLES = sa.MetaData()
_RECORDS = sa.Table(
    "leaseboard_records",
    _TABLES,
    sa.Column("name", sa.String(96), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("record", sa.Text, nullable=False),
    sqlite_with_rowid=False,
)
_READ = (
    sa.select(_RECORDS.c.number, _RECORDS.c.record)
    .where(_RECORDS.c.name == sa.bindparam("of"), _RECORDS.c.number >= sa.bindparam("start"))
    .order_by(_RECORDS.c.number)
)
_FIX = "fix that, or name another with LEASEBOARD_STORE"
_SCHEMA = StoreSchema("records", _TABLES, "store", _FIX, patience=600, is_replaceable=True)
_TRIES = 5
"""Damaged files that are renamed, one after the other, before an error is raised."""

_KEPT = "%s is damaged: kept as %s, its values are computed again"
_log = logging.getLogger(__name__)


class RecordTable:
    """Table of the records of all keys, by the hash of the key and their number."""

    def __init__(self, place: Path | str) -> None:
        self.database = Database(place, _SCHEMA)

    def __str__(self) -> str:
        return str(self.database)

    def read(self, name: str, start: int) -> list[Record]:
        """Return the records of `name` from the number `start` on; none before there is a file."""

        def read(connection: sa.Connection) -> list[Record]:
            rows = connection.execute(_READ, {"of": name, "start": start}).all()
            return self._opened(connection, name, start, rows)

        return self._transact(read) if self.database.exists else []

    def append(self, name: str, number: int, record: Mapping[str, Any]) -> Record:
        """Write a record; return that in the table, which another may have written first."""
        line = with_checksum(name, number, record)

        def write(connection: sa.Connection) -> Record:
            insert = INSERT[connection.dialect.name]
            made = insert(_RECORDS).values(name=name, number=number, record=line)
            connection.execute(made.on_conflict_do_nothing())
            there = connection.execute(_READ, {"of": name, "start": number}).all()
            found = self._opened(connection, name, number, there)
            return found[0] if found else dict(record)

        return self._transact(write)

    def _transact(self, action: Callable[[sa.Connection], Value]) -> Value:
        """Return what `action` does in a transaction, on a new file if this one is damaged."""
        for _ in range(_TRIES):
            found = self.database.file()
            try:
                with self.database.begin() as connection:
                    return action(connection)
            except DamagedDatabaseError:
                kept = self.database.move_away(found)
                if kept is not None:
                    _log.warning(_KEPT, f"the store {self}", kept)
        raise LeaseboardError(
            f"the store {self} cannot be used: it was damaged {_TRIES} times in a row: {_FIX}"
        )

    def _opened(
        self, connection: sa.Connection, name: str, start: int, rows: Sequence[Line]
    ) -> list[Record]:
        """Return the records of `rows`; none if one of them is not what was written."""
        contents = []
        for expected, row in enumerate(rows, start):
            try:
                contents.append(content_of(name, expected, row[1]))
            except ValueError:
                self._move_away(connection, name, row)
                return []
        found: list[Record] = json.loads(f"[{','.join(contents)}]")  # one call: half the time
        return found

    def _move_away(self, connection: sa.Connection, name: str, row: Line) -> None:
        """Rename the records of `name`, unless another has done so since `row` was read."""
        kept = f"{name}{disk.DAMAGED}{secrets.token_hex(4)}"
        columns = _RECORDS.c
        rename = sa.update(_RECORDS).where(columns.name == name).values(name=kept)
        this = rename.where(columns.number == row.number, columns.record == row.record)
        if connection.execute(this).rowcount:
            connection.execute(rename)
            _log.warning(_KEPT, f"record {row.number} of {name} in the store {self}", kept)


@lru_cache(maxsize=8)
def table_at(place: Path | str) -> RecordTable:
    """Return the one table of a process in a place, whose connection its stores share."""
    return RecordTable(place)


def with_checksum(name: str, number: int, record: Mapping[str, Any]) -> str:
    r"""Return a record as JSON, a tab and the checksum of its bytes, its name and its number.

    Examples
    --------
    >>> with_checksum("4f", 0, {"correct": 850})
    '{"correct":850}\tb7e5fd19'
    """
    line = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return f"{line}\t{_sum(name, number, line)}"


def content_of(name: str, number: int, line: object) -> str:
    """Return the JSON of a line; ValueError if any of its bytes has changed since."""
    content, _, checksum = str(line).rpartition("\t")
    if checksum != _sum(name, number, content):
        raise ValueError(f"{content[:40]!r} is not a record, or has changed since it was written")
    return content


def _sum(name: str, number: int, content: str) -> str:
    return f"{zlib.crc32(content.encode(), zlib.crc32(name.encode()) + number & 0xFFFFFFFF):08x}"
