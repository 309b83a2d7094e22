"""Importances of columns: of what users named, deterministic, and nothing is learned by them."""

import pickle
from datetime import datetime, timedelta

import numpy as np
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
)

KINDS = pytest.mark.parametrize("kind", [OnlineAutoMLRegressor, OnlineAutoMLClassifier])


def mixed(n=300):
    """Return rows of numbers with gaps, words, dates, a namespace and a constant; and labels."""
    random, begin, found = np.random.default_rng(0), datetime(2024, 1, 1), []
    for t in range(n):
        word, a = str(random.choice(["u", "v", "w"])), float(random.normal())
        x = {"word": word, "day": begin + timedelta(hours=7 * t), "same": 3.0,
             "gap": None if t % 5 == 1 else float(random.normal()),
             "shop": {"price": a}}  # fmt: skip
        found.append((x, 3.0 * a + 2.0 * (word == "u") + 0.01 * float(random.normal())))
    return found


@KINDS
def test_they_are_of_the_columns_that_users_named_and_ask_without_learning(kind, tmp_path):
    asked, other = kind(b=5), kind(b=5)
    for t, (x, y) in enumerate(mixed()):
        label = y if kind is OnlineAutoMLRegressor else ("low", "high")[y > 0]
        for model in (asked, other):
            model.predict_one(x)
            model.learn_one(x, label)
        if t in (0, 1, 100, 101):
            assert {*asked.feature_importances_} == {"word", "day", "same", "gap", "shop: price"}
            _ = asked.members
            assert asked.dump() == other.dump()
    found = asked.feature_importances_
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert [*found][:2] == ["shop: price", "word"]
    assert found["same"] == 0.0
    assert max(map(abs, (found["gap"], found["day"]))) < 0.2 * found["word"]
    asked.save(tmp_path / "model")
    again = kind.load(tmp_path / "model"), pickle.loads(pickle.dumps(asked)), other
    assert all(each.feature_importances_ == found for each in again)
    assert all(each.members == asked.members for each in again)


@KINDS
def test_one_example_one_column_and_none(kind):
    model = kind(b=2)
    with pytest.raises(UsageError, match="learn one first"):
        _ = model.feature_importances_
    assert model.members == []
    model.learn_one({}, 1.0)
    assert model.feature_importances_ == {}
    model.learn_one({"a": 2.0}, 0.0)
    assert [*model.feature_importances_] == ["a"]
