"""The database of a keep's state: connected, held, and never spoken of with its secrets."""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, MetaData, create_engine, event, func, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.tasks.machine.addresses import redacted, scrubbed

PATIENCE = 30.0
"""Seconds that a database may be busy with what others write."""


class StateDatabase:
    """A SQLite file, or a database of a PostgreSQL server, with the tables of `metadata`.

    - `patience`: see `PATIENCE`.

    Raises UsageError if the address cannot be read; every method LeaseboardError, in one line, if
    the database cannot be used.
    """

    def __init__(self, place: Path | str, metadata: MetaData, patience: float = PATIENCE) -> None:
        self.place, self._metadata, self._patience = place, metadata, patience
        if isinstance(place, Path):
            place.parent.mkdir(parents=True, exist_ok=True)
            self._url = URL.create("sqlite", database=str(place))
        else:
            self._url = _server(place)
        self._engine: Engine | None = None
        self._file: tuple[int, int] | None = None
        """Which file is connected, as the system numbers it."""
        self._connecting = threading.Lock()

    def __str__(self) -> str:
        return str(self.place) if isinstance(self.place, Path) else redacted(self.place)

    @contextmanager
    def held(self, what: str, busy: Exception) -> Iterator[None]:
        """Hold `what` against all others; raises `busy` if one of them does."""
        if isinstance(self.place, Path):
            with self._reported():
                handle = self.place.with_suffix(".turn").open("w")
            with handle:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise busy from None
                yield  # not reported: what goes wrong in a turn is not the state's fault
            return
        number = int(hashlib.sha256(what.encode()).hexdigest()[:15], 16)
        with self._reported():
            holder = create_engine(self._url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
            connection = holder.connect()
        with connection:
            with self._reported():
                is_free = connection.scalar(select(func.pg_try_advisory_lock(number)))
            if not is_free:
                raise busy
            yield

    @contextmanager
    def begun(self, held: Connection | None = None) -> Iterator[Connection]:
        """A transaction; what the database refuses is told in one line, without its secrets.

        - `held`: of a transaction that is going on, to take part in it.
        """
        with self._reported(), nullcontext(held) if held else self._connected().begin() as found:
            yield found

    def _connected(self) -> Engine:
        """The engine; anew where another file lies in the place of the one that was connected.

        Who goes on with a file that was removed writes for nobody.
        """
        with self._connecting:
            found = self._found()
            if self._engine is not None and found == self._file:
                return self._engine
            if self._engine is not None and found is None:
                raise FileNotFoundError("the file was removed")
            if self._engine is not None:
                self._engine.dispose()
            self._engine, self._file = self._made(), self._found()
            return self._engine

    def _found(self) -> tuple[int, int] | None:
        """Which file is there."""
        if not isinstance(self.place, Path):
            return None
        try:
            stat = os.stat(self.place)  # noqa: PTH116  (a third of the time, before each forecast)
        except FileNotFoundError:
            return None
        return stat.st_dev, stat.st_ino

    def _made(self) -> Engine:
        metadata = self._metadata
        if not isinstance(self.place, Path):
            waits = f"-c lock_timeout={round(1000 * self._patience)}"
            engine = create_engine(
                self._url, pool_pre_ping=True,
                connect_args={"connect_timeout": max(2, round(self._patience)), "options": waits},
            )  # fmt: skip
            with engine.begin() as connection:
                connection.execute(text("select pg_advisory_xact_lock(507140)"))
                metadata.create_all(connection)
            return engine
        engine = create_engine(self._url, connect_args={"timeout": self._patience})

        @event.listens_for(engine, "connect")
        def prepare(connection: Any, _: object) -> None:
            connection.execute("PRAGMA journal_mode=WAL")

        # Of processes that come at once, one makes the tables; SQLite waits for no change of mode.
        with self.place.with_suffix(".lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            with engine.begin() as connection:
                metadata.create_all(connection)
        return engine

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, OSError, ImportError) as error:
            said = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
            if not isinstance(self.place, Path):
                said = scrubbed(said, [self._url.render_as_string(hide_password=False)])
            raise LeaseboardError(
                f"the state {self} cannot be used: {said}: mend that and take another turn; what"
                " was not finished is done again"
            ) from error


def _server(place: str) -> URL:
    mend = "write a file or postgresql://USER:PASSWORD@HOST/NAME"
    try:
        url = make_url(place)
    except (ArgumentError, ValueError):  # not `from` it: its text is the address
        raise UsageError(f"the state {redacted(place)!r} cannot be read: {mend}") from None
    if url.drivername.partition("+")[0] != "postgresql":
        raise UsageError(f"the state {redacted(place)!r} is no file and no PostgreSQL: {mend}")
    return url
