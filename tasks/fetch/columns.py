"""Columns of any file format: integers, reals, booleans, dates, nominal, text."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from leaseboard.algorithms.errors import DataError
from leaseboard.algorithms.tables.column_types import (
    date_of,
    dates_of,
    refuse_unsure,
    shows_day_first,
    standard_type,
)
from leaseboard.algorithms.tables.values import LARGEST, LONGEST_LABEL, ValueKind, copied, label

FEW_WORDS = 0.1
"""Up to this share of words among numbers or dates is mistakes; more of them make texts."""

SHOWN = 3
"""Number of them that a message shows."""


def tidy_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Return `frame` with text column names, rows numbered from 0 and every column tidied.

    Columns that are already of one of these kinds are shared with `frame`, not copied.
    """
    frame = frame.reset_index(drop=True)
    return pd.DataFrame({str(name): tidy(frame[name]) for name in frame.columns}, copy=False)


def tidy(column: pd.Series) -> pd.Series:
    """Return `column` as integers, reals, booleans, dates, an unordered nominal column, or text.

    See `leaseboard.algorithms.tables.column_types.standard_type`, and: a date is what its clock
    shows, as a ``datetime64[us]`` without a zone; so are strings of which every one is a date
    (`leaseboard.algorithms.tables.column_types`). Other strings become nominal, with their
    categories sorted, unless one is longer than `LONGEST_LABEL`; declared categories keep the
    declared order. Nullable integers with missing values become reals, a decimal a real.
    """
    column = standard_type(column)
    dtype = column.dtype
    if is_nominal(column):
        return column.cat.as_unordered() if column.cat.ordered else column
    if pd.api.types.is_bool_dtype(dtype):
        return _nominal(column) if column.isna().any() else column.astype(bool)
    if pd.api.types.is_numeric_dtype(dtype):
        return _without_nullable(column)
    dates = as_dates(column)
    return _nominal(column) if dates is None else dates


def as_dates(column: pd.Series, day_first: bool | None = None) -> pd.Series | None:
    """Return `column` as ``datetime64[us]`` if it holds only dates, or only texts of them.

    - `day_first`: see `date_of`; by default what it shows.
    """
    column = standard_type(column)
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        column = column.dt.tz_localize(None)
    if pd.api.types.is_datetime64_dtype(column.dtype):
        return column.astype("datetime64[us]")
    if is_nominal(column) or pd.api.types.is_numeric_dtype(column.dtype):
        return None
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind not in ("string", "date", "datetime", "datetime64"):
        return None
    if kind != "string":  # times of two offsets are equal and show other clocks
        return column.map(copied, na_action="ignore").astype("datetime64[us]")
    first = str(column.get(column.first_valid_index()))
    if not any(map(date_of, (first, first), (True, False))):  # most texts are not dates
        return None
    codes, values = pd.factorize(column)
    known = dates_of(values, shows_day_first(values) if day_first is None else day_first)
    if np.isnat(known).any():
        return None
    # The last entry is that of code -1, a missing value.
    table = np.append(known, np.datetime64("NaT", "us"))
    return pd.Series(table[codes], column.index, name=column.name)


def dated(column: pd.Series) -> pd.Series:
    """Return texts that are all dates as dates, another column itself.

    Raises DataError for texts of which it is not sure what dates they are.
    """
    dates = as_dates(column)
    if dates is None and is_text(column):
        refuse_unsure(column.name, column.dropna().unique())
    return column if dates is None else dates


def day_order(column: pd.Series) -> bool | None:
    """Return `shows_day_first` of the texts in a column."""
    return shows_day_first(column.dropna().unique()) if is_text(column) else None


def require_dates(column: pd.Series, day_first: bool | None = None) -> pd.Series:
    """Return dates, which may be texts, as ``datetime64[us]``; DataError for others.

    - `day_first`: see `date_of`; by default what they show.
    """
    if column.isna().all():
        return pd.Series(pd.NaT, column.index, dtype="datetime64[us]")
    dates = as_dates(column, day_first)
    if dates is None:
        dated(column)
        known = dates_of(column, day_order(column) if day_first is None else day_first)
        refuse_rows(column, np.isnat(known) & column.notna(), "dates, such as 2024-02-29")
        raise DataError(f"column {column.name!r} mixes dates with their texts: give one of them")
    return dates


