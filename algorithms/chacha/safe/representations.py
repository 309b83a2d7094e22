"""What a model may see of an example: namespaces of a schema that is wider than the user's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

from algorithms.chacha.safe.front import N_PAST
from algorithms.online.configuration import VWConfiguration
from algorithms.online.schema import Schema

OTHER_RATES = (0.0625, 4.0)
"""Learning rates that a new representation is tried at, beside the champion's."""


@dataclass(frozen=True, slots=True)
class Representations:
    """The namespaces of a wide schema.

    Attributes
    ----------
    schema : Schema
        The columns of a wide example: the labels' past, the standardised features, the features.
    raw, standard : tuple of str
        Those of the features as they are, and their twins.
    last, season : str
        Those of the last three labels, and of the one a season ago.
    """

    schema: Schema
    raw: tuple[str, ...]
    standard: tuple[str, ...]
    last: str
    season: str

    def variants(self, champion: VWConfiguration) -> list[VWConfiguration]:
        """The champion with its features as they are and standardised, with and without a past.

        Each once with the champion's interactions, as far as their namespaces are there, and once
        with all pairs, squares among them. Each has the champion's learning rate, and before that
        others come that are far from it: which rate a representation needs is not known from
        another one.
        """
        twins = dict(zip(self.raw, self.standard, strict=True))
        back = {twin: name for name, twin in twins.items()}
        found = []
        for names in (twins, back):
            for past in ((), (self.last,), (self.last, self.season)):
                left = (*names.values(), *past)
                own = tuple(
                    cross
                    for cross in (
                        tuple(names.get(name, name) for name in interaction)
                        for interaction in champion.interactions
                    )
                    if {*left} >= {*cross}
                )
                found.append(VWConfiguration(own, champion.learning_rate, left))
        whole = [
            replace(
                one, interactions=tuple(combinations_with_replacement(one.namespaces or (), 2))
            )
            for one in found
            if self.last not in (one.namespaces or ())
        ]
        variants = [one for one in found if one != champion]
        others = [replace(one, learning_rate=rate) for rate in OTHER_RATES for one in variants]
        return [*others, *whole, *variants]

    def told(self, names: Iterable[str]) -> str:
        """Which features namespaces are, in words; those of a kind that is not whole by name.

        Examples
        --------
        >>> known = represent(Schema(("a", "b"), ((0,), (1,)), ("0", "1")))
        >>> known.told(("a", "b")), known.told(("a:", "b:", ":last", ":season"))
        ('as they are', 'standardised, last, season')
        """
        left = sorted(names)
        words = []
        for kind, word in ((self.raw, "as they are"), (self.standard, "standardised")):
            if set(kind) <= set(left):
                left = [name for name in left if name not in kind]
                words.append(word)
        return ", ".join([*words, *(name.strip(":") for name in left)])

    def whole(self, configuration: VWConfiguration) -> VWConfiguration:
        """The configuration with all features as they are, or standardised, if it has some."""
        names = set(configuration.namespaces or ())
        for kind in (self.raw, self.standard):
            names |= set(kind) if names & set(kind) else set()
        return replace(configuration, namespaces=tuple(names))


def represent(schema: Schema) -> Representations:
    """The representations of examples with the columns of `schema`."""
    # No namespace of a user's has a colon, which VW's text keeps for values.
    names = (*schema.namespaces, *(f"{name}:" for name in schema.namespaces), ":last", ":season")
    n = len(schema.namespaces)
    columns = (
        *_shifted(schema, N_PAST + schema.n_features),
        *_shifted(schema, N_PAST),
        tuple(range(N_PAST - 1)),
        (N_PAST - 1,),
    )
    features = ("1", "2", "3", "1", *schema.features, *schema.features)
    return Representations(
        Schema(names, columns, features, schema.bits),
        names[:n],
        names[n : 2 * n],
        *names[2 * n :],
    )


def _shifted(schema: Schema, by: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(by + column for column in columns) for columns in schema.columns)
