"""A data contract from the first rows, with room for new rows that are honest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.algorithms.tables.values import LARGEST, ValueKind, text_of
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.keep.conform import middle_size, standard_columns
from leaseboard.tasks.keep.contract import NUMBERS, BatchRules, ColumnRule, Contract
from leaseboard.tasks.models.columns import kind_of

MARGIN, GROWTH = 10, 300
"""Spreads by which a number may leave the range of the first rows, and by which one may whose size
never fell in them: a unit that is changed by 1,000 goes far beyond."""
SIZES = 30
"""Factor by which a batch's median size may differ: below the root of 1,000, so that a changed
unit is outside, whichever way."""
MISSING = 0.05
"""Share that may be missing where none was, beside twice the share of the first rows."""
WHOLE = 3000
"""As many whole numbers as make a fraction rarer than 1 in 1,000 rows."""
WORDS = 30
"""Up to so many different words are categories; more are text."""


def infer(
    frame: pd.DataFrame,
    *,
    time: str | None = None,
    id: str | None = None,  # noqa: A002  # as FILE.yaml names it
    target: str,
    batches: Sequence[int] = (),
    now: datetime | None = None,
) -> Contract:
    """The contract of rows that are like those of `frame`.

    - `time`, `id`, `target`: as FILE.yaml names them. Times and ids are never missing and grow
      without end; a target may be missing, and a batch may come without.
    - `batches`: the rows of the first batches, if they are known.
    - `now`: dates in `time` are to be as fresh as twice what they are at this moment, or as twice
      the largest gap between them.
    """
    rules, frame = {}, standard_columns(frame)
    for name in map(str, frame):
        if name != id:
            columns.refuse_few_words(frame[name])
        rule = _rule(frame[name], grows=name in (time, id))
        if name == id and rule.kind in NUMBERS:
            rule = ColumnRule(kind="text")
        if name == target:
            rule = rule.model_copy(update={"missing": 1.0, "required": False})
        rules[name] = rule
    least, most = (min(batches) // 3, 3 * max(batches)) if batches else (0, None)
    fresh = None
    if time is not None and now is not None and rules[time].kind == "date":
        fresh = _fresh(columns.as_dates(frame[time].dropna()), now)
    rows = BatchRules(time=time, fresh=fresh, least=least, most=most)
    return Contract(columns=rules, rows=rows)


def _rule(column: pd.Series, *, grows: bool) -> ColumnRule:
    kind = _kind(column)
    if grows:
        return ColumnRule(kind=kind)
    missing = min(1.0, _up(2 * float(column.isna().mean()) + MISSING))
    if kind in NUMBERS:
        return ColumnRule(kind=kind, missing=missing, **_scale(column))
    words = sorted(set(map(text_of, column.dropna()))) if kind == "category" else []
    return ColumnRule(kind=kind, categories=words, missing=missing)


def _fresh(times: pd.Series, now: datetime) -> timedelta:
    """In whole days; one at least, for nobody knows yet how long after its rows a file comes."""
    known = times.sort_values()
    gap = known.diff().max() if len(known) > 1 else timedelta()
    age = 2 * max(now.astimezone(UTC).replace(tzinfo=None) - known.iloc[-1], gap)
    return max(1, math.ceil(age / timedelta(days=1))) * timedelta(days=1)


def _kind(column: pd.Series) -> ValueKind:
    kind = kind_of(column)
    if kind == "date":
        return "date"
    if kind == "number":
        if pd.api.types.infer_dtype(column, skipna=True) == "boolean":
            return "flag"
        whole = pd.api.types.is_integer_dtype(column.dtype) and len(column) >= WHOLE
        return "integer" if whole else "number"
    few = column.nunique() <= WORDS and not columns.is_text(columns.tidy(column))
    return "category" if kind and few else "text"


def _scale(column: pd.Series) -> dict[str, Any]:
    """The range of a number, and of its median size; nothing where only one value was seen."""
    numbers = column.to_numpy(np.float64, na_value=np.nan)
    numbers = numbers[np.abs(numbers) <= LARGEST]
    if len(np.unique(numbers)) < 2:
        return {}
    low, high = float(numbers.min()), float(numbers.max())
    sizes = np.abs(numbers)
    grows = bool((np.diff(sizes) >= 0).all())
    room = GROWTH * (high - low) if grows else max(MARGIN * (high - low), sizes.max())
    found: dict[str, Any] = {"low": _down(low - room), "high": _up(high + room)}
    middle = middle_size(column)
    if middle is not None:
        most = GROWTH * sizes.max() if grows else SIZES * middle
        found["size"] = [_down(middle / SIZES), _up(most)]
    return found


def _down(number: float) -> float:
    return -_up(-number)


def _up(number: float) -> float:
    """The next number of two digits."""
    if number == 0:
        return 0.0
    places = 1 - math.floor(math.log10(abs(number)))
    return round(math.ceil(round(number * 10.0**places, 6)) / 10.0**places, max(places, 0))
