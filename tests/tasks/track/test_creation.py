"""A SQLite store of MLflow is made whole or not at all."""

import sqlite3
from contextlib import closing, contextmanager

import pytest
import sqlalchemy

from leaseboard.tasks.track.store import TrackingError, ensure_store, open_store


@contextmanager
def a_disk_of(pages):
    """Let SQLite find the disk full after so many pages of 4 kB; a store needs some 230."""

    def limit(connection, _):
        connection.execute(f"PRAGMA max_page_count = {pages}")

    sqlalchemy.event.listen(sqlalchemy.engine.Engine, "connect", limit)
    try:
        yield
    finally:
        sqlalchemy.event.remove(sqlalchemy.engine.Engine, "connect", limit)


def test_a_full_disk_leaves_nothing(tmp_path):
    with a_disk_of(120), pytest.raises(TrackingError, match="disk is full"):
        open_store(f"sqlite:///{tmp_path / 'mlflow.db'}")
    assert [path.name for path in tmp_path.iterdir()] == [".mlflow.db.lock"]


@pytest.mark.parametrize("make", [ensure_store, open_store])
def test_a_store_with_options_in_its_address_is_refused_and_leaves_no_file(tmp_path, make):
    with pytest.raises(TrackingError, match=r"a\?b\.db cannot be read: a file has no \?"):
        make(f"sqlite:///{tmp_path / 'a?b.db'}")
    assert not list(tmp_path.iterdir())


def test_another_programs_database_is_left_alone(tmp_path):
    path = tmp_path / "notes.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE notes (text TEXT)")
    before = path.read_bytes()

    with pytest.raises(TrackingError, match=r"notes.db failed: it is another program's"):
        open_store(f"sqlite:///{path}")
    assert path.read_bytes() == before
