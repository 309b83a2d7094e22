"""When labels become known: at once, after other rows, with others, or when all is over.

A label that comes before the next row is predicted is the easiest case, and seldom a user's: the
labels of a day come together on the day after. What is known when a row is predicted is part of
the problem [1]_.

References
----------
.. [1] Grzenda, Gomes, Bifet. Delayed labelling evaluation for data streams. Data Mining and
       Knowledge Discovery 34, 2020.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaseboard.algorithms.errors import UsageError

IMMEDIATE, END = "immediate", "end"

BLOCK = 4096
"""Examples that are learned at a time, at most."""


class StreamLearner(Protocol):
    """Learner of a whole stream, whose labels come in the order of its examples."""

    def learn_many(
        self, examples: NDArray[np.float32], labels: NDArray[np.float32]
    ) -> NDArray[np.floating]:
        """Learn a block in order, or the first part of it; return predictions of what was learned.

        Each is made before the label is known, unless `predict_waiting` has made them before.
        Shape (n,), or probabilities of shape (n, n_classes) where three and more classes come.
        """

    def predict_waiting(self, examples: NDArray[np.float32], pending: int) -> NDArray[np.floating]:
        """Predict the next examples, which are learned when their labels have come.

        Parameters
        ----------
        examples : ndarray of float32, shape (n, n_features)
        pending : int
            How many before these have no label yet.
        """


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
    def parse(cls, text: str) -> Self:
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

    @property
    def guessed(self) -> str:
        """A sentence about a rule that goes by a column, which was found to be one of dates."""
        return f"labels {self}: each {self.column} is predicted before its labels are known"

    def steps(
        self, n: int, values: ArrayLike | None = None, cuts: Sequence[int] = ()
    ) -> Iterator[tuple[slice, slice]]:
        """Yield rows that are predicted, and then those whose labels come, until all have come.

        Parameters
        ----------
        n : int
            Rows.
        values : array-like, shape (n,), optional
            Those of `column`; rows with one value follow each other.
        cuts : sequence of int
            Ascending rows, none of which is predicted before all labels above it have come.

        Examples
        --------
        >>> [(said, known) for said, known in Arrival(after=1).steps(2)]
        [(slice(0, 1, None), slice(0, 0, None)), (slice(1, 2, None), slice(0, 2, None))]
        """
        for start, stop in itertools.pairwise([*sorted({0, *cuts}), n]):
            own = None if values is None else np.asarray(values)[start:stop]
            for said, known in self._steps(stop - start, own):
                yield (slice(start + said.start, start + said.stop),
                       slice(start + known.start, start + known.stop))  # fmt: skip

    def _steps(self, n: int, values: NDArray[Any] | None) -> Iterator[tuple[slice, slice]]:
        if self.end:
            yield slice(0, n), slice(0, n)
        elif self.column:
            assert values is not None
            starts = [0, *(np.flatnonzero(values[1:] != values[:-1]) + 1).tolist(), n]
            for start, stop in itertools.pairwise(starts):
                yield slice(start, stop), slice(start, stop)
        else:
            for row in range(n):
                last = n if row == n - 1 else max(0, row + 1 - self.after)
                yield slice(row, row + 1), slice(max(0, row - self.after), last)

    def play(
        self,
        learner: StreamLearner,
        examples: NDArray[np.float32],
        labels: NDArray[np.float32],
        values: ArrayLike | None = None,
        cuts: Sequence[int] = (),
    ) -> Iterator[tuple[slice, NDArray[np.floating]]]:
        """Let a learner predict all examples, and learn the labels as they come; see `steps`.

        Yields
        ------
        said : slice
            Examples that were predicted; what came after them is learned by then.
        predictions : ndarray
        """
        at, n = 0, len(labels)
        while self.is_immediate and at < n:
            rows = slice(at, at + BLOCK)
            found = learner.learn_many(examples[rows], labels[rows])
            yield slice(at, at := at + len(found)), found
        for said, known in () if self.is_immediate else self.steps(n, values, cuts):
            predictions = learner.predict_waiting(examples[said], said.start - at)
            if known.stop > known.start:
                learner.learn_many(examples[known], labels[known])
                at = known.stop
            yield said, predictions

    def known(self, n: int, values: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return how many labels are known when each row is predicted; see `steps`.

        Examples
        --------
        >>> Arrival(after=1).known(4).tolist(), Arrival(column="day").known(4, [*"aabb"]).tolist()
        ([0, 0, 1, 2], [0, 0, 2, 2])
        """
        if self.is_immediate:
            return np.arange(n)
        found, at = np.zeros(n, dtype=np.int64), 0
        for said, known in self.steps(n, values):
            found[said] = at
            at = max(at, known.stop)
        return found
