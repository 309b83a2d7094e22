"""Measures of test rows are scikit-learn's."""

import math
import warnings

import numpy as np
import pytest
from sklearn import metrics

from leaseboard.algorithms.measures import DIRECTIONS, OF_TABLE, of_test

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_classes_are_measured_as_by_scikit_learn(n_classes):
    truth, chances = RNG.integers(n_classes, size=200), RNG.dirichlet(np.ones(n_classes), 200)
    said = chances.argmax(axis=1)
    many = {"multi_class": "ovr"} if n_classes > 2 else {}

    found = of_test("classification", truth, said, chances, n_classes=n_classes)

    assert found.keys() == set(OF_TABLE["classification"]) <= DIRECTIONS.keys()
    assert found == pytest.approx({
        "accuracy": metrics.accuracy_score(truth, said),
        "balanced_accuracy": metrics.balanced_accuracy_score(truth, said),
        "f1": metrics.f1_score(truth, said, average="macro" if many else "binary"),
        "roc_auc": metrics.roc_auc_score(truth, chances if many else chances[:, 1], **many),
        "log_loss": metrics.log_loss(truth, chances),
    }, rel=1e-12)  # fmt: skip


def test_what_is_not_defined_is_left_out_without_a_warning():
    one, chances = np.ones(4, dtype=int), np.tile([0.25, 0.75], (4, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = of_test("classification", one, np.array([0, 1, 1, 1]), chances, n_classes=2)
        alone = of_test("regression", np.array([1.0]), np.array([2.0]))

    assert "roc_auc" not in found
    assert found["accuracy"] == found["balanced_accuracy"] == 0.75
    assert found["log_loss"] == pytest.approx(-math.log(0.75))
    assert alone == {"rmse": 1.0, "mae": 1.0}
