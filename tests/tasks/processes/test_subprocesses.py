"""A process answers in turn, is heard to its last word, and goes when it is left alone."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from leaseboard.tasks.processes import subprocesses
from leaseboard.tasks.processes.forks import Fork
from leaseboard.tasks.processes.subprocesses import Silence, Subprocess


@pytest.fixture
def child(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    made = Subprocess("answering", str(tmp_path / "ended"), stdout=subprocess.DEVNULL)
    assert made.start()
    yield made
    made.kill()


def test_messages_arrive_whole_and_in_turn_and_nothing_printed_is_one(child):
    long = os.urandom(3_000_000)
    for message in (long, b"", b"print printed", b"\n"):
        child.send(message)

    assert [child.answer() for _ in range(4)] == [long, b"", b"printed", b"\n"]
    assert child.answer(0.05) is Silence.LATE


def test_one_that_ended_is_started_again_and_nothing_else_is(child):
    child.send(b"wait /dev/null")
    assert (child.answer(), child.answer(), child.code) == (b"said", Silence.ENDED, 7)
    child.send(b"no one hears this")
    assert child.answer() is Silence.ENDED

    assert child.start()
    pid = child.pid
    child.send(b"first")
    assert child.answer() == b"first"
    assert not child.start()
    assert child.pid == pid
    child.kill()
    assert (child.pid, child.code) == (None, None)
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize("kind", ["child", "fork"])
def test_what_a_child_says_as_it_ends_is_heard_whenever_we_look(
    kind, child, tmp_path, monkeypatch
):
    """It waits while its parent looks in vain, and has said all and ended just after."""
    fifo = tmp_path / "go"
    os.mkfifo(fifo)
    look = subprocesses.wait
    vain, waited = [], child

    def looks_in_vain(*asked):
        found = look(*asked)
        if not found:
            vain.append(fifo.write_text(""))
            os.waitid(os.P_PID, waited.pid, os.WEXITED | os.WNOWAIT)
        return found

    def work():
        fifo.read_text()
        return b"said"

    monkeypatch.setattr(subprocesses, "wait", looks_in_vain)
    if kind == "child":
        child.send(b"wait " + bytes(fifo))
        said = child.answer()
    else:
        with Fork(work) as waited:
            said = waited.answer()
    assert said == b"said"
    assert len(vain) == 1


@pytest.mark.parametrize(("order", "silence"), [
    (b"begin", Silence.ENDED), (b"orphan", Silence.ENDED), (b"close", Silence.CLOSED)
])  # fmt: skip
def test_the_reason_of_a_missing_answer_is_known_soon(child, order, silence, monkeypatch):
    if silence is Silence.CLOSED:
        monkeypatch.setattr(subprocesses, "_CLOSING_SECONDS", 0.1)
    begun = time.monotonic()
    child.send(order)

    assert child.answer() is silence
    assert child.code == (None if silence is Silence.CLOSED else 7)
    assert time.monotonic() - begun < 300


def test_output_is_read_until_the_answer_comes(child):
    ours, theirs = os.pipe()
    taken = []

    class Output:
        open = True

        def fileno(self):
            return ours

        def take(self):
            taken.append(os.read(ours, 100))
            child.send(b"go on")
            return True

    os.write(theirs, b"printed")
    assert child.answer(meanwhile=Output()) == b"go on"
    assert taken == [b"printed"]
    os.close(ours)
    os.close(theirs)


def test_it_goes_when_its_parent_is_gone(tmp_path):
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from leaseboard.tasks.processes.subprocesses import Subprocess\n"
        "made = Subprocess('answering', sys.argv[2]); made.start()\n"
        "made.send(b'lives'); made.answer(); os.kill(os.getpid(), 9)"
    )
    ended = tmp_path / "ended"
    arguments = [str(Path(__file__).parent), str(ended)]
    parent = subprocess.run([sys.executable, "-c", code, *arguments], check=False)

    assert parent.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 240
    while not ended.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
