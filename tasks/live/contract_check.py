"""Rows against the data contract: of a batch, and one by one as a server gets them."""

import difflib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.errors import DataError, short
from leaseboard.algorithms.tables.column_types import standard_type
from leaseboard.algorithms.tables.dates import date_of, dates_of
from leaseboard.algorithms.tables.values import (
    BOOLEANS,
    LARGEST,
    ValueKind,
    finite_number,
    flag_of,
    is_beyond_32_bits,
    is_date,
    is_gap,
    is_number,
    text_of,
)
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.live.contract import NUMBERS, UNDECIDED, ColumnRule, Contract
from leaseboard.tasks.live.settings import in_words

Fault = Callable[[Any], str | None]
"""How a value breaks a rule, such as ``is above 10``; None if it does not."""

_EXACT = 2**53
"""Smaller integers are reals, too."""


def _is_date(value: Any) -> bool:
    """Return whether a value is a date, or a text of one that is sure without other rows."""
    return date_of(value) is not None if isinstance(value, str) else is_date(value)


def _is_word(value: Any) -> bool:
    """Return whether a value can be a text: a number can, unless another has the same real."""
    is_exact = not isinstance(value, float | np.floating) or abs(value) < _EXACT
    return (isinstance(value, str) or is_number(value)) and is_exact


def fault_of(rule: ColumnRule) -> Fault:
    """Return what says how a value breaks a rule, without the value: a message may quote it."""
    missing = None if rule.missing else "is missing"
    if rule.kind in NUMBERS:
        return _number_fault(rule, missing)
    if rule.kind == "flag":
        what = "is neither true nor false"
        return _kind_fault(lambda one: not math.isnan(flag_of(one)), what, missing)
    if rule.kind == "date":
        return _kind_fault(_is_date, "is not a date, such as 2024-02-29", missing)
    if rule.closed:
        known = {*rule.categories, *map(text_of, rule.categories)}
        what = f"is not one of {short(', '.join(rule.categories))}"
        return _kind_fault(lambda one: _is_word(one) and text_of(one) in known, what, missing)
    if rule.kind == UNDECIDED:
        what = "is neither a number, true or false, a date nor a text"
        return _kind_fault(
            lambda one: _is_word(one) or isinstance(one, BOOLEANS) or is_date(one), what, missing
        )
    what = f"is neither a text nor an exact number: reals are below {_EXACT} alone"
    return _kind_fault(_is_word, what, missing)


def _number_fault(rule: ColumnRule, missing: str | None) -> Fault:
    low = -LARGEST if rule.low is None else rule.low
    high = LARGEST if rule.high is None else rule.high
    whole = rule.kind == "integer"

    def fault(value: Any) -> str | None:
        plain = value.__class__ is float or (value.__class__ is int and -_EXACT < value < _EXACT)
        if plain and low <= value <= high and not (whole and value % 1):
            return None  # most are: a fraction of a microsecond counts where a server waits
        if is_gap(value):
            return missing
        number = finite_number(value)
        if low <= number <= high and not (whole and number % 1):
            return None
        if math.isnan(number):
            return f"is not {'finite in 32 bits' if is_beyond_32_bits(value) else 'a number'}"
        if whole and number % 1:
            return "is not a whole number"
        return f"is below {low:g}" if number < low else f"is above {high:g}"

    return fault


def _kind_fault(is_one: Callable[[Any], bool], what: str, missing: str | None) -> Fault:
    def fault(value: Any) -> str | None:
        if is_gap(value):
            return missing
        return None if is_one(value) else what

    return fault


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


@dataclass(frozen=True)
class CheckedBatch:
    """Batch after the check against the contract."""

    rows: pd.DataFrame
    """What conforms: all columns of the contract in its types, at their places in the batch:
    numbers, integers and flags as float64, dates as ``datetime64[us]``, words as texts. Empty if
    the batch `breaks`."""
    breaks: tuple[Remark, ...] = ()
    """Why the batch must not touch a model; no row of it is quarantined then."""
    remarks: tuple[Remark, ...] = ()
    """What is odd and harms nothing: a new column, a stale time, an unusual number of rows."""
    quarantined: tuple[RejectedRow, ...] = ()
    moments: Mapping[str, pd.Series] = field(default_factory=dict)
    """Of columns of dates what they are in UTC, for `rows`: these show what the clocks did."""


