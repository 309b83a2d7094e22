"""Permutation importance of columns: by how much the loss grows where one says nothing.

The values of a column among the last examples go round in a random circle, so that each example
has those of another, and the rest of it stays. What the loss grows by is the column's importance
[1]_. All features that are made of a column (its categories, the parts of its dates, the mark of
its gaps) go together. The model is asked what it predicts now, and learns nothing. It has learned
these examples; importances say what it goes by, not what causes the label.

References
----------
.. [1] Breiman. Random forests. Machine Learning 45, 2001.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from leaseboard.algorithms import seeds
from leaseboard.algorithms.array_types import Floats

MOST, LEAST = 2**14, 16
"""Predictions, about; and examples, at least so many if they came."""


def importances(
    loss: Callable[[Floats, float], float],
    examples: tuple[Floats, Floats, Floats],
    columns: Mapping[str, list[int]],
    seed: int,
) -> dict[str, float]:
    """Return the growth of the mean loss for each column, the largest first.

    Parameters
    ----------
    loss : callable
        Of what is predicted of a row, with its label.
    examples : tuple of ndarray of float32
        Rows, labels, and importances, by which losses are weighed.
    columns : mapping of str to list of int
        Features that are made of each column.
    seed : int

    Examples
    --------
    >>> rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    >>> examples = rows, rows[:, 0], np.ones(3, np.float32)
    >>> found = importances(
    ...     lambda row, label: (row[0] - label) ** 2, examples, {"a": [0], "b": [1]}, 0
    ... )
    >>> {name: float(value) for name, value in found.items()}  # (2² + 2² + 4²) / 3
    {'a': 8.0, 'b': 0.0}
    """
    rows, labels, weights = examples
    circle = seeds.generator("importances", seed).permutation(len(rows))
    other = np.empty_like(circle)
    other[circle] = np.roll(circle, 1)
    own = [loss(row, float(label)) for row, label in zip(rows, labels, strict=True)]
    found: dict[str, float] = {}
    for name, places in columns.items():
        moved = rows.copy()
        moved[:, places] = rows[other][:, places]
        found[name] = sum(
            float(weights[t]) * (loss(moved[t], float(labels[t])) - own[t])
            for t in np.flatnonzero((moved != rows).any(axis=1)).tolist()
        ) / float(weights.sum(dtype=np.float64))
    return dict(sorted(found.items(), key=lambda each: -each[1]))
