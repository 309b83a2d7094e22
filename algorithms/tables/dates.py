"""Dates in texts: one parser for the columns of every file and frame, and for single values."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.errors import DataError

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
