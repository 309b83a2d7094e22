"""What an importance is: an example that counts so many times, and 0 that it does not."""

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
)


def test_rare_and_important_is_as_likely_as_common():
    rng = np.random.default_rng(1)
    y = rng.uniform(size=4000) < 0.1
    x = rng.normal(size=(4000, 2)).astype(np.float32)
    w = np.where(y, 9.0, 1.0)
    regressor, classifier = OnlineAutoMLRegressor(b=5), OnlineAutoMLClassifier(b=5)
    regressor.learn_many(x, y.astype(float), w)
    classifier.learn_many(x, y, w)
    asked = [dict(enumerate(row)) for row in x[:50].tolist()]

    assert np.mean([regressor.predict_one(one) for one in asked]) == pytest.approx(0.5, abs=0.12)
    probabilities = [classifier.predict_proba_one(one)[True] for one in asked]
    assert np.mean(probabilities) == pytest.approx(0.5, abs=0.12)


def uneven(n=90):
    """Return rows with gaps, texts and a date; every third has importance 0 and own values."""
    rng = np.random.default_rng(2)
    weighs = np.arange(n) % 3 > 0
    x = pd.DataFrame(rng.normal(size=(n, 5)), columns=list("abcde"))
    x["late"] = np.where(weighs, np.nan, 100.0)
    x.loc[n // 2 :, "late"] = 1.0
    x.loc[(rng.uniform(size=n) < 0.3) | ~weighs, "a"] = np.nan
    x.loc[~weighs, "b"] = 50.0
    x["text"] = np.where(weighs, rng.choice(["u", "v"], n), [f"own {i}" for i in range(n)])
    x["day"] = pd.date_range("2024-01-01", periods=n)
    return x, rng.normal(size=n).round(2), weighs


@pytest.mark.parametrize("columns", ["abcde", "bcde", None], ids=["gaps", "numbers", "mixed"])
@pytest.mark.parametrize("kind", [OnlineAutoMLRegressor, OnlineAutoMLClassifier])
def test_the_state_is_that_of_the_examples_with_weight(kind, columns, tmp_path):
    x, y, weighs = uneven()
    x = x if columns is None else x[list(columns)]
    labels = y if kind is OnlineAutoMLRegressor else y > 0
    passed = x[~weighs].rename(columns={"c": "of none"})
    some, block, single = (kind(b=3) for _ in range(3))
    some.learn_many(x[weighs], labels[weighs])
    block.learn_many(passed, labels[~weighs], np.zeros(len(passed)))
    block.learn_many(x, labels, weighs.astype(float))
    block.learn_many(passed, labels[~weighs], np.zeros(len(passed)))
    for row, label, one in zip(x.to_dict("records"), labels.tolist(), weighs, strict=True):
        single.learn_one(row, label, float(one))

    for name, model in (("some", some), ("block", block), ("single", single)):
        model.save(tmp_path / name)
    assert (tmp_path / "block").read_bytes() == (tmp_path / "some").read_bytes()
    if columns in (None, "abcde"):  # a block of numbers is one for the columns of its rows
        assert (tmp_path / "single").read_bytes() == (tmp_path / "some").read_bytes()
