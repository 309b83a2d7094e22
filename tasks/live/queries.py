"""Rows of a database: each piece of a query is a batch, and the next update begins where it ended.

Pieces end between two values of the watermark column, so that rows which share one stay together.
What is remembered lies some rows back: a row that was written late, after others that had been
read, is still found. Without such a row, these rows are unchanged, and are skipped.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
from sqlalchemy import Connection, Engine, TextClause, create_engine, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.algorithms.parts import command_for
from leaseboard.tasks.live.rows import Batch
from leaseboard.tasks.live.settings import DATABASES, WATERMARK, DataSettings
from leaseboard.tasks.machine.addresses import filled, is_variable, redacted, scrubbed
from leaseboard.tasks.store.live_model import State

MOST_TIES = 10_000_000
"""Rows of one value of the watermark column that are still read at once."""
_LIMIT = "pending_rows"
"""The parameter of a query: how many rows are read at most."""

Rows = list[tuple[Any, ...]]

_KINDS: dict[str, Any] = {
    "int": int,
    "float": float,
    "Decimal": Decimal,
    "str": str,
    "datetime": dt.datetime.fromisoformat,
    "date": dt.date.fromisoformat,
}
"""Types of watermarks, and how each is read again."""
_LEAST: tuple[tuple[set[int], Any], ...] = (
    ({20, 21, 23}, 1 - 2**63),
    ({700, 701, 1700}, -math.inf),
    ({1082, 1114, 1184}, "-infinity"),
    ({25, 1042, 1043}, ""),
)
"""OIDs of PostgreSQL's types (integers, reals, times, texts), and a value below all of theirs."""


@dataclass(frozen=True)
class Mark:
    """Watermark: up to where rows are known."""

    value: Any = None
    """All rows up to this one; None: from the beginning."""
    past: int = 0
    """How many rows after it are known, too."""
    digest: str = ""
    """Of these rows."""

    @classmethod
    def read(cls, line: str | None) -> Mark:
        """Read what `__str__` wrote."""
        if line is None:
            return cls()
        kind, value, past, digest = json.loads(line)
        return cls(_KINDS[kind](value) if kind else None, past, digest)

    def __str__(self) -> str:
        kind = "" if self.value is None else type(self.value).__name__
        value = self.value.isoformat() if isinstance(self.value, dt.date) else str(self.value)
        return json.dumps([kind, value, self.past, self.digest])

    def new_in(self, rows: Rows, place: int) -> Rows:
        """Return the rows after `value` that are not known; all if the known ones have changed.

        Known rows that share the watermark of a new one come with it: without ids, rows
        that are the same are distinguished by how many there are.
        """
        if _digest(rows[: self.past]) != self.digest:
            return rows
        start = self.past
        while 0 < start < len(rows) and rows[start][place] == rows[start - 1][place]:
            start -= 1
        return rows[start:]


def pending_rows(data: DataSettings, known: State) -> Iterator[Batch]:
    """See `leaseboard.tasks.live.sources.pending`."""
    url, shown = _url(data.place), redacted(data.place)
    file = url.get_backend_name() == "sqlite" and url.database
    if file and not Path(file).is_file():
        yield Batch(shown, "", fault=f"{file}: no such database: fix data.source")
        return
    options = {} if file else {"options": "-c timezone=UTC"}
    try:
        engine = create_engine(url, poolclass=NullPool, connect_args=options)
        for batch in _pieces(data, engine, Mark.read(known.watermark())):
            if known.knows(batch.digest):
                continue
            yield batch
            if not known.knows(batch.digest):
                return  # it was rejected: the next one's watermark would skip its rows
    except ImportError as error:
        raise UsageError(
            f"{shown}: {error.name} is not installed: {command_for('postgresql')}"
        ) from error
    except SQLAlchemyError as error:
        said = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        said = scrubbed(said, [url.render_as_string(hide_password=False)])
        yield Batch(shown, "", fault=f"{shown}: {said}: fix the database, or data.query")


