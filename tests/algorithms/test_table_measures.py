"""Measures of test rows are scikit-learn's."""

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
