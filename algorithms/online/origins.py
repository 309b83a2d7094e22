"""Of which column, and what part of it, a feature of an example is made."""

from __future__ import annotations

from collections.abc import Mapping

from algorithms.benches.stream import Origin
from algorithms.online.gaps import indicator

_DATE_PARTS = ("hour", "weekday", "month", "days")


def origin_of(space: str, name: str, made_of: Mapping[tuple[str, str], str]) -> Origin:
    """What feature `name` of a namespace is made of.

    Parameters
    ----------
    space, name : str
    made_of : mapping of (str, str) to str
        Of the features that are made of a text, a date or a gap, the name that each is told by.

    Examples
    --------
    >>> made_of = {("", "t days"): "t", ("", "t month=2"): "t month", ("", "c=u"): "c"}
    >>> origin_of("", "t month=2", made_of)
    Origin(column='t', part='month', value='2')
    """
    of = made_of.get((space, name), "")
    if not of:
        return Origin(name)
    if name == indicator(of):
        return Origin(made_of.get((space, of), of), "missing")
    stem, _, part = of.rpartition(" ")
    value = name.removeprefix(f"{of}=")
    if value == name:
        return Origin(of, name.removeprefix(f"{of} "))
    if part in _DATE_PARTS and made_of.get((space, f"{stem} days")) == stem:
        return Origin(stem, part, value)
    return Origin(of, "", value)
