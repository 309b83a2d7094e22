"""The tables of a live model's state, what their rows are, and what a batch changes in them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import sqlalchemy as sa

from leaseboard.tasks.store.database import INSERT, StoreSchema

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
"""SQLite counts up by itself in a column of this type alone."""
DAY, MOMENT, DIGEST = sa.String(10), sa.String(32), sa.String(64)
FORGOTTEN = "forgotten"
"""The name of the memory that tells the first and the last day of rows that are forgotten."""

LOG_AT_ONCE = 10_000
"""Rows of the log that are looked at together."""
REBUILD = "move it away, and the next turn learns again what its source holds"
"""How a live model begins again where its state cannot be read."""
LONGEST_ID = 500
"""Characters of a row's identity: an index of PostgreSQL takes 2,704 bytes of a text."""


@dataclass(frozen=True)
class Tables:
    """Tables of one live model; several may share a database, each under its own name."""

    metadata: sa.MetaData
    batches: sa.Table
    """What was taken in, once each: a file, or a piece of a query."""
    rows: sa.Table
    """Rows by their identity, and the batch that brought them and that which brought the label."""
    contents: sa.Table
    """What rows hold, and what each lineage forecast before the label was known: of those that
    wait for their label, and of the last ones."""
    aside: sa.Table
    """Rows that broke the contract, with the reason."""
    lineages: sa.Table
    models: sa.Table
    """What lineages that forecast have learned, by its digest."""
    days: sa.Table
    """Sums of losses by day and lineage, without an end."""
    history: sa.Table
    """What happened to lineages, and incidents."""
    letters: sa.Table
    """Messages that were not delivered yet."""
    memory: sa.Table
    """The fields of `leaseboard.tasks.keep.lifecycle.LifecycleState`, as JSON by name."""
    turns: sa.Table
    served: sa.Table
    """What the server has forecast."""
    posted: sa.Table
    """Labels that were posted to the server, until a turn takes them in."""
    files: sa.Table
    """Stamps of files whose content is known, so that they are not read at each turn."""


