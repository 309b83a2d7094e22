import sys

import pytest

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.evaluate.peers.talking import GoneError, TalkingProcess


@pytest.fixture
def start():
    started = []

    def one(script, patience=60.0):
        started.append(TalkingProcess([sys.executable, "-c", script], "it", patience))
        return started[-1]

    yield one
    for each in started:
        each.close()


def test_what_comes_in_pieces_is_one_answer(start):
    slowly = (
        "import sys, time\nfor c in 'abcd\\nef':\n print(c, end='', flush=True); time.sleep(.01)"
    )
    talking = start(slowly)

    assert talking.line() == b"abcd"
    assert talking.receive(2) == b"ef"


def test_an_answer_that_came_with_another_is_kept(start):
    talking = start("print('one'); print('two')")

    assert [talking.line(), talking.line()] == [b"one", b"two"]


def test_it_hears_what_it_is_told_until_the_end(start):
    talking = start("import sys; print(sys.stdin.read().upper())")
    talking.send(b"a")
    talking.send(b"b")
    talking.end()

    assert talking.line() == b"AB"


def test_a_piece_now_and_then_does_not_lengthen_its_patience(start):
    drips = "import time\nwhile True: print('.', end='', flush=True); time.sleep(.02)"

    with pytest.raises(LeaseboardError, match=r"it at row 3: over the limit of 0.3 s"):
        start(drips, 0.3).line(" at row 3")


def test_whoever_has_gone_leaves_its_last_word(start):
    with pytest.raises(GoneError, match="it ended with exit code 1: ValueError: no") as caught:
        start("raise ValueError('no')").line()

    assert caught.value.word == "ValueError: no"


def test_hashes_of_texts_are_the_same_in_every_process(start):
    told = {start("print(hash('a text'))").line() for _ in range(2)}

    assert len(told) == 1
