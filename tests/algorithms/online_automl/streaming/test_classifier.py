"""The classifier with any number of classes: names, failures half-way, files, inspection."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online_automl.one_vs_rest import FIRST
from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLClassifier

NAMES = ("red", "green", "blue")


def sample(n=300, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)).astype(np.float32)
    places = np.digitize(x[:, 0], [-0.5, 0.5])
    return x, [NAMES[place] for place in places]


def learned(n=300, **settings):
    model, (x, y) = OnlineAutoMLClassifier(b=3, **settings), sample(n)
    model.learn_many(x, y)
    return model, x, y


def test_what_it_reports_of_three_classes():
    model, *_ = learned()
    first, *others = model.classes

    assert sum(model.predict_proba_one({0: 1.0, 1: 0.0}).values()) == pytest.approx(1)
    assert [*model.champion] == model.classes
    assert model.champion[model.classes[0]] == FIRST
    assert {row["class"] for row in model.live} == {*others}
    assert first == sample()[1][0]


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "b", float("nan")],
        ["a", None, "b"],
        [1, pd.NA, 2],
        pd.Series(["a", pd.NA, "b"], dtype="string"),
        pd.Series([True, pd.NA, False], dtype="boolean"),
        pd.Series(pd.to_datetime([None, None, None])),
    ],
    ids=repr,
)
def test_a_missing_label_is_not_a_class(labels):
    model = OnlineAutoMLClassifier(b=3)
    with pytest.raises(ValueError, match="is not a class"):
        model.learn_many(np.zeros((3, 1)), labels)

    assert (model.examples, model.classes) == (0, [])


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["u", "v"]),
        np.array([b"u", b"v"]),
        np.array([3, 4]),
        np.array([0.1, 0.2], dtype=np.float32),
        np.array([True, False]),
        np.array(["u", "v"], dtype=object),
    ],
    ids=repr,
)
def test_labels_of_an_array_are_pythons_and_saved(labels, tmp_path):
    one, many = OnlineAutoMLClassifier(b=3), OnlineAutoMLClassifier(b=3)
    for label in labels:
        one.learn_one({0: 0.0}, label)
    many.learn_many(np.zeros((2, 1)), labels)
    one.save(tmp_path / "x.model")

    assert one.classes == many.classes == labels.tolist()
    types = list(map(type, labels.tolist()))
    assert list(map(type, one.classes)) == list(map(type, many.classes)) == types
    assert OnlineAutoMLClassifier.load(tmp_path / "x.model").classes == labels.tolist()


@pytest.mark.parametrize(
    "label",
    [pd.Timestamp("2024"), dt.date(2024, 1, 1), np.timedelta64(1, "ns"), Decimal("1.5"), 1j, len],
    ids=repr,
)  # fmt: skip
def test_labels_that_could_not_be_saved_are_refused(label):
    model = OnlineAutoMLClassifier(b=3)
    several = np.empty(1, dtype=object)
    several[0] = label
    model.predict_one({0: 0.0}, id="id")
    for learn in (
        lambda: model.learn_one({0: 0.0}, label),
        lambda: model.learn_many(np.zeros((1, 1)), several),
        lambda: model.learn_many(np.zeros((1, 1)), [label]),
        lambda: model.learn_label("id", label),
    ):
        with pytest.raises(UsageError, match="is not saved: keep numbers"):
            learn()

    assert (model.examples, model.classes, model.n_pending) == (0, [], 1)


def test_importance_0_brings_no_class():
    model, x, _ = learned()
    before = model.predict_proba_one({0: 0.1, 1: 0.2})
    model.learn_one({0: 0.0, 1: 0.0}, "grey", w=0)
    model.learn_many(x[:3], ["grey"] * 3, [0, 0, 0])

    assert model.predict_proba_one({0: 0.1, 1: 0.2}) == before


def test_declared_classes_are_predicted_from_the_first_example_on_and_more_may_come():
    model = OnlineAutoMLClassifier(b=3)
    model.declare("no", "yes")
    assert model.predict_proba_one({"a": 1.0}) == {"no": 0.5, "yes": 0.5}
    model.learn_one({"a": 1.0}, "yes", w=0)
    assert model.classes == ["no", "yes"]
    for a in (1.0, -1.0) * 20:
        model.learn_one({"a": a}, "yes" if a > 0 else "no")
    assert model.predict_one({"a": 1.0}) == "yes"
    model.learn_one({"a": 0.0}, "maybe")
    assert model.classes == ["no", "yes", "maybe"]
    assert sum(model.predict_proba_one({"a": 0.0}).values()) == pytest.approx(1)
    with pytest.raises(UsageError, match="before the first example"):
        model.declare("a", "b")
