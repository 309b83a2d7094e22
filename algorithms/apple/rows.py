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

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaseboard.algorithms.arrays import Doubles, Floats
from leaseboard.algorithms.environments.holdout import Holdout, Rows
from leaseboard.algorithms.errors import DataError, SkipError

DENSE_ENOUGH = 1 / 3
"""Rows fuller than this are kept dense: a plan's product costs a third of a table look-up."""

LARGEST_LABEL = 1e15
"""The squared gradient of a larger label leaves float32."""


def as_rows(matrix: Any) -> Rows:
    """Return a sparse matrix in the form that the kernels read, see `DENSE_ENOUGH`.

    Raises
    ------
    DataError
        If a value is missing or infinite, as float32 has it.
    """
    with np.errstate(over="ignore"):
        rows = sparse.csr_array(matrix, dtype=np.float32)
    finite = np.isfinite(rows.data)
    if not finite.all():
        cells, bad = rows.tocoo(), np.argmin(finite)
        raise DataError(
            f"feature {cells.col[bad]} of row {cells.row[bad]} is {cells.data[bad]} in float32:"
            " features must be finite; impute missing values and rescale huge ones"
        )
    full = np.count_nonzero(rows.data) > DENSE_ENOUGH * math.prod(rows.shape)
    return rows.toarray() if full else rows


@dataclass(frozen=True)
class Examples:
    """Rows with a row of targets for each learner."""

    rows: Rows
    targets: Floats

    def __len__(self) -> int:
        return self.targets.shape[1]

    def at(self, places: slice) -> "Examples":
        """Return the examples at `places`."""
        return Examples(self.rows[places], self.targets[:, places])

    @cached_property
    def scale(self) -> Doubles:
        """The columns' scales."""
        return column_scales(self.rows)


def column_scales(rows: Rows) -> Doubles:
    """Return the power of two that brings each column's largest magnitude into (1/2, 1].

    Examples
    --------
    >>> column_scales(np.array([[0.0, 1.0, -3.0, 0.25]]))
    array([1.  , 1.  , 0.25, 4.  ])
    """
    magnitude = np.zeros(rows.shape[1])
    if sparse.issparse(rows):
        with np.errstate(invalid="ignore"):  # NaN is refused later, with its row
            np.maximum.at(magnitude, rows.indices, np.abs(rows.data, dtype=np.float64))
    else:
        magnitude[:] = np.maximum(rows.max(axis=0, initial=0), -rows.min(axis=0, initial=0))
    mantissa, exponent = np.frexp(magnitude)
    exponent = np.where(mantissa == 0.5, exponent - 1, exponent)
    return np.where(magnitude > 0, np.ldexp(1.0, -exponent), 1.0)


def check_labels(labels: NDArray[Any]) -> None:
    """Raise DataError for a label outside the domain of the squared loss in float32."""
    bad = np.flatnonzero(~(np.abs(labels) <= LARGEST_LABEL))
    if len(bad):
        raise DataError(
            f"label {labels[bad[0]]} of row {bad[0]} is outside the squared loss's domain:"
            f" labels must be finite and at most {LARGEST_LABEL:g} in magnitude; rescale them"
        )


CLIP = 0.05
"""Percent of the values at either end, as the paper's figure for its set of EEG needs it."""


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
    def fitted(cls, values: NDArray[np.floating], clip: float, scale: bool) -> Self:
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
        values = values.astype(np.float64)
        if np.count_nonzero(values) <= DENSE_ENOUGH * len(values):
            largest = float(np.abs(values).max(initial=0.0))
            return cls(spread=largest or 1.0) if scale else cls()
        if ((values == 0) | (values == 1)).all():
            return cls()
        low, high = (
            np.percentile(values, [clip, 100 - clip]).tolist() if clip else (-np.inf, np.inf)
        )
        values = np.clip(values, low, high)
        mean, spread = float(values.mean()), float(values.std())
        return cls(low, high, mean, spread or 1.0) if scale else cls(low, high)

    def of(self, values: NDArray[np.floating]) -> Doubles:
        """Return the values, treated so."""
        clipped = np.clip(values.astype(np.float64), self.low, self.high)
        return np.asarray((clipped - self.shift) / self.spread)


def targets_of(labels: NDArray[Any], n_classes: int = 0) -> Floats:
    """Return what is learned, a row for each learner, shape (n_targets, n_examples).

    The labels themselves; of three and more classes 1 for each class's own, -1 for others.

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
