"""From a `Dataset` to a `Stream`, and what all encoders share: labels, and parts of dates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from leaseboard.algorithms import seeds
from leaseboard.algorithms.environments.arrival import IMMEDIATE, Arrival
from leaseboard.algorithms.environments.stream import MOST_CLASSES, Stream
from leaseboard.algorithms.errors import DataError, unknown
from leaseboard.algorithms.tables.values import FLAGS, WEEKDAYS, date_parts, label, text_of
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.fetch.dataset import Dataset

if TYPE_CHECKING:
    from leaseboard.algorithms.tables.features import Column


@contextmanager
def naming(reference: str) -> Iterator[None]:
    """Begin errors about data that cannot be encoded with their name."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{reference}: {error}") from error


@contextmanager
def data_errors() -> Iterator[None]:
    """Raise errors about an example or a label as faults of the table."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise DataError(str(error)) from error


Places = NDArray[np.intp]


def declared(column: pd.Series) -> list[str]:
    """Return the labels of all categories of a nominal column, in their order."""
    return [label(value) for value in column.cat.categories]


def present(column: pd.Series) -> list[str]:
    """Return the labels that occur: in declared order, or sorted where a column declares none.

    Examples
    --------
    >>> present(pd.Series(["u", None, "b"]))
    ['b', 'u']
    """
    codes, labels = coded(column)
    found = [labels[code] for code in np.unique(codes[codes >= 0])]
    return list(dict.fromkeys(found if columns.is_nominal(column) else sorted(found)))


def places(column: pd.Series, known: Sequence[str]) -> Places:
    """Return the place of each value's label in `known`, shape (n_rows,); -1 if it is not there.

    Examples
    --------
    >>> places(pd.Series(["u", None, "new", "b"]), ["b", "u"]).tolist()
    [1, -1, -1, 0]
    """
    codes, labels = coded(column)
    place = {label: number for number, label in enumerate(known)}
    # The last entry is that of code -1, a missing value.
    table = np.array([*(place.get(label, -1) for label in labels), -1], dtype=np.intp)
    return table[codes]


def coded(column: pd.Series) -> tuple[Places, list[str]]:
    """Return a number for each row, -1 where it is missing, and the label of each number."""
    if columns.is_nominal(column):
        return column.cat.codes.to_numpy().astype(np.intp), declared(column)
    codes, values = pd.factorize(column)  # labels are made once a value, not once a row
    return codes.astype(np.intp), [label(value) for value in values]


LABELS = {
    "hour": tuple(map(str, range(24))),
    "weekday": WEEKDAYS,
    "month": tuple(map(str, range(1, 13))),
}
"""The nominal parts of a date with their values in order."""

YEARDAY = "yearday"
"""And a number."""

KnownDates = dict[str, tuple[float, list[str], bool | None]]
"""Of each column of dates its first day, those of its `LABELS` and `YEARDAY` that vary, and in
which order its texts are (`leaseboard.algorithms.tables.column_types.shows_day_first`)."""

EVERY = slice(None)

MISSING = np.iinfo(np.int64).min
"""NumPy's NaT as a number."""


