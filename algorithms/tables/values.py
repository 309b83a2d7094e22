"""Values of tables: numbers, flags, texts, dates and gaps, the same in a dict and in a column.

A time is what its clock shows: a zone or an offset is left out and moves nothing, so that nine in
the morning is nine in the morning in summer and in winter. Labels and importances of users are
checked here, before anything is learned.
"""

import math
import re
from collections.abc import Iterable
from numbers import Real
from typing import Any, Literal, NamedTuple, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.algorithms.online.schema import Origin, murmur3

HOUR = 3_600_000_000
DAY = 24 * HOUR
"""Microseconds."""

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
YEAR_SINE, YEAR_COSINE = (
    np.round(wave(2 * np.pi * np.arange(367) / 365.25), 6) for wave in (np.sin, np.cos)
)
"""By the day of the year, rounded to be the same on all machines. Of one year of rows a trend and
a feature for each month cannot be separated, so that a model of both is wrong in the next year;
a trend and two waves can."""

_EPOCH = 719_163
"""The ordinal of 1970-01-01, as Python counts days."""


class DateParts(NamedTuple):
    """Parts of times: integers, or arrays of them.

    Attributes
    ----------
    hour : int or ndarray
        0 to 23.
    weekday : int or ndarray
        0 is Monday.
    month : int or ndarray
        1 to 12.
    yearday : int or ndarray
        1 to 366.
    days : float or ndarray
        Since 1970, with their fraction.
    """

    hour: Any
    weekday: Any
    month: Any
    yearday: Any
    days: Any


