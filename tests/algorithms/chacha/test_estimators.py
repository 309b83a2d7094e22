"""The paper's rules in Python are those of the registered algorithms, from files too."""

import pickle

import numpy as np
import pytest

from leaseboard.algorithms.chacha.presets import PRESETS, ChaChaClassifier, ChaChaRegressor
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.events import to_json
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
)
from leaseboard.tasks.models.model import load_file

X = np.random.default_rng(0).normal(size=(600, 4))
Y = X[:, 0] * X[:, 1]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    ("paper", "ours"),
    [(ChaChaRegressor, OnlineAutoMLRegressor), (ChaChaClassifier, OnlineAutoMLClassifier)],
)
def test_a_preset_is_its_registered_algorithm_also_in_files_and_pickles(
    paper, ours, preset, tmp_path
):
    labels = Y if paper is ChaChaRegressor else np.where(Y > 0, "up", "down")
    model, same = paper(preset=preset, b=3), ours(algorithm=PRESETS[preset], b=3)
    for each in (model, same):
        each.learn_many(X, labels)
    model.about = {"target": "y", "columns": {}}
    model.save(tmp_path / "model")
    stream = load_file(tmp_path / "model")

    assert model.history == same.history
    for each in (paper.load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), stream.model):
        assert (type(each), each.preset) == (paper, preset)
        assert [*map(to_json, each.history)] == [*map(to_json, model.history)]
        assert list(each.predict_many(X[:9])) == list(same.predict_many(X[:9]))


def test_a_third_class_and_another_preset_are_refused_and_change_nothing():
    model = ChaChaClassifier()
    model.learn_many(X[:9], ["a", "b"] * 4 + ["a"])
    before = model.dump()
    with pytest.raises(UsageError, match=r"^class 'c' is a third one, .* OnlineAutoMLClassifier"):
        model.learn_one({"x": 1.0}, "c")
    assert (model.dump(), model.classes) == (before, ["a", "b"])
    with pytest.raises(UsageError, match=r"^unknown preset 'paper'; known: flaml, icml-eval, lit"):
        ChaChaRegressor(preset="paper")
