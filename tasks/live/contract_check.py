"""Rows against the data contract: of a batch, and one by one as a server gets them."""

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from leaseboard.algorithms.errors import DataError, short
from leaseboard.algorithms.tables.column_types import date_of, standard_type
from leaseboard.algorithms.tables.values import (
    FLAGS,
    LARGEST,
    ValueKind,
    is_date,
    is_gap,
    is_number,
    text_of,
)
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.live.settings import NUMBERS, UNDECIDED, ColumnRule, Contract
from leaseboard.tasks.models.columns import Values

Reader = Callable[[Any], tuple[Any, str | None]]
"""Returns a value as JSON has it, and how it breaks a rule, such as ``is above 10``, or None."""

_BOOLEANS = (bool, np.bool_)
_EXACT = 2**53
"""Smaller integers are reals, too."""


def reader_of(rule: ColumnRule) -> Reader:
    """Return what reads the values of a column and finds how one breaks the rule.

    A number is a real, so that the checksums of 5 and of 5.0 are the same; a flag is 1 or 0; of a
    date the value is what its clock shows. The fault does not have the value: a message may quote
    it.
    """
    missing = None if rule.missing else "is missing"
    if rule.kind in NUMBERS:
        return _number_reader(rule, missing)
    parse, what = _KINDS[rule.kind]
    known = {text_of(each) for each in rule.categories} if rule.closed else None
    if known is not None:
        what = f"is not one of {short(', '.join(rule.categories))}"

    def read(value: Any) -> tuple[Any, str | None]:
        if is_gap(value):
            return None, missing
        found = parse(value)
        is_wrong = found is None or (known is not None and found not in known)
        return found, what if is_wrong else None

    return read


def _number_reader(rule: ColumnRule, missing: str | None) -> Reader:
    low = -LARGEST if rule.low is None else rule.low
    high = LARGEST if rule.high is None else rule.high
    whole = rule.kind == "integer"

    def read(value: Any) -> tuple[float | None, str | None]:
        if is_gap(value):
            return None, missing
        number = _finite(value) + 0.0  # no -0.0
        if low <= number <= high and not (whole and number % 1):
            return number, None
        if math.isnan(number):
            return None, "is not a number that is finite in 32 bits"
        if whole and number % 1:
            return number, "is not a whole number"
        return number, f"is below {low:g}" if number < low else f"is above {high:g}"

    return read


def _finite(value: Any) -> float:
    """Return a number, which may be written as a text; NaN for anything not finite in 32 bits."""
    if not isinstance(value, str) and (isinstance(value, _BOOLEANS) or not is_number(value)):
        return math.nan
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return math.nan
    return number if abs(number) <= LARGEST else math.nan


def _flag(value: Any) -> float | None:
    """Return 1 for true, 0 for false, however they are written; None for anything else."""
    if isinstance(value, str):
        value = FLAGS.get(value)
    is_flag = isinstance(value, _BOOLEANS) or _finite(value) in (0.0, 1.0)
    return float(value) if is_flag else None


def _date(value: Any) -> str | None:
    """Return what the clock of a date shows; a text is one if it is sure without other rows."""
    return _clock_of(str(value)) if isinstance(value, str) or is_date(value) else None


@lru_cache(maxsize=4096)
def _clock_of(text: str) -> str | None:
    found = date_of(text)
    return None if found is None else found.isoformat()


def _word(value: Any) -> str | None:
    """Return a text: a number can be one, unless another has the same real."""
    is_exact = not isinstance(value, float | np.floating) or abs(value) < _EXACT
    return text_of(value) if (isinstance(value, str) or is_number(value)) and is_exact else None


def _any_kind(value: Any) -> str | None:
    return str(value) if isinstance(value, _BOOLEANS) or is_date(value) else _word(value)


_WORD_FAULT = f"is neither a text nor an exact number: reals are below {_EXACT} alone"
_KINDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "flag": (_flag, "is neither true nor false"),
    "date": (_date, "is not a date, such as 2024-02-29"),
    "text": (_word, _WORD_FAULT),
    "category": (_word, _WORD_FAULT),
    UNDECIDED: (_any_kind, "is neither a number, true or false, a date nor a text"),
}
"""What reads a value, and the fault of one that it reads as None."""


def row_reader(
    rules: Mapping[str, ColumnRule],
) -> Callable[[Mapping[str, Any]], tuple[Values, str | None]]:
    """Return what reads a row and says why it breaks rules, as `check` does of a batch's rows.

    Columns without a rule are ignored. A value is quoted: the caller who sent it sees it alone.
    """
    readers = [
        (name, reader_of(rule), f"no column {name!r}" if rule.required else None)
        for name, rule in rules.items()
    ]

    def read(row: Mapping[str, Any]) -> tuple[Values, str | None]:
        found = dict.fromkeys(rules)
        for name, value_of, absent in readers:
            if name in row:
                found[name], fault = value_of(row[name])
                if fault is not None:
                    shown = "" if is_gap(row[name]) else f" {short(repr(row[name]), 60)}"
                    return found, f"{name}{shown} {fault}"
            elif absent is not None:
                return found, absent
        return found, None

    return read