def known_dates(frame: pd.DataFrame, rows: Any = EVERY) -> KnownDates:
    """Return what `spread_dates` must know of the training rows: `frame`, or `rows` of it."""
    found: KnownDates = {}
    for name, column in frame.items():
        dates = columns.as_dates(column)
        if dates is None:
            continue
        times = dates.iloc[rows].dropna().to_numpy().astype(np.int64)
        parts = date_parts(times)
        first = float(parts.days[0]) if len(times) else 0.0
        varying = [part for part in LABELS if len(times) and np.ptp(getattr(parts, part))]
        if len(times) and np.ptp(parts.yearday - parts.days // 1):  # days of one year say the same
            varying.append(YEARDAY)
        found[str(name)] = first, varying, columns.day_order(column)
    return found


def spread_dates(frame: pd.DataFrame, known: KnownDates) -> pd.DataFrame:
    """Return `frame` with columns for the parts of each date that vary, and one of days.

    Nominal columns of ``t`` are called ``t hour``, ``t weekday`` and ``t month``; numbers are
    ``t yearday``, the day of the year, where the training rows are of several years, and
    ``t days`` since the first training row.

    Raises DataError if another column has the name of one that is made.

    Examples
    --------
    >>> rows = pd.DataFrame({"t": pd.to_datetime(["2024-02-29 06:00", "2024-03-01 18:00"])})
    >>> spread_dates(rows, known_dates(rows)).iloc[1].to_dict()
    {'t hour': '18', 't weekday': 'friday', 't month': '3', 't days': 1.5}
    """
    if not known:
        return frame
    made: dict[str, Any] = {}
    for name, column in frame.items():
        if name not in known:
            made[str(name)] = column
            continue
        first, varying, day_first = known[str(name)]
        for part in (*varying, "days"):
            taken = f"{name} {part}"
            if taken in frame and taken not in known:
                raise DataError(
                    f"column {taken!r} is also made of the dates {str(name)!r}: rename it"
                )
        times = columns.require_dates(column, day_first).to_numpy().astype(np.int64)
        missing = times == MISSING
        parts = date_parts(np.where(missing, 0, times))
        for part in varying:
            if part == YEARDAY:
                made[f"{name} {part}"] = np.where(missing, np.nan, parts.yearday)
                continue
            codes = np.where(missing, -1, getattr(parts, part) - (part == "month"))
            nominal = pd.Categorical.from_codes(codes, list(LABELS[part]))
            made[f"{name} {part}"] = pd.Series(nominal, frame.index)
        made[f"{name} days"] = np.where(missing, np.nan, parts.days - first)
    return pd.DataFrame(made, index=frame.index, copy=False)


def reals(column: pd.Series) -> NDArray[np.float64]:
    """Return a column of numbers, missing ones as NaN; see `columns.as_numbers`."""
    return columns.as_numbers(column).to_numpy(np.float64, na_value=np.nan)


Order = slice | NDArray[np.int64]

LOST = 1e-3
"""Share of its standard deviation that a target may lose: a millionth of the loss of its mean."""

FLOAT32 = np.finfo(np.float32)

LOG_THRESHOLD = 100
"""Targets that reach so far are log-transformed (Wu et al. 2021, A.1)."""


class StreamOptions(BaseModel):
    """Options of a dataset as a stream.

    ChaCha's authors: ``encoding: codes``, ``decimals: 6``, ``log_target: code``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    encoding: Literal["one-hot", "codes"] = "one-hot"
    """``one-hot``: a feature for each category, of a date for its parts, as
    `leaseboard.algorithms.tables.features.FeatureMap` has it. ``codes``: a category is its
    number, and columns are named by their numbers, as the authors wrote their data for VW.
    """
    max_rows: Annotated[int, Field(ge=2)] | None = None
    """Only the first so many rows; None for all. ChaCha's authors take 100,000."""
    log_target: bool | Literal["code"] = False
    """False learns the target itself, True its logarithm. ``code`` is the rule of ChaCha's
    authors' code: log where max(range, maximum) >= 100."""
    decimals: Annotated[int, Field(ge=0, le=15)] | None = None
    """Features are rounded to so many decimals, as the authors' text files are to 6."""
    shuffle: bool = False
    """Permute the rows by the environment's seed, before `max_rows` is applied."""
    missing: Literal["fill", "zero"] = "fill"
    """Treatment of a missing number. ``fill``: what the rows before let expect, and 1 in an
    indicator feature if few columns have gaps (`leaseboard.algorithms.tables.row_reader`).
    ``zero``: 0, which a linear model ignores."""
    labels: Annotated[str, AfterValidator(lambda text: str(Arrival.parse(text)))] = IMMEDIATE
    """When labels become known: ``immediate``, each before the next row; ``after=N``, when N other
    rows have been predicted; ``with=COLUMN``, those of all rows with one value of a column before
    the next value; ``end``, none before all rows are predicted."""

    @property
    def arrival(self) -> Arrival:
        """The rule that `labels` names."""
        return Arrival.parse(self.labels)


def as_stream(dataset: Dataset, options: StreamOptions | None = None, seed: int = 0) -> Stream:
    """Return the examples of `dataset` in order, features encoded, target transformed.

    As a stream has no rows to train on, nothing of a row depends on those after it: a feature
    begins with the first row that has it, and a gap is filled by the rows before it alone. A
    regression's target is log-transformed by the rule of `options.log_target`, decided on the
    whole dataset; `class_labels` makes labels of classes.

    Raises DataError: too few or too many classes come, an infinite value, or a target that float32
    cannot distinguish; UsageError: the column with which labels arrive is not there.
    """
    from leaseboard.algorithms.tables.features import FeatureMap

    options = options or StreamOptions()
    order, shift, classes = order_of(dataset, options, seed), None, ()
    if dataset.task == "classification":
        labels, classes = class_labels(dataset, order)
    else:
        target = dataset.target.to_numpy(dtype=np.float64)
        target, shift = log_target(target, options.log_target)
        labels = target[order]
    rows = dataset.features.iloc[order]
    encoder = FeatureMap()
    with naming(dataset.reference), data_errors():
        features, births = encoder.encode(_as_columns(rows, options))
        narrow = in_float32(labels)
    schema, day = encoder.schema(), options.arrival.column
    if options.encoding == "codes":
        named = (replace(of, column=str(rows.columns[int(of.column)])) for of in schema.origins)
        schema = replace(schema, origins=tuple(named))
    if day and day not in rows:
        raise unknown("column of labels with=", day, [*rows])
    moments = moments_of(rows[day]) if day else None
    many = classes if len(classes) > 2 else ()
    born = tuple(births.tolist())
    return Stream(features, narrow, schema, dataset.task, shift, many, born, moments)


def moments_of(column: pd.Series) -> NDArray[np.int64]:
    """Return the number of each row's value, with which labels come: 0, 1 and so on.

    Raises DataError if one is missing, or rows with one value do not follow each other: labels
    would be learned before rows are predicted for which they are not known yet.
    """
    found = np.asarray(pd.factorize(column)[0])
    for faulty, why in (
        (found < 0, "is missing, with which labels come: fill it in, or leave the row out"),
        (
            np.diff(found, prepend=0) < 0,
            "comes again, with which labels come: sort the rows by it",
        ),
    ):
        if faulty.any():
            row = int(faulty.argmax())
            value = "" if found[row] < 0 else f" {column.iloc[row]}"
            raise DataError(f"row {row + 1}: {column.name}{value} {why}")
    return found


def order_of(dataset: Dataset, options: StreamOptions, seed: int) -> Order:
    """Return the rows of `dataset` in the order in which they come."""
    order = slice(options.max_rows)
    if not options.shuffle:
        return order
    return seeds.generator(seed, "stream order").permutation(len(dataset.target))[order]


def _as_columns(frame: pd.DataFrame, options: StreamOptions) -> dict[str, Column]:
    as_codes = options.encoding == "codes"
    given: dict[str, Column] = {}
    for place, (name, column) in enumerate(frame.items()):
        nominal = as_codes and columns.is_nominal(column)
        values = as_column(column.cat.codes.where(column.notna()) if nominal else column)
        if isinstance(values, np.ndarray) and values.dtype.kind == "f":
            if options.missing == "zero":
                values = np.nan_to_num(values)
            if options.decimals is not None:
                values = np.round(values, options.decimals)
        given[str(place if as_codes else name)] = values
    return given


def as_column(column: pd.Series) -> Column:
    """Return a tidy column as `FeatureMap.encode` takes it; a flag with gaps is a number.

    Raises DataError for an infinite value.
    """
    if columns.is_date(column):
        return column.to_numpy().astype("datetime64[us]")
    if is_flag(column):
        column = column.astype(object).map(FLAGS).astype("float64")
    if columns.is_named(column):
        codes, labels = coded(column)
        texts = np.array([*map(text_of, labels), None], dtype=object)
        return texts[codes]  # a gap has the code -1
    return reals(column)


def is_flag(column: pd.Series) -> bool:
    """Return whether the categories of a column are true and false, however they are written."""
    return columns.is_nominal(column) and {*column.cat.categories} <= FLAGS.keys()


def class_labels(dataset: Dataset, order: Order) -> tuple[NDArray[np.float64], tuple[str, ...]]:
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
        numbers, coming = pd.factorize(codes)
        return numbers.astype(np.float64), tuple(names[int(code)] for code in coming)
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


def log_target(
    target: NDArray[np.float64], rule: bool | str
) -> tuple[NDArray[np.float64], float | None]:
    """Return the logarithm of a target, and what was added to it before.

    That is 0, or the size of the least y + 1 where that is not positive. Where the rule, see
    `StreamOptions`, takes no logarithm, it is the target itself, and None.

    Examples
    --------
    >>> logarithms, shift = log_target(np.array([-1.0, 0.0]), True)
    >>> logarithms.round(4).tolist(), shift
    ([0.0, 0.6931], 2.0)
    """
    from leaseboard.algorithms.transcendental import log_all

    low, high = float(target.min()), float(target.max())
    if rule is False or (rule == "code" and max(high - low, high) < LOG_THRESHOLD):
        return target, None
    shift = abs(low) + 1 if low <= 0 else 0.0
    shifted = target + abs(low) + 1 if low <= 0 else target
    return np.asarray(log_all(shifted), dtype=np.float64), shift


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
