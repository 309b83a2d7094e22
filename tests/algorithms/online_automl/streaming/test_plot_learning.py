"""The plot of learning: losses of champions, saved with the model."""

import numpy as np
import pytest

from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
)


def learned(algorithm="online-automl", n=1500):
    x = np.random.default_rng(0).normal(size=(n, 3))
    y = x[:, 0] * x[:, 1]
    model = OnlineAutoMLRegressor(algorithm=algorithm)
    model.learn_many(x, y)
    return model, x, y


@pytest.mark.parametrize("algorithm", ["online-automl", "chacha-literal"])
def test_the_champions_losses_are_drawn_and_saved(algorithm, tmp_path):
    model, *_ = learned(algorithm)
    (line,) = model.plot_learning().data
    model.save(tmp_path / "model")
    (again,) = OnlineAutoMLRegressor.load(tmp_path / "model").plot_learning().data

    assert (line.x, line.y) == (again.x, again.y)
    assert len(line.x) >= 3
    assert list(line.x) == sorted(line.x)
    assert line.y[-1] < max(line.y)
    assert "star" in line.marker.symbol


def test_more_than_two_classes_have_a_line_each_and_a_new_model_has_none():
    _, x, y = learned()
    model = OnlineAutoMLClassifier()
    model.learn_many(x, np.digitize(y, [-0.5, 0.5]).tolist())

    assert {line.name for line in model.plot_learning().data} <= set(map(str, model.classes[1:]))
    assert len(model.plot_learning().data) == 2
    assert OnlineAutoMLClassifier().plot_learning().data == ()