MOST_WRONG = 0.5
"""The share of a column's values from which on they are one fault of the column."""
FEW = 10
"""Of fewer values no share is taken: each of them is reported."""
AHEAD = timedelta(days=1)
"""How far a clock that shows another zone's time may be ahead."""
_OFFSET = re.compile(r"(?:Z|UTC|GMT|(?<=[\d M])([+-])(\d\d)(?::?(\d\d))?)$", re.IGNORECASE)
"""Of a date, after its day."""


class Remark(NamedTuple):
    """Remark on a batch as a whole."""

    key: str
    """What it is about, the same in every batch that has it, such as ``size of price``."""
    text: str
    """One line for a person."""


class RejectedRow(NamedTuple):
    """Row that breaks the contract."""

    position: int
    """In the batch, from 0."""
    column: str
    reason: str


class CheckedRow(NamedTuple):
    """Row that keeps the contract."""

    values: Values
    """Of all columns of the contract, see `reader_of`."""
    moments: dict[str, datetime]
    """Its dates in UTC, without an offset: these show what the clocks did."""


@dataclass(frozen=True)
class CheckedBatch:
    """Batch after the check against the contract."""

    rows: list[CheckedRow]
    """What conforms, in its order; none if the batch `breaks`."""
    breaks: tuple[Remark, ...] = ()
    """Why the batch must not touch a model; no row of it is quarantined then."""
    remarks: tuple[Remark, ...] = ()
    """What is odd and harms nothing: a new column, a stale time, an unusual number of rows."""
    quarantined: tuple[RejectedRow, ...] = ()


def check(
    contract: Contract, frame: pd.DataFrame, *, now: datetime, time: str | None = None
) -> CheckedBatch:
    """Check a batch against `contract` at the time `now`.

    - `time`: the column with the time of a row.

    What is reported names columns and rows and quotes no value: it is sent to others.
    """
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        text = f"column {twice[0]!r} is there twice: names must be unique"
        return CheckedBatch([], (Remark(f"column {twice[0]}", text),))
    frame = standard_columns(frame)
    new = frame[[name for name in frame if name not in contract.columns]]
    remarks = [
        Remark(
            f"column {name}",
            f"column {name!r} is new, and left out: add it to the contract to have it learned",
        )
        for name in new
    ]
    breaks = []
    for name, rule in contract.columns.items():
        if name in frame:
            continue
        renamed = _renamed(name, rule, new)
        fix = f"{renamed!r} is new, rename it back" if renamed is not None else "add it"
        absent = Remark(f"column {name}", f"no column {name!r}: {fix}, or fix the contract")
        if rule.required:
            breaks.append(absent)
        elif renamed is not None:
            remarks.append(absent)
    known = {name: rule for name, rule in contract.columns.items() if name in frame}
    raw = {name: frame[name].tolist() for name in known}
    read = {name: list(map(reader_of(rule), raw[name])) for name, rule in known.items()}
    faults = {name: _faults_in(found) for name, found in read.items()}
    for name, rule in known.items():
        numbers = [value for value, _ in read[name]] if rule.size else ()
        breaks += filter(None, [_break_of(frame[name], rule, faults[name], numbers)])
    if breaks:
        return CheckedBatch([], tuple(breaks), tuple(remarks))
    first: dict[int, RejectedRow] = {}
    for name, found in faults.items():
        for position, fault in found.items():
            first.setdefault(position, RejectedRow(position, name, f"{name} {fault}"))
    quarantined = tuple(first[position] for position in sorted(first))
    dates = [name for name, rule in known.items() if rule.kind == "date"]
    expected, zone, rows = contract.rows, ZoneInfo(contract.rows.zone), list[CheckedRow]()
    for i in range(len(frame)):
        if i not in first:
            values = dict.fromkeys(contract.columns) | {n: read[n][i][0] for n in read}
            moments = {n: moment_of(raw[n][i], values[n], zone) for n in dates if values[n]}
            rows.append(CheckedRow(values, moments))
    most = math.inf if expected.most is None else expected.most
    if not expected.least <= len(frame) <= most:
        text = f"{len(frame)} rows: {expected.least} to {most:g} are expected"
        remarks.insert(0, Remark("number of rows", text))
    times = [row.moments[time] for row in rows if time in row.moments]
    newest = max(times, default=datetime.min)
    if newest.replace(tzinfo=UTC) > now + AHEAD:
        text = f"the newest {time} is {newest:%Y-%m-%d %H:%M}: fix its source"
        remarks.append(Remark(f"future {time}", text))
    return CheckedBatch(rows, (), tuple(remarks), quarantined)


