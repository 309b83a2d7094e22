"""Labels are matched with classes by value in every classifier, for all their types."""

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.online_automl.scikit import StreamClassifier

X = np.random.default_rng(0).normal(size=(120, 2))
UP = X[:, 0] > 0
LABELS = {
    "bool": UP,
    "list": UP.tolist(),
    "int": UP.astype(int),
    "uint8": UP.astype(np.uint8),
    "float32": UP.astype(np.float32),
    "boolean": pd.array(UP, dtype="boolean"),
    "Int64": pd.array(UP.astype(int), dtype="Int64"),
    "arrow": pd.Series(UP).astype("bool[pyarrow]"),
    "category": pd.Series(UP.astype(int), dtype="category"),
}
CLASSES = {
    "int": [0, 1],
    "bool": [False, True],
    "float": np.array([0.0, 1.0]),
    "boolean": pd.array([False, True], dtype="boolean"),
}


@pytest.mark.parametrize("classes", CLASSES)
def test_labels_equal_to_the_classes_are_those_classes(classes):
    same = StreamClassifier("vanilla").partial_fit(X[:90], UP[:90], classes=[False, True])
    same.partial_fit(X[90:], UP[90:])
    for name, labels in LABELS.items():
        model = StreamClassifier("vanilla").partial_fit(
            X[:90], labels[:90], classes=CLASSES[classes]
        )
        model.partial_fit(X[90:], UP[90:])

        assert model.predict(X).astype(bool).tolist() == same.predict(X).tolist(), name
        assert model.predict_proba(X).tolist() == same.predict_proba(X).tolist(), name
        assert np.mean(model.predict(X) == UP) > 0.8
        assert model.classes_.dtype == np.asarray(CLASSES[classes]).dtype
