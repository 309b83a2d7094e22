"""One type for each kind of column, of any library, and one parser for dates in texts."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.errors import DataError, short
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

MICROSECONDS = "datetime64[us]"
_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = rf"(?P<month>(?:{'|'.join(_NAMES)})[a-z]{{0,6}})\.?"
_CLOCK = (
    r"(?:(?:T|,? )(?P<hour>\d\d?):(?P<rest>\d\d(?::\d\d(?:\.\d+)?)?)(?: ?(?P<half>[AP])M)?"
    r"(?: ?(?:Z|UTC|GMT|[+-]\d\d(?::?\d\d)?))?)?"
)
_FORMS = [re.compile(day + _CLOCK, re.ASCII | re.IGNORECASE) for day in (
    r"(?P<year>(?!0000)\d{4})(?P<by>[-/.])(?P<month>\d\d?)(?P=by)(?P<day>\d\d?)",
    r"(?P<day>\d\d?)(?P<by>[-/.])(?P<month>\d\d?)(?P=by)(?P<year>(?!0000)\d{4})",
    rf"(?P<day>\d\d?)[-. ]{{1,2}}{_NAME}[-, ]{{1,2}}(?P<year>(?!0000)\d{{4}})",
    rf"{_NAME} (?P<day>\d\d?),? (?P<year>(?!0000)\d{{4}})",
)]  # fmt: skip
"""Years of four digits before, or behind, two numbers or the name of a month."""

_NUMBERS = _FORMS[1]
_SHORT = re.compile(r"^(\d\d?([/.])\d\d?\2)(?=\d\d(?!\d))")
"""What comes before a year of two digits, which is not guessed."""


def date_of(text: str, day_first: bool | None = None) -> Any:
    """Return the datetime that the clock of a date shows; None for other texts, and 30 February.

    Parameters
    ----------
    text : str
        A day, or a day and a time, of which an offset is left out.
    day_first : bool, optional
        The order of two numbers before a year, see `shows_day_first`; None reads them only with
        points between, where the day is first.

    Examples
    --------
    >>> str(date_of("2024/2/9 18:30:05+01:00")), str(date_of("Feb 9, 2024 6:30 PM"))
    ('2024-02-09 18:30:05', '2024-02-09 18:30:00')
    >>> str(date_of("9.2.2024")), date_of("9/2/2024"), str(date_of("9/2/2024", day_first=True))
    ('2024-02-09 00:00:00', None, '2024-02-09 00:00:00')
    >>> date_of("20240209"), date_of("9.2.24"), date_of("30.2.2024")
    (None, None, None)
    """
    found = next(filter(None, (form.fullmatch(text) for form in _FORMS)), None)
    if found is None or (found.re is _NUMBERS and day_first is None and found["by"] != "."):
        return None
    year, month, day, hour, half = found.group("year", "month", "day", "hour", "half")
    if found.re is _NUMBERS and day_first is False:
        day, month = month, day
    if not month.isdecimal():
        month = _NAMES.index(month[:3].lower()) + 1
    if half:
        hour = int(hour) % 12 + 12 * (half in "Pp") if 1 <= int(hour) <= 12 else 24
    clock = "" if hour is None else f"T{hour:0>2}:{found['rest'][:12]}"  # to the microsecond
    try:
        return np.datetime64(f"{year}-{month:0>2}-{day:0>2}{clock}").astype(MICROSECONDS).item()
    except ValueError:
        return None


def dates_of(texts: Iterable[object], day_first: bool | None = None) -> NDArray[np.datetime64]:
    """Return `date_of` of each text, shape (n,), in microseconds; NaT for None."""
    return np.array([date_of(str(text), day_first) for text in texts], MICROSECONDS)


def shows_day_first(texts: Iterable[object]) -> bool | None:
    """Return whether the day is the first of two numbers before a year; None if none shows it.

    Examples
    --------
    >>> shows_day_first(["1/2/2024", "1/31/2024"]), shows_day_first(["1/2/2024"])
    (False, None)
    """
    found = [match for text in texts if (match := _NUMBERS.fullmatch(str(text)))]
    first, second = (any(int(match[part]) > 12 for match in found) for part in ("day", "month"))
    return None if first == second else first


def refuse_unsure(name: object, texts: Sequence[Any]) -> None:
    """Raise DataError if all texts, which are not read as dates, are dates of an unsure form."""
    long = [isinstance(text, str) and _SHORT.sub(r"\g<1>20", text) for text in texts]
    if long and all(text and (date_of(text, True) or date_of(text, False)) for text in long):
        raise DataError(
            f"column {str(name)!r} holds dates such as {texts[0]!r}, whose day or century is not"
            " sure: write the year first, as in 2024-01-31, or in Python parse them, as by"
            " pandas.to_datetime(column, format='%d/%m/%Y'), or make them a category"
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
        See `leaseboard.algorithms.tables.column_types.refuse_unsure`.
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
        labels = column.cat.categories
        if all(isinstance(name, str) for name in labels):
            return column
        return column.cat.rename_categories([label(name) for name in labels])
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