def check(contract: Contract, frame: pd.DataFrame, *, now: datetime) -> CheckedBatch:
    """Check a batch against `contract` at the time `now`.

    What is reported names columns and rows and quotes no value: it is sent to others.
    """
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        text = f"column {twice[0]!r} is there twice: names must be unique"
        return CheckedBatch(frame.iloc[:0], (Remark(f"column {twice[0]}", text),))
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
    faults = {name: _faults(frame[name], rule) for name, rule in known.items()}
    for name, rule in known.items():
        breaks += filter(None, [_break_of(frame[name], name, rule, faults[name])])
    if breaks:
        return CheckedBatch(frame.iloc[:0], tuple(breaks), tuple(remarks))
    first: dict[int, RejectedRow] = {}
    for name, found in faults.items():
        for position, fault in found.items():
            first.setdefault(position, RejectedRow(position, name, f"{name} {fault}"))
    quarantined = tuple(first[position] for position in sorted(first))
    plain = frame.reset_index(drop=True).iloc[np.setdiff1d(np.arange(len(frame)), [*first])]
    absent = pd.Series(None, plain.index, dtype=object)
    typed = {n: _typed(plain.get(n, absent), rule) for n, rule in contract.columns.items()}
    rows = pd.DataFrame(typed, plain.index)
    dates = [name for name, rule in known.items() if rule.kind == "date"]
    expected, zone = contract.rows, contract.rows.zone
    moments = {name: moments_of(plain[name], rows[name], zone) for name in dates}
    most = math.inf if expected.most is None else expected.most
    if not expected.least <= len(frame) <= most:
        text = f"{len(frame)} rows: {expected.least} to {most:g} are expected"
        remarks.insert(0, Remark("number of rows", text))
    newest = moments[expected.time].max() if expected.time in dates else None
    if not pd.isna(newest) and newest.tz_localize(UTC) > now + AHEAD:
        text = f"the newest {expected.time} is {newest:%Y-%m-%d %H:%M}: fix its source"
        remarks.append(Remark(f"future {expected.time}", text))
    return CheckedBatch(rows, (), tuple(remarks), quarantined, moments)


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
        fits = (kind for kind in kinds if len(_faults(known, ColumnRule(kind=kind))) <= most)
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


def row_check(contract: Contract) -> Callable[[Mapping[str, Any]], str | None]:
    """Return what says why a row breaks `contract`, or None, as `check` does of a batch's rows.

    Columns that the contract does not name are ignored.
    """
    rules = [
        (name, fault_of(rule), f"no column {name!r}" if rule.required else None)
        for name, rule in contract.columns.items()
    ]

    def reason(row: Mapping[str, Any]) -> str | None:
        for name, fault, absent in rules:
            if name not in row:
                if absent is not None:
                    return absent
            elif (why := fault(row[name])) is not None:
                # The value is for the caller who sent it, and for no one else.
                value = "" if is_gap(row[name]) else f" {short(repr(row[name]), 60)}"
                return f"{name}{value} {why}"
        return None

    return reason


def stale(contract: Contract, newest: datetime, now: datetime) -> Remark | None:
    """Return a remark if the newest time is too old; one without a zone is UTC."""
    time, fresh = contract.rows.time, contract.rows.fresh
    age = now.astimezone(UTC) - (newest if newest.tzinfo else newest.replace(tzinfo=UTC))
    if fresh is None or age <= fresh:
        return None
    age -= age % timedelta(minutes=1)
    shown = f"{newest:%Y-%m-%d %H:%M} UTC"
    return Remark(
        f"age of {time}",
        f"the newest {time} is {shown}, that is {age} ago: at most {in_words(fresh)} is fresh",
    )


