"""The state of a live model: one transaction a batch, so that a batch is wholly done or not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.tasks.store import live_tables
from leaseboard.tasks.store.database import Database
from leaseboard.tasks.store.live_tables import Changes, Happened, KeptRow, Letter, Lineage

PATIENCE = 30.0
"""Seconds that a database may be busy with what others write."""
AT_ONCE = 500
"""Values that a statement asks for by name: SQLite takes up to 32,766, older ones 999."""
PROBE, PROBE_BYTES = "probe", 20_000
"""What is written and removed to see whether the state can be written, as much as some rows."""


class State:
    """The state of one live model, in a SQLite file or on a PostgreSQL server.

    - `patience`: see `PATIENCE`.

    Raises UsageError if the address cannot be read; every method LeaseboardError, in one line, if
    the database cannot be used.
    """

    def __init__(self, place: Path | str, name: str, patience: float = PATIENCE) -> None:
        self.name, self.place, self._tables = name, place, live_tables.tables_of(name)
        self._database = Database(place, live_tables.schema_of(name, self._tables, patience))
        self._held: sa.Connection | None = None

    def __str__(self) -> str:
        return str(self._database)

    @contextmanager
    def begun(self) -> Iterator[sa.Connection]:
        """A transaction, or the one that is going on; its errors are one line without secrets."""
        if self._held is not None:
            with self._database.reported((SQLAlchemyError,)):
                yield self._held
            return
        with self._database.begin() as connection:
            yield connection

    @contextmanager
    def together(self) -> Iterator[None]:
        """One transaction of all that is read and written within it."""
        with self._database.begin() as connection:
            self._held = connection
            try:
                yield
            finally:
                self._held = None

    def turn(self) -> AbstractContextManager[None]:
        """Hold the live model against another update; UsageError if one is going on."""
        busy = UsageError(
            f"another turn of the keep {self.name!r} is going on: wait until it is over, or stop"
            " it"
        )
        return self._database.lock(hashlib.sha256(f"keep {self.name}".encode()).hexdigest(), busy)

    def _all(self, query: Any) -> Sequence[Any]:
        with self.begun() as connection:
            return connection.execute(query).all()

    def _mappings(self, query: Any) -> list[dict[str, Any]]:
        with self.begun() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def _value(self, query: Any) -> Any:
        with self.begun() as connection:
            return connection.scalar(query)

    def _do(self, statement: Any, rows: Sequence[Mapping[str, Any]] | None = None) -> None:
        with self.begun() as connection:
            connection.execute(statement, rows)

    # Reading

    def knows(self, digest: str) -> bool:
        """Whether a batch of this content was taken in, or found broken."""
        batches = self._tables.batches
        return bool(self._value(sa.select(sa.func.count()).where(batches.c.digest == digest)))

    def had_batch(self, name: str) -> bool:
        """Whether a batch of this name was taken in."""
        batches = self._tables.batches
        return bool(self._value(sa.select(sa.func.count()).where(batches.c.name == name)))

    def watermark(self) -> str | None:
        """That of the last batch which had one."""
        batches = self._tables.batches.c
        query = sa.select(batches.watermark).where(batches.watermark.is_not(None))
        found: str | None = self._value(query.order_by(batches.number.desc()).limit(1))
        return found

    def stamps(self) -> dict[str, str]:
        """See `leaseboard.tasks.keep.sources`."""
        return {row.name: row.stamp for row in self._all(sa.select(self._tables.files))}

    def rows_of(self, ids: Sequence[str]) -> dict[str, KeptRow]:
        """The rows that are known of these identities."""
        identity = self._tables.rows.c.id
        found: dict[str, KeptRow] = {}
        for start in range(0, len(ids), AT_ONCE):
            query = self._whole.where(identity.in_(ids[start : start + AT_ONCE]))
            found |= {row.id: row for row in self._rows(query)}
        return found

    def rows_on(self, day: str, *, settled: bool = False) -> list[KeptRow]:
        """The rows of a day of which it is known what they hold; of `settled` ones all."""
        rows, contents = self._tables.rows.c, self._tables.contents.c
        query = self._whole.where(rows.day == day, contents.row.is_not(None))
        if settled:
            query = query.where(contents.settled.is_not(None))
        return self._rows(query.order_by(rows.number))

    def settled(self, count: int) -> list[KeptRow]:
        """The last rows whose label has come, at most `count`, in the order they were settled."""
        contents = self._tables.contents.c
        query = self._whole.where(contents.settled.is_not(None))
        query = query.order_by(contents.settled.desc(), contents.row.desc())
        return self._rows(query.limit(count))[::-1]

    def unsettled(self) -> list[KeptRow]:
        """All rows that wait for their label."""
        contents = self._tables.contents.c
        query = self._whole.where(contents.row.is_not(None), contents.settled.is_(None))
        return self._rows(query.order_by(contents.row))

    @property
    def _whole(self) -> Any:
        """Rows, with what they hold where that is kept."""
        rows, contents = self._tables.rows, self._tables.contents
        return sa.select(
            rows, contents.c.features, contents.c.forecasts, contents.c.label
        ).outerjoin_from(rows, contents, rows.c.number == contents.c.row)

    def _rows(self, query: Any) -> list[KeptRow]:
        return [
            KeptRow(
                row.id, row.seal, row.day, row.features or "", row.forecasts or "", row.label,
                row.number, is_settled=row.settled is not None,
            )
            for row in self._all(query)
        ]  # fmt: skip

    def lineages(self) -> list[Lineage]:
        """All, by number."""
        table = self._tables.lineages
        return [
            Lineage(**row) for row in self._mappings(sa.select(table).order_by(table.c.number))
        ]

    def model(self, digest: str) -> bytes:
        """What a lineage has learned."""
        models = self._tables.models
        content: bytes = self._value(sa.select(models.c.content).where(models.c.digest == digest))
        if content is None or hashlib.sha256(content).hexdigest() != digest:
            raise LeaseboardError(
                f"the state {self} is damaged: the model {digest[:12]} is not what was written:"
                " restore a copy of the state"
            )
        return content

    def days(self) -> list[dict[str, Any]]:
        """The sums by day and lineage, in the order of days."""
        table = self._tables.days
        found = self._mappings(sa.select(table).order_by(table.c.day, table.c.lineage))
        return [row | {"sums": json.loads(row["sums"])} for row in found]

    def memory(self) -> dict[str, Any]:
        """The fields of `leaseboard.tasks.keep.lifecycle.LifecycleState` that were written, by
        name.
        """
        table = self._tables.memory
        found = self._all(
            sa.select(table).where(table.c.name.not_in([live_tables.FORGOTTEN, PROBE]))
        )
        return {name: json.loads(value) for name, value in found}

    def forgotten(self) -> tuple[str, str] | None:
        """The first and the last day of rows whose identity is forgotten; None if none is."""
        with self.begun() as connection:
            return live_tables.forgotten(connection, self._tables)

    def batches(self) -> list[dict[str, Any]]:
        """All batches, the oldest first."""
        table = self._tables.batches
        found = self._mappings(sa.select(table).order_by(table.c.number))
        return [row | {"counts": json.loads(row["counts"])} for row in found]

    def asides(self, limit: int = 1000) -> list[dict[str, Any]]:
        """The rows that were set aside last, the newest first."""
        table = self._tables.aside
        return self._mappings(sa.select(table).order_by(table.c.number.desc()).limit(limit))

    def history(self) -> list[Happened]:
        """What happened, the oldest first."""
        table = self._tables.history.c
        query = sa.select(table.at, table.kind, table.subject, table.what).order_by(table.number)
        return [Happened(*row) for row in self._all(query)]

    def letters(self) -> dict[int, Letter]:
        """Messages that were not delivered yet, by number."""
        table = self._tables.letters
        found = self._all(sa.select(table).order_by(table.c.number))
        return {row.number: (row.address, json.loads(row.body)) for row in found}

    def posted(self, before: str | None = None) -> list[tuple[int, str, str]]:
        """Number, identity and label of what was posted to the server and not taken in.

        - `before`: of those whose row has not come only what was posted before this moment.
        """
        table, rows = self._tables.posted, self._tables.rows
        query = sa.select(table.c.number, table.c.id, table.c.label).order_by(table.c.number)
        if before is not None:
            has_come = sa.select(rows.c.id).where(rows.c.id == table.c.id).exists()
            query = query.where(has_come | (table.c.at < before))
        return [tuple(row) for row in self._all(query)]

    def labels(self) -> tuple[int, str | None]:
        """How many posted labels wait, and when a turn took labels in last."""
        batches, posted = self._tables.batches, self._tables.posted
        with self.begun() as connection:
            waiting = connection.scalar(sa.select(sa.func.count()).select_from(posted)) or 0
            query = sa.select(batches.c.at, batches.c.counts).order_by(batches.c.number.desc())
            for at, counts in connection.execute(query.execution_options(yield_per=20)):
                if json.loads(counts).get("labels"):
                    return waiting, at
        return waiting, None

    def waiting(self) -> dict[str, int]:
        """How many rows wait for their label, by day."""
        rows, contents = self._tables.rows.c, self._tables.contents.c
        query = sa.select(rows.day, sa.func.count()).join_from(
            self._tables.contents, self._tables.rows, rows.number == contents.row
        )
        query = query.where(contents.settled.is_(None)).group_by(rows.day).order_by(rows.day)
        return {row[0]: row[1] for row in self._all(query)}

    def last_turn(self) -> dict[str, Any] | None:
        """The turn that began last: ``began``, ``ended`` if it has, ``summary``."""
        table = self._tables.turns
        found = self._mappings(sa.select(table).order_by(table.c.number.desc()).limit(1))
        return found[0] | {"summary": json.loads(found[0]["summary"])} if found else None

    def unfinished(self) -> str | None:
        """When the last turn began, if it never ended; None if it did, or there was none."""
        last = self.last_turn()
        return None if last is None or last["ended"] is not None else str(last["began"])

    def holds(self) -> dict[str, int]:
        """How many rows each of its tables has, by what they are called in `Tables`."""
        tables = {each.name: getattr(self._tables, each.name) for each in fields(self._tables)}
        del tables["metadata"]
        return {
            name: self._value(sa.select(sa.func.count()).select_from(table))
            for name, table in tables.items()
        }

    def size(self) -> int:
        """Bytes that it takes in its database."""
        if isinstance(self.place, Path):
            return int(
                self._value(sa.text("pragma page_count"))
                * self._value(sa.text("pragma page_size"))
            )
        names = self._tables.metadata.tables
        return sum(self._value(sa.select(sa.func.pg_total_relation_size(name))) for name in names)

    # Writing

    def commit(self, changes: Changes) -> None:
        """Write all that a batch changes, or nothing of it."""
        with self.begun() as connection:
            live_tables.write(connection, self._tables, changes)

    def keep_stamps(self, new: Mapping[str, str], gone: Collection[str]) -> None:
        """Keep the stamps of files, and let go of others."""
        files = self._tables.files
        with self.begun() as connection:
            live_tables.put(
                connection, files, ["name"], [{"name": n, "stamp": s} for n, s in new.items()]
            )
            for name in gone:
                connection.execute(sa.delete(files).where(files.c.name == name))

    def strike_out(self, letter: int) -> None:
        """The letter was taken."""
        table = self._tables.letters
        self._do(sa.delete(table).where(table.c.number == letter))

    def keep_published(self, number: int, digest: str) -> None:
        """The lineage was published as it is now; nothing is written if it has learned since."""
        table = self._tables.lineages
        chosen = (table.c.number == number) & (table.c.model == digest)
        self._do(sa.update(table).where(chosen).values(published=digest))

    def begin_turn(self, at: str) -> int:
        """A new turn; its number."""
        turns = self._tables.turns
        made = turns.insert().values(began=at, summary="{}").returning(turns.c.number)
        return int(self._value(made))

    def end_turn(self, number: int, at: str, summary: Mapping[str, Any]) -> None:
        """The turn is over."""
        turns = self._tables.turns
        ended = sa.update(turns).where(turns.c.number == number)
        self._do(ended.values(ended=at, summary=json.dumps(summary)))

    def check(self) -> None:
        """LeaseboardError if nothing can be written now: a full disk is noticed when it is."""
        memory, probe = self._tables.memory, {"name": PROBE, "value": "x" * PROBE_BYTES}
        with self.begun() as connection:
            live_tables.put(connection, memory, ["name"], [probe])
        self._do(sa.delete(memory).where(memory.c.name == PROBE))

    def log_served(self, forecasts: Sequence[Mapping[str, Any]]) -> None:
        """Write down what the server is about to answer."""
        self._do(self._tables.served.insert(), forecasts)

    def post(self, labels: Sequence[Mapping[str, str]]) -> None:
        """Keep labels that were posted until the next turn."""
        self._do(self._tables.posted.insert(), labels)
