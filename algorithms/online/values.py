"""What a value in an example is: a number, a text, a date, or missing."""

from __future__ import annotations

import math
import re
from typing import Any, SupportsFloat

import numpy as np

from algorithms.benches.stream import Origin
from algorithms.online.dates import WEEKDAYS, date_parts, is_date, microseconds_of
from algorithms.online.hashing import murmur3

LARGEST = float(np.finfo(np.float32).max)
"""Models compute in 32 bits; what is beyond is as good as infinite."""

LONGEST_LABEL = 255
"""A text of more characters is free text, its words; a shorter one is a category."""

WORDS = 256
"""The features of a column of free text."""

_WORD = re.compile(r"\w\w+")

NO_NUMBERS = (np.timedelta64, np.complexfloating, np.datetime64)
"""NumPy's types that would become numbers without being any; of a date the parts are features."""

PANDAS_GAPS = ("NAType", "NaTType")
"""Its types of NA and NaT; pandas itself is not needed, and heavy."""


Key = tuple[str, str]
"""A namespace, "" if the example names none, and a feature."""


class Values(dict[Key, float]):
    """The features of an example.

    Attributes
    ----------
    origins : dict
        What the keys are made of that the example does not name itself: of a text, a date or a
        gap.
    """

    def __init__(self) -> None:
        super().__init__()
        self.origins: dict[Key, Origin] = {}


class Days(float):
    """The days from 1970 to a date; models count them from the first one that was learned."""


def parts_of(name: str, value: Any) -> list[tuple[str, float | str]]:
    """The features that a value is, by name: numbers, of which NaN is missing, and texts.

    Raises
    ------
    TypeError
        If the value is neither a number nor a text nor a date.
    ValueError
        If it is infinite.

    Examples
    --------
    >>> parts_of("when", np.datetime64("2024-02-29"))
    [('when weekday', 'thursday'), ('when month', '2'), ('when days', 19782.0)]
    """
    if (type(value) is float and abs(value) <= LARGEST) or isinstance(value, str):
        return [(name, value)]  # most values are
    if is_missing(value):
        return [(name, math.nan), (f"{name} days", math.nan)]
    if is_date(value):
        return _date(name, value)
    if isinstance(value, NO_NUMBERS) or not hasattr(value, "__float__"):
        raise TypeError(
            f"feature {name!r} is a {type(value).__name__}: a value must be a number, a text or a"
            " date"
        )
    number = number_of(value)
    if abs(number) > LARGEST:
        raise ValueError(
            f"feature {name!r} is {number}: a value must be finite in 32 bits, or missing (None)"
        )
    return [(name, number)]


def words_of(name: str, text: str) -> list[tuple[str, float | str]]:
    """Count the words of a text by their hashes, with signs; the counts have Euclidean length 1.

    Examples
    --------
    >>> [part for part in words_of("note", "An owl, an elk") if part[1]]
    [('note words#37', 0.408...), ('note words#71', -0.816...), ('note words#188', -0.408...)]
    """
    counts = [0.0] * WORDS
    for word in _WORD.findall(text.lower()):
        code = murmur3(word.encode(), 0)
        counts[code % WORDS] += 1.0 if code >> 31 else -1.0
    length = math.sqrt(sum(count * count for count in counts)) or 1.0
    return [(f"{name} words#{place}", count / length) for place, count in enumerate(counts)]


def number_of(value: SupportsFloat) -> float:
    """A number as a float, infinite where it is an integer beyond all of them."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def copied(value: Any) -> Any:
    """A value that was read before, as one that nobody else can change; None if it is missing."""
    if isinstance(value, str):
        return str(value)
    if is_missing(value):
        return None
    if is_date(value):
        return np.datetime64(microseconds_of(value), "us")
    return float(value)


def is_missing(value: Any) -> bool:
    """Whether a value is one that says so; NaN is a number."""
    if value is None or type(value).__name__ in PANDAS_GAPS:
        return True
    return isinstance(value, np.datetime64) and bool(np.isnat(value))


def _date(name: str, value: Any) -> list[tuple[str, float | str]]:
    parts = date_parts(microseconds_of(value))
    hour: list[tuple[str, float | str]] = []
    if parts.hour:  # a day without a time is its midnight
        hour = [(f"{name} hour", str(parts.hour))]
    return [
        *hour,
        (f"{name} weekday", WEEKDAYS[parts.weekday]),
        (f"{name} month", str(parts.month)),
        (f"{name} days", Days(parts.days)),
    ]