def date_parts(microseconds: Any) -> DateParts:
    """Return the parts of times in microseconds since 1970, one integer or an array of them.

    Examples
    --------
    >>> date_parts(microseconds_of(np.datetime64("2024-02-29T18")))
    DateParts(hour=18, weekday=3, month=2, yearday=60, days=19782.75)
    """
    day = microseconds // DAY
    # The civil calendar by eras of 400 years that begin on the first of March.
    of_era = (day + 719_468) % 146_097
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    leap = (year % 4 == 0) & (year % 100 != 0) | (year == 0)
    return DateParts(
        hour=microseconds // HOUR % 24,
        weekday=(day + 3) % 7,
        month=((5 * of_year + 2) // 153 + 2) % 12 + 1,
        # The last 60 days of a year of that calendar are the first ones of the next.
        yearday=of_year + 60 + leap - (of_year >= 306) * (365 + leap),
        days=microseconds / DAY,
    )


def is_date(value: Any) -> bool:
    """Return whether `value` is a date or a time with one, of Python, NumPy or pandas."""
    return isinstance(value, np.datetime64) or hasattr(value, "toordinal")


def microseconds_of(value: Any) -> int:
    """Return microseconds from 1970 to a date, by its own clock; ValueError beyond 64 bits."""
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


LARGEST = float(np.finfo(np.float32).max)
"""Models compute in 32 bits; what is beyond is as good as infinite."""

LONGEST_LABEL = 255
"""A text of more characters is free text, its words; a shorter one is a category."""

WORDS = 256
"""The features of a column of free text."""

_WORD = re.compile(r"\w\w+")

SECOND = np.timedelta64(1, "s")

PLAIN = frozenset(
    {str, float, int, bool, np.float64, np.float32}
    | {np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8}
)
"""Types of a text, or of a number that only has to be compared with `LARGEST`."""

NO_NUMBERS = (np.timedelta64, np.complexfloating, np.datetime64, np.ndarray)
"""NumPy's types that would become numbers without being any; of a date the parts are features."""

GAPS = ("NAType", "NaTType")
"""Types of pandas' NA and NaT, which is not needed and heavy."""


ValueKind = Literal["number", "integer", "flag", "date", "text", "category"]
"""What a column holds; a text is free text where a category is one of few words."""

Key = tuple[str, str]
"""A namespace, "" if the example names none, and a feature."""


class Values(dict[Key, float]):
    """Features of an example.

    Attributes
    ----------
    origins : dict
        What the keys are made of that the example does not name itself: of a text, a date or a
        gap.
    """

    def __init__(self) -> None:
        super().__init__()
        self.origins: dict[Key, Origin] = {}


TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
"""How a file may write a flag."""

FLAGS = dict.fromkeys(TRUE, True) | dict.fromkeys(FALSE, False)


class Days(float):
    """Days from 1970 to a date; models count them from the first one that was learned."""


def parts_of(name: str, value: Any) -> list[tuple[str, float | str]]:
    """Return the features of a value by name: numbers, of which NaN is missing, and texts.

    Raises
    ------
    TypeError
        If the value is neither a number nor a text nor a date.
    ValueError
        If it is infinite.

    Examples
    --------
    >>> parts_of("when", np.datetime64("2024-02-29"))[:2]
    [('when weekday', 'thursday'), ('when day of week', 3.0)]
    """
    if (type(value) is float and abs(value) <= LARGEST) or isinstance(value, str):
        return [(name, value)]  # most values are
    if is_missing(value):
        parts = ("", " time of day", " day of week", " year sine", " year cosine", " days")
        return [(f"{name}{part}", math.nan) for part in parts]
    if is_date(value):
        return _date(name, value)
    if not is_number(value):
        raise TypeError(
            f"feature {name!r} is a {type(value).__name__}: a value must be a number, a text, a"
            " date, a duration or a time of day"
        )
    number = number_of(value)
    if abs(number) > LARGEST:
        raise ValueError(
            f"feature {name!r} is {number}: a value must be finite in 32 bits, or missing (None)"
        )
    return [(name, number)]


def standard_value(value: Any) -> Any:
    r"""Return the number, text or date that a value is; the value itself if it is neither.

    A duration and a time of day are a number of seconds, a period is its first moment, bytes are
    a text in UTF-8, and an interval is the text that shows it.

    Examples
    --------
    >>> standard_value(np.timedelta64(90, "m")), standard_value(b"caf\xc3\xa9")
    (5400.0, 'café')
    """
    if isinstance(value, str | float) or is_missing(value):
        return value
    if isinstance(value, bytes):
        return label(value)
    if hasattr(value, "total_seconds"):
        exact = getattr(value, "to_timedelta64", None)  # of pandas, which counts nanoseconds
        value = exact() if exact else np.timedelta64(value)
    if isinstance(value, np.timedelta64):
        months = np.datetime_data(value.dtype)[0] in ("Y", "M", "generic")
        return value if months else float(seconds_of(value))
    if hasattr(value, "start_time"):
        return value.start_time
    if hasattr(value, "hour") and not is_date(value):
        seconds = 3600 * value.hour + 60 * value.minute + value.second
        return seconds + value.microsecond / 1e6
    return str(value) if type(value).__name__ == "Interval" else value


def seconds_of(durations: Any) -> Any:
    """Return durations of NumPy in seconds, the same in every unit; NaN for NaT."""
    whole = durations.astype("timedelta64[s]")
    return whole / SECOND + (durations - whole) / SECOND


def label(value: object) -> str:
    """Return the name of a category: a whole real is written as an integer, bytes are UTF-8."""
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(f"value {value[:20]!r} is not UTF-8: convert the file") from error
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def text_of(value: object) -> str:
    """Return a value as a text; a flag is one text, however it is written."""
    text = label(value)
    return str(FLAGS.get(text, text))


def is_number(value: Any) -> bool:
    """Return whether a value is a real number, or a boolean, which counts 1 or 0."""
    return hasattr(value, "__float__") and not isinstance(value, NO_NUMBERS)


def words_of(name: str, text: str) -> list[tuple[str, float | str]]:
    """Count the words of a text by their hashes, with signs; the counts have Euclidean length 1.

    Examples
    --------
    >>> [(name, round(share, 3)) for name, share in words_of("note", "An owl, an elk") if share]
    [('note words#103', 0.816), ('note words#114', -0.408), ('note words#209', 0.408)]
    """
    counts = [0.0] * WORDS
    for word in _WORD.findall(text.lower()):
        code = murmur3(word.encode(), 0)
        counts[code % WORDS] += 1.0 if code >> 31 else -1.0
    length = math.sqrt(sum(count * count for count in counts)) or 1.0
    return [(f"{name} words#{place}", count / length) for place, count in enumerate(counts)]


def number_of(value: SupportsFloat) -> float:
    """Return a number as a float, infinite if it is an integer beyond all of them."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def copied(value: Any) -> Any:
    """Return a copy of a value that no one else can change; None if it is missing."""
    if type(value) is float:  # most are, and no one can change it
        return value
    value = standard_value(value)
    if isinstance(value, str):
        return str(value)
    if is_missing(value):
        return None
    if is_date(value):
        return np.datetime64(microseconds_of(value), "us")
    return float(value)


def is_missing(value: Any) -> bool:
    """Return whether a value marks a gap; NaN is a number."""
    if value is None or type(value).__name__ in GAPS:
        return True
    return isinstance(value, np.datetime64 | np.timedelta64) and bool(np.isnat(value))


def is_gap(value: Any) -> bool:
    """Return whether a value is missing, or NaN of any type."""
    return is_missing(value) or bool(value != value)  # noqa: PLR0124


def _date(name: str, value: Any) -> list[tuple[str, float | str]]:
    """Return the features of a date, see `parts_of`."""
    microseconds = microseconds_of(value)
    parts, since_midnight = date_parts(microseconds), microseconds % DAY
    found: list[tuple[str, float | str]] = []
    if since_midnight:  # a day without a time is its midnight
        found = [(f"{name} time of day", since_midnight / HOUR)]
    if parts.hour:
        found.append((f"{name} hour", str(parts.hour)))
    return [
        *found,
        (f"{name} weekday", WEEKDAYS[parts.weekday]),
        (f"{name} day of week", float(parts.weekday)),
        (f"{name} year sine", float(YEAR_SINE[parts.yearday])),
        (f"{name} year cosine", float(YEAR_COSINE[parts.yearday])),
        (f"{name} days", Days(parts.days)),
    ]


MOST = 1e9
"""An importance at most: sums of far larger ones leave nothing of an example of importance 1."""


def regression_label(y: Any) -> float:
    """Return a regressor's label as a number; TypeError or ValueError for anything else."""
    if isinstance(y, float) and -LARGEST <= y <= LARGEST:  # of NumPy's too
        return float(y)
    if isinstance(y, (bool, np.bool_, *NO_NUMBERS)) or not isinstance(y, Real):
        raise TypeError(f"label {y!r} is a {type(y).__name__}: a regressor learns numbers")
    if not abs(number_of(y)) <= LARGEST:
        raise ValueError(f"label {y!r} must be finite in 32 bits: leave the example out")
    return float(y)


def importance_of(w: Any) -> float:
    """Return an importance as a number; ValueError if it is negative or above `MOST`.

    One that is 0 in single precision is 0, as in a block.
    """
    if type(w) is float and 1e-30 < w <= MOST:
        return w
    if isinstance(w, NO_NUMBERS) or not isinstance(w, Real) or not 0 <= number_of(w) <= MOST:
        raise ValueError(f"importance {w!r} must be a finite number >= 0, and at most {MOST:g}")
    return float(np.float32(w)) if w < 1 else float(w)


def labels_of(y: Any) -> NDArray[np.float32]:
    """Return a regressor's labels; TypeError or ValueError if one is not a finite number."""
    given = np.asarray(y)
    if given.ndim != 1:
        raise ValueError(f"labels of shape {given.shape} must be one number an example")
    return np.array([regression_label(label) for label in _singles(given)], dtype=np.float32)


def codes_of(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the place of each label among `classes`, by value: True, 1 and 1.0 are the same.

    Raises
    ------
    UsageError
        If a label is not among them; ``"1"`` is not 1.

    Examples
    --------
    >>> codes_of(np.array([True, False]), np.array([0, 1])).tolist()
    [1, 0]
    """
    places = {value: place for place, value in enumerate(classes.tolist())}
    values, rows = np.unique(y, return_inverse=True)
    unknown = [value for value in values.tolist() if value not in places]
    if unknown:
        raise UsageError(
            f"y holds {unknown[0]!r}, which is not among the classes {classes.tolist()}: name all"
            " of them, as values of one type, in the first call"
        )
    return np.array([places[value] for value in values.tolist()], dtype=np.intp)[rows]


def importances_of(w: Any, n: int) -> NDArray[np.float32]:
    """Return the importances of `n` examples, 1 by default; ValueError for an invalid one."""
    if w is None:
        return np.ones(n, dtype=np.float32)
    found = np.asarray(w)
    if found.shape != (n,):
        raise ValueError(f"importances of shape {found.shape} for {n} examples: give one each")
    return np.array([importance_of(one) for one in _singles(found)], dtype=np.float32)


def _singles(given: NDArray[Any]) -> list[Any]:
    """Return an array's values as Python's own, except times, which would become integers."""
    return list(given) if given.dtype.kind in "mM" else given.tolist()


def unique_names(names: Iterable[Any]) -> list[str]:
    """Return the names of columns as texts; ValueError if two are the same."""
    found: dict[str, None] = {}
    for name in map(str, names):
        if name in found:
            raise ValueError(f"column {name!r} comes twice: give each a name of its own")
        found[name] = None
    return list(found)
