"""The tables of a keep's state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

NUMBER = BigInteger().with_variant(Integer, "sqlite")
"""SQLite counts up by itself in a column of this type alone."""
LONGEST_ID = 500
"""Characters of a row's identity: an index of PostgreSQL takes 2,704 bytes of a text."""


@dataclass(frozen=True)
class Tables:
    """All of one keep; several keeps may share a database, each under its own name."""

    metadata: MetaData
    batches: Table
    """What was taken in, once each: a file, or a piece of a query."""
    rows: Table
    """Rows by their identity, and the batch that brought them and that which brought the label."""
    contents: Table
    """What rows hold, and what each lineage forecast before the label was known: of those that
    wait for their label, and of the last ones."""
    aside: Table
    """Rows that broke the contract, with the reason."""
    lineages: Table
    models: Table
    """What the living lineages have learned, by its digest."""
    days: Table
    """Sums of losses by day and lineage, for ever."""
    history: Table
    """What happened to lineages, and incidents."""
    letters: Table
    """Messages that nobody has taken yet."""
    memory: Table
    """Small values by name: what the watch has seen, the comparisons, the clock."""
    turns: Table
    served: Table
    """What the server has forecast."""
    posted: Table
    """Labels that were posted to the server, until a turn takes them in."""
    files: Table
    """Stamps of files whose content is known, so that they are not read at each turn."""


def tables_of(name: str) -> Tables:
    """The tables of the keep called `name`, which is a word in small letters."""
    metadata, prefix = MetaData(), f"keep_{name}_"

    def table(kind: str, *columns: Any) -> Table:
        # A number that was given is never given again, also when its row is deleted.
        counts = bool(columns) and columns[0].autoincrement is True
        return Table(prefix + kind, metadata, *columns, sqlite_autoincrement=counts)

    def counted() -> Any:
        return Column("number", NUMBER, primary_key=True, autoincrement=True)

    return Tables(
        metadata=metadata,
        batches=table(
            "batches",
            counted(),
            Column("name", Text, nullable=False),
            Column("digest", String(64), nullable=False, unique=True),
            Column("at", String(32), nullable=False),
            Column("counts", Text, nullable=False),
            Column("watermark", Text),
        ),
        rows=table(
            "rows",
            counted(),
            Column("id", Text, nullable=False, unique=True),
            Column("seal", BigInteger, nullable=False),
            Column("day", String(10), nullable=False, index=True),
            Column("batch", Integer, nullable=False),
            Column("settled", Integer),
        ),
        contents=table(
            "contents",
            Column("row", NUMBER, primary_key=True, autoincrement=False),
            Column("features", Text, nullable=False),
            Column("forecasts", Text, nullable=False),
            Column("label", Text),
            Column("settled", Integer, index=True),
        ),
        aside=table(
            "aside",
            counted(),
            Column("batch", Integer, nullable=False, index=True),
            Column("id", Text, nullable=False),
            Column("reason", Text, nullable=False),
            Column("row", Text, nullable=False),
        ),
        lineages=table(
            "lineages",
            Column("number", Integer, primary_key=True, autoincrement=False),
            Column("role", String(16), nullable=False),
            Column("name", Text, nullable=False),
            Column("model", String(64)),
            Column("learned", Integer, nullable=False),
            Column("born", String(32), nullable=False),
            Column("why", Text, nullable=False),
            Column("published", Text),
        ),
        models=table(
            "models",
            Column("digest", String(64), primary_key=True),
            Column("content", LargeBinary, nullable=False),
        ),
        days=table(
            "days",
            Column("day", String(10), primary_key=True),
            Column("lineage", Integer, primary_key=True, autoincrement=False),
            Column("rows", Integer, nullable=False),
            Column("sums", Text, nullable=False),
        ),
        history=table(
            "history",
            counted(),
            Column("at", String(32), nullable=False),
            Column("kind", String(32), nullable=False),
            Column("subject", Text, nullable=False),
            Column("what", Text, nullable=False),
        ),
        letters=table(
            "letters",
            counted(),
            Column("address", Text, nullable=False),
            Column("body", Text, nullable=False),
        ),
        memory=table(
            "memory",
            Column("name", String(64), primary_key=True),
            Column("value", Text, nullable=False),
        ),
        turns=table(
            "turns",
            counted(),
            Column("began", String(32), nullable=False),
            Column("ended", String(32)),
            Column("summary", Text, nullable=False),
        ),
        served=table(
            "served",
            counted(),
            Column("id", Text, nullable=False, index=True),
            Column("at", String(32), nullable=False),
            Column("snapshot", Text, nullable=False),
            Column("level", Float),
            Column("forecast", Text, nullable=False),
        ),
        posted=table(
            "posted",
            counted(),
            Column("id", Text, nullable=False),
            Column("at", String(32), nullable=False),
            Column("label", Text, nullable=False),
        ),
        files=table(
            "files",
            Column("name", String(64), primary_key=True),
            Column("stamp", Text, nullable=False),
        ),
    )
