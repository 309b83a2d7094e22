"""The columns that a model takes, as callers send them and as files have them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict

from leaseboard.algorithms.environments.arrival import Arrival
from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.algorithms.tables.column_types import standard_type
from leaseboard.algorithms.tables.values import FLAGS, ValueKind, text_of
from leaseboard.tasks.fetch import columns, files
from leaseboard.tasks.fetch.dataset import MOST_CLASSES, infer_task
from leaseboard.tasks.preprocess.encoding import is_flag, places

Values = dict[str, Any]
"""A row's features by name: numbers, flags, texts, None for a missing one; dates as ISO texts."""


class Column(BaseModel):
    """A column of the table that a model was trained on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: ValueKind
    dtype: str = "float64"
    """Of numbers, as NumPy names it; integers are int64, however narrow the data's were."""
    categories: tuple[str, ...] = ()
    """Of a category, in their declared order."""


def describe(features: pd.DataFrame) -> tuple[Column, ...]:
    """Return the columns of a dataset's features."""
    found = []
    for name, column in features.items():
        kind = columns.kind_of(column)
        dtype = {"dtype": str(column.dtype)} if kind == "number" else {}
        categories = tuple(column.cat.categories) if kind == "category" else ()
        found.append(Column(name=str(name), kind=kind, categories=categories, **dtype))
    return tuple(found)


def typed(frame: pd.DataFrame, known: Sequence[Column]) -> pd.DataFrame:
    """Return a caller's `frame` with the columns of the dataset, in its order and types.

    A missing value stays missing, and so becomes a category that the dataset does not have.
    Integers are int64, so that one beyond the data's own range is still the same number; they and
    flags are floats where one is missing. Dates may be texts.

    Raises DataError if a column is absent, or a value is not of its column's kind: a fraction
    among integers, an infinite number, anything but true and false among flags, a text that is not
    a date among dates.
    """
    absent = [column.name for column in known if column.name not in frame.columns]
    if absent:
        raise DataError(f"no column {absent[0]!r}: the model takes {len(known)} columns by name")
    return pd.DataFrame({column.name: _typed(frame[column.name], column) for column in known})


def frame_of(rows: Sequence[Mapping[str, Any]], dates: Iterable[str] = ()) -> pd.DataFrame:
    """Return the table of rows; columns among `dates` hold dates."""
    frame = pd.DataFrame.from_records(list(rows)).infer_objects()
    for name in dates:
        if name in frame:
            frame[name] = pd.to_datetime(frame[name], format="ISO8601")
    return frame


def as_texts(column: pd.Series) -> pd.Series:
    """Return the raw values of a column, None where one is missing."""
    return column.astype(object).where(column.notna(), None)


def _typed(values: pd.Series, column: Column) -> pd.Series:
    values = standard_type(values.reset_index(drop=True))
    if column.kind == "category":
        codes = places(values, column.categories)
        return pd.Series(pd.Categorical.from_codes(codes, list(column.categories)))
    if column.kind == "flag":
        missing = values.isna()
        flags = [isinstance(value, bool | np.bool_) for value in values]
        columns.refuse_rows(values, ~(np.array(flags) | missing), "true and false")
        return values.astype("float64" if missing.any() else bool)
    if column.kind == "date":
        return columns.require_dates(values)
    if column.kind == "text":
        return as_texts(values)
    numbers = columns.as_numbers(values)
    if column.kind == "number":
        return numbers.astype(column.dtype)
    if numbers.dtype == np.int64:
        return numbers
    reals, missing = numbers.to_numpy(np.float64), numbers.isna()
    whole = (np.trunc(reals) == reals) & (reals >= -(2.0**63)) & (reals < 2.0**63)
    columns.refuse_rows(numbers, ~whole & ~missing, "integers of 64 bits")
    return pd.Series(reals) if missing.any() else numbers.astype(np.int64)


def kind_of(column: pd.Series) -> str:
    """Return ``number``, ``date`` or ``text``; empty if all is missing."""
    if column.isna().all():
        return ""
    tidy = columns.tidy(column)
    kind = columns.kind_of(tidy)
    if kind == "date":
        return kind
    return "text" if kind in ("category", "text") and not is_flag(tidy) else "number"


