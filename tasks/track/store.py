"""MLflow stores: opened once, safely, and named without their secrets.

A SQLite store is made whole or not at all: MLflow makes some sixty tables in the file itself, in
as many steps. A full disk or a kill in between would leave a file that MLflow can neither use nor
complete.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from leaseboard.algorithms.errors import LeaseboardError, short
from leaseboard.tasks.machine import disk
from leaseboard.tasks.machine.addresses import redacted, scrubbed

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient


SQLITE = "sqlite:///"
SQLITE_WAIT_SECONDS = 20.0
"""Time limit of MLflow for a store that another process has locked."""


class TrackingError(LeaseboardError):
    """Error of MLflow's store; what was to be logged is in the run folder still."""


def open_store(uri: str) -> MlflowClient:
    """Return a client of the store at `uri`; a SQLite store is created if it does not exist.

    Raises TrackingError if it cannot be opened.
    """
    from mlflow.tracking import MlflowClient

    ensure_store(uri)
    with reported(uri):
        client = MlflowClient(tracking_uri=uri)
        client.search_experiments(max_results=1)
        return client


def check_address(uri: str) -> None:
    """Raise TrackingError for an address that cannot be read, without its secrets."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    is_file = uri.lower().startswith("sqlite")
    is_readable = not (is_file and "?" in uri)  # after which MLflow reads options
    try:
        if "://" in uri and not is_file:
            _ = urlsplit(uri).port  # a ValueError unless it is a number
            make_url(uri)
    except (ValueError, ArgumentError):
        is_readable = False
    if not is_readable:  # not from the error: its text is the address
        raise TrackingError(
            f"the address of the MLflow store {redacted(uri)} cannot be read: a file has no ? in"
            " its name, a port is a number up to 65535, and signs of a password such as [ / ? # @"
            " are in percent form, [ as %5B"
        )


def ensure_store(uri: str) -> None:
    """Make the SQLite store at `uri` if it does not exist; a server makes its own.

    Raises TrackingError if its address cannot be read, it cannot be made, or the file there is
    another one.
    """
    check_address(uri)
    logging.getLogger("alembic").setLevel(logging.ERROR)
    # It logs each error with its traceback, and raises it: `reported` makes one line of it.
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)
    if not uri.startswith(SQLITE):
        return
    path = Path(uri.removeprefix(SQLITE))
    with reported(uri):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Of several processes that open it, one makes it.
        with path.with_name(f".{path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (path.exists() and path.stat().st_size):
                _make(path)
            with closing(sqlite3.connect(path, timeout=SQLITE_WAIT_SECONDS)) as connection:
                tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
                if "experiments" not in tables:  # the first that MLflow makes
                    raise sqlite3.DatabaseError("it is another program's: name another file")
                # Write-ahead logging, set once in the file: readers do not wait for a writer.
                if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                    connection.execute("PRAGMA journal_mode=WAL")


def experiment(client: MlflowClient, uri: str, name: str) -> str:
    """Return the identifier of the experiment `name`, which is made if it does not exist.

    A server has a place for artifacts. Those of a database go to ``LEASEBOARD_ARTIFACTS``, which
    several machines need; otherwise to ``artifacts`` next to a SQLite store, or to
    ``mlruns/artifacts`` here, by an absolute path: MLflow's own default depends on the current
    folder.
    """
    from mlflow.exceptions import MlflowException

    with reported(uri):
        found = client.get_experiment_by_name(name)
        if found is None:
            root = artifact_root(uri)
            location = f"{root}/{quote(name.replace('/', '.'))}" if root else None
            try:
                return str(client.create_experiment(name, artifact_location=location))
            except MlflowException as error:
                if error.error_code != "RESOURCE_ALREADY_EXISTS":
                    raise
                found = client.get_experiment_by_name(name)
        if found is None or found.lifecycle_stage != "active":
            raise TrackingError(
                f"the MLflow experiment {name!r} is deleted: restore it with"
                " `mlflow experiments restore`, or name another store with --tracking-uri"
            )
        return str(found.experiment_id)


def has_runs(uri: str, keys: Iterable[str]) -> bool:
    """Return whether a SQLite store has a run under each ``leaseboard.key``, without MLflow.

    False for all other stores: they cannot be asked without MLflow, whose import takes seconds.
    """
    if not uri.startswith(SQLITE):
        return False
    wanted = {*keys}
    known = (
        "SELECT COUNT(DISTINCT value) FROM tags JOIN runs USING (run_uuid)"
        " WHERE key = 'leaseboard.key' AND lifecycle_stage = 'active'"
        " AND value IN (SELECT value FROM json_each(?))"
    )
    address = f"file:{quote(uri.removeprefix(SQLITE))}?mode=rw"
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            (found,) = connection.execute(known, [json.dumps([*wanted])]).fetchone()
    except sqlite3.Error:
        return False
    return bool(found == len(wanted))


@contextmanager
def reported(uri: str) -> Iterator[None]:
    """Report any error of a store in one line that names it without its secrets."""
    import sqlalchemy.exc
    from mlflow.exceptions import MlflowException

    failures = MlflowException, sqlalchemy.exc.SQLAlchemyError, sqlite3.Error, OSError
    try:
        yield
    except TrackingError:
        raise
    except (*failures, ImportError) as error:  # of a database's driver
        line = str(getattr(error, "orig", None) or error).partition("\n")[0]
        said = short(scrubbed(line, [uri]), 500)
        raise TrackingError(f"the MLflow store {redacted(uri)} failed: {said}") from error


def artifact_root(uri: str) -> str:
    """Return the address of a database's artifacts; empty for a server, which has its own."""
    if uri.startswith(("http://", "https://")):
        return ""
    home = Path(uri.removeprefix(SQLITE)).parent if uri.startswith(SQLITE) else Path("mlruns")
    named = os.environ.get("LEASEBOARD_ARTIFACTS", "").rstrip("/")
    # As an address: MLflow takes what follows a "#" or "?" in a path for something else.
    return named or (home.resolve() / "artifacts").as_uri()


def _make(path: Path) -> None:
    from mlflow.store.db import utils

    new = path.with_name(f".{path.name}.new")
    disk.remove_database(new)
    try:
        engine = utils.create_sqlalchemy_engine(f"sqlite:///{new}")
        utils._initialize_tables(engine)  # noqa: SLF001 - MLflow has no public name
        engine.dispose()
        with new.open("rb") as file:
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        disk.remove_database(new)
