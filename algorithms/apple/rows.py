"""Rows of examples, as the kernels read them: checked, dense or sparse, clipped and scaled.

The update does not mind a column's unit, since it divides by the largest magnitude. It does mind
an outlier, which is that magnitude and leaves nothing of all other values, and an offset, which
makes a product of two columns a copy of them. So a column is clipped at high and low percentiles,
and its mean taken away. A column that is mostly zeros keeps them: a rare value there is not an
outlier, and without its zeros it would cost a feature in every row.

Texts may have pairs of neighbouring words as features: the `bigram` baseline, and apple on top.

Three and more classes have a target each, which separates the class from all others, and a learner
each, which grows its own features. The monomials that separate one class from the rest are of
little use to another, so that shared ones would have to be as many as all classes need together,
and every class would learn the others' as well. Sharing would save only the product that makes a
feature, one multiplication of the dozen that its update takes.
"""

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaseboard.algorithms.environments.holdout import Floats, Holdout, Rows
from leaseboard.algorithms.errors import DataError, SkipError

DENSE_ENOUGH = 1 / 3
"""Rows fuller than this are kept dense: a plan's product costs a third of a table look-up."""

LARGEST_LABEL = 1e15
"""The squared gradient of a larger label leaves float32."""


def as_rows(matrix: Any, density: float = DENSE_ENOUGH) -> Rows:
    """Return `matrix` in the form that the kernels read, dense where it is fuller than `density`.

    Parameters
    ----------
    matrix : array or sparse matrix, shape (n_examples, n_variables)
    density : float

    Raises
    ------
    DataError
        If a value is missing or infinite, as float32 has it.
    """
    with np.errstate(over="ignore"):
        if sparse.issparse(matrix):
            rows = sparse.csr_array(matrix, dtype=np.float32)
            rows.sum_duplicates()
            values = rows.data
        else:
            rows = np.ascontiguousarray(matrix, dtype=np.float32)
            values = rows
    _check_finite(values, rows)
    n_cells = max(1, rows.shape[0] * rows.shape[1])
    full = np.count_nonzero(values) / n_cells > density
    if sparse.issparse(rows):
        return rows.toarray() if full else rows
    return rows if full else sparse.csr_array(rows)


def check_labels(labels: NDArray[Any]) -> NDArray[np.float32]:
    """Return `labels` as float32.

    Raises
    ------
    DataError
        If a label is outside the domain of the squared loss in float32.
    """
    bad = np.flatnonzero(~(np.abs(labels) <= LARGEST_LABEL))
    if len(bad):
        raise DataError(
            f"label {labels[bad[0]]} of row {bad[0]} is outside the squared loss's domain:"
            f" labels must be finite and at most {LARGEST_LABEL:g} in magnitude; rescale them"
        )
    return np.asarray(labels, dtype=np.float32)


def _check_finite(values: NDArray[np.float32], rows: Rows) -> None:
    bad = np.flatnonzero(~np.isfinite(values))
    if not len(bad):
        return
    if sparse.issparse(rows):
        row = int(np.searchsorted(rows.indptr, bad[0], side="right")) - 1
        column = int(rows.indices[bad[0]])
    else:
        row, column = divmod(int(bad[0]), rows.shape[1])
    raise DataError(
        f"feature {column} of row {row} is {values.ravel()[bad[0]]} in float32:"
        " features must be finite; impute missing values and rescale huge ones"
    )


CLIP = 0.05
"""Percent of the values at either end, as the paper's figure for its set of EEG needs it."""

Values = NDArray[np.floating]


