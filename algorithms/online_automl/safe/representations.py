"""Representations of examples: namespaces of a schema that is wider than the user's.

Their descriptions for users are in the names of columns.

A column is called by its name, features that are made of one by its name and the part, as
``day: hour``, and a namespace by what is in it: ``temperature``, ``temperature, wind``, or for
more by the first and the last of these neighbours, ``temperature … rain``; one that users named
themselves by that name. A product of these is ``temperature × (wind, rain)``.
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from itertools import combinations_with_replacement
from typing import Any

from leaseboard.algorithms.online.schema import (
    MAX_TERMS,
    Interaction,
    Origin,
    Schema,
    VWConfiguration,
    n_products,
)
from leaseboard.algorithms.online_automl.safe.expansion import KNOTS, N_PAST, NARROW

RAW = "raw"

GROUPS = 10
"""Namespaces of the selected features; those that join first are in different ones."""

TERMS_OF_SELECTED = 2000
"""What live models may have more where features are selected; few of the slots are in use."""

MOST_MEASURED = 4096
"""Configurations whose terms are kept, for all models of equal columns."""

OTHER_RATES = (0.0625, 4.0)
"""Learning rates that a new representation is tried at, in addition to the champion's."""

MOST_LISTED = 3
"""Columns of a namespace whose names are all listed."""

MOST_KEPT = 2_000
"""Sets of features whose descriptions are cached."""

LAST, SEASON = "last 3 labels", "seasonal lag"


