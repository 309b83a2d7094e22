"""Each member alone does what its definition says, by a second implementation of it."""

import bisect
import math

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from leaseboard.algorithms.online_automl.members import trees
from leaseboard.algorithms.online_automl.members.learners import NEAREST, FourierRidge, Neighbours
from leaseboard.algorithms.online_automl.members.trees import RandomTrees


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


def reference_trees(member, rows, targets, n_classes):
    """Predict and learn by the formulas of the module, one node at a time."""
    weights, counts, found, none = {}, {}, [], np.zeros(n_classes or 1)
    inner = np.asarray(member.inner)
    columns, thresholds = inner[:, :, 0], inner.view(np.float32)[:, :, 1]
    rate = min(0.0025 * n_classes, 0.05) if n_classes else 0.007
    begin = 0.01 if n_classes else 10.0
    for t in range(len(rows)):
        lags = [targets[t - lag] - targets[0] if t >= lag else 0.0 for lag in (1, 2, 3)]
        row = np.float32([*rows[t], *([] if n_classes else lags)])
        path = []
        for tree in range(trees.GROUP * bisect.bisect_right(trees.DRAWN_AT, t)):
            node = 0
            while node < columns.shape[1]:
                path.append((tree, node))
                column, threshold = columns[tree, node], thresholds[tree, node]
                right = row[-1 - column] < threshold if column < 0 else row[column] > threshold
                node = 2 * node + 1 + int(right)
            path.append((tree, node))
        scores = sum((weights.get(v, none) for v in path), none)
        if n_classes:
            said = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
            gradient = said - np.eye(n_classes)[int(targets[t])]
            more = gradient @ gradient
        else:
            said, most = scores + targets[0], 3.0 * targets[:t].std() if t else 0.0
            gradient = said - targets[t]
            gradient = np.clip(gradient, -most, most) if most else gradient
            more = 1.0
        for v in path:
            counts[v] = counts.get(v, 0.0) + more
        steps = {v: rate / math.sqrt(begin + counts[v]) for v in path}
        shrunk = 1.0 if n_classes else max(1.0, sum(steps.values()))
        for v in path:
            weights[v] = weights.get(v, none) - steps[v] / shrunk * gradient
        found.append(said)
    return np.array(found)


@pytest.mark.parametrize("n_classes", [0, 3])
@pytest.mark.parametrize("make", SETS)
def test_trees_learn_by_the_formulas(make, n_classes):
    rows, labels = make(70)
    targets = targets_of(labels, n_classes)
    member = RandomTrees(rows.shape[1], n_classes)
    found = member.learn(rows, targets)

    first = trees.DRAWN_AT[0]
    assert np.isnan(found[:first]).all()
    expected = reference_trees(member, rows, targets, n_classes)
    np.testing.assert_allclose(
        found[first:], expected[first:], atol=0.01 * max(1.0, targets.std())
    )
