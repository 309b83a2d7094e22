"""The encoding of the stream bench: what online learners and registered races see of columns."""

from __future__ import annotations

import math
import string
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from algorithms.benches.stream import Namespace, Origin
from algorithms.errors import DataError
from tasks.fetch import columns
from tasks.preprocess.categories import places, present
from tasks.preprocess.dates import known_dates, spread_dates
from tasks.preprocess.transformer import Transformer

Floats = NDArray[np.float32]
Missing = Literal["fill", "indicate", "zero", "refuse"]

NAMED_COLUMNS = 5
"""A message names so many columns with gaps."""

WORDS = 256
"""The features of a column of free text."""

INDICATORS = "missing"
"""The namespace of all indicators of gaps."""

LEARNED = ("dates_", "values_", "texts_", "names_", "sizes_", "gaps_")


@dataclass(eq=False)
class StreamEncoder(Transformer):
    """Columns as the float32 features of a stream: what online learners see.

    A number is itself, a boolean 0 or 1, a nominal value the number of the category that the
    column declares: one feature each. A date is the columns of `tasks.preprocess.dates`: the days
    are one feature; hour, weekday and month have a feature for each value that occurs, which is 1
    where the date has it. Free text is its words, hashed into `WORDS` features with signs, of
    Euclidean length 1.

    As a stream has no rows to train on, only which features there are is learned from all rows.
    `fit_transform` fills each gap by the rows before it alone; `transform` takes every row for the
    one that comes after all that were fitted.

    Attributes
    ----------
    dates_ : dict
        See `tasks.preprocess.dates.KnownDates`.
    values_ : dict of str to list of str
        Of each nominal part of a date the values that have a feature.
    texts_ : list of str
        The columns of free text.
    sizes_ : list of int
        How many features each column has.
    gaps_ : list of int
        The features that have an indicator, one of those that are missing together; none if a
        column has its name.
    filled_ : ndarray of float64, shape (6, n_features)
        See `algorithms.online.gaps`.

    Examples
    --------
    >>> rows = pd.DataFrame({"x": [0.123, None], "c": pd.Categorical(["v", "u"])})
    >>> StreamEncoder(decimals=1).fit_transform(rows).tolist()
    [[0.10000000149011612, 1.0], [0.10000000149011612, 0.0]]
    """

    most_namespaces: int = 10
    """Columns are grouped into up to so many namespaces of neighbours."""
    decimals: int | None = 6
    """Reals are rounded to so many."""
    missing: Missing = "fill"
    """See `tasks.preprocess.streaming.StreamOptions`."""

    def fit(self, frame: pd.DataFrame, y: Any = None) -> Self:
        """Learn which features there are, and what fills the gaps of rows that come next."""
        del y
        self._learn_features(frame)
        return self.follow(frame)

    def follow(self, frame: pd.DataFrame) -> Self:
        """Let these rows, and no others, say what fills the gaps of rows that come next."""
        self._forget()
        self._filled(self._numbers(frame), learns=True)
        return self

    def fit_transform(self, frame: pd.DataFrame, y: Any = None) -> Floats:
        """The features of the rows in their order, shape (n_rows, n_features)."""
        del y
        features = self._learn_features(frame)
        self._forget()
        return self._filled(features, learns=bool(np.isnan(features).any()))

    def transform(self, frame: pd.DataFrame) -> Floats:
        """The features of rows each of which could come next, shape (n_rows, n_features).

        Raises DataError: an infinite value, or a missing one where that is refused.
        """
        return self._filled(self._numbers(frame), learns=False)

    def namespaces(self) -> tuple[Namespace, ...]:
        """Groups of neighbouring columns, named a, b, c, ..., and one of all indicators."""
        ends = [0, *np.cumsum(self.sizes_).tolist()]
        spaces = [
            Namespace(space.name, ends[space.start], ends[space.stop])
            for space in namespaces(len(self.sizes_), self.most_namespaces)
        ]
        if self.gaps_:
            spaces.append(Namespace(INDICATORS, ends[-1], ends[-1] + len(self.gaps_)))
        return tuple(spaces)

    def origins(self) -> tuple[Origin, ...]:
        """What each feature is made of."""
        # By the names of the first features of what has several, or is a part.
        made = {self._names_of(name)[0]: Origin(name, "words") for name in self.texts_}
        for date, (_, parts) in self.dates_.items():
            for part in (*parts, "days"):
                made[self._names_of(f"{date} {part}")[0]] = Origin(date, part)
        found: list[Origin] = []
        for size in self.sizes_:
            first = self.names_[len(found)]
            found += [made.get(first, Origin(first))] * size
        return (*found, *(Origin(found[place].column, "missing") for place in self.gaps_))

    def state(self) -> dict[str, Any]:
        """All that was learned, as plain values."""
        learned = {name: getattr(self, name) for name in LEARNED}
        return learned | {"filled_": self.filled_.tolist()}

    def restore(self, state: Mapping[str, Any]) -> Self:
        """Go on from `state`."""
        for name in LEARNED:
            setattr(self, name, state[name])
        self.filled_ = np.array(state["filled_"])
        return self

    def _learn_features(self, frame: pd.DataFrame) -> Floats:
        """Learn which features there are; the numbers, gaps as NaN."""
        self.dates_ = known_dates(frame)
        wide = spread_dates(frame, self.dates_)
        parts = [f"{name} {part}" for name, (_, parts) in self.dates_.items() for part in parts]
        self.values_ = {name: present(wide[name]) for name in parts}
        self.texts_ = [str(name) for name, column in wide.items() if columns.is_text(column)]
        named = [self._names_of(str(name)) for name in wide]
        self.sizes_ = list(map(len, named))
        self.names_ = list(chain.from_iterable(named))
        self.gaps_: list[int] = []
        features = self._numbers(frame)
        gaps = np.isnan(features)
        if self.missing in ("fill", "indicate") and gaps.any():
            from algorithms.online.gaps import FEW, indicator

            # Columns that are missing together have one.
            seen = {gaps[:, j].tobytes(): j for j in reversed(np.flatnonzero(gaps.any(axis=0)))}
            if self.missing == "indicate" or len(seen) <= len(self.sizes_) / FEW:
                told = {place: indicator(self.names_[place]) for place in sorted(seen.values())}
                made = {place: name for place, name in told.items() if name not in self.names_}
                self.gaps_ = list(map(int, made))
                self.names_ += made.values()
        return features

    def _names_of(self, name: str) -> list[str]:
        """The features of a column."""
        if name in self.texts_:
            return [f"{name} #{place}" for place in range(WORDS)]
        return (
            [f"{name}={value}" for value in self.values_[name]] if name in self.values_ else [name]
        )

    def _numbers(self, frame: pd.DataFrame) -> Floats:
        """A number for each column and row, or several; gaps are NaN."""
        if self.missing == "refuse":
            _refuse_gaps(frame)
        features = np.empty((len(frame), sum(self.sizes_)), dtype=np.float32)
        start = 0
        for (name, column), size in zip(
            spread_dates(frame, self.dates_).items(), self.sizes_, strict=True
        ):
            if name in self.values_:
                at = places(column, self.values_[str(name)])
                features[:, start : start + size] = at[:, None] == np.arange(size)
            elif name in self.texts_:
                features[:, start : start + size] = _words(column)
            else:
                features[:, start] = _feature(column, self.decimals)
            start += size
        return features

    def _forget(self) -> None:
        """Go back to where no row was seen that fills a gap."""
        self.filled_ = np.zeros((6, sum(self.sizes_)))

    def _filled(self, features: Floats, *, learns: bool) -> Floats:
        """`features` without gaps, and their indicators."""
        gaps = np.isnan(features)
        if self.missing == "zero":
            features[gaps] = 0
        elif learns or gaps.any():
            from algorithms.online.gaps import fill_gaps  # numba, which few streams need

            fill_gaps(features, self.filled_, learns)
        return np.hstack([features, gaps[:, self.gaps_]]) if self.gaps_ else features


