"""Nearest neighbours among the last examples.

A window holds the last examples, standardised as they came, at most `MOST` of them and no more
than `NUMBERS` numbers in all. The prediction is the average of the labels of the `NEAREST` of them
by Euclidean distance, the i-th nearest with weight 1 / √i [1]_ times its importance; classes that
none of them has share a prior of half a neighbour.

References
----------
.. [1] Dudani. The distance-weighted k-nearest-neighbor rule. IEEE Transactions on Systems, Man,
       and Cybernetics 6, 1976.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online.kernel import Doubles, Floats
from leaseboard.algorithms.plain import Saved

MOST, NUMBERS = 4096, 65536

NEAREST = 10

PRIOR = 0.5


class Neighbours(Saved):
    """Window of the last examples, and the prediction of the nearest.

    Parameters
    ----------
    n_features : int
    n_classes : int
        0 for numbers.

    Examples
    --------
    >>> rows = np.random.RandomState(0).rand(1000, 2)
    >>> found = np.full((1000, 1), np.nan)
    >>> Neighbours(2, 0).learn(rows, rows.sum(axis=1), np.ones(1000, np.float32), found)
    >>> bool(np.abs(found[500:, 0] - rows[500:].sum(axis=1)).mean() < 0.05)
    True
    """

    kept: ClassVar[tuple[str, ...]] = ("window", "targets", "worths", "seen")

    def __init__(self, n_features: int, n_classes: int) -> None:
        self.n_features, self.n_classes = n_features, n_classes
        size = min(MOST, NUMBERS // max(1, n_features))
        self.window = np.zeros((n_features, size), dtype=np.float32)
        (self.targets, self.worths), self.seen = np.zeros((2, size)), np.zeros(1)

    @property
    def operations(self) -> float:
        """Operations an example, of which a processor does a dozen at a time."""
        return (self.window.size + 2.0 * len(self.targets)) / 12.0

    def learn(self, rows: Doubles, targets: Doubles, worths: Floats, found: Doubles) -> None:
        """Learn a block of standardised rows; overwrite what it predicts. See `RandomTrees`."""
        learn_neighbours(
            rows, targets, worths, self.n_classes > 0, self.window, self.targets, self.worths,
            self.seen, False, found,
        )  # fmt: skip

    def grow(self, n_features: int, n_classes: int) -> None:
        """Go on with more columns, which were 0 until now, and classes; the window may shrink."""
        grown = Neighbours(n_features, n_classes)
        n = min(int(self.seen[0]), len(self.targets), len(grown.targets))
        last = (int(self.seen[0]) - n + np.arange(n)) % len(self.targets)
        grown.window[: self.n_features, :n] = self.window[:, last]
        grown.targets[:n], grown.worths[:n] = self.targets[last], self.worths[last]
        grown.seen[0] = n
        vars(self).update(vars(grown))


@compiled(error_model="numpy")
def learn_neighbours(
    rows: Doubles,
    targets: Doubles,
    worths: Floats,
    classes: bool,
    window: Floats,
    known: Doubles,
    importances: Doubles,
    seen: Doubles,
    again: bool,
    found: Doubles,
) -> None:
    """Predict example after example, each before it is remembered; not `again`, see trees."""
    d, size = window.shape
    k = found.shape[1]
    distances = np.empty(size, np.float32)
    nearest, best = np.empty(NEAREST, np.int64), np.empty(NEAREST, np.float32)
    for t in range(len(rows)):
        held = int(min(seen[0], np.float64(size)))
        if held > 0 and not again:
            # Squared distances to all that are remembered, column by column.
            distances[:held] = 0.0
            for j in range(d):
                value, column = np.float32(rows[t, j]), window[j]
                for r in range(held):
                    away = column[r] - value
                    distances[r] += away * away
            # The nearest, in order.
            n = 0
            for r in range(held):
                if n == NEAREST and distances[r] >= best[n - 1]:
                    continue
                place = n if n < NEAREST else NEAREST - 1
                while place > 0 and best[place - 1] > distances[r]:
                    best[place], nearest[place] = best[place - 1], nearest[place - 1]
                    place -= 1
                best[place], nearest[place] = distances[r], r
                n = min(n + 1, NEAREST)
            # The average of their labels.
            found[t] = PRIOR / k if classes else 0.0
            total = PRIOR if classes else 0.0
            for i in range(n):
                weight = importances[nearest[i]] / math.sqrt(1.0 + i)
                label = known[nearest[i]]
                total += weight
                if classes:
                    found[t, int(label)] += weight
                else:
                    found[t, 0] += weight * label
            for j in range(k):
                found[t, j] /= total
        if worths[t] > 0.0:
            # Remember it in the place of the oldest.
            place = int(seen[0]) % size
            for j in range(d):
                window[j, place] = rows[t, j]
            known[place], importances[place] = targets[t], worths[t]
            seen[0] += 1.0
