"""Vowpal Wabbit's own way with many classes: a learner of each against all others, ``--oaa``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from leaseboard.algorithms.benches.arrays import uniform
from leaseboard.algorithms.online.configuration import VWConfiguration
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
from leaseboard.algorithms.online.learner import EngineName, choose_engine
from leaseboard.algorithms.online.schema import Schema

_LOW, _HIGH = map(np.float32, RANGE[LOGISTIC])
_ONE = np.float32(1)


LearnClasses = Callable[[Floats, NDArray[np.int64]], Doubles]
"""What learns a block in order, of examples and the numbers of their classes, from 0: it returns
its progressive chances, an ndarray of float64 of shape (n_examples, n_classes)."""


def make_one_against_all(
    name: EngineName,
    schema: Schema,
    configuration: VWConfiguration,
    n_classes: int,
    vw_options: str = "",
) -> LearnClasses:
    """Return a model of all classes, trained by the engine called `name`.

    The kernel's chances are those of the wheel, bit for bit.

    Parameters
    ----------
    n_classes : int
        VW has to know it beforehand; what it thinks of a class that has not come is what it
        thinks of the others.

    Examples
    --------
    >>> schema = Schema(("a",), ((0,),), ("x",))
    >>> learn = make_one_against_all("kernel", schema, VWConfiguration(), 3)
    >>> numbers = np.tile([0, 1, 2], 200)
    >>> chances = learn(numbers[:, None].astype(np.float32) - 1, numbers)
    >>> chances.shape, chances[0].round(2).tolist(), chances[-1].argmax()
    ((600, 3), [0.33, 0.33, 0.33], np.int64(2))
    """
    chosen, options = choose_engine(name, "classification", vw_options)
    if chosen == "vw":
        from leaseboard.algorithms.online.workspace import one_against_all

        return one_against_all(schema, configuration, n_classes, options)
    layout = layouts(schema).of_classes(configuration, n_classes)
    rate = np.float32(configuration.learning_rate)
    table = np.zeros((len(layout.indices), 4), dtype=np.float32)
    model = Classes(table, np.zeros((n_classes, 2)), layout.factors, layout.cells)

    def learn(examples: Floats, numbers: NDArray[np.int64]) -> Doubles:
        margins = np.empty((len(numbers), n_classes), dtype=np.float32)
        learn_classes(uniform(examples), numbers, model, rate, margins)
        return chances(margins).astype(np.float64)

    return learn


class Classes(NamedTuple):
    """A model of many classes, which share one table.

    Attributes
    ----------
    table : ndarray of float32, shape (n_cells, 4)
    sums : ndarray of float64, shape (n_classes, 2)
    factors, cells : ndarray of int32
        See `leaseboard.algorithms.online.layout.Layout`.
    """

    table: Floats
    sums: Doubles
    factors: Integers
    cells: Integers


@njit(cache=True, nogil=True, error_model="numpy")
def learn_classes(
    examples: Floats,
    numbers: NDArray[np.int64],
    model: Classes,
    rate: np.float32,
    margins: Floats,
) -> None:
    """Learn a block; write its progressive log odds of each class against the others.

    Parameters
    ----------
    examples, numbers
        See `LearnClasses`.
    model : Classes
        Updated.
    rate : float32
        The learning rate.
    margins : ndarray of float32, shape (n_examples, n_classes)
        Written.
    """
    table, factors, cells = model.table, model.factors, model.cells
    n_classes, n_terms = cells.shape
    values = np.empty(n_terms, dtype=np.float32)
    places = np.empty((n_classes, n_terms), dtype=np.int32)
    for t in range(len(numbers)):
        # Predict all classes before any learns, as one of them may share a weight with another.
        count = 0
        for k in range(n_classes):
            count = gather(examples[t], factors, cells[k], n_terms, values, places[k])
            raw = product_of_large(table, values, places[k], count)
            margins[t, k] = clip(raw, _LOW, _HIGH)
        # Then let each learn whether it came.
        for k in range(n_classes):
            label = _ONE if numbers[t] == k else -_ONE
            sums, its = model.sums[k], places[k]
            update(table, sums, rate, LOGISTIC, values, its, count, margins[t, k], label, _ONE)


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
    """Return the chances of log odds, scaled to 1 in each row; all float32, in VW's order."""
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