def namespaces(n_columns: int, most: int) -> tuple[Namespace, ...]:
    """Up to `most` groups of ceil(n_columns / most) neighbouring columns, named a, b, c, ...

    Examples
    --------
    >>> [(space.name, space.start, space.stop) for space in namespaces(5, 3)]
    [('a', 0, 2), ('b', 2, 4), ('c', 4, 5)]
    """
    size = math.ceil(n_columns / most)
    starts = range(0, n_columns, size)
    return tuple(
        Namespace(letter, start, min(start + size, n_columns))
        for letter, start in zip(string.ascii_letters, starts, strict=False)
    )


def _refuse_gaps(frame: pd.DataFrame) -> None:
    """DataError that names the columns with missing values, if there are any."""
    gaps = frame.isna()
    names = [repr(name) for name in frame.columns[gaps.any()]]
    if names:
        more = f" and {len(names) - NAMED_COLUMNS} more" if len(names) > NAMED_COLUMNS else ""
        listed = ", ".join(names[:NAMED_COLUMNS]) + more
        subject = f"column {listed} is" if len(names) == 1 else f"columns {listed} are"
        raise DataError(
            f"{subject} missing (NaN) in {gaps.any(axis=1).sum()} rows, which missing=refuse"
            " forbids: impute them, or leave that option out"
        )


def _words(column: pd.Series) -> NDArray[Any]:
    """The words of texts, counted by their hashes; none where a text is missing."""
    from sklearn.feature_extraction.text import HashingVectorizer  # a second that few streams need

    counted = HashingVectorizer(n_features=WORDS).transform(column.fillna("").astype(str))
    return np.asarray(counted.toarray())


def _feature(column: pd.Series, decimals: int | None) -> NDArray[Any]:
    """One column as numbers, rounded; DataError where it cannot be a stream's feature."""
    if columns.is_nominal(column):
        codes = column.cat.codes.to_numpy()
        return np.where(codes < 0, np.nan, codes)
    values = column.to_numpy()
    if columns.is_infinite(values):
        raise DataError(f"column {column.name!r} has infinite values (beyond 3.4e38): a stream"
                        " takes finite ones, drop those rows")  # fmt: skip
    if decimals is not None and values.dtype.kind == "f":
        values = np.round(values.astype(np.float64), decimals)
    return values
