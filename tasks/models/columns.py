"""The raw columns that a model takes: what a caller may send, and how it becomes typed again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pydantic import BaseModel, ConfigDict

from leaseboard.algorithms.errors import DataError
from leaseboard.algorithms.tables.column_types import standard_type
from leaseboard.algorithms.tables.values import FLAGS, LARGEST, ValueKind, label, text_of
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.fetch.dataset import MOST_CLASSES, infer_task
from leaseboard.tasks.preprocess.stream_encoder import is_flag

EXAMPLE_ROWS = 3

_SAVED: dict[ValueKind, Any] = {"number": "real", "flag": "boolean", "category": "nominal"}
"""What files of models call these kinds."""


class Column(BaseModel):
    """A column of the data that a model was made from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: Literal["integer", "real", "boolean", "nominal", "date", "text"]
    dtype: str = ""
    """Of reals, as numpy names it; integers are read as int64, however narrow the data's were."""
    categories: tuple[str, ...] = ()
    """Of a nominal column, in their declared order."""


def describe(features: pd.DataFrame, *, texts: bool = False) -> tuple[Column, ...]:
    """The columns of a data set's features; ValueError for free text, unless that is taken."""
    found = tuple(_describe(features[name]) for name in features.columns)
    for column in found:
        if column.kind == "text" and not texts:
            raise ValueError(
                f"column {column.name!r} holds free text, which a registered model takes of a"
                " stream alone"
            )
    return found


def typed(frame: pd.DataFrame, known: Sequence[Column]) -> pd.DataFrame:
    """A caller's `frame` with the columns of the data set, in its order and types.

    A missing value stays missing, and so becomes a nominal value that the data set has not.
    Integers are int64, so that one beyond the data's own range is still the same number; they and
    booleans are reals where one is missing. Dates may be ISO strings.

    Raises DataError if a column is absent, or a value is not of its column's kind: a fraction
    among integers, an infinite number, anything but true and false among booleans, no ISO date
    among dates.
    """
    absent = [column.name for column in known if column.name not in frame.columns]
    if absent:
        raise DataError(f"no column {absent[0]!r}: the model takes {len(known)} columns by name")
    return pd.DataFrame({column.name: _typed(frame[column.name], column) for column in known})


def example(features: pd.DataFrame) -> pd.DataFrame:
    """The first rows as a caller would send them: nominal values as plain strings.

    Every number is a float64 or an int64, which is what JSON can say.
    """
    head = features.iloc[:EXAMPLE_ROWS]
    plain = {}
    for column in describe(features, texts=True):
        values = head[column.name]
        if column.kind in ("nominal", "text"):
            plain[column.name] = as_texts(values)
        elif column.kind in ("integer", "real"):
            plain[column.name] = values.astype("int64" if column.kind == "integer" else "float64")
        else:
            plain[column.name] = values
    return pd.DataFrame(plain)


def _describe(column: pd.Series) -> Column:
    kind = columns.kind_of(column)
    return Column(
        name=str(column.name),
        kind=_SAVED.get(kind, kind),
        dtype=str(column.dtype) if kind == "number" else "",
        categories=tuple(column.cat.categories) if kind == "category" else (),
    )


def as_numbers(column: pd.Series) -> pd.Series:
    """A column as finite numbers, which may be written as texts; DataError where one is none.

    Examples
    --------
    >>> as_numbers(pd.Series(["1.5", None], name="x")).tolist()
    [1.5, nan]
    """
    column = standard_type(column)
    if columns.is_date(column):  # which pandas takes for nanoseconds
        _refuse(column, column.notna(), "numbers")
    numbers = pd.to_numeric(
        column.astype(object) if columns.is_nominal(column) else column, errors="coerce"
    )
    _refuse(column, numbers.isna() & column.notna(), "numbers")
    reals = numbers.to_numpy(np.float64, na_value=np.nan)
    _refuse(column, np.abs(reals) > LARGEST, "numbers that are finite in 32 bits")
    if isinstance(numbers.dtype, np.dtype):
        return numbers
    whole = pd.api.types.is_integer_dtype(numbers.dtype) and not numbers.isna().any()
    return numbers.astype("int64" if whole else "float64")


def as_dates(column: pd.Series) -> pd.Series:
    """A column of dates, which may be ISO strings, as ``datetime64[us]``; DataError for others."""
    if column.isna().all():
        return pd.Series(pd.NaT, column.index, dtype="datetime64[us]")
    dates = columns.as_dates(column)
    if dates is None:
        alone = [columns.as_dates(column.iloc[[row]]) is None for row in range(len(column))]
        _refuse(column, np.array(alone) & column.notna(), "dates, such as 2024-02-29")
        raise DataError(f"column {column.name!r} mixes dates with their texts: give one of them")
    return dates


