"""Streams on which a predictor that dares too much loses."""

import numpy as np

from leaseboard.algorithms.checks import schema_of
from leaseboard.algorithms.environments.stream import Stream


def stream_of(features, labels, task="regression"):
    features = np.ascontiguousarray(features, dtype=np.float32)
    n_features = features.shape[1]
    names = [*"abcdefghij", *(f"x{i}" for i in range(10, n_features))][:n_features]
    labels = np.asarray(labels, dtype=np.float32)
    return Stream(features, labels, schema_of(*names), task)


def planes(n, seed=0):
    """Return 2dplanes: interactions of its first feature with all others explain it."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-1, 2, (n, 10)).astype(float)
    x[:, 0] = rng.choice([-1, 1], n)
    up = 3 + 3 * x[:, 1] + 2 * x[:, 2] + x[:, 3]
    down = -3 + 3 * x[:, 4] + 2 * x[:, 5] + x[:, 6]
    return x, np.where(x[:, 0] > 0, up, down) + rng.normal(0, 1, n)


def noise(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 5)), rng.normal(3, 1, n)


def abrupt(n):
    x, y = planes(n)
    y[n // 2 :] = 50 - 4 * y[n // 2 :]
    return x, y


def outliers(n):
    x, y = noise(n)
    y[[n // 4, n // 2, -1]] = [1e6, -1e7, 1e5]
    return x, y


def constant_then_not(n):
    x, y = noise(n)
    y[: 2 * n // 3] = 3.0
    return x, y


def constant(n):
    return noise(n)[0], np.zeros(n)


def tiny_labels(n):
    x, y = planes(n)
    return x, 1e-6 * y


def trend(n):
    x, y = noise(n)
    return x, y + np.linspace(0, 100, n)


def trap(n):
    """Draw a stream on which challengers gain on the first half and lose on the second."""
    x, y = planes(n)
    rest = n - n // 2
    y[n // 2 :] = -y[n // 2 :] + np.random.default_rng(1).normal(0, 8, rest)
    return x, y


HARD = (planes, noise, abrupt, outliers, constant_then_not, constant, tiny_labels, trend, trap)
