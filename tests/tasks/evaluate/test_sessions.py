import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from leaseboard.algorithms.environments.arrival import Arrival
from leaseboard.algorithms.environments.samples import OutsideDecider, ProbeAsked
from leaseboard.algorithms.environments.stream import Origin, Stream
from leaseboard.algorithms.errors import DivergedError, LeaseboardError, SkipError
from leaseboard.algorithms.testing import Tiny, tiny_environment
from leaseboard.tasks.evaluate import framework_program
from leaseboard.tasks.evaluate.frameworks import SearchSession, StreamSession, venv
from tests.played import STAND_IN

LINEAR = "river", "linear"
HELD_OUT = {"search": "grid", "folds": 1, "factor": 3, "min_resources": "exhaust"}


def halving(configurations=7, rows=9000, **settings):
    return OutsideDecider("scikit-learn", HELD_OUT | settings, configurations, rows, 100)


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Start a session in this environment, which has River, or of a fake; end it after."""
    monkeypatch.setattr(venv, "python", lambda _: Path(sys.executable))
    sessions = []

    def make(of, script=None, which=LINEAR, patience=60.0):
        if script is not None:
            file = tmp_path / "stand_in.py"
            file.write_text(STAND_IN + script)
            monkeypatch.setattr(framework_program, "__file__", str(file))
        if isinstance(of, Stream):
            sessions.append(StreamSession(*which, of, 3, patience))
        else:
            sessions.append(SearchSession(of, 3, patience))
        return sessions[-1]

    yield make
    for session in sessions:
        session.close()


def growing(n=4):
    return Stream(np.zeros((n, 2), np.float32), np.ones(n, np.float32), (), ("a", "b"))


def test_rivers_predictions_come_block_by_block(start):
    stream = tiny_environment("stream", Tiny(classes=3)).stream
    whole, blocks = start(stream), start(stream)
    found = whole.learn_many(stream.features[:90], stream.labels[:90])
    parts = [slice(0, 1), slice(1, 50), slice(50, 90)]
    again = [blocks.learn_many(stream.features[part], stream.labels[part]) for part in parts]
    toll = whole.finish()

    assert found.shape == (90, 3)
    assert np.concatenate(again).tolist() == found.tolist()
    assert toll.cpu_seconds > 0
    assert toll.peak_memory_mb > 20


def test_a_label_that_comes_later_moves_no_prediction_before(start):
    stream = tiny_environment("stream").stream
    other = stream.labels.copy()
    other[50:] = -other[50:]
    found = []
    for labels in (stream.labels, other):
        session, predictions = start(stream), np.empty(100)
        for said, some in Arrival(after=24).play(session, stream.features[:100], labels[:100]):
            predictions[said] = some
        assert session.finish().cpu_seconds > 0
        found.append(predictions)

    moved = np.flatnonzero(found[0] != found[1])
    assert moved[0] == 75


def test_what_is_not_installed_is_skipped_with_the_fix(monkeypatch, tmp_path):
    monkeypatch.setattr(venv, "cache_dir", lambda: tmp_path)

    with pytest.raises(SkipError, match="leaseboard frameworks install river"):
        StreamSession(*LINEAR, growing(), 0)
    with pytest.raises(SkipError, match="leaseboard frameworks install optuna"):
        SearchSession(OutsideDecider("optuna", {}, 2, 100, 10), 0)


@pytest.mark.parametrize(
    ("script", "kind", "message"),
    [
        ("raise ValueError('no licence')", LeaseboardError,
         "river's linear ended with exit code 1 at example 0: ValueError: no licence"),
        ("raise OverflowError('math range error')", DivergedError, "OverflowError: math range"),
    ],
)  # fmt: skip
def test_one_that_fails_says_its_last_word(start, script, kind, message):
    session = start(growing(), script)

    with pytest.raises(LeaseboardError, match=message) as caught:
        session.learn_many(np.zeros((4, 2), np.float32), np.ones(4, np.float32))
    assert isinstance(caught.value, DivergedError) == (kind is DivergedError)


def test_categories_stay_categories(start):
    stream = tiny_environment("stream").stream
    which = (stream.features[:, :1] > 0) * np.float32([1, -1]) + np.float32([0, 1])
    as_numbers = replace(stream, features=np.hstack([which, stream.features[:, 2:]]))
    texts = [Origin("kind", "", "u"), Origin("kind", "", "v")]
    as_categories = replace(as_numbers, origins=(*texts, *map(Origin, stream.names[2:])))

    rows, labels = as_numbers.features[:60], stream.labels[:60]
    reported = start(as_numbers).learn_many(rows, labels)
    session = start(as_categories)
    others = session.learn_many(rows, labels)

    assert session._columns == [([0, 1], True), ([2], False), ([3], False)]
    assert np.mean((others - labels) ** 2) != np.mean((reported - labels) ** 2)


def searched(session, accuracy):
    """Return what the session asked for, and its result."""
    asked = []
    while isinstance(said := session.hear(), ProbeAsked):
        asked.append(said)
        session.report(accuracy(said))
    return asked, said


def test_scikit_learns_own_search_decides(start):
    asked, decided = searched(start(halving()), lambda each: 0.5 + each.configuration / 100)

    assert asked == [
        *(ProbeAsked(each, 3000) for each in range(7)),
        *(ProbeAsked(each, 9000) for each in (4, 5, 6)),
    ]
    assert decided == 6
