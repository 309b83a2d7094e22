"""A database of any back end: opened once, locked, refused in one line."""

import os
import threading
import uuid
from dataclasses import replace

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, Text, inspect, text

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.tasks.store.database import Database, StoreSchema

TABLES = MetaData()
NOTES = Table("notes", TABLES, Column("number", Integer, primary_key=True), Column("text", Text))
FIRST = StoreSchema("notes", TABLES, "store", "fix that", rebuild="begin again")
KEY = "0123456789abcdef" * 4


SECOND = replace(FIRST, version=2)


def note(database, line):
    with database.begin() as connection:
        connection.execute(NOTES.insert().values(text=line))


def notes(database):
    with database.begin() as connection:
        return list(connection.execute(NOTES.select()).scalars("text"))


class BackEnd:
    """Tests of every back end: a case for each is below, with its `place`."""

    def test_what_raises_is_undone(self, place):
        database = Database(place, FIRST)
        with pytest.raises(ZeroDivisionError), database.begin() as connection:
            _ = connection.execute(NOTES.insert().values(text="a")).rowcount / 0
        assert notes(database) == []

    @pytest.mark.parametrize(
        ("before", "now", "said"),
        [
            (SECOND, FIRST, "has format 2 of 'notes', and this version of Leaseboard reads 1: "),
            (FIRST, SECOND, "has format 1 of 'notes', and this version"),
        ],
    )
    def test_another_version_is_refused_in_one_line_and_not_touched(
        self, place, before, now, said
    ):
        note(Database(place, before), "a")
        with pytest.raises(LeaseboardError, match=said) as caught:
            note(Database(place, now), "b")
        line = str(caught.value)
        assert line.endswith("install the version that wrote it, or begin again")
        assert "\n" not in line
        assert notes(Database(place, before)) == ["a"]

    def test_what_the_database_refuses_is_one_line(self, place):
        database = Database(place, FIRST)
        with (
            pytest.raises(LeaseboardError, match=r"store .* cannot be used: .*: fix that$"),
            database.begin() as connection,
        ):
            connection.execute(text("select nothing from nowhere"))
        assert "secret" not in str(database)

    def test_a_lock_is_for_one_and_refused_or_waited_for(self, place):
        first, second = Database(place, FIRST), Database(place, FIRST)
        taken, busy = threading.Event(), UsageError("busy")

        def wait():
            with second.lock(KEY):
                taken.set()

        waiting = threading.Thread(target=wait)
        with first.lock(KEY):
            with pytest.raises(UsageError, match="busy"), second.lock(KEY, busy):
                pass
            waiting.start()
            assert not taken.wait(0.2)
        waiting.join()
        assert taken.is_set()

    def test_a_killed_holder_frees_the_lock(self, place):
        read, write = os.pipe()
        child = os.fork()
        if not child:
            with Database(place, FIRST).lock(KEY):
                os.write(write, b".")
                threading.Event().wait()
        assert os.read(read, 1) == b"."
        os.kill(child, 9)
        os.waitpid(child, 0)
        with Database(place, FIRST).lock(KEY):
            pass

    def test_a_fork_has_a_connection_of_its_own(self, place):
        database = Database(place, FIRST)
        note(database, "a")
        child = os.fork()
        if not child:
            note(database, "b")
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        note(database, "c")
        assert sorted(notes(database)) == ["a", "b", "c"]


class TestSQLite(BackEnd):
    """A file."""

    @pytest.fixture
    def place(self, tmp_path):
        return tmp_path / "deep" / "notes.sqlite"

    def test_making_the_tables_is_done_or_not(self, place, monkeypatch):
        monkeypatch.setattr(TABLES, "create_all", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            notes(Database(place, SECOND))
        monkeypatch.undo()
        assert notes(Database(place, SECOND)) == []
        with Database(place, SECOND).begin() as connection:
            assert "leaseboard_versions" in inspect(connection).get_table_names()


@pytest.mark.postgresql
class TestPostgreSQL(BackEnd):
    """A database of a server."""

    @pytest.fixture
    def place(self, create_database):
        return create_database(f"notes_{uuid.uuid4().hex[:12]}")
