"""One probe as it is run: fit a model on a sample, test it, and time the parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.benches.selecting import Probe
from leaseboard.tasks.evaluate.probes.split import Prefixes, between

_PREDICT_ROWS = 100_000


class Classifier(Protocol):
    """What scikit-learn calls a classifier."""

    def fit(self, X: Any, y: Any) -> Any:
        """Train."""

    def predict(self, X: Any) -> Any:
        """Classes of rows."""


def fit_and_test(model: Classifier, samples: Prefixes, rows: int, test_rows: int) -> Probe:
    """Train on a prefix, test, and time the parts."""
    features, labels = samples.train(rows)
    model = able(model, labels)
    _, fit_cpu, fit_wall = timed(lambda: model.fit(features, labels))
    right, train_cpu, train_wall = None, 0.0, 0.0
    if rows < samples.train_rows:
        right, train_cpu, train_wall = timed(lambda: verdicts(model, features, labels))
    tested, test_cpu, test_wall = timed(lambda: verdicts(model, *samples.test(test_rows)))
    return Probe(
        rows=rows,
        test_rows=test_rows,
        train_correct=None if right is None else _count(right),
        half_correct=None if right is None else _count(right[: rows // 2]),
        common=None if right is None else Counter(labels.tolist()).most_common(1)[0][1],
        test_correct=_count(tested),
        half_test_correct=_count(tested[: test_rows // 2]),
        fit_cpu=fit_cpu,
        fit_wall=fit_wall,
        train_cpu=train_cpu,
        train_wall=train_wall,
        test_cpu=test_cpu,
        test_wall=test_wall,
    )


def able(model: Classifier, labels: NDArray[Any]) -> Classifier:
    """`model`, or the constant if `labels` are of a single class.

    Such a sample has one best model, the constant, and many learners refuse it.
    """
    if (labels != labels[0]).any():
        return model
    from sklearn.dummy import DummyClassifier

    constant: Classifier = DummyClassifier(strategy="most_frequent")
    return constant


def verdicts(model: Classifier, features: Any, labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows `model` classifies correctly, predicted in blocks to bound the memory."""
    right = np.empty(len(labels), dtype=np.bool_)
    for start in range(0, len(labels), _PREDICT_ROWS):
        end = min(start + _PREDICT_ROWS, len(labels))
        predicted = np.asarray(model.predict(between(features, start, end)))
        block = labels[start:end]
        if predicted.shape != block.shape:  # which == would broadcast
            raise ValueError(f"{predicted.shape} is predicted for labels {block.shape}")
        right[start:end] = predicted == block
    return right


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What `work` returns, and its CPU and wall seconds."""
    cpu, wall = process_time(), perf_counter()
    value = work()
    return value, process_time() - cpu, perf_counter() - wall


def _count(right: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(right))
