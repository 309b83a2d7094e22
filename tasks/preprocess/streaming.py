"""From a `Dataset` to the `Stream` that online learners see."""

from __future__ import annotations

import math
import string
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from algorithms import seeds
from algorithms.benches.stream import Namespace, Stream
from algorithms.errors import DataError
from tasks.fetch import columns
from tasks.fetch.dataset import Dataset
from tasks.preprocess.targets import in_float32
from tasks.preprocess.transformer import Transformer, naming

LOG_THRESHOLD = 100
"""Targets that reach so far are log-transformed (Wu et al. 2021, A.1)."""

NAMED_COLUMNS = 5
"""A message names so many columns with gaps."""


class StreamOptions(BaseModel):
    """How a data set becomes a stream; the defaults are those of ChaCha's authors.

    Attributes
    ----------
    max_rows : int, optional
        Only the first so many rows; None for all.
    namespaces : int
        At most so many groups of ceil(d / namespaces) neighbouring columns.
    log_target : bool or {"code", "paper"}
        ``code``, the rule of the authors' code: log where max(range, maximum) >= 100.
        ``paper``, the rule of the paper's text: log where the maximum > 100. True and False
        transform always and never.
    decimals : int, optional
        Features are rounded to so many decimals, as the authors' text files are; None: not.
    shuffle : bool
        Permute the rows by the environment's seed, before `max_rows` is applied.
    missing : {"refuse", "zero"}
        What a missing feature is: an error, or 0, which a linear model passes over.

    Notes
    -----
    The two readings of the log rule differ where the maximum is exactly 100 (OpenML 201, whose
    published loss needs the transformation) and where a target reaches far below zero; so the
    code's is the default.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_rows: Annotated[int, Field(ge=2)] | None = 100_000
    namespaces: Annotated[int, Field(ge=1, le=len(string.ascii_letters))] = 10
    log_target: bool | Literal["code", "paper"] = "code"
    decimals: Annotated[int, Field(ge=0, le=15)] | None = 6
    shuffle: bool = False
    missing: Literal["refuse", "zero"] = "refuse"

    def encoder(self) -> StreamEncoder:
        """What makes features of the columns."""
        return StreamEncoder(self.decimals, self.missing)


def as_stream(dataset: Dataset, options: StreamOptions | None = None, seed: int = 0) -> Stream:
    """The examples of `dataset` in order, features as written, target transformed.

    Nominal columns become their category codes, booleans 0 and 1. A regression's target is
    log-transformed by the rule of `options.log_target`, decided on the whole data set; two
    classes become -1 and 1 in the order of the categories.

    Raises
    ------
    DataError
        More than two classes, a text column, a missing or an infinite value, or a target that
        float32 cannot tell apart.
    """
    options = options or StreamOptions()
    labels = _labels(dataset, options)
    order: slice | NDArray[np.int64] = slice(options.max_rows)
    if options.shuffle:
        order = seeds.generator(seed, "stream order").permutation(len(labels))[order]
    with naming(dataset.reference):
        features = options.encoder().fit_transform(dataset.features.iloc[order])
        told = in_float32(labels[order])
    return Stream(
        features=features,
        labels=told,
        namespaces=namespaces(features.shape[1], options.namespaces),
        names=tuple(dataset.features.columns),
        task=dataset.task,
    )


@dataclass(eq=False)
class StreamEncoder(Transformer):
    """Columns as the float32 features of a stream, one each: what online learners see.

    A number is itself, a boolean 0 or 1, a nominal value the number of the category that the
    column declares. Nothing is learned from rows, as a stream has none to train on.

    Parameters
    ----------
    decimals : int, optional
        Reals are rounded to so many.
    missing : {"refuse", "zero"}
        What a missing value is: an error, or 0.

    Examples
    --------
    >>> rows = pd.DataFrame({"x": [0.123, 2.0], "c": pd.Categorical(["v", "u"])})
    >>> StreamEncoder(decimals=1).fit_transform(rows).tolist()
    [[0.10000000149011612, 1.0], [2.0, 0.0]]
    """

    decimals: int | None = 6
    missing: Literal["refuse", "zero"] = "refuse"

    def fit(self, frame: pd.DataFrame, y: Any = None) -> Self:
        """Nothing."""
        del frame, y
        return self

    def transform(self, frame: pd.DataFrame) -> NDArray[np.float32]:
        """The features of the rows, shape (n_rows, n_columns).

        Raises
        ------
        DataError
            A text column, a missing or an infinite value.
        """
        if self.missing == "refuse":
            _refuse_gaps(frame)
        features = np.empty((len(frame), frame.shape[1]), dtype=np.float32)
        for position, (_, column) in enumerate(frame.items()):
            features[:, position] = _feature(column, self.decimals)
        return features


def namespaces(n_features: int, most: int) -> tuple[Namespace, ...]:
    """Up to `most` groups of ceil(n_features / most) neighbouring columns, named a, b, c, ...

    Examples
    --------
    >>> [(space.name, space.start, space.stop) for space in namespaces(5, 3)]
    [('a', 0, 2), ('b', 2, 4), ('c', 4, 5)]
    """
    size = math.ceil(n_features / most)
    starts = range(0, n_features, size)
    return tuple(
        Namespace(letter, start, min(start + size, n_features))
        for letter, start in zip(string.ascii_letters, starts, strict=False)
    )


def needs_log(target: NDArray[np.float64], rule: bool | str) -> bool:
    """Whether `rule` asks to log-transform a target with these values."""
    if isinstance(rule, bool):
        return rule
    low, high = float(target.min()), float(target.max())
    return high > LOG_THRESHOLD if rule == "paper" else max(high - low, high) >= LOG_THRESHOLD


def log_shift(target: NDArray[np.float64]) -> float:
    """What `log_target` adds to a target before it takes the logarithm."""
    low = float(target.min())
    return abs(low) + 1 if low <= 0 else 0.0


def log_target(target: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logarithm of y, or of y + |min y| + 1 where the least y is not positive.

    Examples
    --------
    >>> log_target(np.array([-1.0, 0.0])).round(4).tolist()
    [0.0, 0.6931]
    """
    low = target.min()
    shifted = target + abs(low) + 1 if low <= 0 else target
    return np.asarray(np.log(shifted), dtype=np.float64)


