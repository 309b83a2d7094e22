"""Vowpal Wabbit's own way with many classes: a learner of each against all others, ``--oaa``."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
from numba import njit
from numpy.typing import NDArray

from leaseboard.algorithms.benches.arrays import uniform
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.engine import EngineName, choose_engine
from leaseboard.algorithms.online.kernel import (
    LOGISTIC,
    RANGE,
    WEIGHT,
    Doubles,
    Floats,
    Integers,
    clip,
    gather,
    update,
)
from leaseboard.algorithms.online.layout import layouts
from leaseboard.algorithms.online.schema import Schema

_LOW, _HIGH = map(np.float32, RANGE[LOGISTIC])
_ONE = np.float32(1)


class OneAgainstAll(ABC):
    """Tells the chance of each class before it learns which one came.

    Parameters
    ----------
    schema : Schema
    n_classes : int
        VW has to know it beforehand; what it thinks of a class that has not come is what it
        thinks of the others.
    """

    def __init__(self, schema: Schema, n_classes: int) -> None:
        self.schema, self.n_classes = schema, n_classes

    @abstractmethod
    def learn_many(self, examples: Floats, numbers: NDArray[np.int64]) -> Doubles:
        """Learn a block in order; its progressive chances, shape (n_examples, n_classes).

        Parameters
        ----------
        examples : ndarray of float32, shape (n_examples, n_features)
        numbers : ndarray of int64, shape (n_examples,)
            Of the classes, from 0.
        """


class KernelOneAgainstAll(OneAgainstAll):
    """VW's logistic one-against-all in numba, bit-identical to the wheel's probabilities.

    Parameters
    ----------
    schema, n_classes
        See `OneAgainstAll`.
    configuration : VWConfiguration

    Examples
    --------
    >>> schema = Schema(("a",), ((0,),), ("x",))
    >>> learner = KernelOneAgainstAll(schema, VWConfiguration(), 3)
    >>> numbers = np.tile([0, 1, 2], 200)
    >>> chances = learner.learn_many(numbers[:, None].astype(np.float32) - 1, numbers)
    >>> chances.shape, chances[0].round(2).tolist(), chances[-1].argmax()
    ((600, 3), [0.33, 0.33, 0.33], np.int64(2))
    """

    def __init__(self, schema: Schema, configuration: VWConfiguration, n_classes: int) -> None:
        super().__init__(schema, n_classes)
        self.layout = layouts(schema).of_classes(configuration, n_classes)
        self.rate = np.float32(configuration.learning_rate)
        self.table = np.zeros((len(self.layout.indices), 4), dtype=np.float32)
        self.sums = np.zeros((n_classes, 2), dtype=np.float64)

    def learn_many(self, examples: Floats, numbers: NDArray[np.int64]) -> Doubles:
        """See `OneAgainstAll.learn_many`."""
        margins = np.empty((len(numbers), self.n_classes), dtype=np.float32)
        learn_classes(
            uniform(examples),
            numbers,
            self.table,
            self.sums,
            self.rate,
            self.layout.factors,
            self.layout.cells,
            margins,
        )
        return chances(margins).astype(np.float64)


def make_one_against_all(
    name: EngineName,
    schema: Schema,
    configuration: VWConfiguration,
    n_classes: int,
    vw_options: str = "",
) -> OneAgainstAll:
    """A model of all classes, trained by the engine called `name`."""
    chosen, options = choose_engine(name, "classification", vw_options)
    if chosen == "kernel":
        return KernelOneAgainstAll(schema, configuration, n_classes)
    from leaseboard.algorithms.online.workspace import WorkspaceOneAgainstAll

    return WorkspaceOneAgainstAll(schema, configuration, n_classes, options)


@njit(cache=True, nogil=True, error_model="numpy")
def learn_classes(
    examples: Floats,
    numbers: NDArray[np.int64],
    table: Floats,
    sums: Doubles,
    learning_rate: np.float32,
    factors: Integers,
    cells: Integers,
    margins: Floats,
) -> None:
    """Learn a block; write its progressive log odds of each class against the others.

    All classes of an example are predicted before any learns, as one of them may share a weight
    with another.

    Parameters
    ----------
    examples, numbers
        See `OneAgainstAll.learn_many`.
    table : ndarray of float32, shape (n_cells, 4)
    sums : ndarray of float64, shape (n_classes, 2)
    learning_rate : float32
    factors, cells
        See `leaseboard.algorithms.online.layout.Layout`.
    margins : ndarray of float32, shape (n_examples, n_classes)
        Written.
    """
    n_classes, n_terms = cells.shape
    values = np.empty(n_terms, dtype=np.float32)
    places = np.empty((n_classes, n_terms), dtype=np.int32)
    for t in range(len(numbers)):
        count = 0
        for k in range(n_classes):
            count = gather(examples[t], factors, cells[k], n_terms, values, places[k])
            raw = product_of_large(table, values, places[k], count)
            margins[t, k] = clip(raw, _LOW, _HIGH)
        for k in range(n_classes):
            label = _ONE if numbers[t] == k else -_ONE
            update(
                table,
                sums[k],
                learning_rate,
                LOGISTIC,
                values,
                places[k],
                count,
                margins[t, k],
                label,
                _ONE,
            )


@njit(cache=True, nogil=True, error_model="numpy")
def product_of_large(table: Floats, values: Floats, places: Integers, count: int) -> np.float32:
    """`leaseboard.algorithms.online.kernel.inner_product` without values next to 0.

    VW passes these over where it predicts many classes at once, and there alone.
    """
    total = np.float32(0)
    for feature in range(count):
        if abs(float(values[feature])) >= 1e-10:
            total += table[places[feature], WEIGHT] * values[feature]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def chances(margins: Floats) -> Floats:
    """The chances of log odds, scaled to 1 in each row; all float32, in VW's order."""
    found = np.empty_like(margins)
    for t in range(len(margins)):
        total = np.float32(0)
        for k in range(margins.shape[1]):
            found[t, k] = _ONE / (_ONE + np.float32(math.exp(-margins[t, k])))
            total += found[t, k]
        share = _ONE / total
        for k in range(margins.shape[1]):
            found[t, k] *= share
    return found