def as_texts(column: pd.Series) -> pd.Series:
    """A column as it is, None where a value is missing."""
    return column.astype(object).where(column.notna(), None)


def _typed(values: pd.Series, column: Column) -> pd.Series:
    values = standard_type(values.reset_index(drop=True))
    if column.kind == "nominal":
        code = {category: number for number, category in enumerate(column.categories)}
        codes = [-1 if pd.isna(v) else code.get(label(v), -1) for v in values]
        return pd.Series(pd.Categorical.from_codes(codes, list(column.categories)))
    if column.kind == "boolean":
        return _as_booleans(values)
    if column.kind == "date":
        return as_dates(values)
    if column.kind == "text":
        return as_texts(values)
    numbers = as_numbers(values)
    return _as_integers(numbers) if column.kind == "integer" else numbers.astype(column.dtype)


def _as_booleans(values: pd.Series) -> pd.Series:
    missing = values.isna()
    flags = [isinstance(value, bool | np.bool_) for value in values]
    _refuse(values, ~(np.array(flags) | missing), "true and false")
    return values.astype("float64" if missing.any() else bool)


def _as_integers(numbers: pd.Series) -> pd.Series:
    if numbers.dtype == np.int64:
        return numbers
    reals, missing = numbers.to_numpy(np.float64), numbers.isna()
    whole = (np.trunc(reals) == reals) & (reals >= -(2.0**63)) & (reals < 2.0**63)
    _refuse(numbers, ~whole & ~missing, "integers of 64 bits")
    return pd.Series(reals) if missing.any() else numbers.astype(np.int64)


def _refuse(column: pd.Series, wrong: ArrayLike, what: str) -> None:
    """DataError that names the first row that is `wrong`, if there is one."""
    rows = np.flatnonzero(wrong)
    if len(rows):
        value = column.iloc[rows[0]]
        plain = value.item() if isinstance(value, np.generic) else value
        raise DataError(
            f"column {column.name!r} holds {what}, and {plain!r} in row {rows[0] + 1} is none:"
            " mend that row, or leave it out"
        )


def kinds_of(frame: pd.DataFrame) -> dict[str, str]:
    """What each column holds; empty for one that is missing in all rows."""
    return {name: kind_of(frame[name]) for name in frame}


def kind_of(column: pd.Series) -> str:
    """``number``, ``date`` or ``text``; empty if all is missing."""
    if column.isna().all():
        return ""
    tidy = columns.tidy(column)
    kind = columns.kind_of(tidy)
    if kind == "date":
        return kind
    return "text" if kind in ("category", "text") and not is_flag(tidy) else "number"


def plain(frame: pd.DataFrame, known: Mapping[str, str]) -> pd.DataFrame:
    """The columns as numbers, dates, and texts as they are; DataError for another kind."""
    found = {}
    for name, column in frame.items():
        kind = known.get(str(name)) or kind_of(column)
        if kind == "number":
            found[name] = flags_or_numbers(column)
        elif kind == "date":
            found[name] = as_dates(column)
        else:
            if name not in known:
                columns.refuse_few_words(column)
            found[name] = as_texts(column).map(text_of, na_action="ignore").astype(object)
    return pd.DataFrame(found, frame.index)


def flags_or_numbers(column: pd.Series) -> pd.Series:
    """A column as numbers, of which true and false are 1 and 0, however they are written."""
    if columns.is_nominal(column) or columns.is_text(column):
        column = column.astype(object).map(lambda value: FLAGS.get(str(value), value))
    return as_numbers(column)


def refuse_many_numbers(target: pd.Series, classes: Sequence[str]) -> None:
    """DataError for many reals as labels, where few whole numbers were taken for `classes`."""
    if not classes or not all(name.lstrip("-").isdecimal() for name in classes):
        return
    n_values = target.nunique()
    if n_values > MOST_CLASSES and infer_task(target) == "regression":
        raise DataError(
            f"target {target.name!r} now has {n_values} different numbers, such as"
            f" {target.iloc[-1]}, and the model takes whole numbers such as {classes[0]} for"
            " classes: learn a new model of all tables with --task regression"
        )


@contextmanager
def data_errors() -> Iterator[None]:
    """What an example or a label must be is told as a fault of the table."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise DataError(str(error)) from error
