"""A linear forecast as a model that can be saved, served and read by Vowpal Wabbit."""

from __future__ import annotations

import numpy as np

from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel import WEIGHT
from leaseboard.algorithms.online.learner import KernelLearner
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.reference.forecaster import Doubles

MARGIN = 100.0
"""No margin of a class is clipped below this."""


def linear_model(
    schema: Schema, constant: float, weights: Doubles, low: float, high: float
) -> KernelLearner | None:
    """The learner that predicts ``constant + weights · x``, clipped to the labels seen and 0.

    None where two features share a cell of VW's table, which holds one weight.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_features,)

    Examples
    --------
    >>> schema = Schema(("a",), ((0, 1),), ("0", "1"))
    >>> model = linear_model(schema, 1.0, np.array([2.0, 3.0]), 0.0, 100.0)
    >>> model.predict([10.0, 20.0]), model.predict([10.0, 99.0])
    (81.0, 100.0)
    """
    model = KernelLearner(schema, VWConfiguration())
    layout = model.layout
    if len(layout.indices) < len(layout.cells):
        return None
    values = np.append(weights, constant)  # the constant is the term without factors, -1
    model.table[layout.cells, WEIGHT] = values[layout.factors[:, 0]]
    model.labels[:] = low, high
    return model