@dataclass(frozen=True)
class ColumnScale:
    """Scale of a value: clipped to `low` and `high`, less `shift`, divided by `spread`.

    Examples
    --------
    >>> column = ColumnScale.fitted(np.array([1.0, 2.0, 3.0, 1000.0]), clip=25.0, scale=False)
    >>> column.of(np.array([0.0, 2.0, 1000.0])).tolist()
    [1.75, 2.0, 252.25]
    >>> ColumnScale.fitted(np.array([0.0, 0, 0, 0, -4.0]), clip=25.0, scale=True).spread
    4.0
    """

    low: float = -np.inf
    high: float = np.inf
    shift: float = 0.0
    spread: float = 1.0

    @classmethod
    def fitted(cls, values: Values, clip: float, scale: bool) -> Self:
        """Return what becomes of a column with these values in the training rows.

        Parameters
        ----------
        values : ndarray of float, shape (n_examples,)
            Finite.
        clip : float
            Percent of the values at either end.
        scale : bool
            Whether to standardise, or a column of mostly zeros to divide by its magnitude.
        """
        if not clip and not scale:
            return cls()
        values = values.astype(np.float64)
        if np.count_nonzero(values) <= DENSE_ENOUGH * len(values):
            largest = float(np.abs(values).max(initial=0.0))
            return cls(spread=largest) if scale and largest > 0 else cls()
        if ((values == 0) | (values == 1)).all():
            return cls()
        low, high = np.percentile(values, [clip, 100 - clip]) if clip else (-np.inf, np.inf)
        if not scale:
            return cls(float(low), float(high))
        values = np.clip(values, low, high)
        mean, spread = float(values.mean()), float(values.std())
        return cls(float(low), float(high), mean, spread if spread > 0 else 1.0)

    def of(self, values: Values) -> NDArray[np.float64]:
        """Return the values, treated so."""
        clipped = np.clip(values.astype(np.float64), self.low, self.high)
        return np.asarray((clipped - self.shift) / self.spread)


class RowScale:
    """Scales of all columns of rows; sparse rows keep their zeros, and are not clipped."""

    def __init__(self, rows: Rows, clip: float, scale: bool) -> None:
        if sparse.issparse(rows):
            largest = abs(rows).max(axis=0).toarray().ravel() if rows.shape[0] else ()
            spreads = [float(most) if scale and most > 0 else 1.0 for most in largest]
            self.columns = [ColumnScale(spread=spread) for spread in spreads]
        else:
            self.columns = [ColumnScale.fitted(column, clip, scale) for column in rows.T]

    def of(self, rows: Rows) -> Rows:
        """Return the rows, treated so, as float32."""
        if sparse.issparse(rows):
            spreads = np.array([column.spread for column in self.columns])
            return sparse.csr_array(rows / spreads, dtype=np.float32)
        out = np.empty(rows.shape, dtype=np.float32)
        for place, column in enumerate(self.columns):
            out[:, place] = column.of(rows[:, place])
        return out


Targets: TypeAlias = Floats
"""What is learned, a row for each learner, shape (n_targets, n_examples)."""


def targets_of(labels: NDArray[Any], n_classes: int = 0) -> Targets:
    """Return the labels; of three and more classes 1 for each class's own, -1 for others.

    Examples
    --------
    >>> targets_of(np.float32([2, 0, 1]), 3).tolist()
    [[-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0], [1.0, -1.0, -1.0]]
    >>> targets_of(np.float32([0.5, 3])).tolist()
    [[0.5, 3.0]]
    """
    if not n_classes:
        return np.asarray(labels, dtype=np.float32)[None, :]
    own = np.arange(n_classes)[:, None] == labels
    return np.where(own, np.float32(1), np.float32(-1))


def with_bigrams(holdout: Holdout) -> Holdout:
    """Return the examples with a count for each pair of neighbouring words of the training texts.

    Raises SkipError if the data have no text.
    """
    from sklearn.feature_extraction import DictVectorizer  # takes a second to load

    if not holdout.train.texts:
        raise SkipError("bigrams need text: use data with a text column")
    counter = DictVectorizer(dtype=np.float32).fit(map(_pairs, holdout.train.texts))
    train, test = (
        replace(
            part,
            rows=sparse.hstack(
                [sparse.csr_array(part.rows), counter.transform(map(_pairs, part.texts))],
                format="csr",
                dtype=np.float32,
            ),
        )
        for part in (holdout.train, holdout.test)
    )
    pairs = tuple(f"{first}_{second}" for _, first, second in counter.feature_names_)
    return replace(holdout, train=train, test=test, names=holdout.names + pairs)


def _pairs(texts: tuple[str, ...]) -> Counter[tuple[int, str, str]]:
    """Return how often two words follow one another, by the number of their column."""
    return Counter(
        (place, *pair) for place, text in enumerate(texts) for pair in pairwise(text.split())
    )
