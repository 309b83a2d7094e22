"""A fork answers once, ends as it likes, and leaves its parent as it was."""

import os
import signal
import sys
import threading
import time

import pytest

from tasks.forks import Fork


def test_a_fork_answers_and_its_changes_end_with_it():
    before = sys.getrecursionlimit()

    def work():
        sys.setrecursionlimit(before * 2)
        return str(os.getpid()).encode()

    with Fork(work) as child:
        assert child.answer() == str(child.pid).encode()
    assert child.pid != os.getpid()
    assert sys.getrecursionlimit() == before


@pytest.mark.parametrize(
    ("work", "code"),
    [
        (lambda: os._exit(0), 0),
        (lambda: os._exit(3), 3),
        (lambda: sys.exit(0), 1),
        (lambda: 1 / 0, 1),
        (lambda: os.kill(os.getpid(), signal.SIGUSR1), -signal.SIGUSR1),
        (lambda: os.closerange(0, 99) or os._exit(4), 4),
    ],
)
def test_an_end_without_an_answer_has_its_code(work, code):
    with Fork(work) as child:
        assert child.answer() is None
        assert child.code == code


def test_patience_ends_and_nothing_is_left():
    with Fork(lambda: time.sleep(60)) as child:
        assert child.answer(0.1) is None
        assert child.code is None
    assert child.code == -signal.SIGKILL


def test_an_end_is_seen_though_a_grandchild_holds_the_pipe():
    def work():
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        os._exit(7)

    with Fork(work) as child:
        begun = time.monotonic()
        assert child.answer() is None
        assert child.code == 7
        assert time.monotonic() - begun < 30


def test_a_long_answer_arrives_whole_and_an_endless_one_is_cut(monkeypatch):
    with Fork(lambda: b"x" * 3_000_000) as child:
        assert child.answer() == b"x" * 3_000_000
    monkeypatch.setattr("tasks.forks.MOST_BYTES", 1000)
    with Fork(lambda: b"x" * 3_000_000) as child:
        assert child.answer() is None


def test_threads_of_the_child_do_not_keep_it():
    def work():
        threading.Thread(target=time.sleep, args=(60,)).start()
        return b"done"

    with Fork(work) as child:
        begun = time.monotonic()
        assert child.answer() == b"done"
    assert time.monotonic() - begun < 30
