"""The tables of a live model as lines of JSON: from one database into another, of any kind."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any

import sqlalchemy as sa

from leaseboard.algorithms.errors import UsageError, short
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import LIFECYCLE_FILE

TOGETHER = 1000
"""Rows that are read or written by one statement."""


@contextmanager
def snapshot(state: State) -> Iterator[sa.Connection]:
    """Read the state at one moment, however much is written meanwhile."""
    with state.transaction(), state.connected() as connection:
        is_file = connection.dialect.name == "sqlite"
        read_only = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
        connection.exec_driver_sql("BEGIN" if is_file else read_only)
        yield connection


def lines_of(connection: sa.Connection, table: sa.Table) -> Iterator[bytes]:
    """Yield the names of the columns, and then each row."""
    yield json.dumps([column.name for column in table.columns]).encode() + b"\n"
    query = sa.select(table).order_by(*table.primary_key.columns)
    for row in connection.execute(query.execution_options(yield_per=TOGETHER)):
        values = [b64encode(v).decode() if isinstance(v, bytes) else v for v in row]
        yield json.dumps(values).encode() + b"\n"


def counters(connection: sa.Connection, tables: Mapping[str, sa.Table]) -> dict[str, int]:
    """Return the last number that each table gave, also to rows that are deleted."""
    found = {}
    for kind, table in _counted(tables):
        if connection.dialect.name == "sqlite":
            last = sa.text("select seq from sqlite_sequence where name = :table")
        else:
            last = sa.text(
                "select pg_sequence_last_value(pg_get_serial_sequence(:table, 'number'))"
            )
        found[kind] = connection.scalar(last, {"table": table.name}) or 0
    return found


def fill(
    connection: sa.Connection,
    tables: Mapping[str, sa.Table],
    lines: Mapping[str, Iterable[bytes]],
    last: Mapping[str, int],
    file: str,
) -> None:
    """Replace all rows by those of `lines`, and go on counting where `last` ends.

    - `file`: FILE.yaml of the live model, as its state names it from now on.

    Raises UsageError for lines that no table of this version has.
    """
    for kind, table in tables.items():
        connection.execute(sa.delete(table))
        rows = _rows(table, lines[kind])
        while some := list(islice(rows, TOGETHER)):
            connection.execute(table.insert(), some)
    named = sa.update(tables["lifecycle"]).where(tables["lifecycle"].c.name == LIFECYCLE_FILE)
    connection.execute(named.values(value=json.dumps(file)))
    for kind, table in _counted(tables):
        given = {"table": table.name, "last": last.get(kind, 0)}
        if connection.dialect.name == "sqlite":
            connection.execute(sa.text("delete from sqlite_sequence where name = :table"), given)
            count = "insert into sqlite_sequence (name, seq) values (:table, :last)"
        else:
            serial = "pg_get_serial_sequence(:table, 'number')"
            count = f"select setval({serial}, greatest(:last, 1), :last > 0)"
        connection.execute(sa.text(count), given)


def _counted(tables: Mapping[str, sa.Table]) -> Iterator[tuple[str, sa.Table]]:
    return ((kind, table) for kind, table in tables.items()
            if "number" in table.c and table.c.number.autoincrement is True)  # fmt: skip


def _rows(table: sa.Table, lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    names = [column.name for column in table.columns]
    for number, line in enumerate(lines):
        try:
            values = json.loads(line)
        except ValueError as error:
            raise _odd(table, number, "is not JSON") from error
        if not isinstance(values, list) or len(values) != len(names):
            raise _odd(table, number, f"has not the {len(names)} columns")
        if number:
            pairs = zip(table.columns, values, strict=True)
            yield {column.name: _value(column, value, number) for column, value in pairs}
        elif values != names:
            raise _odd(table, number, f"names other columns than {', '.join(names)}")


def _value(column: Any, value: Any, number: int) -> Any:
    """Return a value that the column may hold."""
    kind = column.type.python_type
    if value is None and column.nullable:
        return None
    if kind is bytes and isinstance(value, str):
        try:
            return b64decode(value, validate=True)
        except ValueError:
            kind = None
    is_one = type(value) is kind or (kind is float and type(value) is int)
    if not is_one or "\0" in str(value) or (kind is int and not -(2**63) <= value < 2**63):
        shown = f"has {short(repr(value), 60)} as {column.name}"
        raise _odd(column.table, number, shown)
    return value


def _odd(table: sa.Table, number: int, what: str) -> UsageError:
    return UsageError(f"line {number + 1} of {table.name.rpartition('_')[2]} {what}")
