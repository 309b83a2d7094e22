"""The tables of the store: SQLite in a file, or PostgreSQL on a server.

A record is a line of JSON and the sum of its bytes. One that has changed since it was written is
set aside with all of its key, and so is a SQLite file that is damaged: their values are computed
anew. What a killed process leaves unfinished is rolled back, and its locks are freed: those of a
file by the kernel, those of a server with the connection.
"""

from __future__ import annotations

import fcntl
import json
import logging
import secrets
import sqlite3
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from os import getpid
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    Row,
    String,
    Table,
    Text,
    bindparam,
    create_engine,
    event,
    func,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool, QueuePool
from sqlalchemy.schema import CreateTable

from algorithms.errors import LeaseboardError, UsageError
from tasks.machine import disk
from tasks.machine.addresses import redacted, scrubbed

Record = dict[str, Any]
Value = TypeVar("Value")

_TABLES = MetaData()
_KEYS = Table(
    "leaseboard_keys",
    _TABLES,
    Column("name", String(64), primary_key=True),
    Column("key", Text, nullable=False),
)
"""What the records of a name depend on, for people who look."""
_RECORDS = Table(
    "leaseboard_records",
    _TABLES,
    Column("name", String(96), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("record", Text, nullable=False),
    sqlite_with_rowid=False,
)
_READ = (
    select(_RECORDS.c.number, _RECORDS.c.record)
    .where(_RECORDS.c.name == bindparam("of"), _RECORDS.c.number >= bindparam("start"))
    .order_by(_RECORDS.c.number)
)
_INSERT = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
_DAMAGE = (
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_ERROR,  # a table of our name that is not ours
    sqlite3.SQLITE_IOERR_SHORT_READ,
    sqlite3.SQLITE_NOTADB,
)
"""What SQLite says of a file that holds something else than it should."""
_TRIES = 5
_WAIT_SECONDS = 600
"""For a file that others are writing to."""
_POOL: dict[str, Any] = {"pool_size": 1, "max_overflow": -1}
_MAKING = 0x1EA5EB0A2D
"""The number of the lock under which a server's tables are made."""
_KEEPALIVE = "SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10"
"""A server notices within two minutes that the machine of a lock's holder has gone."""

_log = logging.getLogger(__name__)


class Database(ABC):
    """The records of all keys, by the hash of their key and their number."""

    def __init__(self, url: URL) -> None:
        self.url = url
        self._insert = _INSERT[url.get_backend_name()]

    @abstractmethod
    def __str__(self) -> str:
        """Its address, without a password."""

    @abstractmethod
    def lock(self, name: str) -> AbstractContextManager[None]:
        """Hold `name` against all other processes and threads; must not be nested."""

    def close(self) -> None:
        """Close the connection that is kept; the next use opens another."""
        self._engine().dispose()

    @abstractmethod
    def _engine(self) -> Engine: ...

    @abstractmethod
    def _do(self, action: Callable[[Connection], Value]) -> Value:
        """What `action` gives in a transaction."""

    def read(self, name: str, start: int) -> list[Record]:
        """The records of `name` from the number `start` on."""

        def read(connection: Connection) -> list[Record]:
            rows = connection.execute(_READ, {"of": name, "start": start}).all()
            return self._opened(connection, name, start, rows)

        return self._do(read)

    def append(self, name: str, key: str, number: int, record: Mapping[str, Any]) -> Record:
        """Write a record; the one that stands, which another has written if ours came second."""
        line = sealed(name, number, record)

        def write(connection: Connection) -> Record:
            if number == 0:
                named = self._insert(_KEYS).values(name=name, key=key)
                connection.execute(named.on_conflict_do_nothing())
            made = self._insert(_RECORDS).values(name=name, number=number, record=line)
            connection.execute(made.on_conflict_do_nothing())
            standing = connection.execute(_READ, {"of": name, "start": number}).all()
            found = self._opened(connection, name, number, standing)
            return found[0] if found else dict(record)

        return self._do(write)

    def counted(self) -> tuple[int, int, int]:
        """How many keys there are, how many records, and how many that were set aside."""
        aside = _RECORDS.c.name.contains(disk.DAMAGED)

        def count(connection: Connection) -> tuple[int, int, int]:
            rows = select(func.count()).select_from(_RECORDS)
            keys = connection.scalar(select(func.count()).select_from(_KEYS))
            whole, damaged = (connection.scalar(rows.where(which)) for which in (~aside, aside))
            return keys or 0, whole or 0, damaged or 0

        return self._do(count)

    def _opened(
        self, connection: Connection, name: str, start: int, rows: Sequence[Row[tuple[int, str]]]
    ) -> list[Record]:
        """The records of `rows`; none if one of them is not what was written."""
        contents = []
        for expected, row in enumerate(rows, start):
            try:
                contents.append(content_of(name, expected, row[1]))
            except ValueError:
                self._set_aside_records(connection, name, row)
                return []
        found: list[Record] = json.loads(f"[{','.join(contents)}]")  # one call: half the time
        return found

    def _set_aside_records(
        self, connection: Connection, name: str, row: Row[tuple[int, str]]
    ) -> None:
        """Rename the records of `name`, unless another has done so since `row` was read."""
        kept = f"{name}{disk.DAMAGED}{secrets.token_hex(4)}"
        columns = _RECORDS.c
        rename = update(_RECORDS).where(columns.name == name).values(name=kept)
        this = rename.where(columns.number == row.number, columns.record == row.record)
        if connection.execute(this).rowcount:
            connection.execute(rename)
            _log.warning(
                "record %d of %s in the store %s is damaged: kept as %s, its values are computed"
                " anew",
                *(row.number, name, self, kept),
            )

    def _unusable(self, reason: str) -> LeaseboardError:
        """The error for a store that is not damaged and cannot be used all the same."""
        return LeaseboardError(
            f"the store {self} cannot be used: {reason}: mend that, or name another with"
            " LEASEBOARD_STORE"
        )


class FileDatabase(Database):
    """A SQLite file, made when the first record is written; its locks are files beside it."""

    def __init__(self, path: Path) -> None:
        super().__init__(URL.create("sqlite", database=str(path)))
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    def read(self, name: str, start: int) -> list[Record]:
        """As of any database; a file that is not there yet holds none."""
        return super().read(name, start) if self._identity() else []

    def counted(self) -> tuple[int, int, int]:
        """As of any database; a file that is not there yet holds none."""
        return super().counted() if self._identity() else (0, 0, 0)

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Keys whose hashes begin alike share a lock."""
        folder = self.path.with_suffix(".locks")
        with self._named():
            folder.mkdir(parents=True, exist_ok=True)
            handle = (folder / name[:3]).open("w")
        with handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            try:
                yield
            finally:
                # Closing is not enough: a child that another thread forked meanwhile has the
                # same open file, and would hold the lock until it ends.
                fcntl.flock(handle, fcntl.LOCK_UN)

    def _do(self, action: Callable[[Connection], Value]) -> Value:
        """On a new file if this one is damaged."""
        for _ in range(_TRIES):
            found = self._identity() or self._made()
            try:
                with self._engine(found).begin() as connection:
                    return action(connection)
            except DBAPIError as error:
                code = getattr(error.orig, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
                if code not in _DAMAGE and not self.path.is_dir():
                    raise self._unusable(str(error.orig)) from error
                self._set_aside(found)
        raise self._unusable(f"it was damaged {_TRIES} times in a row")

    def _engine(self, found: int | None = None) -> Engine:
        return _file_engine(self.url, self._identity() if found is None else found, getpid())

    def _set_aside(self, found: int) -> None:
        """Rename the file that was `found` damaged, unless another process has done so."""
        with self.lock("damaged"), self._named():
            if found and self._identity() == found:
                kept = disk.set_aside(self.path)
                _log.warning(
                    "the store %s is damaged: kept as %s, its values are computed anew",
                    *(self.path, kept),
                )

    def _made(self) -> int:
        """The identity of an empty file, made here unless another process was first."""
        with self._named():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch()
        return self._identity()

    def _identity(self) -> int:
        """A number of the file that has our name just now; 0 if there is none."""
        with self._named():
            try:
                return self.path.stat().st_ino
            except FileNotFoundError:
                return 0

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Turn a refusal of the system into one line that names the store and the mend."""
        try:
            yield
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from error


class ServerDatabase(Database):
    """A PostgreSQL; its locks are advisory, each with a connection of its own."""

    def __str__(self) -> str:
        return redacted(self._address)

    @property
    def _address(self) -> str:
        return self.url.render_as_string(hide_password=False)

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """The server frees it when the connection ends, with the holder's process or machine."""
        wanted = select(func.pg_try_advisory_lock(int(name[:15], 16)))
        with self._reported():
            connection = _lock_engine(self.url).connect()
        try:
            with self._reported():
                connection.execute(text(_KEEPALIVE))
                pause = 0.01
                while not connection.scalar(wanted):
                    time.sleep(pause)  # in Python, so that a job that waits can be stopped
                    pause = min(1.0, 1.5 * pause)
            yield
        finally:
            connection.close()

    def _do(self, action: Callable[[Connection], Value]) -> Value:
        with self._reported(), self._engine().begin() as connection:
            return action(connection)

    def _engine(self) -> Engine:
        return _server_engine(self.url, getpid())

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """Turn a refusal of the server into one line without its secrets."""
        try:
            yield
        except (SQLAlchemyError, ImportError) as error:
            said = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
            raise self._unusable(scrubbed(said, [self._address])) from error


def database_at(place: Path | str) -> Database:
    """The database in a file, or at the address of a server.

    Raises UsageError if the address cannot be read, or is that of another kind of database.
    """
    if isinstance(place, Path):
        return FileDatabase(place)
    mend = "write a file or postgresql://USER:PASSWORD@HOST/NAME"
    try:
        url = make_url(place)
    except (ArgumentError, ValueError):  # not `from` it: its text is the address
        raise UsageError(
            f"the store {redacted(place)!r} cannot be read: {mend}, signs of a password such as"
            " [ / ? # @ in percent form, [ as %5B"
        ) from None
    if url.drivername.partition("+")[0] != "postgresql":
        raise UsageError(f"the store {redacted(place)!r} is no file and no PostgreSQL: {mend}")
    return ServerDatabase(url)


def sealed(name: str, number: int, record: Mapping[str, Any]) -> str:
    r"""A record as JSON, a tab and the sum of its bytes, its name and its number.

    Examples
    --------
    >>> sealed("4f", 0, {"correct": 850})
    '{"correct":850}\tb7e5fd19'
    """
    line = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return f"{line}\t{_sum(name, number, line)}"


def content_of(name: str, number: int, line: object) -> str:
    """The JSON that was `sealed`; ValueError if any of its bytes has changed since."""
    content, _, seal = str(line).rpartition("\t")
    if seal != _sum(name, number, content):
        raise ValueError(f"{content[:40]!r} is no record, or has changed since it was written")
    return content


def _sum(name: str, number: int, content: str) -> str:
    return f"{zlib.crc32(content.encode(), zlib.crc32(name.encode()) + number & 0xFFFFFFFF):08x}"


@lru_cache(maxsize=8)
def _file_engine(url: URL, _identity: int, _process: int) -> Engine:
    """One connection that is kept to a file, not to its name, in each process."""
    engine = create_engine(
        url, poolclass=QueuePool, **_POOL, connect_args={"timeout": _WAIT_SECONDS}
    )

    @event.listens_for(engine, "connect")
    def make_tables(connection: sqlite3.Connection, _: object) -> None:
        for table in _TABLES.sorted_tables:
            connection.execute(str(CreateTable(table, if_not_exists=True).compile(engine)))

    return engine


@lru_cache(maxsize=8)
def _lock_engine(url: URL) -> Engine:
    """A connection for each lock, in no transaction, which would be an old one before long."""
    return create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")


@lru_cache(maxsize=8)
def _server_engine(url: URL, _process: int) -> Engine:
    """One connection that is kept, in each process: a forked child makes its own."""
    engine = create_engine(url, poolclass=QueuePool, **_POOL, pool_pre_ping=True)
    with engine.begin() as connection:
        connection.execute(select(func.pg_advisory_xact_lock(_MAKING)))
        _TABLES.create_all(connection)
    return engine