class Representations:
    """Namespaces of a wide schema.

    Parameters
    ----------
    schema : Schema
        Of examples.

    Attributes
    ----------
    schema : Schema
        The columns of a wide example: the labels' past, the standardised features, the features,
        the features in pieces.
    raw, standard : tuple of str
        Those of the raw features, and of the same standardised.
    pieces : tuple of str
        Those of the features in pieces (`KNOTS` of the module of expansion),
        where there are some.
    selected : tuple of str
        Those of the selected features, standardised, where there are many.
    last, season : str
        Those of the last three labels, and of the one a season ago.
    counts, sizes : dict of str to int
        How many features each namespace has, and how many are not 0 at a time, at most.
    """

    last, season = ":last", ":season"

    def __init__(self, schema: Schema) -> None:
        # No namespace of a user's has a colon, which VW's text keeps for values.
        pieces = {}
        for name, own in zip(schema.namespaces, schema.columns, strict=True):
            places = [N_PAST + 2 * schema.n_features + c * len(KNOTS) for c in own if c < NARROW]
            if places:
                pieces[f"{name}:^"] = tuple(at + k for at in places for k in range(len(KNOTS)))
        self.raw = schema.namespaces
        self.standard = tuple(f"{name}:" for name in schema.namespaces)
        end = N_PAST + 2 * schema.n_features + NARROW * len(KNOTS)
        selected = {
            f":{group}": tuple(range(end + group, end + NARROW, GROUPS))
            for group in range(GROUPS if schema.n_features > NARROW else 0)
        }
        columns: tuple[tuple[int, ...], ...] = (
            *(
                tuple(by + column for column in own)
                for by in (N_PAST + schema.n_features, N_PAST)
                for own in schema.columns
            ),
            *pieces.values(),
            *selected.values(),
            tuple(range(N_PAST - 1)),
            (N_PAST - 1,),
        )
        bent = (f"{name}^{k}" for name in schema.features[:NARROW] for k in range(len(KNOTS)))
        slots = map(str, range(NARROW if selected else 0))
        features = ("1", "2", "3", "1", *schema.features, *schema.features, *bent, *slots)
        names = (*self.raw, *self.standard, *pieces, *selected, self.last, self.season)
        self.counts = dict(zip(names, map(len, columns), strict=True))
        # Of the pieces of one feature two are not 0.
        of_pieces = {name: 2 * self.counts[name] // len(KNOTS) for name in pieces}
        self.sizes = self.counts | of_pieces
        self.schema = Schema(names, columns, features, schema.bits)
        self.pieces, self.selected = tuple(pieces), tuple(selected)
        self._products = cache(self._count_products)
        self.terms = lru_cache(maxsize=MOST_MEASURED)(self._count_terms)

    def variants(self, champion: VWConfiguration) -> list[VWConfiguration]:
        """Return the champion with raw features, standardised ones, or these and pieces.

        Each without a past, with the last labels, and with the one a season ago too; once with the
        champion's interactions, as far as their namespaces are there, and once with all pairs,
        squares among them. Each has the champion's learning rate, and before that others come that
        are far from it: which rate a representation needs is not known from another one. Pieces
        come before all that: they need more examples, and many terms, so they are tried last.
        """
        standard = dict(zip(self.raw, self.standard, strict=True))
        back = {name: of for of, name in standard.items()}
        if self.selected:  # which do not correspond to raw features
            standard, back = ({name: name for name in some} for some in (self.selected, self.raw))
        found, whole = self._of_kind(champion, standard, ())
        raw, whole_raw = self._of_kind(champion, back, ())
        variants = [one for one in (*found, *raw) if one != champion]
        others = [replace(one, learning_rate=rate) for rate in OTHER_RATES for one in variants]
        in_pieces: list[VWConfiguration] = []
        if self.selected or sum(self.sizes[name] for name in self.raw) <= NARROW:
            pieces, whole_pieces = self._of_kind(champion, standard, self.pieces)
            in_pieces = [whole_pieces, *(one for one in pieces if one != champion)]
        return [*in_pieces, *others, whole, whole_raw, *variants]

    def _of_kind(
        self, champion: VWConfiguration, names: dict[str, str], pieces: tuple[str, ...]
    ) -> tuple[list[VWConfiguration], VWConfiguration]:
        """Return the champion with the namespaces of `names` and `pieces`; and with all pairs."""
        own = (*names.values(), *pieces)
        crosses = [tuple(names.get(name, name) for name in i) for i in champion.interactions]
        found = []
        for past in ((), (self.last,), (self.last, self.season)):
            left = (*own, *past)
            kept = tuple(cross for cross in crosses if {*left} >= {*cross})
            found.append(VWConfiguration(kept, champion.learning_rate, left))
        pairs = tuple(combinations_with_replacement(own, 2))
        return found, VWConfiguration(pairs, champion.learning_rate, own)

    def _count_terms(self, configuration: VWConfiguration) -> float:
        """Return how many features of a configuration are not 0 at a time, with the constant.

        One that names no namespaces has the raw features; one with more terms than a
        layout takes has infinitely many.
        """
        crossed = [self._products(unit) for unit in configuration.interactions]
        if sum(induced for induced, _ in crossed) > MAX_TERMS:
            return math.inf
        names = configuration.namespaces or self.raw
        own = sum(self.sizes[name] for name in names)
        return 1 + own + sum(active for _, active in crossed)

    @property
    def least_terms(self) -> float:
        """The least bound of the terms of all live models together."""
        return 4 * self.terms(VWConfiguration()) + (TERMS_OF_SELECTED if self.selected else 0)

    def _count_products(self, unit: Interaction) -> tuple[int, int]:
        """Return how many features an interaction induces, and how many are not 0 at a time."""
        return n_products(unit, self.counts), n_products(unit, self.sizes)

    @property
    def kinds(self) -> dict[str, tuple[str, ...]]:
        """The namespaces of features by what features they are, in words."""
        kinds = {RAW: self.raw, "standardised": self.standard, "binned": self.pieces}
        return kinds | ({"selected": self.selected} if self.selected else {})

    def whole(self, configuration: VWConfiguration) -> VWConfiguration:
        """Return the configuration with all features of each kind that it has some of."""
        names = set(configuration.namespaces or ())
        for kind in (self.raw, self.standard, self.pieces, self.selected):
            names |= set(kind) if names & set(kind) else set()
        return replace(configuration, namespaces=tuple(names))


@lru_cache(maxsize=16)  # a thousand streams have few schemas
def represent(schema: Schema) -> Representations:
    """Return the representations of examples with the columns of `schema`."""
    return Representations(schema)


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
        self._factor = lru_cache(maxsize=MOST_KEPT)(self._unit)

    @cached_property
    def _members(self) -> dict[str, list[Origin]]:
        """What each namespace holds: columns, or parts of them."""
        schema = self._schema
        origins = schema.origins or tuple(map(Origin, schema.features))
        return {
            name: list(dict.fromkeys(replace(origins[column], value="") for column in columns))
            for name, columns in zip(schema.namespaces, schema.columns, strict=True)
        }

    @cached_property
    def _titles(self) -> dict[str, str]:
        """Titles of the namespaces."""
        called = self._schema.called
        return {
            name: called[name] if name in called else _listing(every)
            for name, every in self._members.items()
        }

    def parameters(self, configuration: VWConfiguration) -> dict[str, Any]:
        """Return what a configuration chose as plain values."""
        names = configuration.namespaces
        return {
            "interactions": self._describe_interactions(configuration.interactions, names),
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
        return [self._factor(name, with_kind) for name in ordered]

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


def _listing(every: list[Origin]) -> str:
    """Return what is in a namespace, of many the first and the last."""
    titles = [f"{one.column}: {one.part}" if one.part else one.column for one in every]
    return ", ".join(titles) if len(titles) <= MOST_LISTED else f"{titles[0]} … {titles[-1]}"
