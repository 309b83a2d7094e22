"""One type for each kind of column: what every dtype of pandas, Arrow and NumPy becomes."""

import math
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.algorithms.errors import DataError, short
from leaseboard.algorithms.tables.dates import date_of, refuse_unsure
from leaseboard.algorithms.tables.values import (
    NO_NUMBERS,
    is_date,
    is_missing,
    is_number,
    label,
    number_of,
    seconds_of,
    standard_value,
)

READ_LATER = ("string", "empty", "date", "datetime", "datetime64")
"""What pandas infers of objects that stay: texts, and dates, which may be written as texts."""


def standard_types(frame: pd.DataFrame) -> pd.DataFrame:
    """Return `frame` with the `standard_type` of each column; sparse columns alone stay sparse."""
    dtypes = list(frame.dtypes)
    if all(isinstance(dtype, pd.SparseDtype) for dtype in dtypes) or all(
        isinstance(dtype, np.dtype) and dtype.kind in "fiubM" for dtype in dtypes
    ):
        return frame
    return pd.concat([standard_type(column) for _, column in frame.items()], axis=1)


def with_dates(frame: pd.DataFrame) -> pd.DataFrame:
    """Return `frame` with dates for texts that are dates, in columns of pandas' type of strings.

    Each value is read by itself, so that it does not matter which rows come together. A missing
    one is None, as of dates. Objects and categories stay.

    Raises
    ------
    DataError
        See `leaseboard.algorithms.tables.dates.refuse_unsure`.
    """
    found = frame.copy(deep=False)
    for place, (name, column) in enumerate(frame.items()):
        if isinstance(column.dtype, pd.StringDtype):
            read = [date_of(text) or text if isinstance(text, str) else None for text in column]
            if not any(map(is_date, read)):
                refuse_unsure(name, column.dropna().unique())
            found.isetitem(place, pd.Series(read, frame.index, dtype=object))
    return found


def numbers_alone(X: Any) -> Any:
    """Return `X` with durations in seconds, for an estimator that takes numbers alone.

    Raises
    ------
    TypeError
        If it holds texts or dates, of which scikit-learn's checks make numbers.
    DataError
        See `standard_type`.
    """
    if hasattr(X, "tocsr"):  # scikit-learn refuses a sparse matrix
        return X
    if isinstance(X, pd.DataFrame):
        X = standard_types(X)
        others = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
        where = f"column {others[0]!r}" if others else ""
    else:
        given = np.asarray(X)
        if given.dtype.kind == "m":
            return seconds_of(given)
        objects = given.ravel().tolist() if given.dtype.kind == "O" else ()
        refused = (str, bytes, *NO_NUMBERS)
        no_number = any(isinstance(one, refused) or is_date(one) for one in objects)
        where = "X" if no_number or given.dtype.kind in "MSUT" else ""
    if where:
        raise TypeError(
            f"{where} holds texts or dates, and this estimator takes numbers: make numbers of"
            " them, or OnlineAutoMLRegressor and OnlineAutoMLClassifier learn a DataFrame with"
            " them by learn_many"
        )
    return X


def standard_type(column: pd.Series) -> pd.Series:
    """Return a column in the type of its kind.

    =============  ================================================================
    kind           of what, and as what
    =============  ================================================================
    number         integers, reals, decimals: as NumPy's or pandas' numbers
    number         durations, times of day: as their seconds, float64
    flag           booleans: as bool, where values are missing as pandas' boolean
    date           timestamps, dates, periods: as datetime64, with its zone if any
    category       categories, Arrow's dictionaries: their labels are texts
    text           texts, bytes in UTF-8, intervals: as objects or pandas' strings
    =============  ================================================================

    Objects are what they all are; of dates and texts `leaseboard.tasks.fetch.columns` reads more.

    Raises
    ------
    DataError
        For all else: complex numbers, lists, structs, durations in months, bytes of another code.
    """
    dtype = column.dtype
    if isinstance(dtype, pd.SparseDtype):
        column = column.astype(dtype.subtype)
    elif isinstance(dtype, pd.ArrowDtype):
        column = _of_arrow(column, dtype.pyarrow_dtype)
    elif isinstance(dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    elif isinstance(dtype, pd.IntervalDtype):
        column = column.astype(object)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _with_labels(column)
    kind = getattr(column.dtype, "kind", "")
    if kind == "m":
        return pd.Series(seconds_of(column.to_numpy()), column.index, name=column.name)
    if kind == "c":
        raise _refused(column, 0, "complex numbers")
    return _of_objects(column) if column.dtype == object else column


def _of_arrow(column: pd.Series, arrow: Any) -> pd.Series:
    """Return a column without Arrow's types, but for those of numbers and booleans."""
    import pyarrow as pa

    types, values = pa.types, pa.array(column)
    if types.is_decimal(arrow):
        return column.astype("float64")
    if types.is_integer(arrow) or types.is_floating(arrow) or types.is_boolean(arrow):
        return column
    if types.is_nested(arrow) or types.is_interval(arrow):
        raise _refused(column, 0, str(arrow))
    if types.is_time(arrow):  # which Python's times hold to the microsecond alone
        whole = values.cast(pa.int32() if arrow.bit_width == 32 else pa.int64()).cast(pa.int64())
        values = whole.cast(pa.duration(arrow.unit))
    plain = values.to_pandas(date_as_object=False)
    return pd.Series(plain.array, column.index, name=column.name)


def _of_objects(column: pd.Series) -> pd.Series:
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind in READ_LATER:
        return column
    if kind == "integer" and column.map(abs, na_action="ignore").max() < 2**63:
        return column.astype("Int64")
    if kind == "boolean":
        flags = column.astype("boolean")
        return flags if flags.isna().any() else flags.astype(bool)
    try:
        values = [None if is_missing(one) else standard_value(one) for one in column.tolist()]
    except DataError as error:
        raise DataError(f"column {str(column.name)!r}: {error}") from error
    for place, value in enumerate(values):
        known = value is None or isinstance(value, str) or is_date(value) or is_number(value)
        if not known:
            raise _refused(column, place, f"a {type(value).__name__}")
    flags = any(isinstance(value, bool | np.bool_) for value in values)
    if not flags and all(value is None or is_number(value) for value in values):
        reals = [math.nan if value is None else number_of(value) for value in values]
        return pd.Series(reals, column.index, dtype="float64", name=column.name)
    return pd.Series(values, column.index, dtype=object, name=column.name)


def _with_labels(column: pd.Series) -> pd.Series:
    labels = column.cat.categories
    if all(isinstance(name, str) for name in labels):
        return column
    return column.cat.rename_categories([label(name) for name in labels])


def _refused(column: pd.Series, place: int, what: str) -> DataError:
    shown = f", such as {short(repr(column.iloc[place]), 40)}," if len(column) else ""
    return DataError(
        f"column {str(column.name)!r} holds {what}{shown} in row {place + 1}: a column holds"
        " numbers, texts, dates, durations or times of day: make such columns of it, or drop it"
    )


def complete_labels(y: Any) -> Any:
    """Return `y`; DataError if a label is missing, as None, NaN, NaT and pd.NA are."""
    if y is not None and np.any(pd.isna(list(y) if isinstance(y, (list, tuple)) else y)):
        raise DataError("y has missing values (NaN): drop the rows")
    return y
