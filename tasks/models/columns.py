"""The raw columns that a model takes: what a caller may send, and how it becomes typed again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pydantic import BaseModel, ConfigDict

from tasks.fetch import columns

EXAMPLE_ROWS = 3


class Column(BaseModel):
    """A column of the data that a model was made from.

    Attributes
    ----------
    name : str
    kind : {"integer", "real", "boolean", "nominal", "date", "text"}
    dtype : str
        Of reals, as numpy names it; integers are read as int64, however narrow the data's were.
    categories : tuple of str
        Of a nominal column, in their declared order.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: Literal["integer", "real", "boolean", "nominal", "date", "text"]
    dtype: str = ""
    categories: tuple[str, ...] = ()


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

    Raises
    ------
    ValueError
        If a column is absent, or a value is not of its column's kind: a fraction among integers,
        an infinite number, anything but true and false among booleans, no ISO date among dates.
    """
    absent = [column.name for column in known if column.name not in frame.columns]
    if absent:
        raise ValueError(f"no column {absent[0]!r}: the model takes {len(known)} columns by name")
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
            text = values.astype(object)
            plain[column.name] = text.where(text.notna(), None)
        elif column.kind in ("integer", "real"):
            plain[column.name] = values.astype("int64" if column.kind == "integer" else "float64")
        else:
            plain[column.name] = values
    return pd.DataFrame(plain)


def _describe(column: pd.Series) -> Column:
    name = str(column.name)
    if columns.is_nominal(column):
        return Column(name=name, kind="nominal", categories=tuple(column.cat.categories))
    if columns.is_text(column):
        return Column(name=name, kind="text")
    if columns.is_date(column):
        return Column(name=name, kind="date")
    if column.dtype == np.bool_:
        return Column(name=name, kind="boolean")
    if np.issubdtype(column.dtype, np.integer):
        return Column(name=name, kind="integer")
    return Column(name=name, kind="real", dtype=str(column.dtype))


def _typed(values: pd.Series, column: Column) -> pd.Series:
    values = values.reset_index(drop=True)
    if column.kind == "nominal":
        code = {category: number for number, category in enumerate(column.categories)}
        codes = [-1 if pd.isna(v) else code.get(columns.label(v), -1) for v in values]
        nominal = pd.Categorical.from_codes(codes, list(column.categories))
        return pd.Series(nominal, name=column.name)
    if column.kind == "boolean":
        return _booleans(values, column.name)
    if column.kind == "date":
        return _dates(values, column.name)
    if column.kind == "text":
        return values.astype(object).where(values.notna(), None)
    if values.dtype.kind in "mM":
        raise ValueError(f"column {column.name!r} must be {column.kind}: give seconds since 1970")
    try:
        numbers = pd.to_numeric(values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {column.name!r} must be {column.kind}: {error}") from error
    return _integers(numbers, column.name) if column.kind == "integer" else _reals(numbers, column)


def _booleans(values: pd.Series, name: str) -> pd.Series:
    missing = values.isna().to_numpy()
    wrong = [not isinstance(v, bool | np.bool_) for v in values] & ~missing
    _refuse(values, wrong, name, "true or false")
    return values.astype("float64" if missing.any() else bool)


def _dates(values: pd.Series, name: str) -> pd.Series:
    if values.isna().all():
        return pd.Series(pd.NaT, values.index, dtype="datetime64[us]", name=name)
    found = columns.as_dates(values)
    if found is None:
        alone = [columns.as_dates(values[[row]]) is None for row in values.index]
        _refuse(values, alone & values.notna().to_numpy(), name, "a date, such as 2024-02-29")
        raise ValueError(f"column {name!r} mixes dates with their texts: give one of them")
    return found


def _integers(values: pd.Series, name: str) -> pd.Series:
    if values.dtype == np.int64:
        return values
    reals, missing = values.to_numpy(np.float64, na_value=np.nan), values.isna().to_numpy()
    whole = (np.trunc(reals) == reals) & (reals >= -(2.0**63)) & (reals < 2.0**63)
    _refuse(values, ~whole & ~missing, name, "an integer of 64 bits")
    return pd.Series(reals, name=name) if missing.any() else values.astype(np.int64)


def _reals(values: pd.Series, column: Column) -> pd.Series:
    reals = values.to_numpy(np.float64, na_value=np.nan)
    _refuse(values, np.abs(reals) > columns.LARGEST, column.name, "finite as a float32")
    return pd.Series(reals.astype(column.dtype), values.index, name=column.name)


def _refuse(values: pd.Series, wrong: ArrayLike, name: str, rule: str) -> None:
    found = np.flatnonzero(wrong)
    if len(found):
        row = found[0]
        value = values.iloc[row]
        raise ValueError(
            f"column {name!r}: {value} in row {row} must be {rule}, not a {type(value).__name__}"
        )
