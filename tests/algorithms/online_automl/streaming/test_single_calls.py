"""The quick way of single calls changes nothing: not a prediction, not an event, not the state."""

import math

import numpy as np
import pytest

from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
)
from leaseboard.algorithms.tables.features import FeatureMap

NAMES = [f"x{k}" for k in range(5)]


def changed_in_place(x, _):
    x["x0"] += 1.0
    return x


OTHERS = {
    "the same dict, changed": changed_in_place,
    "a new key": lambda x, _: x | {"new": 1.5},
    "a missing key": lambda x, _: {name: x[name] for name in NAMES[1:]},
    "NaN": lambda x, _: x | {"x1": math.nan},
}
"""Of what values may be, see the tests of `FeatureMap`."""


def examples(n=160):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(n, len(NAMES))).tolist()
    return [(dict(zip(NAMES, row, strict=True)), row[0] * row[1] + row[2]) for row in rows]


def run(change):
    """Return predictions, and the final state; every seventh example is `change`d."""
    model, reported = OnlineAutoMLRegressor(algorithm="chacha", b=5), []
    for t, (given, y) in enumerate(examples()):
        reported.append(model.predict_one(given))
        x = change(given, t) if t % 7 == 5 else given
        reported.append(model.predict_one(x))
        model.learn_one(x, y)
    return reported, model.history, model.dump()


@pytest.mark.parametrize("what", OTHERS)
def test_all_is_as_if_every_example_were_looked_at_closely(monkeypatch, what):
    quick = run(OTHERS[what])
    monkeypatch.setattr(FeatureMap, "read_quickly", lambda *_: False)

    assert run(OTHERS[what]) == quick


REFUSED_CALLS = {
    "a list": ([1.0] * len(NAMES), 1.0, 1.0, TypeError, "mapping of features, not list"),
    "infinite": ({"x1": math.inf}, 1.0, 1.0, ValueError, "feature 'x1' is"),
    "a complex number": ({"x1": 2j}, 1.0, 1.0, TypeError, "feature 'x1' is"),
    "a label that is a text": (None, "1.0", 1.0, TypeError, "label '1.0' is a str"),
    "a label that is NaN": (None, math.nan, 1.0, ValueError, "label nan must be finite"),
    "a negative importance": (None, 1.0, -1.0, ValueError, "importance -1.0 must be"),
}


@pytest.mark.parametrize("what", REFUSED_CALLS)
def test_a_call_that_is_refused_changes_nothing(what):
    """Also right after the same example was predicted, which `learn_one` does not read again."""
    wrong, label, importance, error, message = REFUSED_CALLS[what]
    untouched, model = (OnlineAutoMLRegressor(algorithm="chacha", b=5) for _ in "ab")
    for x, y in examples(10):
        for one in (untouched, model):
            one.predict_one(x)
            one.learn_one(x, y)
        model.predict_one(x)
        with pytest.raises(error, match=message):
            model.learn_one(x if wrong is None else wrong, label, importance)
        if wrong is not None:
            with pytest.raises(error, match=message):
                model.predict_one(wrong)
    assert model.dump() == untouched.dump()


def stream(kind, classes, d):
    """Return rows and labels, numbers or so many classes that come one after the other."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, d)).astype(np.float32)
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=len(X))
    if kind is OnlineAutoMLRegressor:
        return X, y
    return X, np.minimum(np.digitize(y, np.linspace(-0.5, 0.5, classes - 1)), np.arange(400) // 9)


@pytest.mark.parametrize("looks", [0.0, 0.7])
@pytest.mark.parametrize(
    ("kind", "classes", "d"),
    [
        (OnlineAutoMLRegressor, 0, 5),
        (OnlineAutoMLRegressor, 0, 70),  # of which features are selected
        (OnlineAutoMLClassifier, 2, 5),
        (OnlineAutoMLClassifier, 3, 5),
    ],
)
def test_one_call_at_a_time_and_blocks_learn_the_same(kind, classes, d, looks):
    X, y = stream(kind, classes, d)
    one, blocks = kind(b=8), kind(b=8)
    predictions = []
    said = np.full(len(y), np.nan)
    for t, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        x = dict(enumerate(row))
        if (t * 0.618) % 1 < looks:
            said[t] = one.predict_one(x) if kind is OnlineAutoMLRegressor else np.nan
        if t % 50 == 7:  # which must leave no trace in what is learned next
            one.predict_one(dict.fromkeys(x, 1.0))
        one.learn_one(x, label)
    for part in np.array_split(np.arange(len(y)), [1, 30, 31, 200, 333]):
        learn = getattr(blocks, "predict_then_learn_many", blocks.learn_many)
        predictions.append(learn(X[part], y[part].tolist()))
    assert one.dump() == blocks.dump()
    if kind is OnlineAutoMLRegressor:
        seen = ~np.isnan(said)
        assert said[seen].astype(np.float32).tolist() == np.concatenate(predictions)[seen].tolist()
