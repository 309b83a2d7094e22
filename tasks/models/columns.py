"""The raw columns that a model takes: what a caller may send, and how it becomes typed again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict

from tasks.fetch import columns

EXAMPLE_ROWS = 3


class Column(BaseModel):
    """A column of the data that a model was made from.

    Attributes
    ----------
    name : str
    kind : {"integer", "real", "boolean", "nominal"}
    dtype : str
        Of numbers, as numpy names it.
    categories : tuple of str
        Of a nominal column, in their declared order.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: Literal["integer", "real", "boolean", "nominal"]
    dtype: str = ""
    categories: tuple[str, ...] = ()


def describe(features: pd.DataFrame) -> tuple[Column, ...]:
    """The columns of a data set's features; ValueError for one that holds free text."""
    return tuple(_describe(features[name]) for name in features.columns)


def typed(frame: pd.DataFrame, known: Sequence[Column]) -> pd.DataFrame:
    """A caller's `frame` with the columns of the data set, in its order and types.

    A missing value stays missing, and so becomes a nominal value that the data set has not.

    Raises
    ------
    ValueError
        If a column is absent or cannot be read as what it was.
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
    for column in describe(features):
        values = head[column.name]
        if column.kind == "nominal":
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
        raise ValueError(f"column {name!r} holds free text, which no registered model takes")
    if column.dtype == np.bool_:
        return Column(name=name, kind="boolean")
    kind = "integer" if np.issubdtype(column.dtype, np.integer) else "real"
    return Column(name=name, kind=kind, dtype=str(column.dtype))


def _typed(values: pd.Series, column: Column) -> pd.Series:
    values = values.reset_index(drop=True)
    if column.kind == "nominal":
        code = {category: number for number, category in enumerate(column.categories)}
        codes = [-1 if pd.isna(v) else code.get(columns.label(v), -1) for v in values]
        nominal = pd.Categorical.from_codes(codes, list(column.categories))
        return pd.Series(nominal, name=column.name)
    wanted: Any = bool if column.kind == "boolean" else column.dtype
    try:
        return values.astype(wanted)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {column.name!r} must be {column.kind}: {error}") from error
