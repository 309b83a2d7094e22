"""Events as rows of plain values, as files and pickles hold them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any

from leaseboard.algorithms.events import Event, kind

Row = list[Any]


def row_of(event: Event) -> Row:
    """The name of its kind and its fields as they are: copies would take most of a save's time.

    Examples
    --------
    >>> from leaseboard.algorithms.events import Paused
    >>> row_of(Paused(at=5, configuration=2, units=3))
    ['Paused', 5, 2, 3, '']
    >>> event_of(['Paused', 5, 2, 3, ''])
    Paused(at=5, configuration=2, units=3, reason='')
    """
    name = type(event).__name__
    return [name, *_reader(name)(event)]


def event_of(row: Row) -> Event:
    """What `row_of` made the row of; ValueError or TypeError if that cannot be."""
    name, *values = row
    return kind(name)(**dict(zip(_fields(name), values, strict=True)))


@cache
def _fields(name: str) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind(name)))


@cache
def _reader(name: str) -> Callable[[Event], tuple[Any, ...]]:
    return attrgetter(*_fields(name))
