import io
import struct
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tasks.evaluate.peers import stream_program
from tasks.evaluate.peers.stream_program import LEARNERS, Asked, BetweenPipes, peak_memory_mb

CLASSES = {"regression": 0, "binary": 0, "classes": 3}


class Orders(io.RawIOBase):
    """Examples and labels, of which each label is readable only when its forecast was written."""

    def __init__(self, rows, labels):
        self.parts = [
            part for row, label in zip(rows, labels, strict=True)
            for part in (np.float32(row).tobytes(), np.float32([label]).tobytes())
        ]  # fmt: skip
        self.given = 0

    def read(self, size=-1):
        if self.given == len(self.parts):
            return b""
        assert self.given % 2 == 0 or self.forecasts() == self.given // 2 + 1
        part = self.parts[self.given]
        assert len(part) == size
        self.given += 1
        return part


def played(asked, model, rows, labels):
    orders, answers = Orders(rows, labels), io.BytesIO()
    width = 8 * max(1, asked.n_classes)
    orders.forecasts = lambda: len(answers.getvalue()) // width
    found = BetweenPipes(model, asked)
    found.play(orders, answers)
    numbers = struct.unpack(f"<{len(answers.getvalue()) // 8}d", answers.getvalue())
    return found, np.array(numbers).reshape(len(labels), -1)


def asked_for(task, nominal=()):
    return Asked(task, 1, CLASSES[task], ("x0", "x1", "x2"), nominal)


class MeanOfLabels:
    """Tells what it has learned."""

    def __init__(self):
        self.seen = []

    def predict_one(self, example):
        return sum(label for _, label in self.seen) / max(1, len(self.seen))

    def predict_proba_one(self, example):
        labels = [label for _, label in self.seen]
        return {label: labels.count(label) / len(labels) for label in set(labels)}

    def learn_one(self, example, label):
        self.seen.append((example, label))


def test_a_label_is_read_after_its_forecast_was_written():
    model = MeanOfLabels()
    found, told = played(asked_for("regression", ("x1",)), model, [[0.5, 2, 3]] * 3, [4, 6, 1])

    assert told[:, 0].tolist() == [0, 4, 5]
    assert model.seen[0] == ({"x0": 0.5, "x1": 2, "x2": 3}, 4)
    assert isinstance(model.seen[0][0]["x1"], int)  # a category, whose name has no point
    assert found.cpu_seconds > 0
    assert found.wall_seconds > 0


def test_two_classes_are_told_by_log_odds():
    model = MeanOfLabels()
    _, told = played(asked_for("binary"), model, [[0, 0, 0]] * 5, [1, -1, -1, -1, 1])

    assert [label for _, label in model.seen] == [True, False, False, False, True]
    assert told[[0, 2, 4], 0] == pytest.approx([0, 0, -np.log(3)])
    assert told[1, 0] > 30


def test_many_classes_are_told_by_chances():
    _, told = played(asked_for("classes"), MeanOfLabels(), [[0, 0, 0]] * 3, [0, 1, 2])

    assert told.tolist() == [[0, 0, 0], [1, 0, 0], [0.5, 0.5, 0]]


def learnable(task, n=600):
    """Rows of two numbers and a category, and labels that they tell."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(5, 3, (n, 2)), rng.integers(0, 3, n)])
    wanted = rows[:, 0] - rows[:, 1] + 6 * (rows[:, 2] == 1)
    if task == "regression":
        return rows, wanted
    return rows, np.sign(wanted) if task == "binary" else np.digitize(wanted, [0, 4])


ONLY = {"amrules": "regression", "alma": "binary"}
ABLE = [
    (task, learner)
    for task in CLASSES
    for learner in LEARNERS["river"]
    if ONLY.get(learner, task) == task
]


@pytest.mark.parametrize(("task", "learner"), ABLE)
def test_every_learner_learns_numbers_and_categories(task, learner):
    asked = asked_for(task, ("x2",))
    rows, labels = learnable(task)
    _, told = played(asked, LEARNERS["river"][learner](asked), rows, labels)

    late = slice(300, None)
    if task == "regression":
        assert np.mean((told[late, 0] - labels[late]) ** 2) < labels[late].var()
    elif task == "binary":
        assert np.mean((told[late, 0] > 0) == (labels[late] > 0)) > 0.7
    else:
        assert np.mean(told[late].argmax(axis=1) == labels[late]) > 0.5
        assert told.sum(axis=1).max() <= 1 + 1e-9


def test_a_feature_that_begins_to_vary_throws_out_what_is_not_clipped():
    asked = asked_for("regression")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1300, 3))
    rows[:, 2] = np.where(np.arange(1300) > 1000, rows[:, 2], 0)
    labels = rows[:, 0] + rng.normal(size=1300)
    losses = {}
    for name in ("linear", "linear-plain"):
        _, told = played(asked, LEARNERS["river"][name](asked), rows, labels)
        losses[name] = np.mean((told[:, 0] - labels) ** 2)

    assert losses["linear"] < 5
    assert losses["linear-plain"] > 1000


@pytest.mark.parametrize("nominal", [(), ("x0", "x1", "x2")])
@pytest.mark.parametrize("sparse", [True, False])
def test_there_may_be_numbers_alone_or_categories_alone(nominal, sparse):
    asked = asked_for("regression", nominal)
    model = stream_program.scaled(asked, sparse=sparse)
    model.learn_one({"x0": 1, "x1": 2, "x2": 3})

    told = model.transform_one({"x0": 1, "x1": 2, "x2": 3})

    expected = {"x0_1", "x1_2", "x2_3"} if nominal else {"x0", "x1", "x2"}
    assert set(told) == expected


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

    _, told = played(asked, LEARNERS["samlb"][learner](asked), [[0, 0, 0]] * 3, [1, -1, 1])

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

    _, told = played(asked, LEARNERS["samlb"][learner](asked), [[0, 0, 0]] * 3, [4, 6, 1])

    assert told[:, 0].tolist() == [0, 4, 5]


def test_the_memory_is_that_of_this_process():
    assert 20 < peak_memory_mb() < 20_000
