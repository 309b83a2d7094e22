"""Descriptions of configurations for users, in the names of their columns.

A column is called by its name, features that are made of one by its name and the part, as
``day: hour``, and a namespace by what is in it: ``temperature``, ``temperature, wind``, or where
there is more ``temperature, wind, 3 more``; one that users named themselves by that name. An
interaction is a product of these: ``temperature × (wind, rain)``. Names are texts of users: one
that could be taken for something else is quoted as Python does, a long one loses its middle, and
no two things of one race have the same description.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement
from typing import Any

from leaseboard.algorithms.environments.stream import Origin
from leaseboard.algorithms.events import ColumnsGrouped, Event
from leaseboard.algorithms.online.configuration import Interaction, VWConfiguration
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.online_automl.safe.representations import RAW, Representations

LONGEST = 32
"""Characters of a column's name."""

MOST_LISTED = 3
"""Columns of a namespace, where it has no more; else one less of them, and how many more."""

MOST_KEPT = 2_000
"""Sets of features, and of interactions, whose descriptions are cached for all models."""

LAST, SEASON = "last 3 labels", "seasonal lag"

_MARKS = re.compile(r"[×,:;=()'\"]")
_PHRASES = re.compile(rf"\d+ more|{LAST}|{SEASON}|(.* )?(raw|standardised|binned)|selected.*")


def quoted(name: str) -> str:
    """Return `name`, between quotes unless it can be taken for nothing else.

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
    """Return `quoted`, without its middle if that is long.

    Examples
    --------
    >>> short("temperature of the water in the second tank")
    'temperature of the wa…econd tank'
    """
    text, left = quoted(name), min(LONGEST, len(name))
    while len(text) > LONGEST:
        left -= 1
        text = quoted(f"{name[: left - left // 3]}…{name[len(name) - left // 3 :]}")
    return text


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
    def groups(self) -> dict[str, list[str]]:
        """The columns of each namespace whose title does not list them, by title."""
        found = {
            self._titles[name]: [_title(one, quoted) for one in every]
            for name, every in self._members.items()
        }
        return {title: every for title, every in found.items() if title != ", ".join(every)}

    @cached_property
    def _members(self) -> dict[str, list[Origin]]:
        return members(self._schema)

    @cached_property
    def _titles(self) -> dict[str, str]:
        """Titles of the namespaces."""
        taken: set[str] = set()
        return {
            name: _free(short(self._schema.called[name]), taken)
            if name in self._schema.called
            else _listing(every, taken)
            for name, every in self._members.items()
        }

    def group_events(self, configuration: int) -> Iterator[Event]:
        """Yield which columns are in the groups, in an event about the first configuration."""
        if self.groups:
            yield ColumnsGrouped(at=0, configuration=configuration, groups=self.groups)

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


def _listing(every: list[Origin], taken: set[str]) -> str:
    """Return the first of them, and how many more there are."""
    most = MOST_LISTED if len(every) <= MOST_LISTED else MOST_LISTED - 1
    shown = [_free(_title(one, short), taken) for one in every[:most]]
    more = [f"{len(every) - most} more"] if len(every) > most else []
    return ", ".join((*shown, *more))


def _title(origin: Origin, name: Callable[[str], str]) -> str:
    """Return what a column, a part or a value is called, with its names written by `name`."""
    part = f": {origin.part}" if origin.part else ""
    value = f"={name(origin.value)}" if origin.value else ""
    return f"{name(origin.column)}{part}{value}"


def _free(title: str, taken: set[str]) -> str:
    """Return `title`, numbered if another thing has it; it is taken from then on."""
    found, number = title, 1
    while found in taken:
        number += 1
        found = f"{title} ({number})"
    taken.add(found)
    return found
