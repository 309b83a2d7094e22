"""The classes for people's own streams."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.stream import Namespace, Stream, StreamEnvironment
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLRegressor,
)

EVAL = {"algorithm": "chacha", "b": 3}


def product(n=400, d=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.choice([-1.0, 0.5, 1.0], (n, d)).astype(np.float32)
    y = (3 + x[:, 0] + 4 * x[:, 1] * x[:, 2] + 0.1 * rng.normal(size=n)).astype(np.float32)
    return x, y


def as_dicts(x):
    return [{str(i): float(v) for i, v in enumerate(row)} for row in x]


def as_stream(x, y):
    names = tuple("abcd"[: x.shape[1]])
    spaces = tuple(Namespace(name, i, i + 1) for i, name in enumerate(names))
    return Stream(x, y, spaces, names)


@pytest.mark.parametrize("settings", [{}, EVAL, {"algorithm": "chacha-literal"}], ids=str)
def test_one_by_one_in_blocks_and_in_an_environment_are_the_same(settings):
    x, y = product()
    one = OnlineAutoMLRegressor(seed=7, **settings)
    singly = []
    for example, label in zip(as_dicts(x), y.tolist(), strict=True):
        singly.append(one.predict_one(example))
        one.learn_one(example, label)
    blocks = OnlineAutoMLRegressor(seed=7, **settings)
    blockwise = [
        blocks.predict_then_learn_many(x[:150], y[:150]),
        blocks.predict_then_learn_many(x[150:], y[150:]),
    ]
    environment = StreamEnvironment(as_stream(x, y))
    name, own = settings.get("algorithm", "online-automl"), settings.keys() - {"algorithm"}
    built = registry.build(name, {key: settings[key] for key in own})
    list(play(name, built, environment, seed=7))

    assert singly == np.concatenate(blockwise).tolist()
    assert singly == environment.predictions.tolist()
    assert one.champion == blocks.champion


@pytest.mark.parametrize(
    ("x", "y", "w", "message"),
    [
        (np.ones((3, 2)), np.ones(2), None, "2 labels for 3 examples"),
        (np.ones(3), np.ones(3), None, "n_examples, n_features"),
        (
            np.array([[1.0, 2.0], [3.0, 1e39]]),
            np.ones(2),
            None,
            "feature '1' is 1e.39: a value must be finite",
        ),
        (np.ones((3, 2)), np.ones(3), -np.ones(3), "importance -1.0"),
        (np.ones((3, 2)), np.ones(3), np.full(3, 1e30), "importance 1e.30 must be .* at most 1e"),
        (np.ones((3, 2)), np.ones(3), np.ones(2), "importances of shape"),
    ],
)
def test_bad_blocks_are_refused_whole(x, y, w, message):
    model = OnlineAutoMLRegressor(**EVAL)
    with pytest.raises(ValueError, match=message):
        model.learn_many(x, y, w)

    assert model.examples == 0


def test_a_missing_column_of_a_frame_counts_zero_and_an_array_has_all():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [0.5, 1.5], "c": [1.0, 0.0]}, index=[7, 3])
    model = OnlineAutoMLRegressor(**EVAL)
    model.learn_many(frame, np.ones(2))

    found = model.predict_many(frame[["c"]])
    assert found.index.tolist() == [7, 3]
    assert found.tolist() == pytest.approx([model.predict_one({"c": c}) for c in (1.0, 0.0)])
    with pytest.raises(UsageError, match="columns 'a', 'b', 'c' were learned and are not in the"):
        model.predict_many(frame[["a"]].to_numpy())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"b": 0}, "online-automl: setting b=0 must be greater"),
        ({"algorithm": "chacha-flml"}, "unknown algorithm 'chacha-flml': did you mean 'chacha-f"),
        ({"algorithm": "apple"}, "algorithm 'apple' is not a race .*chacha-literal"),
        ({"algorithm": "mine.py:Mine"}, "algorithm 'mine.py:Mine' is not a race of models"),
        ({"max_pending": 1.5}, "max_pending=1.5 must be a whole number"),
        ({"bb": 1}, "unknown setting of online-automl 'bb': did you mean 'b'"),
    ],
)
def test_a_bad_setting_is_reported_in_one_line(settings, words):
    with pytest.raises(UsageError, match=f"^{words}") as caught:
        OnlineAutoMLRegressor(**settings)

    assert "\n" not in str(caught.value)
