"""Durations as people write them: ``90s``, ``30m``, ``12h``, ``7d``, ``2w``."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator

_UNITS = {
    "w": timedelta(weeks=1),
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
}


def duration(text: object) -> timedelta:
    """The duration that `text` says; ValueError for anything else.

    Examples
    --------
    >>> duration("12h")
    datetime.timedelta(seconds=43200)
    """
    if isinstance(text, timedelta):
        return text
    found = re.fullmatch(r"(\d{1,6})([wdhms])", text) if isinstance(text, str) else None
    if found is None:
        raise ValueError("a duration is a whole number and its unit, such as 7d, 12h or 30m")
    return int(found[1]) * _UNITS[found[2]]


def in_words(length: timedelta) -> str:
    """What `duration` reads as `length`, to the second above; nothing shorter than one.

    Examples
    --------
    >>> in_words(timedelta(days=2)), in_words(timedelta(hours=36))
    ('2d', '36h')
    """
    seconds = -(-length // _UNITS["s"]) * _UNITS["s"]
    unit = next(unit for unit, size in _UNITS.items() if not seconds % size)
    return f"{seconds // _UNITS[unit]}{unit}" if seconds else "0s"


Duration = Annotated[timedelta, BeforeValidator(duration)]
"""A duration in a YAML file."""
