"""Parts of dates: what of a point in time a model can use.

A time is what its clock shows: a zone or an offset is left out and moves nothing, so that nine in
the morning is nine in the morning in summer and in winter.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

HOUR = 3_600_000_000
DAY = 24 * HOUR
"""Microseconds."""

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_EPOCH = 719_163
"""The ordinal of 1970-01-01, as Python counts days."""


class DateParts(NamedTuple):
    """The parts of times: integers, or arrays of them.

    Attributes
    ----------
    hour : int or ndarray
        0 to 23.
    weekday : int or ndarray
        0 is Monday.
    month : int or ndarray
        1 to 12.
    days : float or ndarray
        Since 1970, with their fraction.
    """

    hour: Any
    weekday: Any
    month: Any
    days: Any


def date_parts(microseconds: Any) -> DateParts:
    """The parts of times in microseconds since 1970, one integer or an array of them.

    Examples
    --------
    >>> date_parts(microseconds_of(np.datetime64("2024-02-29T18")))
    DateParts(hour=18, weekday=3, month=2, days=19782.75)
    """
    day = microseconds // DAY
    # The civil calendar by eras of 400 years that begin on the first of March.
    of_era = (day + 719_468) % 146_097
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    return DateParts(
        hour=microseconds // HOUR % 24,
        weekday=(day + 3) % 7,
        month=((5 * of_year + 2) // 153 + 2) % 12 + 1,
        days=microseconds / DAY,
    )


def is_date(value: Any) -> bool:
    """Whether `value` is a date or a time with a date, of Python's, NumPy's or pandas' kind."""
    return isinstance(value, np.datetime64) or hasattr(value, "toordinal")


def microseconds_of(value: Any) -> int:
    """A date in microseconds from 1970, by its own clock; ValueError if 64 bits hold them not."""
    if isinstance(value, np.datetime64):
        counted = value.astype("datetime64[us]")
        if counted.astype("datetime64[Y]") != value.astype("datetime64[Y]"):
            raise ValueError(
                f"date {value} is too far from 1970 for microseconds in 64 bits: give a nearer"
                " one, or None for a missing one"
            )
        return int(counted.astype(np.int64))
    found: int = (value.toordinal() - _EPOCH) * DAY
    if hasattr(value, "hour"):
        seconds = 60 * value.minute + value.second
        found += value.hour * HOUR + seconds * 1_000_000 + value.microsecond
    return found
