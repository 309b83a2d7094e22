"""The state of a live model: one transaction a batch, so that a batch is wholly done or not."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.tasks.store import live_tables
from leaseboard.tasks.store.database import Database, StoreSchema
from leaseboard.tasks.store.live_tables import (
    Changes,
    HistoryEntry,
    ModelCandidate,
    OutboxEntry,
    StoredRow,
    digest_of,
)

PATIENCE = 30.0
"""Seconds that a database may be busy with what others write."""
AT_ONCE = 500
"""Values that a statement asks for by name: SQLite takes up to 32,766, older ones 999."""
PROBE, PROBE_BYTES = "probe", 20_000
"""What is written and removed to see whether the state can be written, as much as some rows."""


OF_ROWS = {
    "rows": "rows",
    "quarantine": "quarantined rows",
    "served": "logged predictions",
    "early": "labels without a row",
}
"""Tables that have something of single rows, and what that is called."""


class State:
    """State of one live model, in a SQLite file or on a PostgreSQL server.

    - `patience`: see `PATIENCE`.

    Raises UsageError if the address cannot be read; every method LeaseboardError, in one line, if
    the database cannot be used.
    """

    def __init__(self, place: Path | str, name: str, patience: float = PATIENCE) -> None:
        self.name, self.place, self._tables = name, place, live_tables.tables_of(name)
        self.tables: dict[str, sa.Table] = vars(self._tables)
        """All tables, by the field of `Tables`."""
        self._database = Database(place, StoreSchema(
            f"live {name}", self._tables.rows.metadata, "state", live_tables.FIX,
            live_tables.VERSION, live_tables.REBUILD, patience, has_readers=True,
        ))  # fmt: skip
        self._open: sa.Connection | None = None

    def __str__(self) -> str:
        return str(self._database)

    @contextmanager
    def connected(self) -> Iterator[sa.Connection]:
        """Begin a transaction, or join the open one; its errors are one line without secrets."""
        if self._open is not None:
            with self._database.reported((SQLAlchemyError,)):
                yield self._open
            return
        with self._database.begin() as connection:
            yield connection

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Read and write in one transaction."""
        with self._database.begin() as connection:
            self._open = connection
            try:
                yield
            finally:
                self._open = None

    def update_lock(self) -> AbstractContextManager[None]:
        """Lock the live model against another update; UsageError if one is running."""
        busy = UsageError(
            f"another update of the live model {self.name!r} is running: wait until it is over, or"
            " stop it"
        )
        return self._database.lock(digest_of(f"live {self.name}".encode()), busy)

    def _all(self, query: Any) -> list[dict[str, Any]]:
        with self.connected() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def _whole(self, table: sa.Table) -> list[dict[str, Any]]:
        """Return all rows of a table, in the order of their keys."""
        return self._all(sa.select(table).order_by(*table.primary_key))

    def _value(self, query: Any) -> Any:
        with self.connected() as connection:
            return connection.scalar(query)

    def _do(self, statement: Any, rows: Sequence[Mapping[str, Any]] | None = None) -> None:
        with self.connected() as connection:
            connection.execute(statement, rows)

    # Reading

    def knows(self, digest: str) -> bool:
        """Return whether a batch of this content was ingested."""
        return self.had_batch(digest=digest)

    def had_batch(self, **column: str) -> bool:
        """Return whether a batch of this name or digest was ingested."""
        query = sa.select(self._tables.batches.c.number).filter_by(**column)
        return self._value(query.limit(1)) is not None

    def rows_of(self, ids: Sequence[str]) -> dict[str, StoredRow]:
        """Return the rows that are known of these identities."""
        found: dict[str, StoredRow] = {}
        for start in range(0, len(ids), AT_ONCE):
            asked = self._tables.rows.c.id.in_(ids[start : start + AT_ONCE])
            found |= {row.id: row for row in self._rows(sa.select(self._tables.rows).where(asked))}
        return found

    def rows_on(self, day: str, *, labelled: bool = False) -> list[StoredRow]:
        """Return the rows of a day whose content is stored; of `labelled` ones all."""
        rows = self._tables.rows.c
        where = [rows.day == day, rows.features.is_not(None)]
        where += [rows.label_batch.is_not(None)] if labelled else []
        return self._rows(sa.select(self._tables.rows).where(*where).order_by(rows.number))

    def labelled_rows(self, count: int) -> list[StoredRow]:
        """Return the last rows whose label has come, at most `count`, in the order of labels."""
        rows = self._tables.rows.c
        query = sa.select(self._tables.rows).where(
            rows.features.is_not(None), rows.label_batch.is_not(None)
        )
        query = query.order_by(rows.label_batch.desc(), rows.number.desc())
        return self._rows(query.limit(count))[::-1]

    def _rows(self, query: Any) -> list[StoredRow]:
        with self.connected() as connection:
            return [
                StoredRow(
                    row.id, row.checksum, row.day, row.features or "", row.predictions or "",
                    row.label, row.number, row.label_batch is not None,
                )
                for row in connection.execute(query)
            ]  # fmt: skip

    def candidates(self) -> list[ModelCandidate]:
        """Return all candidates, by number."""
        return [ModelCandidate(**row) for row in self._whole(self._tables.candidates)]

    def model(self, digest: str) -> bytes:
        """Return what a candidate has learned."""
        models = self._tables.models
        content: bytes = self._value(sa.select(models.c.content).where(models.c.digest == digest))
        if content is None or digest_of(content) != digest:
            raise LeaseboardError(
                f"the state {self} is damaged: the model {digest[:12]} is not what was written:"
                " restore a copy of the state"
            )
        return content

    def days(self) -> list[dict[str, Any]]:
        """Return the sums by day and candidate, in the order of days."""
        found = self._whole(self._tables.days)
        return [row | {"sums": json.loads(row["sums"])} for row in found]

    def lifecycle(self) -> dict[str, Any]:
        """Return fields of `leaseboard.tasks.live.incidents.LifecycleState` as JSON has them."""
        table = self._tables.lifecycle
        names = [live_tables.FORGOTTEN, live_tables.ERASED, live_tables.UPDATE, PROBE]
        found = self._all(sa.select(table).where(table.c.name.not_in(names)))
        return {row["name"]: json.loads(row["value"]) for row in found}

    def _field(self, name: str) -> Any:
        """Return a value of the table `lifecycle` that is not a field of `LifecycleState`."""
        with self.connected() as connection:
            return live_tables.field_of(connection, self._tables, name)

    def forgotten(self) -> tuple[str, str] | None:
        """Return the first and last day of rows whose identity is forgotten; None if none is."""
        found = self._field(live_tables.FORGOTTEN)
        return None if found is None else (found[0], found[1])

    def erased(self) -> set[str]:
        """Return the digests of ids whose rows were deleted by `erase`."""
        return set(self._field(live_tables.ERASED) or ())

    def batches(self) -> list[dict[str, Any]]:
        """Return all batches, the oldest first."""
        return self._whole(self._tables.batches)

    def quarantined_rows(self, limit: int = 1000) -> list[dict[str, Any]]:
        """Return the rows that were quarantined last, the newest first."""
        table = self._tables.quarantine
        return self._all(sa.select(table).order_by(table.c.number.desc()).limit(limit))

    def history(self) -> list[HistoryEntry]:
        """Return what happened, the oldest first."""
        table = self._tables.history.c
        columns = table.at, table.kind, table.subject, table.what
        query = sa.select(*columns).order_by(table.number)
        return [HistoryEntry(**row) for row in self._all(query)]

    def outbox(self) -> dict[int, OutboxEntry]:
        """Return notifications that were not delivered yet, by number."""
        found = self._whole(self._tables.outbox)
        return {row["number"]: (row["address"], json.loads(row["body"])) for row in found}

    def early(self) -> dict[str, str]:
        """Return the labels that came before their rows, as JSON, by the identity of the row."""
        return {row["id"]: row["label"] for row in self._whole(self._tables.early)}

    def waiting(self) -> dict[str, int]:
        """Return how many rows wait for their label, by day."""
        rows = self._tables.rows.c
        query = sa.select(rows.day, sa.func.count().label("count")).group_by(rows.day)
        query = query.where(rows.features.is_not(None), rows.label_batch.is_(None))
        return {row["day"]: row["count"] for row in self._all(query.order_by(rows.day))}

    def last_update(self) -> dict[str, Any]:
        """Return what is known of updates; empty before the first.

        Of the last one ``began``, ``ended`` if it has, ``outcome`` and ``summary``; and when one
        ended last with ``success`` and with ``failure``.
        """
        return self._field(live_tables.UPDATE) or {}

    # Writing

    def commit(self, changes: Changes) -> None:
        """Write all that a batch changes, or nothing of it."""
        with self.connected() as connection:
            live_tables.write(connection, self._tables, changes)

    def erase(self, ids: Sequence[str]) -> dict[str, int]:
        """Delete all that is stored of rows by their ids, and know these ids by digests only.

        Returns how many rows were deleted, by the field of `Tables`.
        """
        found, tables = dict.fromkeys(OF_ROWS, 0), self.tables
        digests = json.dumps(sorted(self.erased() | {digest_of(each.encode()) for each in ids}))
        with self.connected() as connection:
            for start in range(0, len(ids), AT_ONCE):
                for name in OF_ROWS:
                    named = tables[name].c.id.in_(ids[start : start + AT_ONCE])
                    gone = connection.execute(sa.delete(tables[name]).where(named))
                    found[name] += gone.rowcount
            values = [{"name": live_tables.ERASED, "value": digests}]
            live_tables.put(connection, self._tables.lifecycle, values)
        return found

    def expire(self, day: str) -> tuple[dict[str, int], list[str]]:
        """Delete all that is stored of rows of earlier days.

        Returns how many rows were deleted, by the field of `Tables`, and the ids of those that
        waited for their labels.
        """
        tables, rows, batches = self._tables, self._tables.rows.c, self._tables.batches.c
        old = sa.select(batches.number).where(batches.at < day)
        where = {tables.quarantine: tables.quarantine.c.batch.in_(old),
                 tables.served: tables.served.c.at < day,
                 tables.early: tables.early.c.at < day}  # fmt: skip
        with self.connected() as connection:
            waiting = sa.select(rows.id).where(rows.day < day, rows.label_batch.is_(None))
            ids = list(connection.execute(waiting).scalars())
            count = live_tables.forget_rows(connection, tables, rows.day < day)
            counts = [count, *(connection.execute(sa.delete(table).where(gone)).rowcount
                               for table, gone in where.items())]  # fmt: skip
        return dict(zip(OF_ROWS, counts, strict=True)), ids

    def remove_sent(self, number: int) -> None:
        """Delete a notification that was delivered."""
        table = self._tables.outbox
        self._do(sa.delete(table).where(table.c.number == number))

    def begin_update(self, at: str) -> None:
        """Write that an update begins."""
        self.fail_update(at)  # one that was killed
        self._put_update(began=at, ended=None, outcome="failure", summary={})

    def end_update(self, at: str, summary: Mapping[str, Any]) -> None:
        """Write that the update has succeeded."""
        self._put_update(ended=at, success=at, outcome="success", summary=summary)

    def fail_update(self, at: str) -> None:
        """Write that an update which has begun and not ended has failed."""
        if self.last_update().get("ended", at) is None:
            self._put_update(ended=at, failure=at)

    def _put_update(self, **values: Any) -> None:
        self.commit(Changes("", lifecycle={live_tables.UPDATE: self.last_update() | values}))

    def check(self) -> None:
        """Raise LeaseboardError if nothing can be written now, as to a disk that is full."""
        table, probe = self._tables.lifecycle, {"name": PROBE, "value": "x" * PROBE_BYTES}
        with self.connected() as connection:
            live_tables.put(connection, table, [probe])
        self._do(sa.delete(table).where(table.c.name == PROBE))

    def log_served(self, predictions: Sequence[Mapping[str, Any]]) -> None:
        """Write what the server is about to answer."""
        self._do(self._tables.served.insert(), predictions)

    def drop_early(self, before: str) -> int:
        """Delete labels that came before a moment, and their rows never; return how many."""
        early = self._tables.early
        with self.connected() as connection:
            return connection.execute(sa.delete(early).where(early.c.at < before)).rowcount
