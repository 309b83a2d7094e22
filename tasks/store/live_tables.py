"""The tables of a live model's state, what their rows are, and what a batch changes in them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
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

from leaseboard.tasks.store.database import StoreSchema

NUMBER = BigInteger().with_variant(Integer, "sqlite")
"""SQLite counts up by itself in a column of this type alone."""
DAY, MOMENT, DIGEST = String(10), String(32), String(64)
REBUILD = "move it away, and the next turn learns again what its source holds"
"""How a live model begins again where its state cannot be read."""
LONGEST_ID = 500
"""Characters of a row's identity: an index of PostgreSQL takes 2,704 bytes of a text."""


@dataclass(frozen=True)
class Tables:
    """Tables of one live model; several may share a database, each under its own name."""

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
    """What lineages that forecast have learned, by its digest."""
    days: Table
    """Sums of losses by day and lineage, without an end."""
    history: Table
    """What happened to lineages, and incidents."""
    letters: Table
    """Messages that were not delivered yet."""
    memory: Table
    """The fields of `leaseboard.tasks.keep.lifecycle.LifecycleState`, as JSON by name."""
    turns: Table
    served: Table
    """What the server has forecast."""
    posted: Table
    """Labels that were posted to the server, until a turn takes them in."""
    files: Table
    """Stamps of files whose content is known, so that they are not read at each turn."""


def tables_of(name: str) -> Tables:
    """The tables of the live model called `name`, which is a word in small letters."""
    metadata, given = MetaData(), partial(Column, nullable=False)

    def table(kind: str, *columns: Any) -> Table:
        # A number that was given is never given again, also when its row is deleted.
        counts = columns[0].autoincrement is True
        return Table(f"keep_{name}_{kind}", metadata, *columns, sqlite_autoincrement=counts)

    def counted() -> Any:
        return Column("number", NUMBER, primary_key=True, autoincrement=True)

    def key(name: str, kind: Any) -> Any:
        return Column(name, kind, primary_key=True, autoincrement=False)

    return Tables(
        metadata=metadata,
        batches=table(
            "batches", counted(), given("name", Text), given("digest", DIGEST, unique=True),
            given("at", MOMENT), given("counts", Text), Column("watermark", Text),
        ),
        rows=table(
            "rows", counted(), given("id", Text, unique=True), given("seal", BigInteger),
            given("day", DAY, index=True), given("batch", Integer), Column("settled", Integer),
        ),
        contents=table(
            "contents", key("row", NUMBER), given("features", Text), given("forecasts", Text),
            Column("label", Text), Column("settled", Integer, index=True),
        ),
        aside=table(
            "aside", counted(), given("batch", Integer, index=True), given("id", Text),
            given("reason", Text), given("row", Text),
        ),
        lineages=table(
            "lineages", key("number", Integer), given("role", String(16)), given("name", Text),
            Column("model", DIGEST), given("learned", Integer), given("born", MOMENT),
            given("why", Text), Column("published", Text),
        ),
        models=table("models", key("digest", DIGEST), given("content", LargeBinary)),
        days=table(
            "days", key("day", DAY), key("lineage", Integer), given("rows", Integer),
            given("sums", Text),
        ),
        history=table(
            "history", counted(), given("at", MOMENT), given("kind", String(32)),
            given("subject", Text), given("what", Text),
        ),
        letters=table("letters", counted(), given("address", Text), given("body", Text)),
        memory=table("memory", key("name", String(64)), given("value", Text)),
        turns=table(
            "turns", counted(), given("began", MOMENT), Column("ended", MOMENT),
            given("summary", Text),
        ),
        served=table(
            "served", counted(), given("id", Text, index=True), given("at", MOMENT),
            given("snapshot", Text), Column("level", Float), given("forecast", Text),
        ),
        posted=table(
            "posted", counted(), given("id", Text), given("at", MOMENT), given("label", Text)
        ),
        files=table("files", key("name", DIGEST), given("stamp", Text)),
    )  # fmt: skip


def schema_of(name: str, tables: Tables, patience: float) -> StoreSchema:
    """The schema of the live model called `name`."""
    return StoreSchema(
        f"keep {name}",
        tables.metadata,
        "state",
        "fix that and take another turn; what was not finished is done again",
        version=2,
        rebuild=REBUILD,
        patience=patience,
        has_readers=True,
    )


Letter = tuple[str, dict[str, str]]
"""An address, and what is to be told there."""


@dataclass(frozen=True, slots=True)
class KeptRow:
    """A row that was taken in."""

    id: str
    seal: int
    """The sum of its features' bytes: whether an id comes back with other values."""
    day: str
    features: str
    """As JSON; empty where they are forgotten."""
    forecasts: str
    """As JSON, by the lineage's number."""
    label: str | None
    """As JSON; None until it has come, and where it is forgotten."""
    number: int = 0
    """The order in which rows came; given by the state."""
    is_settled: bool = False
    """Whether the label has come."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """A forecaster that lives in the keep."""

    number: int
    role: str
    """``champion``, ``challenger``, ``previous``, ``reference`` or ``retired``."""
    name: str
    """Of its algorithm."""
    model: str | None
    """The digest of what it has learned."""
    learned: int
    """Rows."""
    born: str
    why: str
    """Why it was made."""
    published: str | None = None
    """The digest of what was published last."""


@dataclass(frozen=True, slots=True)
class TakenIn:
    """A batch that was taken in."""

    name: str
    digest: str
    counts: Mapping[str, int]
    """How many of its rows are ``new``, ``repeated``, ``aside``, ``labels``."""
    watermark: str | None = None


@dataclass(frozen=True, slots=True)
class Happened:
    """What the page tells of: a lineage was born or promoted, an incident opened."""

    at: str
    kind: str
    subject: str
    what: str


@dataclass
class Changes:
    """Everything that one batch changes, or the end of a turn."""

    at: str
    batch: TakenIn | None = None
    rows: list[KeptRow] = field(default_factory=list)
    labels: list[tuple[int, str]] = field(default_factory=list)
    """Of rows that were there before: their number, and the label that came."""
    aside: list[tuple[str, str, str]] = field(default_factory=list)
    """Identity, reason, and the row as JSON."""
    lineages: list[Lineage] = field(default_factory=list)
    """Those that are new or changed."""
    models: dict[str, bytes] = field(default_factory=dict)
    days: dict[tuple[str, int], tuple[int, dict[str, float]]] = field(default_factory=dict)
    """By day and lineage: so many rows more, and what is added to the sums."""
    memory: dict[str, Any] = field(default_factory=dict)
    happened: list[Happened] = field(default_factory=list)
    letters: list[Letter] = field(default_factory=list)
    early: list[tuple[str, str, str]] = field(default_factory=list)
    """Labels that wait for their row: its identity, when they came, and the label as JSON."""
    posted: Sequence[int] = ()
    """Numbers of posted labels that were taken in."""
    window: int = 0
    """The content of settled rows is forgotten but for so many, the last."""
    horizon: str = ""
    """Rows before this day are forgotten wholly; empty if none are."""
    served_horizon: str = ""
    """So is what was served before this day."""


def digest_of(content: bytes) -> str:
    """The name under which a model is kept."""
    return hashlib.sha256(content).hexdigest()


def in_role(lineages: Sequence[Lineage], role: str) -> Lineage | None:
    """The lineage that has a role of which there is one."""
    return next((each for each in lineages if each.role == role), None)


def renamed(lineage: Lineage, role: str) -> Lineage:
    """The lineage in another role."""
    return replace(lineage, role=role)