def tables_of(name: str) -> Tables:
    """The tables of the live model called `name`, which is a word in small letters."""
    metadata = sa.MetaData()

    def given(name: str, kind: Any = sa.Text, **more: Any) -> Any:
        return sa.Column(name, kind, nullable=False, **more)

    def table(kind: str, *columns: Any) -> sa.Table:
        # A number that was given is never given again, also when its row is deleted.
        counts = columns[0].autoincrement is True
        return sa.Table(f"keep_{name}_{kind}", metadata, *columns, sqlite_autoincrement=counts)

    def counted() -> Any:
        return sa.Column("number", NUMBER, primary_key=True, autoincrement=True)

    def key(name: str, kind: Any) -> Any:
        return sa.Column(name, kind, primary_key=True, autoincrement=False)

    return Tables(
        metadata=metadata,
        batches=table(
            "batches", counted(), given("name"), given("digest", DIGEST, unique=True),
            given("at", MOMENT), given("counts"), sa.Column("watermark", sa.Text),
        ),
        rows=table(
            "rows", counted(), given("id", unique=True), given("seal", sa.BigInteger),
            given("day", DAY, index=True), given("batch", sa.Integer),
            sa.Column("settled", sa.Integer),
        ),
        contents=table(
            "contents", key("row", NUMBER), given("features"), given("forecasts"),
            sa.Column("label", sa.Text), sa.Column("settled", sa.Integer, index=True),
        ),
        aside=table(
            "aside", counted(), given("batch", sa.Integer, index=True), given("id"),
            given("reason"), given("row"),
        ),
        lineages=table(
            "lineages", key("number", sa.Integer), given("role", sa.String(16)), given("name"),
            sa.Column("model", DIGEST), given("learned", sa.Integer), given("born", MOMENT),
            given("why"), sa.Column("published", sa.Text),
        ),
        models=table("models", key("digest", DIGEST), given("content", sa.LargeBinary)),
        days=table(
            "days", key("day", DAY), key("lineage", sa.Integer), given("rows", sa.Integer),
            given("sums"),
        ),
        history=table(
            "history", counted(), given("at", MOMENT), given("kind", sa.String(32)),
            given("subject"), given("what"),
        ),
        letters=table("letters", counted(), given("address"), given("body")),
        memory=table("memory", key("name", sa.String(64)), given("value")),
        turns=table(
            "turns", counted(), given("began", MOMENT), sa.Column("ended", MOMENT),
            given("summary"),
        ),
        served=table(
            "served", counted(), given("id", index=True), given("at", MOMENT),
            given("snapshot"), sa.Column("level", sa.Float), given("forecast"),
        ),
        posted=table(
            "posted", counted(), given("id"), given("at", MOMENT), given("label")
        ),
        files=table("files", key("name", DIGEST), given("stamp")),
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


def write(connection: sa.Connection, tables: Tables, changes: Changes) -> None:
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
        of_row = sa.bindparam("of_row")
        came = sa.update(tables.contents).where(tables.contents.c.row == of_row)
        connection.execute(came.values(label=sa.bindparam("told"), settled=batch), values)
        came = sa.update(tables.rows).where(tables.rows.c.number == of_row)
        connection.execute(came.values(settled=batch), values)
    for digest, content in changes.models.items():
        made = INSERT[connection.dialect.name](tables.models)
        made = made.values(digest=digest, content=content)
        connection.execute(made.on_conflict_do_nothing())
    put(connection, tables.lineages, ["number"], map(asdict, changes.lineages))
    if changes.lineages:
        kept = sa.select(tables.lineages.c.model).where(tables.lineages.c.model.is_not(None))
        connection.execute(sa.delete(tables.models).where(tables.models.c.digest.not_in(kept)))
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
        connection.execute(sa.delete(tables.posted).where(tables.posted.c.number == number))
    if changes.batch is not None:
        _forget(connection, tables, changes)


def _add(
    connection: sa.Connection, table: sa.Table, names: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    if values := [dict(zip(names, row, strict=True)) for row in rows]:
        connection.execute(table.insert(), values)


def _add_rows(
    connection: sa.Connection, tables: Tables, rows: Sequence[KeptRow], batch: int
) -> None:
    """Rows are numbered one after the other; no other adds any in a turn."""
    if not rows:
        return
    last = connection.scalar(sa.select(sa.func.max(tables.rows.c.number))) or 0
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
    connection: sa.Connection,
    table: sa.Table,
    days: Mapping[tuple[str, int], tuple[int, Mapping[str, float]]],
) -> None:
    if not days:
        return
    first, last = min(day for day, _ in days), max(day for day, _ in days)
    known = connection.execute(sa.select(table).where(table.c.day.between(first, last)))
    before = {(row.day, row.lineage): row for row in known}
    total = []
    for (day, lineage), (rows, sums) in days.items():
        row = before.get((day, lineage))
        old = {} if row is None else json.loads(row.sums)
        after = json.dumps({key: old.get(key, 0.0) + sums.get(key, 0.0) for key in old | sums})
        count = rows + (0 if row is None else row.rows)
        total.append({"day": day, "lineage": lineage, "rows": count, "sums": after})
    put(connection, table, ["day", "lineage"], total)


def _forget(connection: sa.Connection, tables: Tables, changes: Changes) -> None:
    """Let go of what is not asked for any more."""
    rows, contents, served = tables.rows, tables.contents, tables.served
    settled = contents.c.settled.is_not(None)
    last = (
        sa.select(contents.c.row)
        .where(settled)
        .order_by(contents.c.settled.desc(), contents.c.row.desc())
        .limit(changes.window)
    )
    connection.execute(sa.delete(contents).where(settled, contents.c.row.not_in(last)))
    late = sa.select(rows.c.number).where(rows.c.day < changes.horizon)
    connection.execute(sa.delete(contents).where(~settled, contents.c.row.in_(late)))
    kept = sa.select(contents.c.row)
    gone = (rows.c.day < changes.horizon) & rows.c.number.not_in(kept)
    days = sa.select(sa.func.min(rows.c.day), sa.func.max(rows.c.day)).where(gone)
    first, last = connection.execute(days).one()
    if first is not None:
        before = forgotten(connection, tables) or (first, last)
        value = json.dumps([min(first, before[0]), max(last, before[1])])
        put(connection, tables.memory, ["name"], [{"name": FORGOTTEN, "value": value}])
        connection.execute(sa.delete(rows).where(gone))
    _forget_served(connection, served, changes.served_horizon)


def forgotten(connection: sa.Connection, tables: Tables) -> tuple[str, str] | None:
    """The first and the last day of rows whose identity is forgotten; None if none is."""
    memory = tables.memory.c
    found = connection.scalar(sa.select(memory.value).where(memory.name == FORGOTTEN))
    if found is None:
        return None
    first, last = json.loads(found)
    return first, last


def _forget_served(connection: sa.Connection, table: sa.Table, horizon: str) -> None:
    """The log is in the order of time: of millions of rows only those that go are looked at."""
    while True:
        first = (
            sa.select(table.c.number, table.c.at)
            .order_by(table.c.number)
            .limit(LOG_AT_ONCE)
            .subquery()
        )
        old = sa.select(first.c.number).where(first.c.at < horizon)
        if not connection.execute(sa.delete(table).where(table.c.number.in_(old))).rowcount:
            return


def put(
    connection: sa.Connection,
    table: sa.Table,
    keys: Sequence[str],
    values: Iterable[Mapping[str, Any]],
) -> None:
    """Insert rows, or replace those that have the same keys."""
    if not (rows := [dict(value) for value in values]):
        return
    made = INSERT[connection.dialect.name](table)
    others = {name: made.excluded[name] for name in rows[0] if name not in keys}
    connection.execute(made.on_conflict_do_update(index_elements=keys, set_=others), rows)
