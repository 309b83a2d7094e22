"""Records are appended once and read back alike, even if a user of the store is killed."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine, text

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.tasks.store.record_table import content_of, table_at, with_checksum
from leaseboard.tasks.store.recorded import Store

FORK = multiprocessing.get_context("fork")
KEY = {"data": "abc", "seed": 1}
NAMES = iter(range(10**6))


@pytest.fixture(params=["file", pytest.param("server", marks=pytest.mark.postgresql)])
def place(request, tmp_path, monkeypatch):
    """Return the store that ``LEASEBOARD_STORE`` names, of each kind."""
    named = str(tmp_path / "folder" / "store.sqlite")
    if request.param == "server":
        named = request.getfixturevalue("database")(f"recorded_{os.getpid()}_{next(NAMES)}")
    monkeypatch.setenv("LEASEBOARD_STORE", named)
    return named


@contextmanager
def opened(place):
    """Yield a connection to the tables, past the store."""
    engine = create_engine(place if "://" in place else f"sqlite:///{place}")
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def counted(place):
    """Return how many records there are."""
    with opened(place) as connection:
        return connection.scalar(text("select count(*) from leaseboard_records"))


def forked(work, *arguments):
    """Return a child that does `work`, and ends at once: Prefect's threads are its parent's."""

    def live():
        work(*arguments)
        os._exit(0)

    child = FORK.Process(target=live)
    child.start()
    return child


def filled(store, count=5, key=KEY):
    records = store.records(key)
    while len(records) < count:
        records.extend(lambda n: {"n": n, "reward": 0.1 * n})
    return records


def read(store, key=KEY):
    """Return all records of a key, as another process would find them."""
    records = store.records(key)
    records.refresh()
    return list(records)


def numbers(store, key=KEY):
    return [record["n"] for record in read(store, key)]


def write(count):
    records = Store().records(KEY)
    while len(records) < count:
        records.extend(lambda n: (time.sleep(0.002), {"n": n, "by": os.getpid()})[1])


def test_eight_writers_lose_and_repeat_nothing(place):
    writers = [forked(write, 60) for _ in range(8)]
    for writer in writers:
        writer.join()

    assert [writer.exitcode for writer in writers] == [0] * 8
    assert numbers(Store()) == list(range(60))
    assert counted(place) == 60


def test_writers_that_are_killed_lose_and_repeat_nothing(place):
    rng = random.Random(0)
    filled(Store(), 1)
    for _ in range(4):
        writers = [forked(write, 10**6) for _ in range(2)]
        before = len(numbers(Store()))
        while len(numbers(Store())) < before + 5:
            time.sleep(0.01)
        time.sleep(rng.random() / 20)
        for writer in writers:
            writer.kill()
            writer.join()
    found = read(Store(), KEY)

    assert [record["n"] for record in found] == list(range(len(found)))
    assert filled(Store(), len(found) + 1)[len(found)]["n"] == len(found)
    assert counted(place) == len(found) + 1


def test_who_waits_does_not_compute(place):
    computing, end = threading.Event(), threading.Event()

    def compute(number):
        computing.set()
        assert end.wait(240)
        return {"n": number}

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(Store().records(KEY).extend, compute)
        assert computing.wait(240)
        second = pool.submit(Store().records(KEY).extend, lambda _: pytest.fail("computed twice"))
        other = filled(Store(), 1, {"data": "of another key"})  # waits for no one
        end.set()

        assert (first.result(), second.result(), len(other)) == (True, False, 1)


def test_a_child_that_was_forked_meanwhile_does_not_hold_the_lock(place):
    end, children = FORK.Event(), []

    def compute(number):
        children.append(forked(end.wait))
        return {"n": number}

    assert Store().records(KEY).extend(compute)
    try:
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(filled, Store(), 2).result(30)
    finally:
        end.set()
        children[0].join()


CHANGES = {
    "another digit": "UPDATE leaseboard_records SET record ="
    " replace(record, '\"n\":3', '\"n\":4') WHERE number = 3",
    "an invalid record": "UPDATE leaseboard_records SET record = 'what?' WHERE number = 3",
    "another's record": "UPDATE leaseboard_records SET record ="
    " (SELECT record FROM leaseboard_records WHERE number = 2) WHERE number = 3",
    "a gap": "DELETE FROM leaseboard_records WHERE number = 3",
    "no first": "DELETE FROM leaseboard_records WHERE number = 0",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("first", ["refresh", "extend"])
def test_a_changed_record_is_renamed_with_its_key_and_made_again(place, change, first, caplog):
    records = filled(Store())
    with opened(place) as connection:
        connection.exec_driver_sql(change)
        left = connection.scalar(text("SELECT count(*) FROM leaseboard_records"))
    filled(Store(), 2, {"data": "of another key"})
    if first == "refresh":
        assert numbers(Store()) == []
    filled(Store())

    assert numbers(Store()) == [0, 1, 2, 3, 4]
    assert f"of {records.name} in the store" in caplog.text
    assert "is damaged: kept as" in caplog.text
    assert "secret" not in caplog.text
    assert counted(place) == 7 + left


def test_who_has_read_records_takes_those_that_were_made_again(place):
    reader = filled(Store())
    with opened(place) as connection:
        connection.execute(text(CHANGES["an invalid record"]))
    writer = Store().records(KEY)
    while len(writer) < 3:
        writer.extend(lambda n: {"n": n, "again": True})
    reader.refresh()

    assert [reader[n] for n in range(len(reader))] == [{"n": n, "again": True} for n in range(3)]
    assert reader.extend(lambda n: {"n": n})
    assert numbers(Store()) == [0, 1, 2, 3]


RECORDS = st.dictionaries(
    st.text(max_size=5),
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    max_size=4,
)


@given(RECORDS, st.data())
def test_a_checked_record_is_read_back_alike_or_not_at_all(record, data):
    line = with_checksum("name", 3, record)
    place = data.draw(st.integers(0, len(line) - 1))
    other = data.draw(st.characters().filter(lambda sign: sign != line[place]))

    assert json.loads(content_of("name", 3, line)) == record
    for name, number, found in (
        ("name", 2, line), ("nama", 3, line), ("name", 3, line[:place] + other + line[place + 1:]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="is not a record"):
            content_of(name, number, found)


def not_a_database(path):
    path.write_text("what is this? " * 1000)


def truncated(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 + 100])


def random_bytes(path):
    whole = bytearray(path.read_bytes())
    for page in range(4096, len(whole), 4096):  # the head stays: it is a database still
        whole[page : page + 512] = random.Random(page).randbytes(512)
    path.write_bytes(whole)


def another_schema(path):
    path.unlink()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE leaseboard_records (digest INTEGER, owner TEXT)")


def a_folder(path):
    path.unlink()
    path.mkdir()
    (path / "inside").touch()


@pytest.fixture
def pages(tmp_path):
    """Return a file of some pages, with records 0 to 59."""
    path = tmp_path / "store.sqlite"
    records = Store(path).records(KEY)
    for _ in range(60):
        records.extend(lambda n: {"n": n, "text": "x" * 300})
    return path


@pytest.mark.parametrize(
    "damage", [not_a_database, truncated, random_bytes, another_schema, a_folder]
)
@pytest.mark.parametrize("first", ["refresh", "extend"])
def test_a_damaged_file_is_named_moved_away_and_made_again(pages, damage, first, caplog):
    damage(pages)
    table_at.cache_clear()  # as another process: ours has read its pages before
    if first == "refresh":
        assert numbers(Store(pages)) == []
    filled(Store(pages))

    assert numbers(Store(pages)) == [0, 1, 2, 3, 4]
    kept = pages.with_name("store.sqlite.damaged-1")
    assert kept.exists()
    assert f"{pages} is damaged: kept as {kept}" in caplog.text


def test_processes_that_find_it_damaged_at_once_lose_nothing(pages):
    random_bytes(pages)
    table_at.cache_clear()
    workers = [forked(filled, Store(pages), 1, {"own": n}) for n in range(6)]
    for worker in workers:
        worker.join()

    assert [numbers(Store(pages), {"own": n}) for n in range(6)] == [[0]] * 6
    assert len(list(pages.parent.glob("*.damaged-*"))) == 1


def test_what_is_not_a_store_is_not_touched(tmp_path, monkeypatch):
    path = tmp_path / "thesis.txt"
    path.write_text("my only copy")
    for place in (str(path), f"sqlite:///{path}", str(tmp_path)):
        monkeypatch.setenv("LEASEBOARD_STORE", place)
        with pytest.raises(UsageError, match="holds something else than a store"):
            Store()

    assert path.read_text() == "my only copy"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("mysql://me:5ECRET@host/db", "'mysql://***@host/db' is neither a file nor a"),
        ("postgresql://me@host:5ECRET/db", "cannot be read: write a file or postgresql://USER"),
        ("postgresql:me:5ECRET@host", "cannot be read: write a file or postgresql://USER"),
        ("postgresql://me:5ECRET@127.0.0.1:9/db", "//***@127.0.0.1:9/db cannot be used: "),
        ("postgresql+none://me:5ECRET@host/db", "//***@host/db cannot be used: "),
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_used_is_one_line_without_its_password(address, said):
    with pytest.raises(LeaseboardError) as caught:
        numbers(Store(address))

    line = str(caught.value)
    assert said in line
    assert "5ECRET" not in line
    assert "\n" not in line
