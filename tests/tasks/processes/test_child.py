"""A child answers in turn, is heard to its last word, and ends whole, with its reason."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from leaseboard.tasks.processes import child
from leaseboard.tasks.processes.child import Called, Child, EndedError, Limits, call
from tests.flows.waiting import until

WALL = Limits(wall_seconds=0.2)
LATE = "over the limit of 0.2 s of wall time"


def spin():
    while True:
        pass


def raising(error):
    def work():
        raise error

    return work


def eat():
    held = [b"x" * 10_000_000 for _ in range(60)]
    time.sleep(600)
    return held


def below(work):
    """Return work of a child of the child, which waits for it."""

    def outer():
        if (pid := os.fork()) == 0:
            work()
        os.waitpid(pid, 0)
        return b""

    return outer


CODE = {
    "raises": (raising(ValueError("wrong")), 1, "it ended with exit code 1"),
    "exits": (lambda: sys.exit(0), 1, "it ended with exit code 1"),
    "dies": (lambda: os._exit(0), 0, "it ended with exit code 0"),
    "stops": (lambda: os.kill(os.getpid(), 10), -10, "killed by SIGUSR1"),
    "real time": (lambda: os.kill(os.getpid(), 40), -40, "killed by signal 40"),
    "killed": (
        lambda: os.kill(os.getpid(), 9), -9,
        "killed by SIGKILL (the system does that when memory runs out)",
    ),
    "closed": (lambda: os.closerange(3, 4096) or os._exit(4), 4, "it ended with exit code 4"),
}  # fmt: skip
BREACH = {
    "sleeps": (lambda: time.sleep(600), WALL, "timeout", LATE),
    "ignores": (
        lambda: signal.signal(15, signal.SIG_IGN) or time.sleep(600), WALL, "timeout", LATE,
    ),
    "spins": (spin, Limits(cpu_seconds=0.3), "timeout", "over the limit of 0.3 s of CPU time"),
    "spins below": (
        below(spin), Limits(cpu_seconds=0.3), "timeout", "over the limit of 0.3 s of CPU time",
    ),
    "eats": (eat, Limits(memory_mb=590), "memout", "over the limit of 590 MB of memory"),
    "eats below": (
        below(eat), Limits(memory_mb=590), "memout", "over the limit of 590 MB of memory",
    ),
    "closes": (
        lambda: os.closerange(3, 4096) or time.sleep(600), Limits(),
        "crash", "it closed its channel",
    ),
}  # fmt: skip


@pytest.mark.parametrize("end", CODE)
def test_an_end_without_an_answer_has_its_code_and_reason(end):
    work, code, reason = CODE[end]
    with Child.fork(work, who="it") as made, pytest.raises(EndedError) as error:
        made.answer()

    assert (made.code, error.value.code, error.value.ending.status) == (code, code, "crash")
    assert str(error.value) == reason
    assert error.value.ending.lasting is (code != -9)


@pytest.mark.parametrize("end", BREACH)
def test_a_limit_ends_a_child_with_all_that_it_started(end, monkeypatch):
    monkeypatch.setattr(child, "_CLOSING_SECONDS", 0.1)
    monkeypatch.setattr(child, "_TREE_SECONDS", 0.05)
    work, limits, status, reason = BREACH[end]
    before = {each.pid for each in psutil.Process().children(recursive=True)}
    with Child.fork(work, who="it") as made, pytest.raises(EndedError) as error:
        made.answer(limits, grace=0.1)

    assert (error.value.ending.status, error.value.ending.reason) == (status, reason)
    assert error.value.code is None
    assert error.value.ending.lasting
    assert {each.pid for each in psutil.Process().children(recursive=True)} <= before


def test_a_fork_answers_at_length_and_its_changes_end_with_it():
    limit = sys.getrecursionlimit()

    def work():
        sys.setrecursionlimit(limit * 2)
        threading.Thread(target=time.sleep, args=(600,)).start()  # which does not keep it
        return b"x" * 3_000_000

    with Child.fork(work) as made:
        assert made.answer() == b"x" * 3_000_000
    assert sys.getrecursionlimit() == limit


def test_an_end_is_seen_though_a_grandchild_holds_the_channel():
    held, ours = os.pipe()

    def work():
        if os.fork() == 0:
            os.close(ours)
            os.read(held, 1)  # until the test lets it go
            os._exit(0)
        os._exit(7)

    with Child.fork(work) as made, pytest.raises(EndedError):
        made.answer()
    assert made.code == 7
    os.close(ours)
    os.close(held)


class Knot:
    """Self-reference, which only a garbage collection ends; it records where."""

    def __init__(self, ended):
        self.me, self.ended = self, ended

    def __del__(self):
        self.ended.append(os.getpid())


def test_a_fork_does_not_collect_what_its_parent_left():
    ended = []
    gc.disable()
    try:
        Knot(ended)
        with Child.fork(lambda: repr((gc.collect(), ended)[1]).encode()) as made:
            assert made.answer() == b"[]"
    finally:
        gc.enable()


@pytest.fixture
def program(monkeypatch, tmp_path):
    """Yield a program that answers, see `answering`."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    made = Child.start_module("answering", str(tmp_path / "ended"), stdout=subprocess.DEVNULL)
    yield made
    made.kill()


