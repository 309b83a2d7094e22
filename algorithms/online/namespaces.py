"""What features and namespaces are called, and in which order they come."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from leaseboard.algorithms.errors import UsageError

_AS_IN = "as in {'a': ['x', 'y']}"
_NOT_IN_VW = re.compile(r"[\s|:]")


def by_name(key: tuple[str, str]) -> tuple[Any, ...]:
    """Sorts x2 before x10, and nothing like anything else."""
    parts = [re.split(r"(\d+)", name) for name in key]
    for part in parts:
        part[1::2] = [f"{len(n := digits.lstrip('0')):09d}{n}" for digits in part[1::2]]
    return parts, key


def declared_spaces(namespaces: Any) -> dict[str, str]:
    """The namespace of every feature; UsageError unless each feature has one only."""
    if not isinstance(namespaces, Mapping):
        raise UsageError(
            f"namespaces {namespaces!r} must map names to lists of features: {_AS_IN}"
        )
    found: dict[str, str] = {}
    for name, features in namespaces.items():
        listed = isinstance(features, (list, tuple, set, frozenset))
        if not listed or not all(isinstance(feature, str) for feature in features):
            raise UsageError(f"namespace {name!r}: {features!r} is no list of names: {_AS_IN}")
        for feature in features:
            if found.setdefault(feature, str(name)) != str(name):
                raise UsageError(
                    f"feature {feature!r} is in namespaces {found[feature]!r} and {name!r}:"
                    " leave it in one"
                )
    return found


def vw_name(name: str) -> str:
    """`name` without the characters that mean something in VW's text; " " is its own."""
    if name == " ":
        return name
    return _NOT_IN_VW.sub("_", name) or "_"


def letter(place: int) -> str:
    """What the group at `place` is called: a, b, c, ..., n26, ..."""
    return chr(ord("a") + place) if place < 26 else f"n{place}"
