import sys
from types import SimpleNamespace

import pytest

from leaseboard.tasks.evaluate.frameworks.stream_samlb import LEARNERS
from tests.played import MeanOfLabels, asked_for, played


class LastLabelGiven:
    """A classifier that predicts the last label, as SAMLB's may."""

    def __init__(self, seed):
        self.last = None

    def predict_one(self, example):
        return self.last

    def learn_one(self, example, label):
        assert type(label) is int
        self.last = label


class ProbabilitiesGiven(LastLabelGiven):
    """One of those that give probabilities."""

    def predict_proba_one(self, example):
        return {} if self.last is None else {self.last: 0.75, 1 - self.last: 0.25}


def test_samlbs_classes_are_votes_or_probabilities(monkeypatch):
    for learner, name, expected in (
        ("autoclass", "AutoClass", [0, 34.5, -34.5]),
        ("oaml", "OAMLClassifier", [0, 34.5, -34.5]),
        ("asml", "AutoStreamClassifier", [0, 34.5, -34.5]),
        ("evolutionary", "EvolutionaryBaggingClassifier", [0, 1.1, -1.1]),
    ):
        kind = ProbabilitiesGiven if learner == "evolutionary" else LastLabelGiven
        made = SimpleNamespace(**{name: kind})
        monkeypatch.setitem(sys.modules, "samlb", SimpleNamespace(framework=made))
        asked = asked_for("binary")
        _, found = played(asked, LEARNERS[learner](asked), [[0, 0, 0]] * 3, [1, -1, 1])

        assert found[:, 0] == pytest.approx(expected, abs=0.05)


def test_samlbs_numbers_are_unchanged(monkeypatch):
    for learner, name in (
        ("asml", "AutoStreamRegressor"),
        ("evolutionary", "EvolutionaryBaggingRegressor"),
        ("chacha", "ChaChaRegressor"),
    ):
        made = SimpleNamespace(**{name: lambda **_: MeanOfLabels()})
        monkeypatch.setitem(sys.modules, "samlb", SimpleNamespace(framework=made))
        asked = asked_for("regression")
        _, found = played(asked, LEARNERS[learner](asked), [[0, 0, 0]] * 3, [4, 6, 1])

        assert found[:, 0].tolist() == [0, 4, 5]
