"""Records are written once, by any number of processes, any of which may be killed."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sqlite3
import threading
import time
from contextlib import closing

import pytest

from algorithms.errors import LeaseboardError
from tasks.evaluate.probes.store import Store


def test_a_record_is_read_back_alike(tmp_path):
    store = Store(tmp_path / "folder" / "store.sqlite")
    assert store.get("a") is None
    assert len(store) == 0
    record = {"accuracy": 0.1 + 0.2, "rows": 3, "reason": ""}
    assert store.put("a", record) == record
    assert Store(store.path).get("a") == record
    assert len(store) == 1


def test_the_first_record_stands_unless_replaced(tmp_path):
    store = Store(tmp_path / "store.sqlite")
    store.put("a", {"n": 1})
    assert store.put("a", {"n": 2}) == {"n": 1}
    assert store.put("a", {"n": 2}, replace=True) == {"n": 2}


def count_up(path, log):
    store = Store(path)
    with store.lock("key"):
        if store.get("key") is None:
            with log.open("a") as handle:
                handle.write("x")
            time.sleep(0.05)
            store.put("key", {"pid": os.getpid()})
    # At once: a fork's orderly exit waits for threads of Prefect, which only its parent has.
    os._exit(0)


def test_processes_that_ask_at_once_compute_once(tmp_path):
    context = multiprocessing.get_context("fork")
    path, log = tmp_path / "store.sqlite", tmp_path / "log"
    workers = [context.Process(target=count_up, args=(path, log)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert log.read_text() == "x"


def write_for_ever(path, started):
    store = Store(path)
    for number in range(10**9):
        with store.lock(f"key {number}"):
            store.put(f"key {number}", {"number": number})
        started.set()


def test_a_killed_process_leaves_whole_records_and_no_lock(tmp_path):
    context = multiprocessing.get_context("fork")
    store = Store(tmp_path / "store.sqlite")
    for _ in range(3):
        started = context.Event()
        worker = context.Process(target=write_for_ever, args=(store.path, started))
        worker.start()
        assert started.wait(30)
        os.kill(worker.pid, signal.SIGKILL)
        worker.join()
    written = len(store)
    assert written >= 1
    assert [store.get(f"key {number}") for number in range(written)] == [
        {"number": number} for number in range(written)
    ]
    for number in range(70):  # every stripe of the locks is free
        with store.lock(f"new {number}"):
            assert store.put(f"new {number}", {"new": True}) == {"new": True}


def test_a_child_that_was_forked_meanwhile_does_not_hold_the_lock(tmp_path):
    context = multiprocessing.get_context("fork")
    store = Store(tmp_path / "store.sqlite")
    end = context.Event()
    with store.lock("key"):
        child = context.Process(target=end.wait)
        child.start()
    try:
        acquired = []
        thread = threading.Thread(target=lambda: acquired.append(locked(store)), daemon=True)
        thread.start()
        thread.join(30)
        assert acquired == [True]
    finally:
        end.set()
        child.join()


def locked(store):
    with store.lock("key"):
        return True


def not_a_database(path):
    path.write_text("what is this? " * 1000)


def truncated(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 + 100])


def random_bytes(path):
    whole = bytearray(path.read_bytes())
    for page in range(4096, len(whole), 4096):  # the head stays: it is a database still
        whole[page : page + 512] = random.Random(page).randbytes(512)
    path.write_bytes(whole)


def another_digit(path):
    path.write_bytes(path.read_bytes().replace(b'"number":7,', b'"number":8,'))


def another_schema(path):
    path.unlink()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE records (digest INTEGER, owner TEXT, size REAL)")


def a_folder(path):
    path.unlink()
    path.mkdir()
    (path / "inside").touch()


@pytest.fixture
def filled(tmp_path):
    """A store of some pages."""
    store = Store(tmp_path / "store.sqlite")
    for number in range(60):
        store.put(f"key {number}", {"number": number, "text": "x" * 300})
    return store


DAMAGES = (not_a_database, truncated, random_bytes, another_digit, another_schema, a_folder)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("first", ["get", "put"])
def test_a_damaged_store_is_named_set_aside_and_made_anew(filled, damage, first, caplog):
    damage(filled.path)
    store = Store(filled.path)
    if first == "get":
        assert store.get("key 7") is None
    new = {"number": 7, "text": "computed anew"}

    assert store.put("key 7", new) == store.get("key 7") == new
    kept = filled.path.with_name("store.sqlite.damaged-1")
    assert kept.exists()
    assert f"{filled.path} is damaged: kept as {kept}" in caplog.text
    assert len(store) == 1


def test_an_empty_file_is_a_new_store(filled):
    filled.path.write_bytes(b"")

    assert filled.get("key 7") is None
    assert filled.put("key 7", {"number": 7}) == {"number": 7}


def put_one(path, number):
    Store(path).put(f"new {number}", {"number": number})
    os._exit(0)


def test_processes_that_find_it_damaged_at_once_lose_nothing(filled):
    random_bytes(filled.path)
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=put_one, args=(filled.path, n)) for n in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert [filled.get(f"new {n}") for n in range(6)] == [{"number": n} for n in range(6)]
    assert len(list(filled.path.parent.glob("*.damaged-*"))) == 1


def test_a_store_without_permission_is_one_line_with_the_mend(filled, forbidden):
    with forbidden(filled.path), pytest.raises(LeaseboardError) as caught:
        Store(filled.path).get("key 7")

    assert str(filled.path) in str(caught.value)
    assert "ermission" in str(caught.value)
    assert "name another cache with LEASEBOARD_CACHE" in str(caught.value)
    assert filled.get("key 7")["number"] == 7
