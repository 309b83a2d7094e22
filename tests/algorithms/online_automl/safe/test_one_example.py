"""Examples one at a time, in any mixture with blocks, give what one block gives, bit for bit."""

import numpy as np
import pytest

from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
)

# Trees are drawn and leases end among the single examples and in blocks between them.
LENGTHS = [200, 500, 400, 60, 500, 1, 1500]


def parts():
    """Yield slices of the stream, and whether its examples come one at a time."""
    start, single = 0, True
    for length in LENGTHS:
        yield slice(start, start + length), single
        start, single = start + length, not single


def learned_in_parts(model, predict, x, y):
    """Return what is predicted of the examples that come one at a time, and where they are."""
    found, where = [], []
    for part, single in parts():
        if not single:
            model.learn_many(x[part], y[part])
            continue
        for t in range(part.start, part.stop):
            example = dict(enumerate(x[t].tolist()))
            found.append(predict(model, example))
            where.append(t)
            model.learn_one(example, y[t].item())
    return np.array(found), where


@pytest.fixture(scope="module")
def stream():
    random = np.random.default_rng(0)
    x = random.random((sum(LENGTHS), 6), dtype=np.float32)
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3]
    return x, np.float32(y + random.normal(size=len(x)))


def test_numbers(stream):
    x, y = stream
    mixed, whole = OnlineAutoMLRegressor(seed=1), OnlineAutoMLRegressor(seed=1)
    found, where = learned_in_parts(mixed, OnlineAutoMLRegressor.predict_one, x, y)

    assert np.float32(found).tolist() == whole.predict_then_learn_many(x, y)[where].tolist()
    assert mixed.history == whole.history
    assert mixed.members == whole.members


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes(stream, n_classes):
    x, y = stream
    y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    mixed, whole = OnlineAutoMLClassifier(seed=1), OnlineAutoMLClassifier(seed=1)

    learned_in_parts(mixed, OnlineAutoMLClassifier.predict_proba_one, x, y)
    whole.learn_many(x, y)

    assert mixed.history == whole.history
    assert mixed.members == whole.members
    last = dict(enumerate(x[-1].tolist()))
    assert mixed.predict_proba_one(last) == whole.predict_proba_one(last)
