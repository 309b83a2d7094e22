"""Records are written once, by any number of processes, any of which may be killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time

from tasks.probes.store import Store


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
