"""How all that a batch changes is written: in the caller's one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Table, bindparam, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from leaseboard.tasks.keep.changes import Changes, KeptRow, Lineage
from leaseboard.tasks.keep.schema import Tables

FORGOTTEN = "forgotten"
"""The name of the memory that tells the first and the last day of rows that are forgotten."""

AT_ONCE = 10_000
"""Rows of the log that are looked at together."""
_INSERT: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


def write(connection: Connection, tables: Tables, changes: Changes) -> None:
    """Write a batch and all that came of it."""
    batch = 0
    if changes.batch is not None:
        made = tables.batches.insert().values(
            name=changes.batch.name,
            digest=changes.batch.digest,
            at=changes.at,
            counts=json.dumps(changes.batch.counts),
            watermark=changes.batch.watermark,
        )
        batch = int(connection.execute(made.returning(tables.batches.c.number)).scalar_one())
    _add_rows(connection, tables, changes.rows, batch)
    if changes.labels:
        values = [{"of_row": number, "told": label} for number, label in changes.labels]
        of_row = bindparam("of_row")
        came = update(tables.contents).where(tables.contents.c.row == of_row)
        connection.execute(came.values(label=bindparam("told"), settled=batch), values)
        came = update(tables.rows).where(tables.rows.c.number == of_row)
        connection.execute(came.values(settled=batch), values)
    if changes.aside:
        connection.execute(
            tables.aside.insert(),
            [
                {"batch": batch, "id": identity, "reason": reason, "row": row}
                for identity, reason, row in changes.aside
            ],
        )
    for digest, content in changes.models.items():
        insert = _INSERT[connection.dialect.name](tables.models)
        made = insert.values(digest=digest, content=content)
        connection.execute(made.on_conflict_do_nothing())
    put(connection, tables.lineages, ["number"], map(values_of, changes.lineages))
    if changes.lineages:
        kept = select(tables.lineages.c.model).where(tables.lineages.c.model.is_not(None))
        connection.execute(delete(tables.models).where(tables.models.c.digest.not_in(kept)))
    _add_days(connection, tables.days, changes.days)
    values = [{"name": n, "value": json.dumps(v)} for n, v in changes.memory.items()]
    put(connection, tables.memory, ["name"], values)
    if changes.happened:
        connection.execute(tables.history.insert(), [asdict(each) for each in changes.happened])
    if changes.letters:
        connection.execute(
            tables.letters.insert(),
            [{"address": address, "body": json.dumps(body)} for address, body in changes.letters],
        )
    if changes.early:
        values = [dict(zip(("id", "at", "label"), each, strict=True)) for each in changes.early]
        connection.execute(tables.posted.insert(), values)
    for number in changes.posted:
        connection.execute(delete(tables.posted).where(tables.posted.c.number == number))
    if changes.batch is not None:
        _forget(connection, tables, changes)


def _add_rows(connection: Connection, tables: Tables, rows: Sequence[KeptRow], batch: int) -> None:
    """Rows are numbered one after the other; nobody else adds any in a turn."""
    if not rows:
        return
    last = connection.scalar(select(func.max(tables.rows.c.number))) or 0
    numbered = list(enumerate(rows, last + 1))
    came = [None if row.label is None else batch for row in rows]
    connection.execute(
        tables.rows.insert(),
        [
            {"number": number, "id": row.id, "seal": row.seal, "day": row.day,
             "batch": batch, "settled": settled}
            for (number, row), settled in zip(numbered, came, strict=True)
        ],
    )  # fmt: skip
    connection.execute(
        tables.contents.insert(),
        [
            {"row": number, "features": row.features, "forecasts": row.forecasts,
             "label": row.label, "settled": settled}
            for (number, row), settled in zip(numbered, came, strict=True)
        ],
    )  # fmt: skip


def _add_days(
    connection: Connection,
    table: Table,
    days: Mapping[tuple[str, int], tuple[int, Mapping[str, float]]],
) -> None:
    if not days:
        return
    first, last = min(day for day, _ in days), max(day for day, _ in days)
    known = connection.execute(select(table).where(table.c.day.between(first, last)))
    before = {(row.day, row.lineage): row for row in known}
    total = []
    for (day, lineage), (rows, sums) in days.items():
        row = before.get((day, lineage))
        old = {} if row is None else json.loads(row.sums)
        after = json.dumps({key: old.get(key, 0.0) + sums.get(key, 0.0) for key in old | sums})
        count = rows + (0 if row is None else row.rows)
        total.append({"day": day, "lineage": lineage, "rows": count, "sums": after})
    put(connection, table, ["day", "lineage"], total)


def _forget(connection: Connection, tables: Tables, changes: Changes) -> None:
    """Let go of what nobody asks for any more."""
    rows, contents, served = tables.rows, tables.contents, tables.served
    settled = contents.c.settled.is_not(None)
    last = (
        select(contents.c.row)
        .where(settled)
        .order_by(contents.c.settled.desc(), contents.c.row.desc())
        .limit(changes.window)
    )
    connection.execute(delete(contents).where(settled, contents.c.row.not_in(last)))
    late = select(rows.c.number).where(rows.c.day < changes.horizon)
    connection.execute(delete(contents).where(~settled, contents.c.row.in_(late)))
    kept = select(contents.c.row)
    gone = (rows.c.day < changes.horizon) & rows.c.number.not_in(kept)
    days = select(func.min(rows.c.day), func.max(rows.c.day)).where(gone)
    first, last = connection.execute(days).one()
    if first is not None:
        before = forgotten(connection, tables) or (first, last)
        value = json.dumps([min(first, before[0]), max(last, before[1])])
        put(connection, tables.memory, ["name"], [{"name": FORGOTTEN, "value": value}])
        connection.execute(delete(rows).where(gone))
    _forget_served(connection, served, changes.served_horizon)


def forgotten(connection: Connection, tables: Tables) -> tuple[str, str] | None:
    """The first and the last day of rows whose identity is forgotten; None if none is."""
    memory = tables.memory.c
    found = connection.scalar(select(memory.value).where(memory.name == FORGOTTEN))
    if found is None:
        return None
    first, last = json.loads(found)
    return first, last


def _forget_served(connection: Connection, table: Table, horizon: str) -> None:
    """The log is in the order of time: of millions of rows only those that go are looked at."""
    while True:
        first = (
            select(table.c.number, table.c.at).order_by(table.c.number).limit(AT_ONCE).subquery()
        )
        old = select(first.c.number).where(first.c.at < horizon)
        if not connection.execute(delete(table).where(table.c.number.in_(old))).rowcount:
            return


def put(
    connection: Connection, table: Table, keys: Sequence[str], values: Iterable[Mapping[str, Any]]
) -> None:
    """Insert rows, or replace those that have the same keys."""
    if not (rows := [dict(value) for value in values]):
        return
    made = _INSERT[connection.dialect.name](table)
    others = {name: made.excluded[name] for name in rows[0] if name not in keys}
    connection.execute(made.on_conflict_do_update(index_elements=keys, set_=others), rows)


def values_of(lineage: Lineage) -> dict[str, Any]:
    """A lineage as a row of its table."""
    return {name: getattr(lineage, name) for name in Lineage.__dataclass_fields__}
