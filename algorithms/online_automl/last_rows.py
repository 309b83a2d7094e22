"""Ring of the last examples that were learned, in bounded memory."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from leaseboard.algorithms.array_types import Floats
from leaseboard.algorithms.plain import Saved

REMEMBERED = 256
"""Examples, at most."""

NUMBERS = 2**20
"""Numbers of all of them together, where that is bounded."""


class LastRows(Saved):
    """Last examples, their labels and their importances; how many came before is the caller's.

    Parameters
    ----------
    n_features : int
    numbers : float
        Of rows that are longer than this over `REMEMBERED`, fewer are remembered.

    Examples
    --------
    >>> last = LastRows(2, numbers=4)
    >>> for at in range(3):
    ...     last.add_one(at, np.array([2.0 * at + 1.0, 2.0 * at + 2.0]), at, 1.0)
    >>> last.after(3)[1].tolist()
    [1.0, 2.0]
    >>> last.grow(3, at=3)
    >>> last.after(3)[0].tolist()
    [[5.0, 6.0, 0.0]]
    """

    kept: ClassVar[tuple[str, ...]] = ("rows", "labels", "weights")

    def __init__(self, n_features: int, numbers: float = math.inf) -> None:
        self.numbers = numbers
        most = int(max(1, min(REMEMBERED, numbers // max(1, n_features))))
        self.rows = np.zeros((most, n_features), dtype=np.float32)
        self.labels, self.weights = np.zeros((2, most), dtype=np.float32)

    def add_one(self, at: int, row: Floats, label: float, weight: float) -> None:
        """Remember one example, which came after `at` others."""
        place = at % len(self.labels)
        self.rows[place], self.labels[place], self.weights[place] = row, label, weight

    def after(self, at: int, most: int = REMEMBERED) -> tuple[Floats, Floats, Floats]:
        """Return the last of `at` examples in their order, their labels and importances."""
        places = np.arange(at - min(at, most, len(self.labels)), at) % len(self.labels)
        return self.rows[places], self.labels[places], self.weights[places]

    def grow(self, n_features: int, at: int) -> None:
        """Go on, after `at` examples, with more features, which were 0 until now."""
        rows, labels, weights = self.after(at)
        self.__init__(n_features, self.numbers)  # type: ignore[misc]
        for place, row in enumerate(rows, at - len(labels)):
            wide = np.pad(row, (0, n_features - len(row)))
            self.add_one(place, wide, *(each[place - at] for each in (labels, weights)))
