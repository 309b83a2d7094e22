"""The tables of a live model's state, what their rows are, and what an update changes in them."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from types import SimpleNamespace
from typing import Any

import sqlalchemy as sa

from leaseboard.tasks.store.database import INSERT

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
"""SQLite counts up by itself in a column of this type alone."""
DAY, MOMENT, DIGEST = sa.String(10), sa.String(32), sa.String(64)
ERASED = "erased"
"""The name there of the digests of ids whose rows were deleted, and are never learned again."""
FORGOTTEN = "forgotten"
"""The name in `Tables.lifecycle` of the first and the last day of rows that are forgotten."""
UPDATE = "update"
"""The name there of what is known of the last updates."""
VERSION = 17
"""Of the tables, and of what they hold."""
FIX = "fix that and update again; what was not finished is done again"
REBUILD = "move it away, and the next update learns again what its source holds"
"""How users go on if the state cannot be used, and start again if it cannot be read."""
_NAMED = {"quarantine": "rejected", "candidates": "candidate"}
"""Names of tables where they are not those of `Tables`."""


class Tables(SimpleNamespace):
    """Tables of one live model; several may share a database, each under its own name.

    =============  =====================================================================
    `batches`      ingested files
    `rows`         rows by identity, with the numbers of the batches that brought the row and its
                   label; rows without a label and the last labelled ones with their content, too
    `quarantine`   rows that break the contract, with the reason
    `candidates`   the models in their roles
    `models`       what candidates that predict have learned, by digest
    `days`         sums of losses by day and candidate, without an end
    `history`      changes of role, incidents and drift
    `outbox`       notifications that were not delivered yet
    `lifecycle`    the fields of `leaseboard.tasks.live.incidents.LifecycleState`, as JSON by name
    `served`       what the server has predicted
    `early`        labels that came before their rows, until these come
    =============  =====================================================================
    """


def tables_of(name: str) -> Tables:
    """Return the tables of the live model called `name`, which is a word in small letters."""
    metadata, found = sa.MetaData(), Tables()

    def given(column: str, kind: Any = sa.Text, **more: Any) -> Any:
        return sa.Column(column, kind, nullable=False, **more)

    def key(column: str, kind: Any) -> Any:
        return sa.Column(column, kind, primary_key=True, autoincrement=False)

    def number() -> Any:  # that of a row which was deleted is never given again
        return sa.Column("number", NUMBER, primary_key=True, autoincrement=True)

    columns = {
        "batches": (
            number(), given("name"), given("digest", DIGEST, unique=True), given("at", MOMENT),
        ),
        "rows": (
            number(), given("id", unique=True), given("checksum", sa.BigInteger),
            given("day", DAY, index=True), given("batch", sa.Integer),
            sa.Column("label_batch", sa.Integer), sa.Column("features", sa.Text),
            sa.Column("predictions", sa.Text), sa.Column("label", sa.Text),
        ),
        "quarantine": (
            number(), given("batch", sa.Integer, index=True), given("id"), given("reason"),
            given("row"),
        ),
        "candidates": (
            key("number", sa.Integer), given("role", sa.String(16)), given("name"),
            sa.Column("model", DIGEST), given("learned", sa.Integer), given("created", MOMENT),
            given("why"),
        ),
        "models": (key("digest", DIGEST), given("content", sa.LargeBinary)),
        "days": (key("day", DAY), key("candidate", sa.Integer), given("sums")),
        "history": (
            number(), given("at", MOMENT), given("kind", sa.String(32)), given("subject"),
            given("what"),
        ),
        "outbox": (number(), given("address"), given("body")),
        "lifecycle": (key("name", sa.String(64)), given("value")),
        "served": (
            number(), given("id", index=True), given("at", MOMENT, index=True), given("snapshot"),
            given("prediction"),
        ),
        "early": (key("id", sa.Text), given("at", MOMENT), given("label")),
    }  # fmt: skip
    for kind, parts in columns.items():
        # With the longest name a table has the 63 characters that PostgreSQL allows.
        table = sa.Table(f"live_{name}_{_NAMED.get(kind, kind)}", metadata, *parts,
                         sqlite_autoincrement="number" in {each.name for each in parts}
                         and kind != "candidates")  # fmt: skip
        setattr(found, kind, table)
    whole = found.rows.c.features.is_not(None)
    sa.Index(
        f"live_{name}_whole", found.rows.c.label_batch, found.rows.c.number,
        sqlite_where=whole, postgresql_where=whole,
    )  # fmt: skip
    return found


OutboxEntry = tuple[str, dict[str, str]]
"""An address, and the notification that it gets."""


@dataclass(frozen=True, slots=True)
class StoredRow:
    """Row of the data of a live model."""

    id: str
    checksum: int
    """Of its features: shows whether an id comes back with other values."""
    day: str
    features: str
    """As JSON; empty where they are forgotten."""
    predictions: str
    """As JSON, by the number of the candidate."""
    label: str | None
    """As JSON; None until it has come, and where it is forgotten."""
    number: int = 0
    """The order in which rows came; the state counts."""
    is_labelled: bool = False
    """Whether the label has come."""


@dataclass(frozen=True, slots=True)
class ModelCandidate:
    """Model of a live model in one of its roles."""

    number: int
    role: str
    """``champion``, ``challenger``, ``previous``, ``reference`` or ``retired``."""
    name: str
    """Of its algorithm."""
    model: str | None
    """The digest of what it has learned."""
    learned: int
    """Rows."""
    created: str
    why: str
    """Why it was created."""


@dataclass
class BatchRows:
    """Rows of a batch, sorted by what they bring."""

    new: list[StoredRow] = field(default_factory=list)
    """In their order; without predictions yet."""
    labelled: list[StoredRow] = field(default_factory=list)
    """Rows that came before, with the label that has come now."""
    quarantined: list[tuple[str, str, str]] = field(default_factory=list)
    """Identity, reason, and the row as JSON."""
    repeated: int = 0
    old: int = 0
    """Of these, rows of days that are forgotten: whether they had come before is not known."""
    early: dict[str, str] = field(default_factory=dict)
    """Labels of rows that have not come, as JSON, by identity."""
    erased: int = 0
    """Rows and labels of ids that were deleted."""

    def counts(self) -> dict[str, int]:
        """Return how many there are of each."""
        return {
            "new": len(self.new),
            "labels": len(self.labelled) + sum(row.label is not None for row in self.new),
            "repeated": self.repeated,
            "quarantined": len(self.quarantined),
            "early": len(self.early),
            "erased": self.erased,
        }


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """Event that the page shows: a candidate was created or promoted, an incident opened."""

    at: str
    kind: str
    subject: str
    what: str


@dataclass
class Changes:
    """Everything that a batch, or the end of an update, changes in the state."""

    at: str
    batch: tuple[str, str] | None = None
    """Name and digest of an ingested file."""
    rows: BatchRows = field(default_factory=BatchRows)
    candidates: list[ModelCandidate] = field(default_factory=list)
    """Those that are new or changed."""
    models: dict[str, bytes] = field(default_factory=dict)
    days: dict[tuple[str, int], dict[str, float]] = field(default_factory=dict)
    """By day and candidate what is added to the sums."""
    lifecycle: dict[str, Any] = field(default_factory=dict)
    history: list[HistoryEntry] = field(default_factory=list)
    outbox: list[OutboxEntry] = field(default_factory=list)
    window: int = 0
    """How many labelled rows keep their content, the last ones."""
    horizon: str = ""
    """Rows before this day are forgotten wholly; empty if none are."""
    served_horizon: str = ""
    """So are predictions that were served before this day."""


def digest_of(content: bytes) -> str:
    """Return the name under which a model is stored."""
    return hashlib.sha256(content).hexdigest()


def write(connection: sa.Connection, tables: Tables, changes: Changes) -> None:
    """Write a batch and all that came of it."""
    batch = 0
    if changes.batch is not None:
        values = dict(zip(("name", "digest"), changes.batch, strict=True)) | {"at": changes.at}
        made = tables.batches.insert().values(values).returning(tables.batches.c.number)
        batch = int(connection.execute(made).scalar_one())
    columns = tables.rows.c
    last = connection.scalar(sa.select(sa.func.max(columns.number))) or 0
    # Rows are numbered one after the other; nothing else adds rows during an update.
    _insert(connection, tables.rows, (
        {"number": number, "id": row.id, "checksum": row.checksum, "day": row.day, "batch": batch,
         "label_batch": None if row.label is None else batch, "features": row.features,
         "predictions": row.predictions, "label": row.label}
        for number, row in enumerate(changes.rows.new, last + 1)
    ))  # fmt: skip
    if changes.rows.labelled:
        joined = sa.update(tables.rows).where(columns.number == sa.bindparam("row"))
        joined = joined.values(label=sa.bindparam("value"), label_batch=batch)
        values = [{"row": row.number, "value": row.label} for row in changes.rows.labelled]
        connection.execute(joined, values)
    for digest, content in changes.models.items():
        made = INSERT[connection.dialect.name](tables.models)
        made = made.values(digest=digest, content=content)
        connection.execute(made.on_conflict_do_nothing())
    put(connection, tables.candidates, map(asdict, changes.candidates))
    if changes.candidates:
        used = tables.candidates.c.model
        used = sa.select(used).where(used.is_not(None))
        connection.execute(sa.delete(tables.models).where(tables.models.c.digest.not_in(used)))
    _add_days(connection, tables.days, changes.days)
    values = [{"name": n, "value": json.dumps(v)} for n, v in changes.lifecycle.items()]
    put(connection, tables.lifecycle, values)
    _insert(connection, tables.quarantine, (
        {"batch": batch, "id": identity, "reason": reason, "row": row}
        for identity, reason, row in changes.rows.quarantined
    ))  # fmt: skip
    _insert(connection, tables.history, map(asdict, changes.history))
    _insert(connection, tables.outbox, (
        {"address": address, "body": json.dumps(body)} for address, body in changes.outbox
    ))  # fmt: skip
    put(connection, tables.early, (
        {"id": identity, "at": changes.at, "label": label}
        for identity, label in changes.rows.early.items()
    ))  # fmt: skip
    has_come = sa.select(columns.id).where(columns.id == tables.early.c.id).exists()
    connection.execute(sa.delete(tables.early).where(has_come))
    if changes.batch is not None:
        _forget(connection, tables, changes)


def _insert(
    connection: sa.Connection, table: sa.Table, values: Iterable[Mapping[str, Any]]
) -> None:
    if rows := [dict(each) for each in values]:
        connection.execute(table.insert(), rows)


def added(sums: Mapping[str, float], more: Mapping[str, float]) -> dict[str, float]:
    """Return the sums of both.

    Examples
    --------
    >>> added({"loss": 1.0}, {"loss": 2.0, "error": 1.0})
    {'loss': 3.0, 'error': 1.0}
    """
    return {**sums, **{name: sums.get(name, 0.0) + value for name, value in more.items()}}


def _add_days(
    connection: sa.Connection, table: sa.Table, days: Mapping[tuple[str, int], Mapping[str, float]]
) -> None:
    if not days:
        return
    first, last = min(day for day, _ in days), max(day for day, _ in days)
    known = connection.execute(sa.select(table).where(table.c.day.between(first, last)))
    before = {(row.day, row.candidate): json.loads(row.sums) for row in known}
    put(connection, table, (
        {"day": key[0], "candidate": key[1], "sums": json.dumps(added(before.get(key, {}), sums))}
        for key, sums in days.items()
    ))  # fmt: skip


def _forget(connection: sa.Connection, tables: Tables, changes: Changes) -> None:
    """Delete what is not needed any more."""
    rows = tables.rows.c
    whole, labelled = rows.features.is_not(None), rows.label_batch.is_not(None)
    last = sa.select(rows.number).where(whole, labelled)
    last = last.order_by(rows.label_batch.desc(), rows.number.desc()).limit(changes.window)
    old = sa.update(tables.rows).where(whole, labelled, rows.number.not_in(last))
    connection.execute(old.values(features=None, predictions=None, label=None))
    forget_rows(connection, tables, (rows.day < changes.horizon) & (~whole | ~labelled))
    if changes.served_horizon:
        old = tables.served.c.at < changes.served_horizon
        connection.execute(sa.delete(tables.served).where(old))


def forget_rows(connection: sa.Connection, tables: Tables, gone: Any) -> int:
    """Delete rows with their identities, and remember their days; return how many there were."""
    rows = tables.rows.c
    days = sa.select(sa.func.min(rows.day), sa.func.max(rows.day)).where(gone)
    first, final = connection.execute(days).one()
    if first is None:
        return 0
    before = field_of(connection, tables, FORGOTTEN) or (first, final)
    value = json.dumps([min(first, before[0]), max(final, before[1])])
    put(connection, tables.lifecycle, [{"name": FORGOTTEN, "value": value}])
    return connection.execute(sa.delete(tables.rows).where(gone)).rowcount


def field_of(connection: sa.Connection, tables: Tables, name: str) -> Any:
    """Return a value of the table `lifecycle`; None if it is not there."""
    fields = tables.lifecycle.c
    found = connection.scalar(sa.select(fields.value).where(fields.name == name))
    return None if found is None else json.loads(found)


def put(connection: sa.Connection, table: sa.Table, values: Iterable[Mapping[str, Any]]) -> None:
    """Insert rows, or replace those that have the same keys."""
    if not (rows := [dict(value) for value in values]):
        return
    made, keys = INSERT[connection.dialect.name](table), table.primary_key.columns.keys()
    others = {name: made.excluded[name] for name in rows[0] if name not in keys}
    connection.execute(made.on_conflict_do_update(index_elements=keys, set_=others), rows)