def as_numbers(column: pd.Series) -> pd.Series:
    """Return a column as finite numbers, which may be written as texts; DataError for others.

    Examples
    --------
    >>> as_numbers(pd.Series(["1.5", None], name="x")).tolist()
    [1.5, nan]
    """
    column = standard_type(column)
    if is_date(column):  # which pandas takes for nanoseconds
        refuse_rows(column, column.notna(), "numbers")
    numbers = column
    if not pd.api.types.is_numeric_dtype(column.dtype):
        texts = column.astype(object) if is_nominal(column) else column
        numbers = pd.to_numeric(texts, errors="coerce")
    refuse_rows(column, numbers.isna() & column.notna(), "numbers")
    reals = numbers.to_numpy(np.float64, na_value=np.nan)
    refuse_rows(
        column, (reals > LARGEST) | (reals < -LARGEST), "numbers that are finite in 32 bits"
    )
    return _without_nullable(numbers)


def _without_nullable(numbers: pd.Series) -> pd.Series:
    """Return numbers of a type of NumPy's that computes: whole ones where none is missing."""
    if isinstance(numbers.dtype, np.dtype):
        return numbers.astype("float32") if numbers.dtype == np.float16 else numbers
    whole = pd.api.types.is_integer_dtype(numbers.dtype) and not numbers.isna().any()
    return numbers.astype("int64" if whole else "float64")


def refuse_rows(column: pd.Series, wrong: ArrayLike, what: str) -> None:
    """Raise a DataError that names the first row that is `wrong`, if there is one."""
    rows = np.flatnonzero(wrong)
    if len(rows):
        value = column.iloc[rows[0]]
        plain = value.item() if isinstance(value, np.generic) else value
        raise DataError(
            f"column {column.name!r} holds {what}, and {plain!r} in row {rows[0] + 1} does not"
            " fit: fix that row, or leave it out"
        )


def kind_of(column: pd.Series) -> ValueKind:
    """Return what a tidy column holds."""
    if is_nominal(column):
        return "category"
    if is_date(column):
        return "date"
    if pd.api.types.is_bool_dtype(column.dtype):
        return "flag"
    if pd.api.types.is_integer_dtype(column.dtype):
        return "integer"
    return "number" if pd.api.types.is_numeric_dtype(column.dtype) else "text"


def is_date(column: pd.Series) -> bool:
    """Return whether `column` holds dates, or times with their dates."""
    return pd.api.types.is_datetime64_any_dtype(column.dtype)


def is_nominal(column: pd.Series) -> bool:
    """Return whether `column` holds categories."""
    return isinstance(column.dtype, pd.CategoricalDtype)


def is_text(column: pd.Series) -> bool:
    """Return whether `column` holds free text, which only a consumer of text can take."""
    return kind_of(column) == "text"


def is_named(column: pd.Series) -> bool:
    """Return whether `column` holds categories or texts."""
    return kind_of(column) in ("category", "text")


def is_numeral(text: str) -> bool:
    """Return whether `text` is written as a finite number."""
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def refuse_unclear(column: pd.Series) -> None:
    """Raise DataError if all but a few values are numbers, or dates; categories may be anything.

    Such texts are mistakes of a file, or marks of missing values of its own; as categories they
    would make one of each number. So would dates of which it is not sure what they mean.
    """
    column = dated(standard_type(column))
    if not is_text(column):
        return
    texts, present = column.astype(str), column.notna()
    different = texts.unique()
    numerals = [is_numeral(text) for text in different]
    dates = ~np.isnat(dates_of(different, shows_day_first(different)))
    for what, are in (("numbers", numerals), ("dates", dates)):
        known = dict(zip(different, are, strict=True))
        rows = np.flatnonzero(present & ~texts.map(known).astype(bool))
        if 0 < len(rows) <= FEW_WORDS * present.sum():
            shown = ", ".join(f"{texts.iloc[row]!r} in row {row + 1}" for row in rows[:SHOWN])
            raise DataError(
                f"column {column.name!r} holds {what} in {present.sum() - len(rows)} rows, and"
                f" texts in {len(rows)}: {shown}: correct them, or leave them empty, or if a model"
                f" learns this column, remove their rows; categories that look like {what} are"
                " read from a parquet file, as its type category"
            )


def as_classes(column: pd.Series) -> pd.Series:
    """Return `column` as nominal: sorted, no unused categories, 3.0 and 3 are one class."""
    if is_nominal(column):
        return column.cat.remove_unused_categories()
    classes = column.astype("category")
    return classes.cat.rename_categories([label(value) for value in classes.cat.categories])


def _nominal(column: pd.Series) -> pd.Series:
    codes, values = pd.factorize(column)  # labels are made once a value, not once a row
    texts = [*map(label, values)]
    # The last entry of a table is that of code -1, a missing value.
    if any(len(text) > LONGEST_LABEL for text in texts):
        table = np.array([*texts, None], dtype=object)
        return pd.Series(table[codes], column.index, dtype=object, name=column.name)
    categories = sorted(set(texts))
    table = np.append(pd.Index(categories).get_indexer(texts), -1)
    nominal = pd.Categorical.from_codes(table[codes], categories)
    return pd.Series(nominal, column.index, name=column.name)
