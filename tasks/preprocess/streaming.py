"""From a `Dataset` to the `Stream` that online learners see."""

import string
from collections.abc import Hashable, Sequence
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from leaseboard.algorithms import seeds
from leaseboard.algorithms.environments.arrival import IMMEDIATE, Arrival
from leaseboard.algorithms.environments.stream import MOST_CLASSES, Stream
from leaseboard.algorithms.errors import DataError, unknown
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.preprocess.encoding import naming
from leaseboard.tasks.preprocess.stream_encoder import Encoding, Missing, StreamEncoder

LOST = 1e-3
"""Share of its standard deviation that a target may lose: a millionth of the loss of its mean."""


FLOAT32 = np.finfo(np.float32)


def in_float32(target: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return `target` as float32.

    Raises DataError if it is missing; if a value is beyond the range of float32; or if float32
    cannot distinguish its values, as of a timestamp: the score would be of another target than was
    given.

    Examples
    --------
    >>> in_float32(np.array([0.1, 2.0])).tolist()
    [0.10000000149011612, 2.0]
    """
    if not len(target):
        raise DataError("the target has 0 values: give at least one row")
    with np.errstate(over="ignore", under="ignore"):
        narrow = target.astype(np.float32)
    beyond = np.isinf(narrow)
    if beyond.any():
        raise DataError(
            f"the target has the value {float(target[beyond][0]):.9g}, beyond the range of"
            f" float32, {float(FLOAT32.max):.3g} either way: rescale it"
        )
    lost, spread = float(np.abs(narrow - target).max()), float(target.std())
    # The deviation of equal values need not be 0: their mean is rounded.
    if target.min() < target.max() and not lost <= LOST * spread:
        fix = "subtract a constant" if spread >= FLOAT32.tiny else "rescale it"
        raise DataError(
            f"the target's values lie around {float(np.median(target)):.9g} with a standard"
            f" deviation of {spread:.3g}: float32 cannot distinguish them, {fix}"
        )
    return narrow


LOG_THRESHOLD = 100
"""Targets that reach so far are log-transformed (Wu et al. 2021, A.1)."""


class StreamOptions(BaseModel):
    """Options of a dataset as a stream.

    ChaCha's authors: ``encoding: codes``, ``decimals: 6``, ``log_target: code``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    encoding: Encoding = "one-hot"
    """``one-hot``: a feature for each category, of a date for its parts, as
    `leaseboard.algorithms.tables.features.FeatureMap` has it. ``codes``: a category is its
    number.
    """
    max_rows: Annotated[int, Field(ge=2)] | None = None
    """Only the first so many rows; None for all. ChaCha's authors take 100,000."""
    namespaces: Annotated[int, Field(ge=1, le=len(string.ascii_letters))] = 10
    """At most so many groups of ceil(d / namespaces) features that are neighbours by name."""
    log_target: bool | Literal["code"] = False
    """False learns the target itself, True its logarithm. ``code`` is the rule of ChaCha's
    authors' code: log where max(range, maximum) >= 100."""
    decimals: Annotated[int, Field(ge=0, le=15)] | None = None
    """Features are rounded to so many decimals, as the authors' text files are to 6."""
    shuffle: bool = False
    """Permute the rows by the environment's seed, before `max_rows` is applied."""
    missing: Missing = "fill"
    """Treatment of a missing number. ``fill``: what the rows before let expect, and 1 in an
    indicator feature if few columns have gaps (`leaseboard.algorithms.tables.gaps`). ``zero``: 0,
    which a linear model ignores."""
    labels: Annotated[str, AfterValidator(lambda text: str(Arrival.parse(text)))] = IMMEDIATE
    """When labels arrive, see `leaseboard.algorithms.environments.arrival`."""

    @property
    def arrival(self) -> Arrival:
        """The rule that `labels` names."""
        return Arrival.parse(self.labels)

    def encoder(self) -> StreamEncoder:
        """Return the encoder of the columns."""
        return StreamEncoder(self.encoding, self.namespaces, self.decimals, self.missing)


def as_stream(dataset: Dataset, options: StreamOptions | None = None, seed: int = 0) -> Stream:
    """Return the examples of `dataset` in order, features encoded, target transformed.

    Columns become features as `StreamEncoder` says. A regression's target is log-transformed by
    the rule of `options.log_target`, decided on the whole dataset; `class_labels` makes labels
    of classes.

    Raises DataError: too few or too many classes come, an infinite value, or a target that float32
    cannot distinguish; UsageError: the column with which labels arrive is not there.
    """
    options = options or StreamOptions()
    order, encoder = order_of(dataset, options, seed), options.encoder()
    shift, classes = None, ()
    if dataset.task == "classification":
        labels, classes = class_labels(dataset, order)
    else:
        labels, shift = _numbers(dataset, options)
        labels = labels[order]
    with naming(dataset.reference):
        features = encoder.fit_transform(dataset.features.iloc[order])
        narrow = in_float32(labels)
    many = classes if len(classes) > 2 else ()
    spaces, names = encoder.namespaces(), encoder.names()
    return Stream(features, narrow, spaces, names, dataset.task, shift, many, encoder.origins(),
                  encoder.births_, moments_of(dataset, order, options.arrival.column))  # fmt: skip


def moments_of(
    dataset: Dataset, order: slice | NDArray[np.int64], column: str
) -> NDArray[np.int64] | None:
    """Return numbers of the values of the column with which labels arrive, if there is one."""
    if not column:
        return None
    if column not in dataset.features:
        raise unknown("column of labels with=", column, [*dataset.features])
    return np.asarray(pd.factorize(dataset.features[column].iloc[order])[0])


def class_labels(
    dataset: Dataset, order: slice | NDArray[np.int64]
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return the labels of the rows that come, and the names of the classes in their order.

    Two classes become -1 and 1 in the order of the categories, more are numbered in the order in
    which they come. The rows that come decide how many they are, but a dataset of two keeps both.

    Raises DataError if one class comes of several, or more than `MOST_CLASSES`.
    """
    names = [str(name) for name in dataset.target.cat.categories]
    codes = dataset.target.cat.codes.to_numpy()[order].astype(np.float64)
    present = np.arange(2) if len(names) == 2 else np.unique(codes).astype(int)
    if len(present) == 2:
        return np.where(codes == present[1], 1.0, -1.0), tuple(names[code] for code in present)
    if 2 < len(present) <= MOST_CLASSES:
        return by_coming(codes, names)
    target = f"{dataset.reference}: target {dataset.target.name!r}"
    if len(present) == 1:
        raise DataError(
            f"{target} is {names[present[0]]!r} in all {len(codes)} rows that come, of"
            f" {len(names)} classes: raise max_rows, or take shuffle=true"
        )
    fix = "name another column with target="
    if all(columns.is_numeral(name) for name in names):
        fix = "take its numbers with task=regression, or two classes with threshold="
    raise DataError(
        f"{target} has {len(present)} classes: a stream takes a regression or 2 to"
        f" {MOST_CLASSES} classes; {fix}"
    )


def by_coming(
    codes: NDArray[np.float64], categories: Sequence[Hashable]
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return classes numbered in the order in which they come, and the names of those that do.

    Examples
    --------
    >>> by_coming(np.array([2.0, 0.0, 2.0]), ["a", "b", "c"])
    (array([0., 1., 0.]), ('c', 'a'))
    """
    present, first, places = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    numbers = np.argsort(order).astype(np.float64)
    return numbers[places], tuple(str(categories[int(code)]) for code in present[order])


def order_of(dataset: Dataset, options: StreamOptions, seed: int) -> slice | NDArray[np.int64]:
    """Return the rows of `dataset` in the order in which they come."""
    order = slice(options.max_rows)
    if not options.shuffle:
        return order
    return seeds.generator(seed, "stream order").permutation(len(dataset.target))[order]


def needs_log(target: NDArray[np.float64], rule: bool | str) -> bool:
    """Return whether `rule` log-transforms a target with these values."""
    if isinstance(rule, bool):
        return rule
    low, high = float(target.min()), float(target.max())
    return max(high - low, high) >= LOG_THRESHOLD


def log_shift(target: NDArray[np.float64]) -> float:
    """Return what `log_target` adds to a target before it takes the logarithm."""
    low = float(target.min())
    return abs(low) + 1 if low <= 0 else 0.0


def log_target(target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of y, or of y + |min y| + 1 where the least y is not positive.

    Examples
    --------
    >>> log_target(np.array([-1.0, 0.0])).round(4).tolist()
    [0.0, 0.6931]
    """
    from leaseboard.algorithms.transcendental import log_all

    low = target.min()
    shifted = target + abs(low) + 1 if low <= 0 else target
    return np.asarray(log_all(shifted), dtype=np.float64)


def from_log(logarithms: NDArray[np.float64], shift: float) -> NDArray[np.float64]:
    """Return the inverse of `log_target` for a target that was shifted by `shift`."""
    from leaseboard.algorithms.transcendental import exp_all

    return exp_all(logarithms) - shift


def _numbers(dataset: Dataset, options: StreamOptions) -> tuple[NDArray[np.float64], float | None]:
    """Return the labels of a regression, and what was added to those that are logarithms."""
    target = dataset.target.to_numpy(dtype=np.float64)
    if needs_log(target, options.log_target):
        return log_target(target), log_shift(target)
    return target, None
