"""Vowpal Wabbit's own way with many classes: a learner of each against all others, ``--oaa``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.environments.arrays import uniform
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel import (
    LOGISTIC,
    RANGE,
    WEIGHT,
    Doubles,
    Floats,
    Integers,
    Model,
    clip,
    gather,
    mark_ends,
    update,
)
from leaseboard.algorithms.online.layout import layouts
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.transcendental import exp32

_LOW, _HIGH = map(np.float32, RANGE[LOGISTIC])
_ONE = np.float32(1)


class OneAgainstAll:
    """Model of all classes, numbers from 0; its probabilities are Vowpal Wabbit's, bit for bit.

    Parameters
    ----------
    n_classes : int
        VW has to know it beforehand; what it thinks of a class that has not come is what it
        thinks of the others.

    Examples
    --------
    >>> schema = Schema(("a",), ((0,),), ("x",))
    >>> model = OneAgainstAll(schema, VWConfiguration(), 3)
    >>> numbers = np.tile(np.float32([0, 1, 2]), 200)
    >>> probabilities = model.learn_many(numbers[:, None] - 1, numbers)
    >>> probabilities.shape, probabilities[0].round(2).tolist(), probabilities[-1].argmax()
    ((600, 3), [0.33, 0.33, 0.33], np.int64(2))
    """

    def __init__(self, schema: Schema, configuration: VWConfiguration, n_classes: int) -> None:
        layout = layouts(schema).of_classes(configuration, n_classes)
        table = np.zeros((len(layout.indices), 4), dtype=np.float32)
        rate = np.float32(configuration.learning_rate)
        self.n_classes = n_classes
        self._model = table, np.zeros((n_classes, 2)), layout.factors, layout.cells, rate

    def learn_many(self, examples: Floats, labels: Floats) -> Doubles:
        """Learn a block in order; return its progressive probabilities.

        Parameters
        ----------
        examples : ndarray of float32, shape (n, n_features)
        labels : ndarray of float32, shape (n,)

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
        """
        return self._pass(examples, labels.astype(np.int64))

    def predict_waiting(self, examples: Floats, pending: int) -> Doubles:
        """See `leaseboard.algorithms.environments.arrival.StreamLearner`."""
        return self._pass(examples, np.full(len(examples), -1))

    def _pass(self, examples: Floats, numbers: NDArray[np.int64]) -> Doubles:
        margins = np.empty((len(numbers), self.n_classes), dtype=np.float32)
        learn_classes(uniform(examples), numbers, *self._model, margins)
        return probabilities(margins).astype(np.float64)


@compiled(error_model="numpy")
def learn_classes(
    examples: Floats,
    numbers: NDArray[np.int64],
    table: Floats,
    sums: Doubles,
    factors: Integers,
    cells: Integers,
    rate: np.float32,
    margins: Floats,
) -> None:
    """Learn a block; write its progressive log odds of each class against the others.

    Parameters
    ----------
    examples : ndarray of float32, shape (n_examples, n_features)
    numbers : ndarray of int64, shape (n_examples,)
        Of classes, from 0; -1 for an example of which nothing is learned.
    table : ndarray of float32, shape (n_cells, 4)
        Shared by the models of all classes; updated.
    sums : ndarray of float64, shape (n_classes, 2)
        Of the normalisers; updated.
    factors, cells : ndarray of int32
        See `leaseboard.algorithms.online.layout.Layout`.
    rate : float32
        The learning rate.
    margins : ndarray of float32, shape (n_examples, n_classes)
        Written.
    """
    n_classes, n_terms = cells.shape
    values = np.empty(n_terms, dtype=np.float32)
    places = np.empty((n_classes, n_terms), dtype=np.int32)
    ends, work = np.empty(n_terms, dtype=np.int32), np.empty((3, n_terms), dtype=np.float32)
    mark_ends(factors, ends)
    # A model of each class, which has no range of labels of its own.
    models = [
        Model(
            table, sums[k], values, rate, factors, cells[k], ends, n_terms, values, places[k], work
        )
        for k in range(n_classes)
    ]
    for t in range(len(numbers)):
        # Predict all classes before any learns, as one of them may share a weight with another.
        count = 0
        for k in range(n_classes):
            count = gather(examples[t], models[k])
            margins[t, k] = clip(product_of_large(count, models[k]), _LOW, _HIGH)
        # Then let each learn whether it came.
        for k in range(n_classes if numbers[t] >= 0 else 0):
            label = _ONE if numbers[t] == k else -_ONE
            update(count, margins[t, k], label, _ONE, models[k], LOGISTIC)


@compiled(error_model="numpy")
def product_of_large(count: int, model: Model) -> np.float32:
    """Return `leaseboard.algorithms.online.kernel.inner_product` without values next to 0.

    VW passes these over where it predicts many classes at once, and there alone.
    """
    total = np.float32(0)
    for feature in range(count):
        if abs(float(model.values[feature])) >= 1e-10:
            total += model.table[model.places[feature], WEIGHT] * model.values[feature]
    return total


@compiled(error_model="numpy")
def probabilities(margins: Floats) -> Floats:
    """Return the probabilities of log odds, scaled to 1 in each row; float32, in VW's order."""
    found = np.empty_like(margins)
    for t in range(len(margins)):
        # Each class's own probability, then all over their sum.
        total = np.float32(0)
        for k in range(margins.shape[1]):
            found[t, k] = _ONE / (_ONE + exp32(-margins[t, k]))
            total += found[t, k]
        share = _ONE / total
        for k in range(margins.shape[1]):
            found[t, k] *= share
    return found