def test_messages_arrive_whole_and_in_turn_and_nothing_printed_is_one(program):
    long = os.urandom(3_000_000)
    for message in (long, b"", b"print printed", b"\n"):
        program.send(message)

    assert [program.answer() for _ in range(4)] == [long, b"", b"printed", b"\n"]
    assert program.spent[1] < 240


def test_what_a_child_says_as_it_ends_is_heard_whenever_we_look(program, tmp_path, monkeypatch):
    """It waits while its parent looks in vain, and has said all and ended just after."""
    fifo = tmp_path / "go"
    os.mkfifo(fifo)
    look, vain = child.wait, []

    def looks_in_vain(*asked):
        found = look(*asked)
        if not found and not vain:
            vain.append(fifo.write_text(""))
            os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)
        return found

    monkeypatch.setattr(child, "wait", looks_in_vain)
    program.send(b"wait " + bytes(fifo))
    assert program.answer() == b"said"
    with pytest.raises(EndedError, match="exit code 7"):
        program.answer()
    program.send(b"no one hears this")
    assert program.code == 7


def test_an_answer_that_is_cut_is_none(program):
    program.send(b"begin")
    with pytest.raises(EndedError, match="exit code 7"):
        program.answer()


def test_a_program_goes_when_its_parent_is_gone(tmp_path):
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from leaseboard.tasks.processes.child import Child\n"
        "made = Child.start_module('answering', sys.argv[2])\n"
        "made.send(b'lives'); made.answer(); os.kill(os.getpid(), 9)"
    )
    ended = tmp_path / "ended"
    arguments = [str(Path(__file__).parent), str(ended)]
    parent = subprocess.run([sys.executable, "-c", code, *arguments], check=False)

    assert parent.returncode == -signal.SIGKILL
    until(ended.exists)


@pytest.mark.parametrize(("function", "status", "reason"), [
    (lambda: sum(range(10**6)), "ok", ""),
    (raising(ValueError("first line\nsecond line")), "crash", "ValueError: first line"),
    (raising(MemoryError("too large")), "memout", "MemoryError: too large"),
    (raising(OSError(28, "full")), "skipped", "the disk is full"),
    (spin, "timeout", "over the limit of 0.5 s of CPU time"),
])  # fmt: skip
def test_a_call_ends_as_its_function_does(function, status, reason):
    called = call(function, Limits(cpu_seconds=0.5, wall_seconds=240))

    assert (called.ending.status, called.ending.reason.partition(":")[0]) == (
        status, reason.partition(":")[0],
    )  # fmt: skip
    assert called.ending.reason.startswith(reason)
    assert called.ending.lasting is (status in {"ok", "crash", "timeout"})
    assert called.value == (499999500000 if status == "ok" else None)
    assert 0 <= called.cpu_seconds <= 0.5
    assert (called.cpu_seconds == 0.5) is (status == "timeout")
    assert isinstance(called, Called)