def from_log(logarithms: NDArray[np.float64], shift: float) -> NDArray[np.float64]:
    """The inverse of `log_target` for a target that was shifted by `shift`."""
    return np.exp(logarithms) - shift


def _labels(dataset: Dataset, options: StreamOptions) -> NDArray[np.float64]:
    if dataset.task == "regression":
        target = dataset.target.to_numpy(dtype=np.float64)
        return log_target(target) if needs_log(target, options.log_target) else target
    classes = dataset.target.cat.categories
    if len(classes) != 2:
        mend = "name a numeric column, or one of two classes, with target="
        if all(columns.is_numeral(name) for name in classes):
            mend = "take its numbers with task=regression, or two classes with threshold="
        raise DataError(
            f"{dataset.reference}: target {dataset.target.name!r} has {len(classes)} classes:"
            f" a stream takes a regression or two classes; {mend}"
        )
    return 2.0 * dataset.target.cat.codes.to_numpy() - 1.0


def _refuse_gaps(frame: pd.DataFrame) -> None:
    """DataError that names the columns with missing values, if there are any."""
    gaps = frame.isna()
    names = [repr(name) for name in frame.columns[gaps.any()]]
    if names:
        more = f" and {len(names) - NAMED_COLUMNS} more" if len(names) > NAMED_COLUMNS else ""
        listed = ", ".join(names[:NAMED_COLUMNS]) + more
        subject = f"column {listed} is" if len(names) == 1 else f"columns {listed} are"
        raise DataError(
            f"{subject} missing (NaN) in {gaps.any(axis=1).sum()} rows: impute them,"
            " or count them 0 with --set missing=zero (in a suite bench: {missing: zero})"
        )


def _feature(column: pd.Series, decimals: int | None) -> NDArray[Any]:
    """One column as numbers, rounded; DataError where it cannot be a stream's feature."""
    if columns.is_text(column):
        raise DataError(f"column {column.name!r} holds free text: a stream takes numbers and"
                        " nominal values, drop or encode it")  # fmt: skip
    if columns.is_nominal(column):
        values = column.cat.codes.to_numpy()
        missing = values < 0
    else:
        values = column.to_numpy()
        missing = np.isnan(values)
    if columns.is_infinite(values):
        raise DataError(f"column {column.name!r} has infinite values (beyond 3.4e38): a stream"
                        " takes finite ones, drop those rows")  # fmt: skip
    if missing.any():
        values = np.where(missing, 0, values)
    if decimals is not None and values.dtype.kind == "f":
        values = np.round(values.astype(np.float64), decimals)
    return values
