"""Columns of any file format: integers, reals, booleans, dates, nominal, text.

And facts of a dataset that its rows alone show: a column that gives the target away, time order.
They are computed once, when a dataset is loaded, on a sample of its rows, and every result on the
dataset holds them: the diagnostics LB002 and LB003 judge them. The sample is the same in every
process.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from leaseboard.algorithms.errors import DataError
from leaseboard.algorithms.seeds import generator
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


def is_number(column: pd.Series) -> bool:
    """Return whether `column` holds integers or reals; booleans are not numbers."""
    return kind_of(column) in ("integer", "number")


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


MOST_ROWS, MOST_CELLS = 4000, 2_000_000
"""Rows of the sample, and its cells where there are many columns."""
FEWEST_ROWS = 40
"""Of fewer rows nothing is said."""
PAIRS = 20_000
SORTED = 0.02
"""Share of pairs or steps in the wrong order that is an accident."""
Floats = NDArray[np.float64]


def facts_of(features: pd.DataFrame, target: pd.Series) -> dict[str, Any]:
    """Return the facts of a table: numbers, flags, and names of columns.

    - ``leak_column``, ``leak_skill``, ``leak_errors``, ``leak_rows``: the column that predicts the
      target best by itself, see `skill_of_column`, its errors, and rows that it was tested on;
    - ``time_column``, ``time_certain``, ``time_discordant``: of a table with one column of dates,
      whether it is for sure the time of the rows, and the share of pairs of rows in the wrong
      order;
    - ``majority``: the share of the commonest class.
    """
    found: dict[str, Any] = {}
    classes = len(target.cat.categories) if is_nominal(target) else 0
    if classes:
        found["majority"] = float(np.bincount(target.cat.codes).max() / len(target))
    if len(target) < FEWEST_ROWS or not features.shape[1]:
        return found
    raw = features.reset_index(drop=True)
    columns = [(str(name), tidy(column)) for name, column in raw.items()]
    return found | _leak(columns, target, classes) | _order(columns)


def _leak(
    features: Sequence[tuple[str, pd.Series]], target: pd.Series, classes: int
) -> dict[str, Any]:
    most = min(MOST_ROWS, max(MOST_CELLS // len(features), 500))
    rows = generator("sample for diagnostics").permutation(len(target))[:most]
    before = np.maximum(rows - 1, 0)
    y = (target.cat.codes if classes else target).to_numpy()
    labels = y[rows].astype(np.intp) if classes else _ranks(y[rows])
    best: tuple[float, float, str] = (-math.inf, math.nan, "")
    for name, column in features:
        named, asked = is_named(column), labels
        x = _numbers(column.iloc[rows]) if not named else pd.factorize(column.iloc[rows])[0]
        if not (named or classes) and is_sorted_in_blocks(x[np.argsort(rows)]):
            # The place of the row: neighbours in time, of which half are known, are alike.
            x, asked = x - _numbers(column.iloc[before]), _ranks(y[rows] - y[before])
        skill, errors = skill_of_column(x, asked, classes, names=named)
        best = max(best, (skill, errors, name))
    names = ("leak_skill", "leak_errors", "leak_column", "leak_rows")
    return dict(zip(names, (*best, len(rows) - len(rows) // 2), strict=True))


def _ranks(values: NDArray[Any]) -> Floats:
    ranks: Floats = pd.Series(values).rank().to_numpy(np.float64)
    return ranks


def _numbers(column: pd.Series) -> Floats:
    """Return the values of numbers, dates and flags, NaN where they are missing or infinite."""
    dates = is_date(column)
    x = column.to_numpy().view(np.int64) if dates else column.to_numpy(np.float64)
    return np.where(column.isna() if dates else ~np.isfinite(x), np.nan, x)


def is_sorted_in_blocks(values: NDArray[Any]) -> bool:
    """Return whether nearly all steps from row to row, of those with one, go one way.

    Examples
    --------
    >>> is_sorted_in_blocks(np.r_[0:99, 0:99, 0.0]), is_sorted_in_blocks(np.r_[0:9, 0:9])
    (True, False)
    """
    steps = np.diff(values[~np.isnan(values)])
    up, down = (steps > 0).sum(), (steps < 0).sum()
    return bool(up + down > 0 and min(up, down) <= SORTED * (up + down))


def skill_of_column(
    x: NDArray[Any], y: NDArray[Any], classes: int, *, names: bool = False
) -> tuple[float, float]:
    """Return the skill and the errors of predicting the second half of `y` from one column.

    The first half of the rows, which are in random order, is what is known. Of classes the skill
    is the share of the errors of the commonest class that is avoided. Of numbers `y` are ranks,
    and the skill is R². Names predict what is known of them. Numbers may be a time or count rows,
    and then neighbours are alike: only a function that rises or falls counts, with an interval of
    values for each class. A value that is missing is a value.

    - `names`: `x` are numbers of names.
    """
    half = len(y) // 2
    known, asked = y[:half], y[half:]
    usual = np.bincount(known, minlength=classes).argmax() if classes else known.mean()
    if not names:
        x = np.where(np.isnan(x), np.min(x, where=~np.isnan(x), initial=0.0) - 1.0, x)
    values, place = np.unique(x[:half], return_inverse=True)
    known = known if names else _arranged(place, known, classes)
    at = np.interp(x[half:], values, np.arange(len(values)))
    if classes:
        counts = np.bincount(place * classes + known, minlength=len(values) * classes)
        commonest = counts.reshape(len(values), classes).argmax(axis=1)
        predicted = commonest[np.rint(at).astype(np.intp)]
    else:
        means = np.bincount(place, known) / np.bincount(place)
        predicted = np.interp(at, np.arange(len(means)), means)
    if names:
        predicted = np.where(np.isin(x[half:], values), predicted, usual)
    errors, base = (
        float((each != asked).sum() if classes else ((each - asked) ** 2).sum())
        for each in (predicted, usual)
    )
    return (1 - errors / base if base else 0.0), errors


def _arranged(place: NDArray[np.intp], known: NDArray[Any], classes: int) -> NDArray[Any]:
    """Return the labels put into the order of their places, classes by their mean place."""
    if classes:
        means = np.bincount(known, place, classes) / np.maximum(
            np.bincount(known, minlength=classes), 1
        )
        order = np.argsort(means[known], kind="stable")
    else:
        rising = np.cov(place, known)[0, 1] >= 0
        order = np.argsort(known if rising else -known, kind="stable")
    arranged = np.empty_like(known)
    arranged[np.argsort(place, kind="stable")] = known[order]
    return arranged


def _order(features: Sequence[tuple[str, pd.Series]]) -> dict[str, Any]:
    """Return how the rows follow the only column of dates.

    A date of birth is not the time of the row: it is certain by rows in order within blocks.
    """
    dates = [each for each in features if is_date(each[1])]
    if len(dates) != 1 or dates[0][1].notna().sum() < 2:
        return {}
    ((name, time),) = dates
    moments = _numbers(time[time.notna()])
    ends = generator("pairs for diagnostics").integers(0, len(moments), (PAIRS, 2))
    first, last = np.sort(ends, axis=1).T
    apart = moments[first] != moments[last]
    wrong = float((moments[first] > moments[last])[apart].mean()) if apart.any() else 0.0
    return {
        "time_column": name,
        "time_certain": is_sorted_in_blocks(moments),
        "time_discordant": wrong,
    }
