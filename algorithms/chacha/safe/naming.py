"""What a configuration is, for people: in the names of their columns.

A column is told by its name, features that are made of one by its name and the part, as
``day: hour``, and a namespace by what is in it: ``temperature``, ``temperature, wind``, or where
there is more ``temperature, wind, 3 more``; one that people named themselves by that name. An
interaction is a product of these: ``temperature × (wind, rain)``. Names are texts of users: one
that could be taken for something else is quoted as Python does, a long one loses its middle, and
no two things of one race are told alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement
from typing import Any

from leaseboard.algorithms.benches.stream import Origin
from leaseboard.algorithms.chacha.safe.representations import AS_THEY_ARE, Representations
from leaseboard.algorithms.events import ColumnsGrouped, Event
from leaseboard.algorithms.online.configuration import Interaction, VWConfiguration
from leaseboard.algorithms.online.schema import Schema

LONGEST = 32
"""Characters of a column's name."""

MOST_LISTED = 3
"""Columns of a namespace, where it has no more; else one less of them, and how many more."""

MOST_KEPT = 2_000
"""Sets of features, and of interactions, whose words are kept for whichever model has them."""

LAST, SEASON = "last 3 labels", "label a season ago"

_MARKS = re.compile(r"[×,:;=()'\"]")
_PHRASES = re.compile(
    rf"\d+ more|{LAST}|{SEASON}|.* (as they are|standardised|in pieces)|selected.*"
)


def quoted(name: str) -> str:
    """`name`, between quotes unless it can be taken for nothing else.

    Examples
    --------
    >>> quoted("office hours"), quoted("a × b"), quoted("3 more")
    ('office hours', "'a × b'", "'3 more'")
    """
    plain = (
        name.isprintable()
        and name == " ".join(name.split())
        and name
        and not _MARKS.search(name)
        and not _PHRASES.fullmatch(name)
    )
    return name if plain else repr(name)


def short(name: str) -> str:
    """`quoted`, and without its middle if that is long.

    Examples
    --------
    >>> short("temperature of the water in the second tank")
    'temperature of the wa…econd tank'
    """
    told, left = quoted(name), min(LONGEST, len(name))
    while len(told) > LONGEST:
        left -= 1
        told = quoted(f"{name[: left - left // 3]}…{name[len(name) - left // 3 :]}")
    return told


