"""One probe as it is run: fit a model on a sample, test it, and time the parts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from time import perf_counter, process_time
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from algorithms.benches.samples import Probe
from tasks.evaluate.probes.split import Prefixes, between

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
    halves, train_cpu, train_wall = None, 0.0, 0.0
    if rows < samples.train_rows:
        parts = pairwise((0, rows // 2, rows))
        halves, train_cpu, train_wall = timed(
            lambda: [
                correct(model, between(features, *part), labels[slice(*part)]) for part in parts
            ]
        )
    tested = samples.test(test_rows)
    test_correct, test_cpu, test_wall = timed(lambda: correct(model, *tested))
    return Probe(
        rows=rows,
        test_rows=test_rows,
        train_correct=halves and sum(halves),
        half_correct=halves and halves[0],
        test_correct=test_correct,
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


def correct(model: Classifier, features: Any, labels: NDArray[Any]) -> int:
    """Rows that `model` classifies correctly."""
    return int(np.count_nonzero(verdicts(model, features, labels)))


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
