"""The state of a keep: one transaction a batch, so that a batch is wholly done or not begun."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, delete, func, select, text, update

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.tasks.keep.changes import Changes, Happened, KeptRow, Letter, Lineage
from leaseboard.tasks.keep.commit import FORGOTTEN, forgotten, put, write
from leaseboard.tasks.keep.database import PATIENCE, StateDatabase
from leaseboard.tasks.keep.schema import tables_of

AT_ONCE = 500
"""Values that a statement asks for by name: SQLite takes up to 32,766, older ones 999."""
PROBE, PROBE_BYTES = "probe", 20_000
"""What is written and removed to see whether the state can be written, as much as some rows."""


class _OfTheCallerError(Exception):
    """An error in what is done within a transaction."""


class State:
    """The state of one keep, in a SQLite file or on a PostgreSQL server.

    - `patience`: see `leaseboard.tasks.keep.database.PATIENCE`.

    Raises UsageError if the address cannot be read; every method LeaseboardError, in one line, if
    the database cannot be used.
    """

    def __init__(self, place: Path | str, name: str, patience: float = PATIENCE) -> None:
        self.name, self._tables = name, tables_of(name)
        self._database = StateDatabase(place, self._tables.metadata, patience)
        self.place = place
        self._held: Connection | None = None

    def __str__(self) -> str:
        return str(self._database)

    def begun(self) -> AbstractContextManager[Connection]:
        """A transaction; what the database refuses is told in one line, without its secrets."""
        return self._database.begun(self._held)

    @contextmanager
    def together(self) -> Iterator[None]:
        """One transaction of all that is read and written within it."""
        try:
            with self._database.begun() as connection:
                self._held = connection
                try:
                    yield
                except Exception as error:
                    raise _OfTheCallerError(error) from error
        except _OfTheCallerError as wrapped:  # the database has no part in it
            raise wrapped.args[0] from None
        finally:
            self._held = None

    def turn(self) -> AbstractContextManager[None]:
        """Hold the keep against another turn; UsageError if one is going on."""
        busy = UsageError(
            f"another turn of the keep {self.name!r} is going on: wait until it is over, or stop"
            " it"
        )
        return self._database.held(f"keep {self.name}", busy)

    # Reading

    def knows(self, digest: str) -> bool:
        """Whether a batch of this content was taken in, or found broken."""
        batches = self._tables.batches
        return bool(self._value(select(func.count()).where(batches.c.digest == digest)))

    def watermark(self) -> str | None:
        """That of the last batch which had one."""
        batches = self._tables.batches.c
        query = select(batches.watermark).where(batches.watermark.is_not(None))
        found: str | None = self._value(query.order_by(batches.number.desc()).limit(1))
        return found

    def stamps(self) -> dict[str, str]:
        """See `leaseboard.tasks.keep.stamps`."""
        with self.begun() as connection:
            found = connection.execute(select(self._tables.files))
            return {row.name: row.stamp for row in found}

    def rows_of(self, ids: Sequence[str]) -> dict[str, KeptRow]:
        """The rows that are known of these identities."""
        identity = self._tables.rows.c.id
        found: dict[str, KeptRow] = {}
        with self.begun() as connection:
            for start in range(0, len(ids), AT_ONCE):
                query = self._whole.where(identity.in_(ids[start : start + AT_ONCE]))
                found |= {row.id: _row(row) for row in connection.execute(query)}
        return found

    def rows_on(self, day: str, *, settled: bool = False) -> list[KeptRow]:
        """The rows of a day of which it is known what they hold; of `settled` ones all."""
        rows, contents = self._tables.rows.c, self._tables.contents.c
        query = self._whole.where(rows.day == day, contents.row.is_not(None))
        if settled:
            query = query.where(contents.settled.is_not(None))
        with self.begun() as connection:
            return [_row(row) for row in connection.execute(query.order_by(rows.number))]

    def settled(self, count: int) -> list[KeptRow]:
        """The last rows whose label has come, at most `count`, in the order they were settled."""
        contents = self._tables.contents.c
        query = (
            self._whole.where(contents.settled.is_not(None))
            .order_by(contents.settled.desc(), contents.row.desc())
            .limit(count)
        )
        with self.begun() as connection:
            return [_row(row) for row in connection.execute(query)][::-1]

    def unsettled(self) -> list[KeptRow]:
        """All rows that wait for their label."""
        contents = self._tables.contents.c
        query = self._whole.where(contents.row.is_not(None), contents.settled.is_(None))
        with self.begun() as connection:
            return [_row(row) for row in connection.execute(query.order_by(contents.row))]

    @property
    def _whole(self) -> Any:
        """Rows, with what they hold where that is kept."""
        rows, contents = self._tables.rows, self._tables.contents
        return select(
            rows, contents.c.features, contents.c.forecasts, contents.c.label
        ).outerjoin_from(rows, contents, rows.c.number == contents.c.row)

    def lineages(self) -> list[Lineage]:
        """All, by number."""
        table = self._tables.lineages
        with self.begun() as connection:
            found = connection.execute(select(table).order_by(table.c.number)).mappings()
            return [Lineage(**row) for row in found]

    def model(self, digest: str) -> bytes:
        """What a lineage has learned."""
        models = self._tables.models
        content: bytes = self._value(select(models.c.content).where(models.c.digest == digest))
        if content is None or hashlib.sha256(content).hexdigest() != digest:
            raise LeaseboardError(
                f"the state {self} is damaged: the model {digest[:12]} is not what was written:"
                " restore a copy of the state"
            )
        return content

    def days(self) -> list[dict[str, Any]]:
        """The sums by day and lineage, in the order of days."""
        table = self._tables.days
        with self.begun() as connection:
            query = select(table).order_by(table.c.day, table.c.lineage)
            found = connection.execute(query).mappings()
            return [dict(row) | {"sums": json.loads(row["sums"])} for row in found]

    def memory(self) -> dict[str, Any]:
        """What is remembered, by name."""
        table = self._tables.memory
        with self.begun() as connection:
            others = table.c.name.not_in([FORGOTTEN, PROBE])
            found = connection.execute(select(table).where(others)).all()
            return {name: json.loads(value) for name, value in found}

    def forgotten(self) -> tuple[str, str] | None:
        """The first and the last day of rows whose identity is forgotten; None if none is."""
        with self.begun() as connection:
            return forgotten(connection, self._tables)

    def had_batch(self, name: str) -> bool:
        """Whether a batch of this name was taken in."""
        batches = self._tables.batches
        return bool(self._value(select(func.count()).where(batches.c.name == name)))

    def batches(self) -> list[dict[str, Any]]:
        """All batches, the oldest first."""
        table = self._tables.batches
        with self.begun() as connection:
            found = connection.execute(select(table).order_by(table.c.number)).mappings()
            return [dict(row) | {"counts": json.loads(row["counts"])} for row in found]

    def asides(self, limit: int = 1000) -> list[dict[str, Any]]:
        """The rows that were set aside last, the newest first."""
        table = self._tables.aside
        with self.begun() as connection:
            query = select(table).order_by(table.c.number.desc()).limit(limit)
            return [dict(row) for row in connection.execute(query).mappings()]

    def history(self) -> list[Happened]:
        """What happened, the oldest first."""
        table = self._tables.history
        with self.begun() as connection:
            query = select(table.c.at, table.c.kind, table.c.subject, table.c.what)
            return [Happened(*row) for row in connection.execute(query.order_by(table.c.number))]

    def letters(self) -> dict[int, Letter]:
        """What is to be told and was not taken yet, by number."""
        table = self._tables.letters
        with self.begun() as connection:
            found = connection.execute(select(table).order_by(table.c.number))
            return {row.number: (row.address, json.loads(row.body)) for row in found}

    def posted(self, before: str | None = None) -> list[tuple[int, str, str]]:
        """Number, identity and label of what was posted to the server and not taken in.

        - `before`: of those whose row has not come only what was posted before this moment.
        """
        table, rows = self._tables.posted, self._tables.rows
        query = select(table.c.number, table.c.id, table.c.label).order_by(table.c.number)
        if before is not None:
            has_come = select(rows.c.id).where(rows.c.id == table.c.id).exists()
            query = query.where(has_come | (table.c.at < before))
        with self.begun() as connection:
            return [tuple(row) for row in connection.execute(query)]

    def labels(self) -> tuple[int, str | None]:
        """How many posted labels wait, and when a turn took labels in last."""
        batches, posted = self._tables.batches, self._tables.posted
        with self.begun() as connection:
            waiting = connection.scalar(select(func.count()).select_from(posted)) or 0
            query = select(batches.c.at, batches.c.counts).order_by(batches.c.number.desc())
            for at, counts in connection.execute(query.execution_options(yield_per=20)):
                if json.loads(counts).get("labels"):
                    return waiting, at
        return waiting, None

    def waiting(self) -> dict[str, int]:
        """How many rows wait for their label, by day."""
        rows, contents = self._tables.rows.c, self._tables.contents.c
        query = (
            select(rows.day, func.count())
            .join_from(self._tables.contents, self._tables.rows, rows.number == contents.row)
            .where(contents.settled.is_(None))
            .group_by(rows.day)
            .order_by(rows.day)
        )
        with self.begun() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}

    def last_turn(self) -> dict[str, Any] | None:
        """The turn that began last: ``began``, ``ended`` if it has, ``summary``."""
        table = self._tables.turns
        with self.begun() as connection:
            query = select(table).order_by(table.c.number.desc()).limit(1)
            found = connection.execute(query).mappings().one_or_none()
            return found and dict(found) | {"summary": json.loads(found["summary"])}

    def holds(self) -> dict[str, int]:
        """How many rows each of its tables has, by what they are called in `schema`."""
        with self.begun() as connection:
            return {
                each.name: connection.scalar(
                    select(func.count()).select_from(getattr(self._tables, each.name))
                )
                for each in fields(self._tables)
                if each.name != "metadata"
            }

    def size(self) -> int:
        """Bytes that it takes in its database."""
        with self.begun() as connection:
            if isinstance(self.place, Path):
                pages = connection.scalar(text("pragma page_count"))
                return int(pages * connection.scalar(text("pragma page_size")))
            names = list(self._tables.metadata.tables)
            sizes = (
                connection.scalar(select(func.pg_total_relation_size(name))) for name in names
            )
            return sum(map(int, sizes))

    # Writing

    def commit(self, changes: Changes) -> None:
        """Write all that a batch changes, or nothing of it."""
        with self.begun() as connection:
            write(connection, self._tables, changes)

    def keep_stamps(self, new: Mapping[str, str], gone: Collection[str]) -> None:
        """Keep the stamps of files, and let go of others."""
        files = self._tables.files
        with self.begun() as connection:
            put(connection, files, ["name"], [{"name": n, "stamp": s} for n, s in new.items()])
            for name in gone:
                connection.execute(delete(files).where(files.c.name == name))

    def strike_out(self, letter: int) -> None:
        """The letter was taken."""
        table = self._tables.letters
        with self.begun() as connection:
            connection.execute(delete(table).where(table.c.number == letter))

    def keep_published(self, number: int, digest: str) -> None:
        """The lineage was published as it is now; nothing is written if it has learned since."""
        table = self._tables.lineages
        chosen = (table.c.number == number) & (table.c.model == digest)
        with self.begun() as connection:
            connection.execute(update(table).where(chosen).values(published=digest))

    def begin_turn(self, at: str) -> int:
        """A new turn; its number."""
        turns = self._tables.turns
        made = turns.insert().values(began=at, summary="{}").returning(turns.c.number)
        with self.begun() as connection:
            return int(connection.execute(made).scalar_one())

    def unfinished(self) -> str | None:
        """When the last turn began, if it never ended; None if it did, or there was none."""
        turns = self._tables.turns
        with self.begun() as connection:
            last = connection.execute(select(turns).order_by(turns.c.number.desc()).limit(1))
            found = last.one_or_none()
        return None if found is None or found.ended is not None else str(found.began)

    def end_turn(self, number: int, at: str, summary: Mapping[str, Any]) -> None:
        """The turn is over."""
        turns = self._tables.turns
        with self.begun() as connection:
            connection.execute(
                update(turns)
                .where(turns.c.number == number)
                .values(ended=at, summary=json.dumps(summary))
            )

    def check(self) -> None:
        """LeaseboardError if nothing can be written now: a full disk is noticed when it is."""
        memory, probe = self._tables.memory, {"name": PROBE, "value": "x" * PROBE_BYTES}
        with self.begun() as connection:
            put(connection, memory, ["name"], [probe])
        with self.begun() as connection:
            connection.execute(delete(memory).where(memory.c.name == PROBE))

    def log_served(self, forecasts: Sequence[Mapping[str, Any]]) -> None:
        """Write down what the server is about to answer."""
        with self.begun() as connection:
            connection.execute(self._tables.served.insert(), list(forecasts))

    def post(self, labels: Sequence[Mapping[str, str]]) -> None:
        """Keep labels that were posted until the next turn."""
        with self.begun() as connection:
            connection.execute(self._tables.posted.insert(), list(labels))

    def _value(self, query: Any) -> Any:
        with self.begun() as connection:
            return connection.scalar(query)


def _row(row: Any) -> KeptRow:
    return KeptRow(
        row.id, row.seal, row.day, row.features or "", row.forecasts or "", row.label, row.number,
        is_settled=row.settled is not None,
    )  # fmt: skip
