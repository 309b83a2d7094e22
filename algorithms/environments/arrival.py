"""When labels become known: at once, after other rows, with others, or when all is over.

A label that comes before the next row is predicted is the easiest case, and seldom a user's: the
labels of a day come together on the day after. What is known when a row is predicted is part of
the problem [1]_.

References
----------
.. [1] Grzenda, Gomes, Bifet. Delayed labelling evaluation for data streams. Data Mining and
       Knowledge Discovery 34, 2020.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leaseboard.algorithms.errors import UsageError

IMMEDIATE, END = "immediate", "end"


@dataclass(frozen=True)
class Arrival:
    """Rule by which labels become known.

    Attributes
    ----------
    after : int
        How many other rows are predicted between a row and its label.
    column : str
        The column of which all rows with one value have their labels before the next value.
    end : bool
        No label is known before all rows are predicted.

    Examples
    --------
    >>> Arrival.parse("after=24")
    Arrival(after=24, column='', end=False)
    >>> str(Arrival.parse("with=day"))
    'with=day'
    """

    after: int = 0
    column: str = ""
    end: bool = False

    @classmethod
    def parse(cls, text: str) -> Arrival:
        """Return the rule that a setting names; UsageError for any other text."""
        kind, _, value = text.partition("=")
        if text in (IMMEDIATE, END):
            return cls(end=text == END)
        if kind == "after" and value.isdecimal():
            return cls(after=int(value))
        if kind == "with" and value:
            return cls(column=value)
        raise UsageError(
            f"labels {text!r} must be {IMMEDIATE}, after=N (rows), with=COLUMN (such as a date) or"
            f" {END}"
        )

    def __str__(self) -> str:
        """Return the setting that `parse` reads."""
        if self.column:
            return f"with={self.column}"
        return END if self.end else f"after={self.after}" if self.after else IMMEDIATE

    @property
    def is_immediate(self) -> bool:
        """Whether each label is known before the next row is predicted."""
        return self == Arrival()

    def steps(self, n: int, values: ArrayLike | None = None) -> Iterator[tuple[slice, slice]]:
        """Yield rows that are predicted, and then those whose labels come, until all have come.

        Parameters
        ----------
        n : int
            Rows.
        values : array-like, shape (n,), optional
            Those of `column`; rows with one value follow each other.

        Examples
        --------
        >>> [(said, known) for said, known in Arrival(after=1).steps(2)]
        [(slice(0, 1, None), slice(0, 0, None)), (slice(1, 2, None), slice(0, 2, None))]
        """
        if self.end:
            yield slice(0, n), slice(0, n)
        elif self.column:
            kept: Any = np.asarray(values, dtype=object)
            starts = [0, *(np.flatnonzero(kept[1:] != kept[:-1]) + 1).tolist(), n]
            for start, stop in itertools.pairwise(starts):
                yield slice(start, stop), slice(start, stop)
        else:
            for row in range(n):
                last = n if row == n - 1 else max(0, row + 1 - self.after)
                yield slice(row, row + 1), slice(max(0, row - self.after), last)
