"""Columns of dates as columns that encoders take: hour, weekday and month, and days gone by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.errors import DataError
from leaseboard.algorithms.online.dates import WEEKDAYS, date_parts
from leaseboard.tasks.fetch import columns

LABELS = {
    "hour": tuple(map(str, range(24))),
    "weekday": WEEKDAYS,
    "month": tuple(map(str, range(1, 13))),
}
"""The nominal parts of a date with their values in order."""

KnownDates = dict[str, tuple[float, list[str]]]
"""Of each column of dates its first day, and those of its `LABELS` that vary."""

EVERY = slice(None)

MISSING = np.iinfo(np.int64).min
"""What NumPy's NaT is as a number."""


def known_dates(frame: pd.DataFrame, rows: Any = EVERY) -> KnownDates:
    """What `spread_dates` must know, by the training rows: `frame`, or `rows` of it."""
    found: KnownDates = {}
    for name, column in frame.items():
        dates = columns.as_dates(column)
        if dates is None:
            continue
        times = dates.iloc[rows].dropna().to_numpy().astype(np.int64)
        parts = date_parts(times)
        first = float(parts.days[0]) if len(times) else 0.0
        varying = [part for part in LABELS if len(times) and np.ptp(getattr(parts, part))]
        found[str(name)] = first, varying
    return found


def spread_dates(frame: pd.DataFrame, known: KnownDates) -> pd.DataFrame:
    """`frame` with nominal columns for the parts of each date that vary, and one of days.

    The parts of column ``t`` are called ``t hour``, ``t weekday``, ``t month`` and ``t days``;
    the last is the days since the first training row.

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
        first, varying = known[str(name)]
        for part in (*varying, "days"):
            taken = f"{name} {part}"
            if taken in frame and taken not in known:
                raise DataError(
                    f"column {taken!r} is also made of the dates {str(name)!r}: rename it"
                )
        times = _times(column)
        missing = times == MISSING
        parts = date_parts(np.where(missing, 0, times))
        for part in varying:
            codes = getattr(parts, part) - (part == "month")
            codes = np.where(missing, -1, codes)
            nominal = pd.Categorical.from_codes(codes, list(LABELS[part]))
            made[f"{name} {part}"] = pd.Series(nominal, frame.index)
        made[f"{name} days"] = np.where(missing, np.nan, parts.days - first)
    return pd.DataFrame(made, index=frame.index, copy=False)


def _times(column: pd.Series) -> NDArray[np.int64]:
    """A column that held dates before as microseconds since 1970, or `MISSING`."""
    dates = columns.as_dates(column)
    if dates is None and not column.isna().all():
        wrong = column[column.first_valid_index()]
        raise DataError(
            f"column {column.name!r} held dates before and holds {wrong!r}: give ISO dates, such"
            " as 2024-02-29 or 2024-02-29T18:30"
        )
    if dates is None:
        return np.full(len(column), MISSING)
    return dates.to_numpy().astype(np.int64)
