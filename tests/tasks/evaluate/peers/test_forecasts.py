import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from leaseboard.algorithms.benches.stream import Origin, OutsideForecasts, Stream
from leaseboard.algorithms.errors import DivergedError, LeaseboardError, SkipError
from leaseboard.algorithms.tiny import Tiny, tiny_bench
from leaseboard.tasks.evaluate.peers import inside, venv
from leaseboard.tasks.evaluate.peers.forecasts import PeerSession, PeersOutside

LINEAR = OutsideForecasts("river", "linear")


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Makes a session in this environment, which has River, or of a stand-in; ends it after."""
    monkeypatch.setattr(venv, "python", lambda _: Path(sys.executable))
    sessions = []

    def make(stream, which=LINEAR, script=None, patience=60.0):
        if script is not None:
            file = tmp_path / "stand_in.py"
            file.write_text(script)
            monkeypatch.setattr(inside, "__file__", str(file))
        sessions.append(PeerSession(which, stream, 3, patience))
        return sessions[-1]

    yield make
    for session in sessions:
        session.close()


def growing(n=4):
    return Stream(np.zeros((n, 2), np.float32), np.ones(n, np.float32), (), ("a", "b"))


@pytest.mark.parametrize("tiny", [Tiny(), Tiny(classes=3)])
def test_rivers_forecasts_come_block_by_block(start, tiny):
    stream = tiny_bench("stream", tiny).stream
    whole, blocks = start(stream), start(stream)

    told = whole.learn_many(stream.features, stream.labels)
    parts = [slice(0, 1), slice(1, 120), slice(120, 300)]
    again = [blocks.learn_many(stream.features[part], stream.labels[part]) for part in parts]
    toll = whole.finish()

    assert told.shape == ((300, 3) if tiny.classes else (300,))
    assert np.concatenate(again).tolist() == told.tolist()
    assert 0 < toll.cpu_seconds < 30
    assert toll.wall_seconds > 0
    assert toll.peak_memory_mb > 20


def test_no_forecast_depends_on_its_label_or_a_later_one(start):
    stream = tiny_bench("stream").stream
    other = stream.labels.copy()
    other[150:] = -other[150:]

    told = start(stream).learn_many(stream.features, stream.labels)
    moved = start(stream).learn_many(stream.features, other)

    assert moved[:151].tolist() == told[:151].tolist()
    assert moved[151] != told[151]


def test_a_peer_that_is_not_installed_is_skipped_with_the_mend(monkeypatch, tmp_path):
    monkeypatch.setattr(venv, "cache_dir", lambda: tmp_path)

    with pytest.raises(SkipError, match="leaseboard peers install river"):
        PeersOutside().start(LINEAR, growing(), 0)


@pytest.mark.parametrize(
    ("script", "kind", "message"),
    [
        ("raise ValueError('no licence')", LeaseboardError,
         "river's linear ended with exit code 1 at example 0: ValueError: no licence"),
        ("raise OverflowError('math range error')", DivergedError, "OverflowError: math range"),
        ("import os; os.kill(os.getpid(), 9)", LeaseboardError, "killed by SIGKILL"),
    ],
)  # fmt: skip
def test_one_that_fails_says_its_last_word(start, script, kind, message):
    session = start(growing(), script=script)

    with pytest.raises(LeaseboardError, match=message) as caught:
        session.learn_many(np.zeros((4, 2), np.float32), np.ones(4, np.float32))

    assert isinstance(caught.value, DivergedError) == (kind is DivergedError)


def test_one_that_does_not_answer_is_not_waited_for_for_ever(start):
    session = start(growing(), script="import sys; sys.stdin.read()", patience=0.1)

    with pytest.raises(LeaseboardError, match=r"at example 0: over the limit of 0.1 s of wall"):
        session.learn_many(np.zeros((4, 2), np.float32), np.ones(4, np.float32))


def test_who_is_closed_is_gone(start):
    session = start(growing(), script="import sys; sys.stdin.read()")
    pid = session._process.pid
    session.close()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_what_steers_python_does_not_reach_it(start, monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    said = "import os; raise ValueError([n for n in os.environ if n.startswith('PYTHON')])"
    session = start(growing(), script=said)

    with pytest.raises(LeaseboardError, match=r"\['PYTHONHASHSEED'\]"):
        session.finish()


def test_categories_are_told_as_such(start):
    stream = tiny_bench("stream").stream
    which = (stream.features[:, :1] > 0) * np.float32([1, -1]) + np.float32([0, 1])
    as_numbers = replace(stream, features=np.hstack([which, stream.features[:, 2:]]))
    texts = [Origin("kind", "", "u"), Origin("kind", "", "v")]
    as_categories = replace(as_numbers, origins=(*texts, *map(Origin, stream.names[2:])))

    told = start(as_numbers).learn_many(as_numbers.features, stream.labels)
    session = start(as_categories)
    others = session.learn_many(as_numbers.features, stream.labels)

    assert session._columns == [([0, 1], True), ([2], False), ([3], False)]

    assert np.mean((others - stream.labels) ** 2) != np.mean((told - stream.labels) ** 2)
