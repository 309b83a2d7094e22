"""A SQLite file or a PostgreSQL, opened, locked, never named with its secrets; recorded values.

What a killed process leaves unfinished is rolled back, and its locks are freed: those of a file by
the kernel, those of a server with the connection.

Recorded are values that are computed once: trials of arms, and probes of configurations, in a file
in the cache, or a PostgreSQL where several machines work, which then share what each of them
computes. Nothing is ever changed among them: a record is appended or it is not.
"""

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.tasks.machine import environment
from leaseboard.tasks.machine.addresses import redacted, scrubbed
from leaseboard.tasks.machine.disk import reach

INSERT: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
"""By the name of a dialect: an insert that knows what to do when a row is there already."""

_VERSIONS = sa.Table(
    "leaseboard_versions",
    sa.MetaData(),
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
)
"""The version of each schema that has tables in a database."""
_REFUSALS = (SQLAlchemyError, OSError, ImportError)
"""ImportError: of a server's driver."""
_MAKING = 0x1EA5EB0A2D
"""The number of the lock under which a server's tables are made."""
_KEEPALIVE = "SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10"
"""A server notices within two minutes that the machine of a lock's holder has gone."""


@dataclass(frozen=True)
class StoreSchema:
    """Tables that belong together, and how they are spoken of.

    Attributes
    ----------
    name : str
        Under which their version is written down.
    metadata : MetaData
    noun, fix : str
        What an error calls the database, and how the user fixes one that cannot be used.
    version : int
        Raised with each change of the tables or of what they hold: another one cannot be read.
    rebuild : str
        How the user begins again where a version cannot be read.
    patience : float
        Seconds that the database may be busy with what others write.
    has_readers : bool
        Whether it is read while it is written: SQLite then logs ahead of the file.
    """

    name: str
    metadata: sa.MetaData
    noun: str
    fix: str
    version: int = 1
    rebuild: str = ""
    patience: float = 30.0
    has_readers: bool = False


