"""What rows hold, as JSON in the state and as a table for models: both ways the same values."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd

Values = dict[str, Any]
"""A row's features by name: numbers, flags, texts, None for a missing one; dates as ISO texts."""


def values_in(frame: pd.DataFrame) -> list[Values]:
    """The rows of a table.

    Examples
    --------
    >>> values_in(pd.DataFrame({"a": [1.5, np.nan], "day": pd.to_datetime(["2026-01-02", None])}))
    [{'a': 1.5, 'day': '2026-01-02T00:00:00'}, {'a': None, 'day': None}]
    """
    names = [str(name) for name in frame]
    columns = [[plain_value(value) for value in frame[name].tolist()] for name in frame]
    if not columns:
        return [{} for _ in range(len(frame))]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def plain_value(value: Any) -> Any:
    """A value of a table as JSON has it."""
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value if isinstance(value, bool | int) else str(value)


def frame_of(rows: Sequence[Mapping[str, Any]], dates: Iterable[str] = ()) -> pd.DataFrame:
    """The table of rows; columns among `dates` hold dates."""
    frame = pd.DataFrame.from_records(list(rows)).infer_objects()
    for name in dates:
        if name in frame:
            frame[name] = pd.to_datetime(frame[name], format="ISO8601")
    return frame


def packed(values: Any) -> str:
    """As short JSON; a number comes back as the very same."""
    return json.dumps(values, separators=(",", ":"), sort_keys=True)


def seal_of(text: str) -> int:
    """The sum of its bytes."""
    return zlib.crc32(text.encode())
