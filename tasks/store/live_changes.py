"""What a batch changes in the state of a live model, written in the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Table, bindparam, delete, func, select, update

from leaseboard.tasks.store.database import INSERT
from leaseboard.tasks.store.live_tables import Changes, KeptRow, Tables

FORGOTTEN = "forgotten"
"""The name of the memory that tells the first and the last day of rows that are forgotten."""

AT_ONCE = 10_000
"""Rows of the log that are looked at together."""


def write(connection: Connection, tables: Tables, changes: Changes) -> None:
    """Write a batch and all that came of it."""
    batch = 0
    if changes.batch is not None:
        values = {
            **asdict(changes.batch),
            "at": changes.at,
            "counts": json.dumps(changes.batch.counts),
        }
        made = tables.batches.insert().values(values).returning(tables.batches.c.number)
        batch = int(connection.execute(made).scalar_one())
    _add_rows(connection, tables, changes.rows, batch)
    if changes.labels:
        values = [{"of_row": number, "told": label} for number, label in changes.labels]
        of_row = bindparam("of_row")
        came = update(tables.contents).where(tables.contents.c.row == of_row)
        connection.execute(came.values(label=bindparam("told"), settled=batch), values)
        came = update(tables.rows).where(tables.rows.c.number == of_row)
        connection.execute(came.values(settled=batch), values)
    for digest, content in changes.models.items():
        made = INSERT[connection.dialect.name](tables.models)
        made = made.values(digest=digest, content=content)
        connection.execute(made.on_conflict_do_nothing())
    put(connection, tables.lineages, ["number"], map(asdict, changes.lineages))
    if changes.lineages:
        kept = select(tables.lineages.c.model).where(tables.lineages.c.model.is_not(None))
        connection.execute(delete(tables.models).where(tables.models.c.digest.not_in(kept)))
    _add_days(connection, tables.days, changes.days)
    values = [{"name": n, "value": json.dumps(v)} for n, v in changes.memory.items()]
    put(connection, tables.memory, ["name"], values)
    bodies = [(address, json.dumps(body)) for address, body in changes.letters]
    aside = [(batch, *each) for each in changes.aside]
    _add(connection, tables.aside, ("batch", "id", "reason", "row"), aside)
    _add(connection, tables.history, ("at", "kind", "subject", "what"),
         [(each.at, each.kind, each.subject, each.what) for each in changes.happened])  # fmt: skip
    _add(connection, tables.letters, ("address", "body"), bodies)
    _add(connection, tables.posted, ("id", "at", "label"), changes.early)
    for number in changes.posted:
        connection.execute(delete(tables.posted).where(tables.posted.c.number == number))
    if changes.batch is not None:
        _forget(connection, tables, changes)


def _add(
    connection: Connection, table: Table, names: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    if values := [dict(zip(names, row, strict=True)) for row in rows]:
        connection.execute(table.insert(), values)


def _add_rows(connection: Connection, tables: Tables, rows: Sequence[KeptRow], batch: int) -> None:
    """Rows are numbered one after the other; no other adds any in a turn."""
    if not rows:
        return
    last = connection.scalar(select(func.max(tables.rows.c.number))) or 0
    numbered = [
        (number, row, None if row.label is None else batch)
        for number, row in enumerate(rows, last + 1)
    ]
    _add(
        connection, tables.rows, ("number", "id", "seal", "day", "batch", "settled"),
        [(number, row.id, row.seal, row.day, batch, came) for number, row, came in numbered],
    )  # fmt: skip
    _add(
        connection, tables.contents, ("row", "features", "forecasts", "label", "settled"),
        [(n, row.features, row.forecasts, row.label, came) for n, row, came in numbered],
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
    """Let go of what is not asked for any more."""
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
    made = INSERT[connection.dialect.name](table)
    others = {name: made.excluded[name] for name in rows[0] if name not in keys}
    connection.execute(made.on_conflict_do_update(index_elements=keys, set_=others), rows)
