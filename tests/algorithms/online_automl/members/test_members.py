"""Each member alone does what its definition says, by a second implementation of it."""

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from leaseboard.algorithms.online_automl.members.learners import NEAREST, FourierRidge, Neighbours


def planes(n):
    rows = np.random.default_rng(0).normal(size=(n, 4)).astype(np.float32)
    return rows, np.where(rows[:, 0] > 0, rows[:, 1], 3 - rows[:, 2])


def rings(n):
    rows = np.random.default_rng(1).uniform(-1, 1, size=(n, 2)).astype(np.float32)
    return rows, np.floor(2.5 * np.hypot(rows[:, 0], rows[:, 1]))


def series(n):
    rows = np.random.default_rng(2).normal(size=(n, 1)).astype(np.float32)
    return rows, np.sin(np.arange(n) / 5) + 0.1 * rows[:, 0]


SETS = [planes, rings, series]


def standard(rows):
    """Return each row standardised by those before."""
    found = np.zeros(rows.shape)
    for t in range(2, len(rows)):
        before = rows[:t].astype(float)
        found[t] = ((rows[t] - before.mean(axis=0)) / before.std(axis=0)).clip(-10, 10)
    return found


def targets_of(labels, classes):
    """Return labels, or numbers of three classes by their rank."""
    return (
        np.digitize(labels, np.quantile(labels, [1 / 3, 2 / 3])).astype(float)
        if classes
        else labels
    )


@pytest.mark.parametrize("n_classes", [0, 3])
@pytest.mark.parametrize("make", SETS)
def test_neighbours_are_those_of_scikit_learn(make, n_classes):
    rows, labels = make(402)
    rows, targets = standard(rows)[2:], targets_of(labels, n_classes)[2:]  # two are all 0
    found = Neighbours(rows.shape[1], n_classes).learn(rows, targets)

    weights = 1 / np.sqrt(1 + np.arange(NEAREST))
    labels = np.eye(n_classes)[targets.astype(int)] if n_classes else targets[:, None]
    for t in range(50, 400, 7):
        other = NearestNeighbors(n_neighbors=NEAREST, algorithm="kd_tree").fit(rows[:t])
        away, nearest = other.kneighbors(rows[t : t + 1])
        said = weights @ labels[nearest[0][away[0].argsort(kind="stable")]]
        prior = 0.5 if n_classes else 0.0
        expected = (said + prior / max(1, n_classes)) / (weights.sum() + prior)
        np.testing.assert_allclose(found[t], expected, atol=0.01)


@pytest.mark.parametrize("n_classes", [0, 3])
@pytest.mark.parametrize("make", SETS)
def test_fourier_features_are_under_the_ridge_regression_on_all_before(make, n_classes):
    rows, labels = make(300)
    rows, targets = standard(rows), targets_of(labels, n_classes)
    member = FourierRidge(rows.shape[1], n_classes)
    found = member.learn(rows, targets)

    x = np.column_stack((np.ones(300), np.cos(rows @ member.directions + member.phases)))
    y = np.eye(n_classes)[targets.astype(int)] if n_classes else (targets - targets[0])[:, None]
    for t in range(10, 300, 13):
        weights = np.linalg.solve(x[:t].T @ x[:t] + np.eye(x.shape[1]), x[:t].T @ y[:t])
        expected = x[t] @ weights
        if n_classes:
            expected = np.maximum(expected, 1e-3) / np.maximum(expected, 1e-3).sum()
        else:
            expected = expected + targets[0]
        np.testing.assert_allclose(found[t], expected, atol=1e-6)
