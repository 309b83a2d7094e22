"""Softmax regression by hand, in every scale, and as features and classes come."""

import math

import numpy as np
import pytest

from leaseboard.algorithms.chacha.class_mixture import OnlineSoftmax


def sample(n=1500, d=3, k=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)).astype(np.float32)
    scores = 2 * x @ rng.normal(size=(d, k)) + rng.gumbel(size=(n, k))
    return x, scores.argmax(axis=1)


def learn(model, x, classes, importance=1.0):
    importances = np.full(len(x), importance, np.float32)
    return model.learn(np.float32(x), np.asarray(classes), importances)


def errors(model, x, classes):
    return (learn(model, x, classes).argmax(axis=1) != classes).mean()


def test_the_first_steps_by_hand():
    model = OnlineSoftmax(1, 2, rate=0.5)
    learn(model, [[3]], [1])  # the feature has not varied: the constants alone
    assert model.weights.tolist() == [[-0.5, 0], [0.5, 0]]

    chance = 1 / (1 + math.exp(-1.0))
    assert model.predict(np.array([9], np.float32)).tolist() == pytest.approx([1 - chance, chance])
    learn(model, [[5]], [0])
    step = 0.5 * chance / math.sqrt(0.5**2 + chance**2)
    assert model.weights[:, 0].tolist() == pytest.approx([-0.5 + step, 0.5 - step])


def test_it_learns_and_no_scale_matters():
    x, classes = sample()
    plain = OnlineSoftmax(3, 4, 0.3)
    scaled = OnlineSoftmax(3, 4, 0.3)

    assert errors(plain, x, classes) < 0.35
    assert errors(scaled, x * np.float32(1024), classes) == pytest.approx(
        errors(OnlineSoftmax(3, 4, 0.3), x, classes)
    )


def test_a_prediction_learns_nothing_and_importance_0_neither():
    x, classes = sample(50)
    model = OnlineSoftmax(3, 4, 0.3)
    errors(model, x, classes)
    before = model.weights.copy()
    model.predict(x[0])
    learn(model, x[:1], [1], importance=0.0)

    assert np.array_equal(model.weights, before)


def test_what_is_told_of_a_block_is_predicted_before_each_example():
    x, classes = sample(20)
    model, alone = OnlineSoftmax(3, 4, 0.3), OnlineSoftmax(3, 4, 0.3)
    told = learn(model, x, classes)
    for t in range(20):
        assert alone.predict(x[t]).tolist() == told[t].tolist()
        learn(alone, x[t : t + 1], classes[t : t + 1])


def test_a_gradient_too_small_to_be_squared_moves_nothing():
    model = OnlineSoftmax(1, 2, 0.3)
    model.weights[:, 0] = [-225.0, 225.0]
    learn(model, [[1]], [1])

    assert model.weights[:, 0].tolist() == [-225.0, 225.0]


def test_features_and_classes_that_come_late_are_as_if_they_had_been_0():
    x, classes = sample(200)
    model, whole = OnlineSoftmax(3, 4, 0.3), OnlineSoftmax(5, 4, 0.3)
    wide = np.pad(x, ((0, 0), (0, 2)))
    errors(model, x[:100], classes[:100])
    errors(whole, wide[:100], classes[:100])
    model.grow(5, 4)
    assert errors(model, wide[100:], classes[100:]) == errors(whole, wide[100:], classes[100:])
    assert np.array_equal(model.weights, whole.weights)
    model.grow(5, 6)
    assert model.predict(wide[0]).shape == (6,)


def test_a_state_that_is_not_finite_is_refused():
    model = OnlineSoftmax(2, 3, 0.3)
    state = model.state() | {"weights": np.full((3, 3), np.nan)}
    with pytest.raises(ValueError, match="not finite"):
        OnlineSoftmax(2, 3, 0.3).fill(state)
