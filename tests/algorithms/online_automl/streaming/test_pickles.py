"""An unpickled model is as any other."""

import copy
import pickle

import numpy as np
import pytest

from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
)


def stream(n=250):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    return X, (X[:, 0] * X[:, 1] + X[:, 2]).astype(np.float32)


def learned(kind=OnlineAutoMLRegressor, **settings):
    X, y = stream()
    model = kind(**settings)
    model.learn_many(X, y if kind is OnlineAutoMLRegressor else np.digitize(y, [-1, 1]).tolist())
    if kind is OnlineAutoMLRegressor:
        model.predict_one({0: 1.0}, id="waits")
    return model


def unpickled(model):
    return pickle.loads(pickle.dumps(model))


def saved(model, path):
    model.save(path)
    return path.read_bytes()


@pytest.mark.parametrize("kind", [OnlineAutoMLRegressor, OnlineAutoMLClassifier])
def test_an_unpickled_model_and_a_copy_are_the_same_model(kind, tmp_path):
    model = learned(kind)
    model.about = {"shop": "north"}
    doubles = [unpickled(model), copy.deepcopy(model)]
    X, y = stream()
    for double in doubles:
        assert double.about == model.about
        assert saved(double, tmp_path / "double") == saved(model, tmp_path / "model")
    for one in (model, *doubles):
        one.learn_many(X, y if kind is OnlineAutoMLRegressor else (y > 0).tolist())
    for double in doubles:
        assert saved(double, tmp_path / "double") == saved(model, tmp_path / "model")
