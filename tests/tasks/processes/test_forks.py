"""A fork returns one value and is confined, and its ending is described in words."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from leaseboard.tasks.processes.forks import Fork, over_cpu, post_mortem
from leaseboard.tasks.processes.subprocesses import Silence


def test_a_fork_answers_and_its_changes_end_with_it():
    before = sys.getrecursionlimit()

    def work():
        sys.setrecursionlimit(before * 2)
        return str(os.getpid()).encode()

    with Fork(work) as child:
        assert child.answer() == str(child.pid).encode()
    assert child.pid != os.getpid()
    assert sys.getrecursionlimit() == before


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
        with Fork(lambda: repr((gc.collect(), ended)[1]).encode()) as child:
            assert child.answer() == b"[]"
    finally:
        gc.enable()
    gc.collect()
    assert ended == [os.getpid()]


def test_an_end_without_an_answer_has_its_code():
    for work, code in (
        (lambda: os._exit(0), 0),
        (lambda: os._exit(3), 3),
        (lambda: sys.exit(0), 1),
        (lambda: 1 / 0, 1),
        (lambda: os.kill(os.getpid(), signal.SIGUSR1), -signal.SIGUSR1),
        (lambda: os.closerange(0, 99) or os._exit(4), 4),
    ):
        with Fork(work) as child:
            assert child.answer() is Silence.ENDED
            assert child.code == code


def test_patience_ends_and_nothing_is_left():
    with Fork(lambda: time.sleep(600)) as child:
        assert child.answer(0.1) is Silence.LATE
        assert child.code is None
    assert child.code == -signal.SIGKILL


def test_an_end_is_seen_though_a_grandchild_holds_the_pipe():
    held, ours = os.pipe()

    def work():
        if os.fork() == 0:
            os.close(ours)
            os.read(held, 1)  # until the test lets it go
            os._exit(0)
        os._exit(7)

    with Fork(work) as child:
        assert child.answer() is Silence.ENDED
        assert child.code == 7
    os.close(ours)
    os.close(held)


def test_a_long_answer_arrives_whole_and_an_endless_one_is_cut(monkeypatch):
    with Fork(lambda: b"x" * 3_000_000) as child:
        assert child.answer() == b"x" * 3_000_000
    monkeypatch.setattr("leaseboard.tasks.processes.forks.MOST_BYTES", 1000)
    with Fork(lambda: b"x" * 3_000_000) as child:
        assert child.answer() is Silence.LONG


@pytest.fixture
def pipe_ends(monkeypatch):
    """Return the descriptors of every pipe that is made, as its child sees them."""
    ends, pipe = [], os.pipe
    monkeypatch.setattr(os, "pipe", lambda: ends.append(pipe()) or ends[-1])
    return ends


def test_who_closes_the_pipe_and_lives_on_is_waited_for_at_no_cost(pipe_ends):
    def work():
        os.close(pipe_ends[-1][1])
        time.sleep(600)

    with Fork(work) as child:
        begun = time.process_time()
        assert child.answer(2) is Silence.LATE
        assert time.process_time() - begun < 0.5


def test_the_seconds_of_a_fork_are_its_own_and_those_that_it_waited_for():
    def burn(seconds):
        while time.process_time() < seconds:
            pass

    def work():
        if (other := os.fork()) == 0:
            burn(0.4)
            os._exit(0)
        os.waitpid(other, 0)
        burn(0.3)
        return b""

    with Fork(work) as child:
        assert child.answer() == b""
    assert 0.7 <= child.cpu_seconds < 5


def test_threads_of_the_child_do_not_keep_it():
    def work():
        threading.Thread(target=time.sleep, args=(600,)).start()
        return b"done"

    with Fork(work) as child:
        begun = time.monotonic()
        assert child.answer() == b"done"
    assert time.monotonic() - begun < 300


def test_an_exit_code_is_a_status_with_its_reason():
    for code, status, reason in (
        (0, "crash", "it ended with exit code 0"),
        (7, "crash", "it ended with exit code 7"),
        (-signal.SIGSEGV, "crash", "killed by SIGSEGV"),
        (-40, "crash", "killed by signal 40"),
        (-signal.SIGXCPU, "timeout", "over the limit of 2 s of CPU time"),
        (-signal.SIGPROF, "timeout", "over the limit of 2 s of CPU time"),
        (-9, "crash", "killed by SIGKILL (the system does that when memory runs out)"),
    ):
        ending = post_mortem(code, "it", cpu_seconds=2)
        assert (ending.status, ending.reason) == (status, reason)
        assert ending.lasting is (code != -signal.SIGKILL)
    assert post_mortem(-signal.SIGXCPU, "it").status == "crash"  # without a limit


CONFINED = """
from leaseboard.tasks.processes.forks import confine
confine(cpu_seconds=0.2, memory_mb=300)
{}
"""


@pytest.mark.parametrize(
    ("code", "returncode", "said"),
    [("while True: pass", -signal.SIGXCPU, ""), ("bytearray(10**9)", 1, "MemoryError")],
)
def test_the_kernel_holds_a_confined_process_to_its_limits(code, returncode, said):
    command = [sys.executable, "-c", CONFINED.format(code)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)

    assert done.returncode == returncode
    assert said in done.stderr
    if not said:
        assert post_mortem(done.returncode, "it", 0.2) == over_cpu(0.2)