def _pieces(data: DataSettings, engine: Engine, mark: Mark) -> Iterator[Batch]:
    with engine.connect() as connection:
        names = _names(data, connection)
        at = _beginning(data, connection) if mark.value is None else mark.value
    place = names.index(str(data.watermark))
    tail: Rows = []
    limit, is_first, more = data.batch_rows + mark.past, True, True
    while more:
        with engine.connect() as connection:  # none is open while a batch is ingested
            rows = _read(data, connection, at, limit)
        more = len(rows) == limit
        if more:  # rows beyond the limit may share the last value
            rows = [row for row in rows if row[place] != rows[-1][place]]
        if more and not rows:
            limit = _more_at_once(data, limit)
            continue
        if is_first and mark.past and not rows:
            shown = redacted(data.place)
            gone = (
                f"{shown}: the {mark.past} rows past {data.watermark} = {mark.value} are gone:"
                " were they deleted, or does it count again? Restore them, or start another live"
                " model"
            )
            yield Batch(shown, "", fault=gone)
        if not rows:
            return
        new = mark.new_in(rows, place) if is_first else rows
        value, tail = _back(mark.value, tail + rows, place, data.overlap)
        mark = Mark(value, len(tail), _digest(tail))
        if new:
            name = f"{data.watermark} up to {rows[-1][place]}"
            yield Batch(name, _digest(new), _frame(data, names, new), watermark=str(mark))
        at, limit, is_first = rows[-1][place], data.batch_rows, False


def _back(value: Any, rows: Rows, place: int, overlap: int) -> tuple[Any, Rows]:
    """Return a watermark with at least `overlap` of the rows past `value` past it, and these."""
    last = len(rows) - overlap - 1
    while 0 <= last < len(rows) - 1 and rows[last][place] == rows[last + 1][place]:
        last -= 1
    return (value, rows) if last < 0 else (rows[last][place], rows[last + 1 :])


def _more_at_once(data: DataSettings, limit: int) -> int:
    if limit > MOST_TIES:
        raise UsageError(
            f"data.watermark {data.watermark!r}: more than {MOST_TIES} rows share one value: name"
            " a column that grows"
        )
    return 2 * limit


def _names(data: DataSettings, connection: Connection) -> list[str]:
    """Return the columns of the query."""
    found = connection.execute(_wrapped(data, ""), {WATERMARK: None, _LIMIT: 0})
    names = list(map(str, found.keys()))
    if data.watermark not in names:
        raise UsageError(f"data.watermark: {unknown('column', str(data.watermark), names)}")
    return names


def _read(data: DataSettings, connection: Connection, at: Any, limit: int) -> Rows:
    name = connection.dialect.identifier_preparer.quote_identifier(str(data.watermark))
    found = connection.execute(_wrapped(data, f"order by {name}"), {WATERMARK: at, _LIMIT: limit})
    return [tuple(row) for row in found]


def _wrapped(data: DataSettings, order: str) -> TextClause:
    query = data.query.strip().removesuffix(";")
    return text(f"select * from (\n{query}\n) as pending {order} limit :{_LIMIT}")  # noqa: S608


def _beginning(data: DataSettings, connection: Connection) -> Any:
    """Return what is below all values of the watermark column."""
    if connection.dialect.name == "sqlite":  # where no number is above a text
        texts = connection.execute(_wrapped(data, ""), {WATERMARK: "", _LIMIT: 1}).first()
        return -math.inf if texts is None else ""
    found = connection.execute(_wrapped(data, ""), {WATERMARK: None, _LIMIT: 0}).cursor
    code = {column[0]: column[1] for column in found.description}[str(data.watermark)]
    for types, least in _LEAST:
        if code in types:
            return least
    raise UsageError(
        f"data.watermark: column {data.watermark!r} is not a number, date, time or text: name"
        " another"
    )


def _frame(data: DataSettings, names: list[str], rows: Rows) -> pd.DataFrame:
    """Return a piece as a table; without the watermark if another column identifies rows."""
    frame = pd.DataFrame(rows, columns=names)
    is_used = data.id is None or data.watermark in (data.id, data.time)
    return frame if is_used else frame.drop(columns=data.watermark)


def _digest(rows: Rows) -> str:
    hasher = hashlib.sha256()
    for row in rows:
        hasher.update(repr(row).encode())
    return hasher.hexdigest()


def _url(place: str) -> URL:
    """Return the address with the environment's values in it; these may hold any sign."""
    try:
        url = make_url(filled(place) if is_variable(place) else place)
    except (ArgumentError, ValueError):  # not `from` it: its text is the address
        raise UsageError(f"data.source {redacted(place)!r} is not an address") from None
    if url.get_backend_name() not in DATABASES:
        raise UsageError(f"data.source {place}: a database is one of {' and '.join(DATABASES)}")
    if is_variable(place):
        return url
    parts = {part: getattr(url, part) for part in ("username", "password", "host", "database")}
    given = {part: filled(str(value)) for part, value in parts.items() if value}
    return url.set(**given)
