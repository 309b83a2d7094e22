"""A SQLite store of MLflow, made whole or not at all.

MLflow makes some sixty tables in the file itself, in as many steps. A full disk or a kill in
between would leave a file that MLflow can neither use nor complete.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tasks.machine import disk

_log = logging.getLogger(__name__)

_POSTGRESQL_KEY = 0x6C656173
"""Of the advisory lock: any number that others do not use in the same database."""


def ensure(path: Path, wait_seconds: float) -> None:
    """Make the store at `path` unless it is there; the caller holds the store's lock.

    Another process that has locked the database itself is waited for.

    A store whose making was cut off, by an earlier version or by MLflow itself, is set aside if
    it holds nothing.

    Raises sqlite3.DatabaseError: the file is no database, or another program's.
    """
    if _holds_runs(path, wait_seconds):
        return  # whatever state it is in, it is not ours to replace
    if path.exists() and path.stat().st_size:
        if _is_whole(path):
            return
        kept = disk.set_aside(path)
        _log.warning("the MLflow store %s was never completed: kept as %s, made anew", path, kept)
    _make(path)


@contextmanager
def alone(uri: str) -> Iterator[None]:
    """Let one process at a time open a PostgreSQL store: the first makes its tables in many steps.

    SQLite stores have a lock of their own, a server makes its store itself.
    """
    if not uri.startswith(("postgres:", "postgresql")):
        yield
        return
    from sqlalchemy import create_engine, text
    from sqlalchemy.pool import NullPool

    engine = create_engine(uri, poolclass=NullPool)
    with engine.connect() as connection:  # the lock goes with the connection, also after a kill
        connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _POSTGRESQL_KEY})
        yield


def _holds_runs(path: Path, wait_seconds: float) -> bool:
    """Whether there is a run or a registered model."""
    if not path.exists():
        return False
    with closing(sqlite3.connect(path, timeout=wait_seconds)) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if tables and "experiments" not in tables:  # the first that MLflow makes
            raise sqlite3.DatabaseError("it is another program's: name another file")
        return any(
            connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone()  # noqa: S608 - ours
            for table in ("runs", "registered_models")
            if table in tables
        )


def _is_whole(path: Path) -> bool:
    from mlflow.store.db import utils

    engine = utils.create_sqlalchemy_engine(f"sqlite:///{path}")
    try:
        # MLflow has public names for none of this.
        if not utils._all_tables_exist(engine):  # noqa: SLF001
            return False
        latest = utils._get_latest_schema_revision()  # noqa: SLF001
        return bool(utils._get_schema_version(engine) == latest)  # noqa: SLF001
    finally:
        engine.dispose()


def _make(path: Path) -> None:
    from mlflow.store.db import utils

    new = path.with_name(f".{path.name}.new")
    disk.remove_database(new)
    try:
        engine = utils.create_sqlalchemy_engine(f"sqlite:///{new}")
        try:
            utils._initialize_tables(engine)  # noqa: SLF001 - MLflow has no public name
        finally:
            engine.dispose()
        with new.open("rb") as file:
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        disk.remove_database(new)