class Database:
    """Tables of a schema in one place, for any number of threads and processes.

    - `place`: a SQLite file, or the address of a PostgreSQL.

    Raises UsageError if the address cannot be read, or is that of another kind of database; every
    method LeaseboardError, in one line, if the database cannot be used.
    """

    def __init__(self, place: Path | str, schema: StoreSchema) -> None:
        self.place, self.schema = place, schema
        self.path = place if isinstance(place, Path) else None
        self._url = _url_of(place, schema.noun)
        self._engines: dict[tuple[int, int | None], sa.Engine] = {}
        """By process and file: after a fork, or with another file, a process connects again."""

    def __str__(self) -> str:
        return str(self.path or redacted(str(self.place)))

    @contextmanager
    def begin(self) -> Iterator[sa.Connection]:
        """Begin a transaction, of whose errors the database's are raised as one line."""
        with self.reported():
            engine = self._engine()
        with self.reported((SQLAlchemyError,)), engine.begin() as connection:
            yield connection
            with self.reported():
                reach("store.before-commit")
        reach("store.after-commit")

    @contextmanager
    def lock(self, key: str, busy: Exception | None = None) -> Iterator[None]:
        """Hold `key` against all other processes and threads; must not be nested.

        - `key`: a hash. In a file, keys of which four digits are alike share a lock.
        - `busy`: what is raised if another holds it; by default it is waited for.
        """
        take = self._lock_server if self.path is None else self._lock_file
        with ExitStack() as holder:
            with self.reported():
                is_held = take(key, holder, wait=busy is None)
            if not is_held and busy is not None:
                raise busy
            yield  # not reported: what goes wrong in here is not the database's fault

    @contextmanager
    def reported(self, kinds: tuple[type[Exception], ...] = _REFUSALS) -> Iterator[None]:
        """Report a refusal of the database or the system in one line without secrets."""
        try:
            yield
        except kinds as error:
            cause = getattr(error, "orig", None)
            said = cause or (error.strerror if isinstance(error, OSError) else "") or error
            line = str(said).strip().partition("\n")[0]
            if self.path is None:
                line = scrubbed(line, [self._url.render_as_string(hide_password=False)])
            raise LeaseboardError(
                f"the {self.schema.noun} {self} cannot be used: {line}: {self.schema.fix}"
            ) from error

    def _engine(self) -> sa.Engine:
        """Return the engine of this process and of the file that is there now.

        What is written to a file that was removed is lost.
        """
        found = None
        if self.path is not None:
            if not self.path.exists():
                if self._engines:
                    raise FileNotFoundError("the file was removed")
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.path.touch()
            found = self.path.stat().st_ino
        key = os.getpid(), found
        if key not in self._engines:
            made = self._connect()
            if self._engines.setdefault(key, made) is not made:
                made.dispose()  # another thread was first
        return self._engines[key]

    def _connect(self) -> sa.Engine:
        """Return an engine with one connection, once the tables are there."""
        patience = self.schema.patience
        # A job that computes for hours between two records needs no more than one connection.
        pool: dict[str, Any] = {"poolclass": sa.QueuePool, "pool_size": 1, "max_overflow": -1}
        if self.path is None:
            waits = f"-c lock_timeout={round(1000 * patience)}"
            given = {"connect_timeout": max(2, round(patience)), "options": waits}
            engine = sa.create_engine(self._url, pool_pre_ping=True, connect_args=given, **pool)
            with engine.begin() as connection:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MAKING)))
                self._prepare(connection)
            return engine
        engine = sa.create_engine(self._url, connect_args={"timeout": patience}, **pool)
        if self.schema.has_readers:
            log_ahead = "PRAGMA journal_mode=WAL"
            sa.event.listen(engine, "connect", lambda each, _: each.execute(log_ahead))
        # SQLite waits for no change of mode.
        with self.lock("schema"), engine.begin() as connection:
            self._prepare(connection)
        return engine

    def _prepare(self, connection: sa.Connection) -> None:
        """Make the tables; refuse those of another version."""
        schema, own = self.schema, _VERSIONS.c.name == self.schema.name
        there = set(sa.inspect(connection).get_table_names())
        _VERSIONS.create(connection, checkfirst=True)
        if there.isdisjoint(schema.metadata.tables):
            # First of all: it begins the transaction, in which SQLite makes tables, too.
            connection.execute(sa.delete(_VERSIONS).where(own))
            values = {"name": schema.name, "version": schema.version}
            connection.execute(_VERSIONS.insert().values(values))
        version = connection.scalar(sa.select(_VERSIONS.c.version).where(own)) or 1
        if version != schema.version:
            raise LeaseboardError(
                f"the {schema.noun} {self} has format {version} of {schema.name!r}, and this"
                f" version of Leaseboard reads {schema.version}: install the version that wrote"
                f" it, or {schema.rebuild or schema.fix}"
            )
        schema.metadata.create_all(connection)

    def _lock_file(self, key: str, holder: ExitStack, *, wait: bool) -> bool:
        assert self.path is not None
        folder = self.path.with_suffix(".locks")
        folder.mkdir(parents=True, exist_ok=True)
        handle = holder.enter_context((folder / key[:4]).open("w"))
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        # Closing is not enough: a child that another thread forked meanwhile has the same open
        # file, and would hold the lock until it ends.
        holder.callback(fcntl.flock, handle, fcntl.LOCK_UN)
        return True

    def _lock_server(self, key: str, holder: ExitStack, *, wait: bool) -> bool:
        """Lock on a connection without a transaction: the lock may last for hours."""
        wanted = sa.select(sa.func.pg_try_advisory_lock(int(key[:15], 16)))
        connection = holder.enter_context(self._lock_engine.connect())
        connection.execute(sa.text(_KEEPALIVE))
        pause = 0.01
        while not (is_held := bool(connection.scalar(wanted))) and wait:
            time.sleep(pause)  # in Python, so that a job that waits can be stopped
            pause = min(1.0, 1.5 * pause)
        return is_held

    @cached_property
    def _lock_engine(self) -> sa.Engine:
        return sa.create_engine(self._url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")


def _url_of(place: Path | str, noun: str) -> sa.URL:
    if isinstance(place, Path):
        return sa.URL.create("sqlite", database=str(place))
    url = None
    with suppress(ArgumentError, ValueError):  # whose text is the address
        url = sa.make_url(place)
    if url is None or url.drivername.partition("+")[0] != "postgresql":
        raise UsageError(
            f"the {noun} {redacted(place)!r} is neither a file nor a PostgreSQL: write a file or"
            " postgresql://USER:PASSWORD@HOST/NAME, signs of a password such as [ / ? # @ in"
            " percent form, [ as %5B"
        )
    return url


Record = dict[str, Any]

_SQLITE = "sqlite:///"
_TABLES = sa.MetaData()
_RECORDS = sa.Table(
    "leaseboard_records",
    _TABLES,
    sa.Column("name", sa.String(96), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("record", sa.Text, nullable=False),
    sqlite_with_rowid=False,
)
_FIX = (
    "fix that, delete it and its values are computed again, or name another with LEASEBOARD_STORE"
)
_SCHEMA = StoreSchema("records", _TABLES, "store", _FIX, patience=600)


class Records:
    """Records of one key, in their order: as many as were read, see `refresh`."""

    def __init__(self, database: Database, key: Mapping[str, Any]) -> None:
        self._database = database
        whole = json.dumps(key, sort_keys=True, separators=(",", ":"), default=str)
        self.name = hashlib.sha256(whole.encode()).hexdigest()
        self._read: list[Record] = []

    def __len__(self) -> int:
        return len(self._read)

    def __getitem__(self, number: int) -> Record:
        return self._read[number]

    def refresh(self) -> None:
        """Read what was appended since the last look."""
        with self._database.begin() as connection:
            self._read_from(connection)

    def _read_from(self, connection: sa.Connection) -> None:
        columns = _RECORDS.c
        query = sa.select(columns.record).order_by(columns.number)
        rest = query.where(columns.name == self.name, columns.number >= len(self._read))
        lines = connection.execute(rest).scalars().all()
        self._read += json.loads(f"[{','.join(lines)}]")  # one call: half the time

    def extend(self, compute: Callable[[int], Record | None]) -> bool:
        """Append one record, unless another process has meanwhile; return whether it was.

        If several processes want the same record at once, one computes it and the others wait.

        - `compute`: called with the record's number, in one process at a time for this key. If it
          raises or returns None, nothing is appended.
        """
        known = len(self._read)
        with self._database.lock(self.name):
            self.refresh()
            if len(self._read) > known or (record := compute(known)) is None:
                return False
            line = json.dumps(record, sort_keys=True, separators=(",", ":"))
            values = {"name": self.name, "number": known, "record": line}
            with self._database.begin() as connection:
                made = INSERT[connection.dialect.name](_RECORDS).values(values)
                connection.execute(made.on_conflict_do_nothing())
                self._read_from(connection)
        return True

    def once(self, compute: Callable[[], tuple[Record, bool]]) -> tuple[Record, bool]:
        """Return the only record of this key, and whether it was computed now.

        - `compute`: returns it, and whether it would come out so again; else it is not appended.
        """
        made: list[Record] = []

        def append(_: int) -> Record | None:
            record, lasting = compute()
            made.append(record)
            return record if lasting else None

        self.refresh()
        if not self._read:
            self.extend(append)
        return (self._read or made)[0], bool(made)


class Store:
    """Records by key; any number of processes may use it, and be killed at any moment.

    - `place`: a SQLite file, which the first look makes, with its folders; as text, as users
      write it, such a file or the address of a PostgreSQL with its password. By default what
      ``LEASEBOARD_STORE`` says, else a file in the cache.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()) / "store.sqlite")
    >>> records = store.records({"data": "wine", "rows": 1000})
    >>> records.extend(lambda number: {"number": number, "correct": 850})
    True
    >>> list(records)
    [{'correct': 850, 'number': 0}]
    """

    def __init__(self, place: Path | str | None = None) -> None:
        place = place or os.environ.get("LEASEBOARD_STORE")
        place = place or environment.cache_dir() / "recorded" / "store.sqlite"
        if isinstance(place, str) and (":" not in place or place.startswith(_SQLITE)):
            place = Path(place.removeprefix(_SQLITE)).expanduser().absolute()
        self.place = place
        self._database = Database(self.place, _SCHEMA)

    def records(self, key: Mapping[str, Any]) -> Records:
        """Return the records of `key`, which holds everything that they depend on."""
        return Records(self._database, key)
