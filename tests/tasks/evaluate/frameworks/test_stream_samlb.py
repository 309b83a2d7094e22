import sys
from types import SimpleNamespace

import pytest

from leaseboard.tasks.evaluate.frameworks.stream_samlb import LEARNERS
from tests.played import MeanOfLabels, asked_for, played


class LastLabelTold:
    """A classifier that tells what it last learned, as SAMLB's do."""

    def __init__(self, seed):
        self.last = None

    def predict_one(self, example):
        return self.last

    def learn_one(self, example, label):
        assert type(label) is int
        self.last = label


class ChancesTold(LastLabelTold):
    """One of those that tell chances."""

    def predict_proba_one(self, example):
        return {} if self.last is None else {self.last: 0.75, 1 - self.last: 0.25}


@pytest.mark.parametrize(
    ("learner", "name", "expected"),
    [
        ("autoclass", "AutoClass", [0, 34.5, -34.5]),
        ("oaml", "OAMLClassifier", [0, 34.5, -34.5]),
        ("asml", "AutoStreamClassifier", [0, 34.5, -34.5]),
        ("evolutionary", "EvolutionaryBaggingClassifier", [0, 1.1, -1.1]),
    ],
)
def test_samlbs_classes_are_votes_or_chances(monkeypatch, learner, name, expected):
    kind = ChancesTold if learner == "evolutionary" else LastLabelTold
    monkeypatch.setitem(sys.modules, "samlb", SimpleNamespace(framework=SimpleNamespace(
        **{name: kind})))  # fmt: skip
    asked = asked_for("binary")

    _, told = played(asked, LEARNERS[learner](asked), [[0, 0, 0]] * 3, [1, -1, 1])

    assert told[:, 0] == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(
    ("learner", "name"),
    [
        ("asml", "AutoStreamRegressor"),
        ("evolutionary", "EvolutionaryBaggingRegressor"),
        ("chacha", "ChaChaRegressor"),
    ],
)
def test_samlbs_numbers_are_told_as_they_are(monkeypatch, learner, name):
    made = SimpleNamespace(**{name: lambda **_: MeanOfLabels()})
    monkeypatch.setitem(sys.modules, "samlb", SimpleNamespace(framework=made))
    asked = asked_for("regression")

    _, told = played(asked, LEARNERS[learner](asked), [[0, 0, 0]] * 3, [4, 6, 1])

    assert told[:, 0].tolist() == [0, 4, 5]
