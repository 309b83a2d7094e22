"""One value of a column against the column's rule: the same in a file and in a request."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.algorithms.errors import short
from leaseboard.tasks.fetch import columns, files
from leaseboard.tasks.keep.contract import NUMBERS, ColumnRule
from leaseboard.tasks.models.plain_columns import text_of

Fault = Callable[[Any], str | None]
"""How a value breaks a rule, such as ``is above 10``; None if it does not."""

_MOST = float(columns.LARGEST)
_EXACT = 2**53
"""Smaller integers are reals, too."""
_BOOLEANS = (bool, np.bool_)
_NUMBERS = (int, float, np.integer, np.floating, Decimal)
_WORDS = (str, *_BOOLEANS, *_NUMBERS)
_FLAGS = dict.fromkeys(files.TRUE, 1.0) | dict.fromkeys(files.FALSE, 0.0)


def is_missing(value: Any) -> bool:
    """Whether a value is None, or one of the values that are unequal to themselves."""
    return value is None or value is pd.NA or bool(value != value)  # noqa: PLR0124


def number_of(value: Any) -> float:
    """A number, which may be written as a text; NaN for what is none that is finite."""
    is_number = isinstance(value, _NUMBERS) and not isinstance(value, (bool, np.timedelta64))
    if not is_number and not isinstance(value, str):
        return math.nan
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return math.nan
    return number if abs(number) <= _MOST else math.nan


def flag_of(value: Any) -> float:
    """1 for true, 0 for false, however they are written; NaN for what is neither."""
    if isinstance(value, str):
        return _FLAGS.get(value, math.nan)
    if isinstance(value, _BOOLEANS) or number_of(value) in (0.0, 1.0):
        return float(value)
    return math.nan


def is_date(value: Any) -> bool:
    """Whether a value is a date, or a text in ISO's form of one."""
    if isinstance(value, str):
        return columns.is_iso_date(value)
    return isinstance(value, dt.date | np.datetime64)


def is_word(value: Any) -> bool:
    """Whether a value can be a text: a number can, unless it may be another one's real, too."""
    is_exact = not isinstance(value, float | np.floating) or abs(value) < _EXACT
    return isinstance(value, _WORDS) and is_exact


def fault_of(rule: ColumnRule) -> Fault:
    """What says how a value breaks a column's rule, without the value: a message may quote it."""
    missing = None if rule.missing else "is missing"
    if rule.kind in NUMBERS:
        return _number_fault(rule, missing)
    if rule.kind == "flag":
        return _kind_fault(_is_flag, "is neither true nor false", missing)
    if rule.kind == "date":
        return _kind_fault(is_date, "is not a date, such as 2024-02-29", missing)
    if rule.closed:
        known = {*rule.categories, *map(text_of, rule.categories)}
        told = f"is none of {short(', '.join(rule.categories))}"
        return _kind_fault(lambda value: is_word(value) and text_of(value) in known, told, missing)
    told = f"is neither a text nor an exact number: reals are below {_EXACT} alone"
    return _kind_fault(is_word, told, missing)


def _number_fault(rule: ColumnRule, missing: str | None) -> Fault:
    low = -_MOST if rule.low is None else rule.low
    high = _MOST if rule.high is None else rule.high
    whole = rule.kind == "integer"

    def fault(value: Any) -> str | None:
        plain = value.__class__ is float or (value.__class__ is int and -_EXACT < value < _EXACT)
        if plain and low <= value <= high and not (whole and value % 1):
            return None  # most are: a fraction of a microsecond counts where a server waits
        if is_missing(value):
            return missing
        number = number_of(value)
        if low <= number <= high and not (whole and number % 1):
            return None
        if math.isnan(number):
            return "is not a number"
        if whole and number % 1:
            return "is not a whole number"
        return f"is below {low:g}" if number < low else f"is above {high:g}"

    return fault


def _kind_fault(is_one: Callable[[Any], bool], what: str, missing: str | None) -> Fault:
    def fault(value: Any) -> str | None:
        if is_missing(value):
            return missing
        return None if is_one(value) else what

    return fault


def _is_flag(value: Any) -> bool:
    return not math.isnan(flag_of(value))


def with_value(name: str, value: Any, fault: str) -> str:
    """A fault as callers who sent the value may read it, and no one else."""
    shown = "" if is_missing(value) else f" {short(repr(value), 60)}"
    return f"{name}{shown} {fault}"
