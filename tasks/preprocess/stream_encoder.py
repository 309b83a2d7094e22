"""Feature encoding of streams: the one of dictionaries, and that of ChaCha's authors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.environments.stream import Namespace, Origin
from leaseboard.algorithms.errors import DataError
from leaseboard.algorithms.tables.values import FLAGS, text_of
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.preprocess.encoding import Transformer, coded, reals

if TYPE_CHECKING:  # its kernels cost half a second, and only streams need them
    from leaseboard.algorithms.tables.column_features import Column

Floats = NDArray[np.float32]
Encoding = Literal["one-hot", "codes"]
Missing = Literal["fill", "zero"]


@dataclass(eq=False)
class StreamEncoder(Transformer):
    """Encoder of columns as float32 features of a stream, as `FeatureMap` encodes dictionaries.

    As a stream has no rows to train on, nothing of a row depends on those after it: a feature
    begins with the first row that has it, and a gap is filled by the rows before it alone.
    `transform` takes every row for the one that comes after all that were fitted, and adds no
    feature.

    With ``encoding="codes"`` a category is the number that its column declares for it, and
    columns are named by their numbers, as ChaCha's authors wrote their data for Vowpal Wabbit.

    Attributes
    ----------
    features_ : ColumnFeatures
    columns_ : list of str
    births_ : tuple of int
        See `leaseboard.algorithms.environments.stream.Stream.births`.

    Examples
    --------
    >>> rows = pd.DataFrame({"x": [0.123, None], "c": pd.Categorical(["v", "u"])})
    >>> StreamEncoder(decimals=1).fit_transform(rows).tolist()
    [[1.0, 0.10000000149011612, 0.0], [0.0, 0.10000000149011612, 1.0]]
    >>> StreamEncoder(encoding="codes").fit_transform(rows)[:, 1].tolist()
    [1.0, 0.0]
    """

    encoding: Encoding = "one-hot"
    most_namespaces: int = 10
    """Features are grouped into up to so many namespaces."""
    decimals: int | None = None
    """Reals are rounded to so many."""
    missing: Missing = "fill"
    """See `leaseboard.tasks.preprocess.streaming.StreamOptions`."""

    def fit(self, frame: pd.DataFrame, y: Any = None) -> Self:
        """Learn which features there are, and what fills the gaps of rows that come next."""
        self.fit_transform(frame, y)
        return self

    def fit_transform(self, frame: pd.DataFrame, y: Any = None) -> Floats:
        """Return the features of the rows in their order, shape (n_rows, n_features)."""
        del y
        from leaseboard.algorithms.tables.column_features import ColumnFeatures

        self.columns_ = [str(name) for name in frame]
        self.features_ = ColumnFeatures(None, self.most_namespaces)
        rows, births = self._encode(frame, learns=True)
        self.births_ = tuple(births.tolist())
        return rows

    def transform(self, frame: pd.DataFrame) -> Floats:
        """Return the features of rows each of which could come next, (n_rows, n_features).

        Raises DataError for an infinite value.
        """
        return self._encode(frame, learns=False)[0]

    def _encode(self, frame: pd.DataFrame, *, learns: bool) -> tuple[Floats, NDArray[np.intp]]:
        as_codes = self.encoding == "codes"
        given: dict[str, Column] = {}
        for place, (name, column) in enumerate(frame.items()):
            nominal = as_codes and columns.is_nominal(column)
            values = as_column(column.cat.codes.where(column.notna()) if nominal else column)
            if isinstance(values, np.ndarray) and values.dtype.kind == "f":
                if self.missing == "zero":
                    values = np.nan_to_num(values)
                if self.decimals is not None:
                    values = np.round(values, self.decimals)
            given[str(place if as_codes else name)] = values
        try:
            return self.features_.encode(given, learns=learns)
        except ValueError as error:
            raise DataError(str(error)) from error

    def names(self) -> tuple[str, ...]:
        """Return what the features are called in Vowpal Wabbit."""
        return self.features_.schema().features

    def namespaces(self) -> tuple[Namespace, ...]:
        """Return the runs of neighbouring features of one group."""
        schema = self.features_.schema()
        home = {c: name for name, own in zip(schema.namespaces, schema.columns, strict=True)
                for c in own}  # fmt: skip
        runs = [(name, [*run]) for name, run in groupby(sorted(home), key=home.__getitem__)]
        return tuple(Namespace(name, run[0], run[-1] + 1) for name, run in runs)

    def origins(self) -> tuple[Origin, ...]:
        """Return what each feature is made of."""
        made = self.features_.schema().origins
        if self.encoding == "one-hot":
            return made
        return tuple(replace(of, column=self.columns_[int(of.column)]) for of in made)

    def state(self) -> dict[str, Any]:
        """Return all that was learned, as plain values."""
        features = self.features_.state()
        gaps = features["gaps"].tolist()
        return {"columns": self.columns_, "features": features | {"gaps": gaps}}

    def restore(self, state: Mapping[str, Any]) -> Self:
        """Go on from `state`."""
        self.columns_ = state["columns"]
        from leaseboard.algorithms.tables.column_features import ColumnFeatures

        self.features_ = ColumnFeatures.restored(state["features"])
        return self


def as_column(column: pd.Series) -> Column:
    """Return a tidy column as `ColumnFeatures` takes it; a flag with gaps is a number.

    Raises DataError for an infinite value.
    """
    from leaseboard.algorithms.tables.column_features import Texts

    if columns.is_date(column):
        return column.to_numpy().astype("datetime64[us]")
    if is_flag(column):
        column = column.astype(object).map(FLAGS).astype("float64")
    if columns.is_nominal(column) or columns.is_text(column):
        codes, labels = coded(column)
        return Texts(codes, [text_of(label) for label in labels])
    return reals(column)


def is_flag(column: pd.Series) -> bool:
    """Return whether the categories of a column are true and false, however they are written."""
    return columns.is_nominal(column) and {*column.cat.categories} <= FLAGS.keys()