def _renamed(name: str, rule: ColumnRule, new: pd.DataFrame) -> str | None:
    """Return the new column that an absent one was renamed to; None if none fits.

    Most of its values keep the rule, and of such columns its name is the most similar.
    """
    alike = [
        str(each) for each in new if len(_faults(new[each], rule)) <= MOST_WRONG * len(new[each])
    ]
    likeness = {each: difflib.SequenceMatcher(None, name, each).ratio() for each in alike}
    return max(alike, key=likeness.__getitem__, default=None)


def _faults(column: pd.Series, rule: ColumnRule) -> dict[int, str]:
    """Return how values break the rule, by position."""
    found = enumerate(map(fault_of(rule), column.tolist()))
    return {position: reason for position, reason in found if reason is not None}


def _break_of(
    column: pd.Series, name: str, rule: ColumnRule, faults: Mapping[int, str]
) -> Remark | None:
    """Return the one fault of a column with too many wrong values, or values of another size."""
    missing, count = column.isna().to_numpy(), len(column)
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
    middle = None if rule.size is None else median_size(column)
    if rule.size is None or middle is None or rule.size[0] <= middle <= rule.size[1]:
        return None
    return Remark(
        f"size of {name}",
        f"column {name!r}: its median size is {middle:.3g}, the contract says {rule.size[0]:g} to"
        f" {rule.size[1]:g}: has its unit changed? Fix the source, or the contract",
    )


def median_size(column: pd.Series) -> float | None:
    """Return the median of the absolute values that are not 0; None for fewer than `FEW`."""
    sizes = np.abs(_numbers(column, finite_number))
    sizes = sizes[sizes > 0]
    return float(np.median(sizes)) if len(sizes) >= FEW else None


def moments_of(column: pd.Series, clock: pd.Series, zone: str) -> pd.Series:
    """Return dates in UTC, as ``datetime64[us]``; without an offset they are of `zone`.

    - `clock`: what the dates show; of an hour that it shows twice, the first is meant.
    """
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        return column.dt.tz_convert("UTC").dt.tz_localize(None).astype("datetime64[us]")
    local = clock.dt.tz_localize(
        zone, ambiguous=np.full(len(clock), True), nonexistent="shift_forward"
    )
    moments = local.dt.tz_convert("UTC").dt.tz_localize(None)
    if pd.api.types.is_datetime64_dtype(column.dtype):
        return moments
    offsets = pd.Series([_offset(value) for value in column.tolist()], column.index)
    return moments.where(offsets.isna(), clock - pd.to_timedelta(offsets, unit="min"))


def _offset(value: Any) -> float:
    """Return the minutes by which a date's clock is ahead of UTC; NaN without an offset."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.utcoffset().total_seconds() / 60  # type: ignore[union-attr]
    found = _OFFSET.search(value[10:]) if isinstance(value, str) else None
    if found is None:
        return math.nan
    minutes = 60 * int(found[2] or 0) + int(found[3] or 0)
    return -minutes if found[1] == "-" else minutes


def _numbers(column: pd.Series, read: Callable[[Any], float]) -> NDArray[np.float64]:
    """Return a column as reals; NaN where a value is missing or is not a number."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufb":
        return column.to_numpy(np.float64)
    return np.array([math.nan if is_gap(v) else read(v) for v in column.tolist()], float)


def _typed(column: pd.Series, rule: ColumnRule) -> pd.Series:
    """Return a column whose values are all right in the type of its kind."""
    if rule.kind in ("number", "integer", "flag"):
        # Integers, too: the checksums of 5 and of 5.0, which a gap in the column makes it, differ.
        return pd.Series(
            _numbers(column, flag_of if rule.kind == "flag" else finite_number), column.index
        )
    if rule.kind == "date":
        if columns.is_date(column):
            return columns.as_dates(column)
        return pd.Series(dates_of(column), column.index)
    words = [None if is_gap(value) else text_of(value) for value in column.tolist()]
    return pd.Series(words, column.index, dtype=object)
