"""A model whose learning was broken off, or that is learning just now, is not used silently."""

import copy
import pickle
import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
    learn_streams,
)

ROUND = 100
"""Examples after which the default decides."""


def stream(n=ROUND, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    return X, (X[:, 0] * X[:, 1] + X[:, 2]).astype(np.float32)


def learned(kind=OnlineAutoMLRegressor):
    X, y = stream()
    model = kind()
    model.learn_many(X, y if kind is OnlineAutoMLRegressor else y > 0)
    return model


def in_the_middle(model, happens):
    """Let that happen once, between what a block of `model` learns and what it decides."""
    race = model._first_race()
    decide = race.decide

    def and_decide():
        del race.decide
        happens()
        return decide()

    race.decide = and_decide


def learns(model, block, X, y):
    """Learn as a block, a frame with texts, or one by one."""
    if block == "learn_many":
        model.learn_many(X, y)
    elif block == "frame":
        model.learn_many(pd.DataFrame(X).assign(text="a"), y)
    else:
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            model.learn_one(dict(enumerate(row)), label)


def interrupt():
    signal.raise_signal(signal.SIGINT)


def use_of(model):
    """Return all calls that would go on from a state that no model has."""
    X, y = stream()
    x = dict(enumerate(X[0].tolist()))
    return [
        lambda: model.learn_one(x, 1.0),
        lambda: model.learn_many(X, y),
        lambda: model.learn_many(pd.DataFrame({"text": ["a", "b"]}), [1.0, 2.0]),
        lambda: model.predict_one(x),
        lambda: model.predict_many(X),
        lambda: model.predict_one(x, id="id"),
        lambda: pickle.dumps(model),
        lambda: copy.deepcopy(model),
    ]


@pytest.mark.parametrize("kind", [OnlineAutoMLRegressor, OnlineAutoMLClassifier])
@pytest.mark.parametrize("block", ["learn_many", "learn_one", "frame"])
def test_one_that_was_interrupted_says_so(kind, block, tmp_path):
    model, (X, y) = learned(kind), stream()
    model.save(tmp_path / "before")
    y = y if kind is OnlineAutoMLRegressor else y > 0
    in_the_middle(model, interrupt)

    with pytest.raises(KeyboardInterrupt):
        learns(model, block, X, y)

    for use in [*use_of(model), lambda: model.save(tmp_path / "after")]:
        with pytest.raises(UsageError, match=r"in the middle of learning: .*; .*load") as caught:
            use()
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "after").exists()
    again = kind.load(tmp_path / "before")
    again.learn_many(X, y)
    assert again.examples == 2 * ROUND


def test_one_that_learns_in_another_thread_says_so_and_is_not_spoilt():
    X, y = stream(2 * ROUND)
    model, alone = learned(), learned()
    refused = []

    def meanwhile():
        with ThreadPoolExecutor(1) as other:
            for use in use_of(model):
                with pytest.raises(UsageError, match="another thread") as caught:
                    other.submit(use).result(timeout=240)
                refused.append(caught.value)

    in_the_middle(model, meanwhile)

    np.testing.assert_array_equal(
        model.predict_then_learn_many(X, y), alone.predict_then_learn_many(X, y)
    )
    assert len(refused) == len(use_of(model))
    assert pickle.dumps(model) == pickle.dumps(alone)


@pytest.mark.parametrize("algorithm", ["online-automl", "chacha"])
def test_what_is_refused_leaves_it_free(algorithm):
    X, y = stream()
    model = OnlineAutoMLRegressor(algorithm=algorithm)
    for _ in range(2):
        for wrong in (
            lambda: model.learn_one({"a": float("inf")}, 1.0),
            lambda: model.learn_one({"a": 1.0}, float("nan")),
            lambda: model.learn_many(X, y[:5]),
            lambda: model.learn_many(X[:1], [np.inf]),
            lambda: model.learn_many(pd.DataFrame({"a": ["x"], "b": [np.inf]}), [1.0]),
        ):
            with pytest.raises((TypeError, ValueError)) as caught:
                wrong()
            assert "in the middle" not in str(caught.value)
        model.learn_many(X, y)
    assert model.examples == 2 * ROUND


def test_of_many_streams_one_is_half_learned():
    models = {key: learned() for key in "abc"}
    in_the_middle(models["b"], interrupt)

    with pytest.raises(KeyboardInterrupt):
        learn_streams(models, {key: stream() for key in models})

    assert [models[key].examples for key in "ac"] == [2 * ROUND, ROUND]
    with pytest.raises(UsageError, match="in the middle of learning"):
        models["b"].predict_one({0: 1.0})
    with pytest.raises(UsageError, match="stream 'b': this model is in the middle of learning"):
        learn_streams(models, {key: stream() for key in models})
    assert [models[key].examples for key in "ac"] == [2 * ROUND, ROUND]


class FailsOnNews:
    """An oracle of the user's, which knows two namespaces."""

    def __call__(self, champion, namespaces, random):
        if len(namespaces) > 2:
            raise ValueError("what is c?")
        return []


@pytest.mark.parametrize("algorithm", ["online-automl", "chacha"])
def test_one_whose_oracle_fails_when_it_has_grown_says_so(algorithm):
    spaces = {name: [name] for name in "abc"}
    model = OnlineAutoMLRegressor(spaces, FailsOnNews(), algorithm=algorithm, b=3)
    for t in range(5):
        model.learn_one({"a": t % 2, "b": t % 3}, t)

    with pytest.raises(ValueError, match="what is c"):
        model.learn_one({"a": 1, "b": 1, "c": 1}, 1.0)

    with pytest.raises(UsageError, match="in the middle of learning"):
        model.learn_one({"a": 1, "b": 1}, 1.0)


def test_one_whose_answer_was_interrupted_says_so():
    model = learned()
    model.predict_one({0: 1.0}, id="id")
    model._with_waited().update = lambda *_: interrupt()

    with pytest.raises(KeyboardInterrupt):
        model.learn_label("id", 1.0)

    with pytest.raises(UsageError, match="in the middle of learning"):
        model.predict_one({0: 1.0})