def labels_with_date(features: pd.DataFrame) -> Arrival:
    """Return that labels arrive with the only column of dates, if it never decreases.

    Else they are immediate.
    """
    day = _only_day(features)
    ordered = day is not None and day.is_monotonic_increasing
    return Arrival(column=str(day.name)) if ordered else Arrival()


def unsorted_day(features: pd.DataFrame) -> str:
    """Return the name of the only column of dates if it decreases or has gaps, else nothing."""
    day = _only_day(features)
    return "" if day is None or day.is_monotonic_increasing else str(day.name)


def _only_day(features: pd.DataFrame) -> pd.Series | None:
    days = [name for name in features if kind_of(features[name]) == "date"]
    return columns.require_dates(features[days[0]]) if len(days) == 1 else None


def plain(frame: pd.DataFrame, known: Mapping[str, str]) -> pd.DataFrame:
    """Return the columns as numbers, dates and raw texts; DataError for another kind."""
    found = {}
    for name, column in frame.items():
        kind = known.get(str(name)) or kind_of(column)
        if kind == "number":
            found[name] = flags_or_numbers(column)
        elif kind == "date":
            found[name] = columns.require_dates(column)
        else:
            if name not in known:
                columns.refuse_unclear(column)
            found[name] = as_texts(column).map(text_of, na_action="ignore").astype(object)
    return pd.DataFrame(found, frame.index)


def flags_or_numbers(column: pd.Series) -> pd.Series:
    """Return a column as numbers; true and false are 1 and 0, however they are written."""
    if columns.is_named(column):
        column = column.astype(object).map(lambda value: FLAGS.get(str(value), value))
    return columns.as_numbers(column)


def refuse_many_numbers(target: pd.Series, classes: Sequence[str]) -> None:
    """Raise a DataError for many numbers as labels of a model that took few for `classes`."""
    if not classes or not all(name.lstrip("-").isdecimal() for name in classes):
        return
    n_values = target.nunique()
    if n_values > MOST_CLASSES and infer_task(target) == "regression":
        raise DataError(
            f"target {target.name!r} now has {n_values} different numbers, such as"
            f" {target.iloc[-1]}, and the model takes whole numbers such as {classes[0]} for"
            " classes: learn a new model of all tables with --task regression"
        )


def read_rows(path: Path, kinds: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return the table in a file; a column that was learned as text is read unchanged.

    In a libsvm file an index that does not occur is 0, so columns that were learned are there.

    Raises UsageError, DataError if it cannot be read, or two columns have one name.
    """
    kinds = kinds or {}
    texts = tuple(name for name, kind in kinds.items() if kind == "text")
    frame = files.read(str(path), texts=texts).frame
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise DataError(f"{path}: column name {twice[0]!r} occurs twice: rename one")
    return frame.assign(**files.zeros(path, [name for name in kinds if name not in frame]))


def pass_through(path: Path, frame: pd.DataFrame, added: pd.DataFrame) -> pd.DataFrame:
    """Return the table in a file with columns added, every value unchanged.

    `frame` is what `read_rows` made of it: a column of a csv that says the same in its own type
    keeps that type.
    """
    written = files.as_written(path)
    for name in written:
        if written[name].dtype == files.TEXTS:
            said = frame[name].astype("string").astype(files.TEXTS)
            written[name] = frame[name] if said.equals(written[name]) else written[name]
    taken = [name for name in added if name in written]
    if taken:
        raise UsageError(
            f"the table has a column {taken[0]!r} of its own: rename it, or leave --level out if"
            " that adds it"
        )
    return pd.concat([written, added], axis=1)


def in_fewest_digits(frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Return the table for a csv, in which columns of 32 bits among `names` have no more digits.

    A column of 64 bits is unchanged.

    Examples
    --------
    >>> frame = pd.DataFrame({"prediction": np.float64(np.float32([123.4, 0.1]))})
    >>> frame["prediction"].tolist()
    [123.4000015258789, 0.10000000149011612]
    >>> in_fewest_digits(frame, ["prediction"]).to_csv(index=False).split()
    ['prediction', '123.4', '0.1']
    """
    with np.errstate(over="ignore"):  # beyond 32 bits, and so not equal
        narrow = {n: frame[n].astype("float32") for n in names if frame[n].dtype.kind == "f"}
    equal = {name for name, c in narrow.items() if c.astype("float64").equals(frame[name])}
    return frame.assign(**{name: narrow[name] for name in equal})