class Words:
    """What the configurations over the columns of a schema are called.

    Parameters
    ----------
    schema : Schema
        Of examples as they come.
    known : Representations, optional
        Those of the schema, where configurations choose among them.

    Examples
    --------
    >>> from leaseboard.algorithms.chacha.safe.representations import represent
    >>> columns = Origin("temperature"), Origin("office hours")
    >>> schema = Schema(("a", "b"), ((0,), (1,)), ("0", "1"), origins=columns)
    >>> crossed = VWConfiguration((("a:", "b:"),), 0.5, ("a:", "b:", ":last"))
    >>> told = Words(schema, represent(schema)).told(crossed)
    >>> told["interactions"], told["features"]
    (['temperature × office hours'], 'standardised, last 3 labels')
    """

    def __init__(self, schema: Schema, known: Representations | None = None) -> None:
        wide = schema if known is None else known.schema
        self._order = {name: place for place, name in enumerate(wide.namespaces)}
        self._kinds = {AS_THEY_ARE: schema.namespaces} if known is None else known.kinds
        self._past = {} if known is None else {known.last: LAST, known.season: SEASON}
        self._schema = schema
        self._products: dict[tuple[Interaction, bool], str] = {}
        self._features = lru_cache(maxsize=MOST_KEPT)(self.features)
        self._interactions = lru_cache(maxsize=MOST_KEPT)(self._tell_interactions)

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """The columns of each namespace whose title does not list them, by title."""
        told = {self._titles[n]: list(map(_whole, every)) for n, every in self._members.items()}
        return {title: every for title, every in told.items() if title != ", ".join(every)}

    @cached_property
    def _members(self) -> dict[str, list[Origin]]:
        return members(self._schema)

    @cached_property
    def _titles(self) -> dict[str, str]:
        """What each namespace is called."""
        taken: set[str] = set()
        return {
            name: _free(short(self._schema.called[name]), taken)
            if name in self._schema.called
            else _listing(every, taken)
            for name, every in self._members.items()
        }

    def tell(self, configuration: int) -> Iterator[Event]:
        """Yield which columns are in the groups, in an event about the first configuration."""
        if self.groups:
            yield ColumnsGrouped(at=0, configuration=configuration, groups=self.groups)

    def told(self, configuration: VWConfiguration) -> dict[str, Any]:
        """Return what a configuration chose as plain values."""
        names = configuration.namespaces
        return {
            "interactions": list(self._interactions(configuration.interactions, names)),
            "learning_rate": configuration.learning_rate,
            **({} if names is None else {"features": self._features(names)}),
        }

    def features(self, names: Iterable[str]) -> str:
        """Which features namespaces hold: the kinds that are there, and labels of the past."""
        left, words = set(names), []
        for kind, all_of_it in self._kinds.items():
            if all_of_it and left >= {*all_of_it}:
                left -= {*all_of_it}
                words.append(kind)
        some = sorted(left - {*self._past}, key=self._order.__getitem__)
        words += [self._unit(name, with_kind=True) for name in some]
        return ", ".join([*words, *(self._past[name] for name in self._past if name in left)])

    def _tell_interactions(
        self, interactions: tuple[Interaction, ...], names: tuple[str, ...] | None
    ) -> list[str]:
        """The interactions; all pairs of some namespaces, squares among them, are said so."""
        left = [*interactions]
        own = {*(names or self._order)} - {*self._past}
        with_kind = sum(bool(own & {*kind}) for kind in self._kinds.values()) > 1
        told = []
        squares = {one[0] for one in left if len(one) == 2 and one[0] == one[1]} & own
        pairs = set(combinations_with_replacement(sorted(squares), 2))
        if pairs and pairs <= {*left} and (len(squares) > 1 or squares == own):
            left = [one for one in left if one not in pairs]
            which = [kind for kind, names in self._kinds.items() if {*names} == squares]
            if squares == own:
                told.append("all pairs")
            elif which:
                told.append(f"all pairs of features {which[0]}")
            else:
                told.append("all pairs of " + ", ".join(self._units(squares, with_kind)))
        return [*told, *(self._product(one, with_kind) for one in left)]

    def _product(self, names: Interaction, with_kind: bool) -> str:
        known = self._products.get((names, with_kind))
        if known is None:
            known = " × ".join(self._units(names, with_kind))
            self._products[names, with_kind] = known
        return known

    def _units(self, names: Iterable[str], with_kind: bool) -> list[str]:
        ordered = sorted(names, key=self._order.__getitem__)
        return [self._unit(name, with_kind) for name in ordered]

    def _unit(self, name: str, with_kind: bool) -> str:
        """A namespace as a factor, with the kind of its features where that is not clear."""
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
    """Return those of a schema, which all models of columns that are called alike share."""
    return _words_of(schema, schema.origins, tuple(schema.called.items()), known)


@lru_cache(maxsize=16)  # schemas are equal whatever people call their columns
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

    def told(one: Origin) -> Origin:
        together = replace(one, value="")
        at = homes[together]
        return one if len({*at}) > 1 or (not one.part and len(at) == 1) else together

    return {
        name: list(dict.fromkeys(told(origins[column]) for column in columns))
        for name, columns in zip(schema.namespaces, schema.columns, strict=True)
    }


def _listing(every: list[Origin], taken: set[str]) -> str:
    """Return the first of them, and how many more there are."""
    most = MOST_LISTED if len(every) <= MOST_LISTED else MOST_LISTED - 1
    shown = [_free(_title(one, short), taken) for one in every[:most]]
    more = [f"{len(every) - most} more"] if len(every) > most else []
    return ", ".join((*shown, *more))


def _title(origin: Origin, name: Callable[[str], str]) -> str:
    part = f": {origin.part}" if origin.part else ""
    value = f"={name(origin.value)}" if origin.value else ""
    return f"{name(origin.column)}{part}{value}"


def _whole(origin: Origin) -> str:
    return _title(origin, quoted)


def _free(title: str, taken: set[str]) -> str:
    """`title`, numbered if another thing has it; it is taken from then on."""
    told, number = title, 1
    while told in taken:
        number += 1
        told = f"{title} ({number})"
    taken.add(told)
    return told
