"""What all encoders share: labels of categories, and parts of dates."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.errors import DataError
from leaseboard.algorithms.tables.values import WEEKDAYS, date_parts, label
from leaseboard.tasks.fetch import columns


@contextmanager
def naming(reference: str) -> Iterator[None]:
    """Begin errors about data that cannot be encoded with their name."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{reference}: {error}") from error


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
which order its texts are (`leaseboard.algorithms.tables.dates.shows_day_first`)."""

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
