"""Models of recipes: they predict, learn, and go on from their bytes."""

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.models import stream_model as stream
from leaseboard.tasks.models.model import load
from leaseboard.tasks.models.recipe import NaiveModel, Recipe

RECIPE = Recipe("y", "regression", "online-automl", {})
CLASSES = Recipe("y", "classification", "online-automl", {})


def rows(n, seed):
    """Return rows, labels and ids, as `TableModel.learn` takes them."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=n), rng.choice(["x", "y"], n)
    ids = [f"{seed}-{i}" for i in range(n)]
    return pd.DataFrame({"a": a, "b": b}).to_dict("records"), (3 * a + (b == "x")).tolist(), ids


def again(model):
    """Return the model from its bytes."""
    found = load(model.dump(), "it")
    found.dates = model.dates
    return found


def test_a_stream_goes_on_from_its_bytes_exactly():
    first, second = rows(200, 0), rows(100, 1)
    whole = RECIPE.new("online-automl")
    assert whole.predict_rows(first[0]) == []
    whole.learn(*first)
    whole.predict_rows(second[0], ids=second[2])
    half = again(whole)
    for each in (whole, half):
        each.learn(*second)
    assert whole.dump() == half.dump()
    assert whole.predict_rows(first[0]) == half.predict_rows(first[0])


def test_what_waits_is_predicted_alike_and_remembered():
    model = RECIPE.new("online-automl")
    for day in range(20):
        X, y, ids = rows(20, day)
        model.predict_rows(X, ids=ids)
        model.learn(X, y, ids)
    X, _, ids = rows(3, 99)
    before = model.dump()
    seen = model.predict_rows(X)
    assert model.dump() == before
    assert model.predict_rows(X, ids=ids) == seen
    assert model.dump() != before
    assert all(low <= middle <= high for middle, low, high in seen)


def test_classes_come_with_probabilities():
    model, (X, y, ids) = CLASSES.new("online-automl"), rows(300, 0)
    model.learn(X, ["up" if each > 0 else "down" for each in y], ids)
    (found,) = model.predict_rows(X[:1], ids=["new"])
    assert set(found) == {"up", "down"} == set(model.classes)
    assert sum(found.values()) == pytest.approx(1)


def test_naive_baselines():
    for name, expected in (("running-mean", 3.0), ("last-label", 6.0)):
        model = NaiveModel(name, "regression")
        assert model.predict_rows([{}]) == []
        model.learn([{}], [1.0], ["1"])
        model = again(model)
        model.learn([{}, {}], [2.0, 6.0], ["2", "3"])
        assert model.predict_rows([{}, {}]) == [expected, expected]
    shares = NaiveModel("running-mean", "classification")
    shares.learn([{}] * 5, ["a", "b", "b", "a", "a"], ["1"] * 5)
    assert shares.predict_rows([{}]) == [{"a": 0.6, "b": 0.4}]
    assert shares.predict(pd.DataFrame(index=[0])).tolist() == ["a"]


SEARCHED = Recipe(
    "y", "regression", "rising-bandits-cost",
    {"max_trials": 4, "arms": ["ridge", "k_nearest_neighbors"]}, seed=1,
)  # fmt: skip
TOLD_APART = Recipe(
    "y", "classification", "rising-bandits-cost",
    {"max_trials": 4, "arms": ["logistic_regression", "k_nearest_neighbors"]}, seed=1,
)  # fmt: skip


def with_gaps(n):
    """Return columns of every kind, with gaps."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "real": rng.normal(size=n),
            "whole": rng.integers(0, 9, n).astype(float),
            "word": rng.choice(["x", "y", "z"], n).astype(object),
            "day": pd.date_range("2026-01-01", periods=n, freq="7h"),
        }
    )
    for name in frame:
        frame.loc[rng.random(n) < 0.1, name] = None
    return frame


def three(n):
    """Return rows with gaps and dates, and of which of three classes they are."""
    frame = with_gaps(n)
    known = frame["real"].fillna(0)
    return frame, np.select([known > 0.5, known > -0.5], ["a", "b"], "c").tolist()


def test_classes_of_a_window_come_with_their_probabilities_and_from_bytes():
    frame, labels = three(400)
    model, values = TOLD_APART.train(frame, labels), frame.to_dict("records")
    model.dates = ["day"]
    found = model.predict_rows(values)
    assert again(model).predict_rows(values) == found
    assert again(model).classes == ("a", "b", "c")
    assert all(sum(each.values()) == pytest.approx(1) for each in found)
    likeliest = [max(each, key=each.get) for each in found]
    assert model.predict(frame).tolist() == likeliest
    assert np.mean(np.array(likeliest) == labels) > 0.75


REFUSED = [
    ("regression", "flaml-default", {}, "'flaml-default' cannot be kept: name a race"),
    ("classification", "abc-tight", {}, "'abc-tight' cannot be kept: name a race"),
    ("regression", "apple", {}, "'apple' cannot be kept: name a race"),
    ("regression", "rising-bandits-cost", {"time_bugdet": 5}, "did you mean 'time_budget'"),
]  # fmt: skip


def test_what_cannot_be_learned_is_refused_before_it_is():
    for task, algorithm, settings, said in REFUSED:
        with pytest.raises(UsageError, match=said) as refused:
            Recipe("y", task, algorithm, settings).check()
        assert "\n" not in str(refused.value)
    for recipe in (RECIPE, TOLD_APART, SEARCHED):
        recipe.check()


def test_a_window_of_one_class_makes_no_table():
    assert not TOLD_APART.suffices(["a"] * 30)
    assert not TOLD_APART.suffices(["a", "b"])
    assert TOLD_APART.suffices(["a", "b"] * 10)
    assert CLASSES.suffices(["a"] * 30), "a race goes on to learn the other"


def test_rows_are_learned_and_predicted_as_a_table_of_them_is(monkeypatch):
    rng = np.random.default_rng(3)
    rows = [
        {"a": None if i % 9 == 5 else float(rng.normal()), "flag": float(rng.random() < 0.5),
         "day": f"2026-01-{1 + i // 9:02}T00:00:00", "word": [None, "x", "7", "True"][i % 4]}
        for i in range(40)
    ]  # fmt: skip
    labels = [float(i % 3) for i in range(40)]
    fast, slow = (Recipe("y", "regression", "vanilla", {}).new("vanilla") for _ in range(2))
    fast.dates = slow.dates = ["day"]
    frames = stream.frame_of
    made = []
    monkeypatch.setattr(stream, "frame_of", lambda *given: made.append(1) or frames(*given))
    for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
        found = fast.predict_rows([row], ids=[str(i)])
        few = len(made)
        slow.kinds.pop("never seen", None)
        assert slow.predict_rows([row | {"never seen": None}], ids=[str(i)]) == found
        slow.learn([row | {"never seen": None}], [label], [str(i)])
        if i > 20:
            assert len(made) > few, "the slow one makes a table of each row"
            few = len(made)
        fast.learn([row], [label], [str(i)])
        assert i <= 20 or len(made) == few
    assert fast.dump() == slow.dump()
