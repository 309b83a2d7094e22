"""Descriptions of configurations for users, in the names of their columns.

A column is called by its name, features that are made of one by its name and the part, as
``day: hour``, and a namespace by what is in it: ``temperature``, ``temperature, wind``, or for
more by the first and the last of these neighbours, ``temperature … rain``; one that users named
themselves by that name. A product of these is ``temperature × (wind, rain)``.
Names are texts of users: one with marks that have a meaning here is quoted as Python does.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement
from typing import Any

from leaseboard.algorithms.environments.stream import Origin
from leaseboard.algorithms.online.configuration import Interaction, VWConfiguration
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.online_automl.safe.representations import RAW, Representations

MOST_LISTED = 3
"""Columns of a namespace whose names are all listed."""

MOST_KEPT = 2_000
"""Sets of features, and of interactions, whose descriptions are cached for all models."""

LAST, SEASON = "last 3 labels", "seasonal lag"

_MARKS = re.compile(r"[×…,:;=()'\"]")


def quoted(name: str) -> str:
    """Return `name`, between quotes if it has marks, or is not printed as it is.

    Examples
    --------
    >>> quoted("office hours"), quoted("a × b")
    ('office hours', "'a × b'")
    """
    return name if name.strip() and name.isprintable() and not _MARKS.search(name) else repr(name)


class Words:
    """Descriptions of the configurations over the columns of a schema.

    Parameters
    ----------
    schema : Schema
        Of examples as they come.
    known : Representations, optional
        Those of the schema, where configurations choose among them.

    Examples
    --------
    >>> from leaseboard.algorithms.online_automl.safe.representations import represent
    >>> columns = Origin("temperature"), Origin("office hours")
    >>> schema = Schema(("a", "b"), ((0,), (1,)), ("0", "1"), origins=columns)
    >>> crossed = VWConfiguration((("a:", "b:"),), 0.5, ("a:", "b:", ":last"))
    >>> found = Words(schema, represent(schema)).parameters(crossed)
    >>> found["interactions"], found["features"]
    (['temperature × office hours'], 'standardised, last 3 labels')
    """

    def __init__(self, schema: Schema, known: Representations | None = None) -> None:
        wide = schema if known is None else known.schema
        self._order = {name: place for place, name in enumerate(wide.namespaces)}
        self._kinds = {RAW: schema.namespaces} if known is None else known.kinds
        self._past = {} if known is None else {known.last: LAST, known.season: SEASON}
        self._schema = schema
        self._features = lru_cache(maxsize=MOST_KEPT)(self.features)
        self._interactions = lru_cache(maxsize=MOST_KEPT)(self._describe_interactions)

    @cached_property
    def _members(self) -> dict[str, list[Origin]]:
        return members(self._schema)

    @cached_property
    def _titles(self) -> dict[str, str]:
        """Titles of the namespaces."""
        called = self._schema.called
        return {
            name: quoted(called[name]) if name in called else _listing(every)
            for name, every in self._members.items()
        }

    def parameters(self, configuration: VWConfiguration) -> dict[str, Any]:
        """Return what a configuration chose as plain values."""
        names = configuration.namespaces
        return {
            "interactions": list(self._interactions(configuration.interactions, names)),
            "learning_rate": configuration.learning_rate,
            **({} if names is None else {"features": self._features(names)}),
        }

    def features(self, names: Iterable[str]) -> str:
        """Return which features namespaces hold: the kinds, and labels of the past."""
        left, words = set(names), []
        for kind, all_of_it in self._kinds.items():
            if all_of_it and left >= {*all_of_it}:
                left -= {*all_of_it}
                words.append(kind)
        words += self._units(left - {*self._past}, with_kind=True)
        return ", ".join([*words, *(self._past[name] for name in self._past if name in left)])

    def _describe_interactions(
        self, interactions: tuple[Interaction, ...], names: tuple[str, ...] | None
    ) -> list[str]:
        """Return the interactions; all pairs of some namespaces, with squares, are one text."""
        left = [*interactions]
        own = {*(names or self._order)} - {*self._past}
        with_kind = sum(bool(own & {*kind}) for kind in self._kinds.values()) > 1
        found = []
        squares = {one[0] for one in left if len(one) == 2 and one[0] == one[1]} & own
        pairs = set(combinations_with_replacement(sorted(squares), 2))
        if pairs and pairs <= {*left} and (len(squares) > 1 or squares == own):
            left = [one for one in left if one not in pairs]
            kinds = [kind for kind, names in self._kinds.items() if {*names} == squares]
            which = f"{kinds[0]} features" if kinds else ", ".join(self._units(squares, with_kind))
            found.append("all pairs" if squares == own else f"all pairs of {which}")
        return [*found, *(" × ".join(self._units(one, with_kind)) for one in left)]

    def _units(self, names: Iterable[str], with_kind: bool) -> list[str]:
        ordered = sorted(names, key=self._order.__getitem__)
        return [self._unit(name, with_kind) for name in ordered]

    def _unit(self, name: str, with_kind: bool) -> str:
        """Return a namespace as a factor, with the kind of its features if it is not clear."""
        if name in self._past:
            return self._past[name]
        if name in self._kinds.get("selected", ()):
            return f"selected, group {name[1:]}"
        home = name if name in self._titles else name.partition(":")[0]
        title, several = self._titles[home], len(self._members[home]) > 1
        if with_kind:
            kind = next(kind for kind, names in self._kinds.items() if name in names)
            return f"({title} {kind})"
        return f"({title})" if several and home not in self._schema.called else title


def words_of(schema: Schema, known: Representations | None = None) -> Words:
    """Return the descriptions over a schema, which all models of the same names share."""
    return _words_of(schema, schema.origins, tuple(schema.called.items()), known)


@lru_cache(maxsize=16)  # schemas are equal whether or not their names for users are
def _words_of(
    schema: Schema,
    origins: tuple[Origin, ...],
    called: tuple[tuple[str, str], ...],
    known: Representations | None,
) -> Words:
    return Words(replace(schema, origins=origins, called=dict(called)), known)


def members(schema: Schema) -> dict[str, list[Origin]]:
    """Return what each namespace holds: columns or parts of them, or some of their values.

    The latter where those of a column are not all in one namespace, or it has only one.
    """
    origins = schema.origins or tuple(map(Origin, schema.features))
    homes: dict[Origin, list[str]] = {}
    for name, columns in zip(schema.namespaces, schema.columns, strict=True):
        for column in columns:
            homes.setdefault(replace(origins[column], value=""), []).append(name)

    def member(one: Origin) -> Origin:
        together = replace(one, value="")
        at = homes[together]
        return one if len({*at}) > 1 or (not one.part and len(at) == 1) else together

    return {
        name: list(dict.fromkeys(member(origins[column]) for column in columns))
        for name, columns in zip(schema.namespaces, schema.columns, strict=True)
    }


def _listing(every: list[Origin]) -> str:
    """Return what is in a namespace, of many the first and the last."""
    titles = [_title(one) for one in every]
    return ", ".join(titles) if len(titles) <= MOST_LISTED else f"{titles[0]} … {titles[-1]}"


def _title(origin: Origin) -> str:
    """Return what a column, a part or a value is called."""
    part = f": {origin.part}" if origin.part else ""
    value = f"={quoted(origin.value)}" if origin.value else ""
    return f"{quoted(origin.column)}{part}{value}"