def first_kinds(contract: Contract, rows: pd.DataFrame) -> dict[str, ValueKind]:
    """Return the kinds of undecided columns whose first values are in these rows.

    Values of another kind that are so few that they may be mistakes are quarantined later.
    """
    found = dict[str, ValueKind]()
    kinds: tuple[ValueKind, ...] = ("number", "flag", "date")
    for name, rule in contract.columns.items():
        if rule.kind != UNDECIDED or name not in rows or rows[name].isna().all():
            continue
        known = rows[name].dropna()
        most = columns.FEW_WORDS * len(known)
        fits = (kind for kind in kinds if len(faults_of(known, ColumnRule(kind=kind))) <= most)
        found[name] = next(fits, "text")
    return found


def standard_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Return rows with the `standard_type` of each column that has one; objects are read singly.

    A column that has none stays, for its values break whichever rule it has.
    """

    def standard(column: pd.Series) -> pd.Series:
        try:
            return column if column.dtype == object else standard_type(column)
        except DataError:
            return column

    return pd.DataFrame({name: standard(frame[name]) for name in frame}, frame.index)


def _renamed(name: str, rule: ColumnRule, new: pd.DataFrame) -> str | None:
    """Return the new column that an absent one was renamed to; None if none fits.

    Most of its values keep the rule, and of such columns its name is the most similar.
    """
    alike = [
        str(each) for each in new if len(faults_of(new[each], rule)) <= MOST_WRONG * len(new[each])
    ]
    likeness = {each: difflib.SequenceMatcher(None, name, each).ratio() for each in alike}
    return max(alike, key=likeness.__getitem__, default=None)


def faults_of(column: pd.Series, rule: ColumnRule) -> dict[int, str]:
    """Return how values break the rule, by position."""
    return _faults_in(map(reader_of(rule), column.tolist()))


def _faults_in(read: Iterable[tuple[Any, str | None]]) -> dict[int, str]:
    return {i: fault for i, (_, fault) in enumerate(read) if fault is not None}


def _break_of(
    column: pd.Series, rule: ColumnRule, faults: Mapping[int, str], numbers: Iterable[float | None]
) -> Remark | None:
    """Return the one fault of a column with too many wrong values, or values of another size."""
    name, missing, count = column.name, column.isna().to_numpy(), len(column)
    allowed = rule.missing * count + 5 * math.sqrt(rule.missing * (1 - rule.missing) * count)
    if rule.missing and missing.sum() > allowed + 1:
        return Remark(
            f"missing {name}",
            f"column {name!r} is missing in {missing.mean():.0%} of {count} rows: the contract"
            f" allows {rule.missing:.0%}: fix the source, or the contract",
        )
    for what, wrong, of in (
        ("missing", [position for position in faults if missing[position]], count),
        ("values of", [p for p in faults if not missing[p]], count - missing.sum()),
    ):
        if len(wrong) >= FEW and len(wrong) > MOST_WRONG * of:
            return Remark(
                f"{what} {name}",
                f"column {name!r}: {len(wrong)} of {of} values break its rule: that of row"
                f" {wrong[0] + 1} {faults[wrong[0]]}: fix the source, or the contract",
            )
    middle = median_size(numbers)
    if rule.size is None or middle is None or rule.size[0] <= middle <= rule.size[1]:
        return None
    return Remark(
        f"size of {name}",
        f"column {name!r}: its median size is {middle:.3g}, the contract says {rule.size[0]:g} to"
        f" {rule.size[1]:g}: has its unit changed? Fix the source, or the contract",
    )


def median_size(numbers: Iterable[float | None]) -> float | None:
    """Return the median of the absolute values that are not 0; None for fewer than `FEW`."""
    sizes = [abs(each) for each in numbers if each]
    return float(np.median(sizes)) if len(sizes) >= FEW else None


def moment_of(value: Any, clock: str, zone: ZoneInfo) -> datetime:
    """Return a date in UTC; one without an offset is of `zone`.

    - `clock`: what the date shows; of an hour that it shows twice, the first is meant.
    """
    at, offset = datetime.fromisoformat(clock), None
    if isinstance(value, datetime):
        offset = value.utcoffset()
    elif isinstance(value, str) and (found := _OFFSET.search(value[10:])):
        offset = timedelta(hours=int(found[2] or 0), minutes=int(found[3] or 0))
        offset = -offset if found[1] == "-" else offset
    offset = zone.utcoffset(at) if offset is None else offset
    return at - offset if 1 < at.year < MAXYEAR else at
