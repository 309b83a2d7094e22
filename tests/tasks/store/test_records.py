"""Records are appended once and read back alike, even if a user of the store is killed."""

import multiprocessing
import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from sqlalchemy import create_engine, text

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.store.database import Store

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


def test_what_is_not_a_store_is_not_touched(tmp_path, monkeypatch):
    path = tmp_path / "thesis.txt"
    path.write_text("my only copy")
    for place in (str(path), f"sqlite:///{path}", str(tmp_path)):
        monkeypatch.setenv("LEASEBOARD_STORE", place)
        with pytest.raises(LeaseboardError, match=r"the store .* cannot be used: .* delete it"):
            numbers(Store())

    assert path.read_text() == "my only copy"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("mysql://me:5ECRET@host/db", "'mysql://***@host/db' is neither a file nor a"),
        ("postgresql://me@host:5ECRET/db", "a PostgreSQL: write a file or postgresql://USER"),
        ("postgresql:me:5ECRET@host", "a PostgreSQL: write a file or postgresql://USER"),
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
