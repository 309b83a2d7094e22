"""How the columns of a block of examples are named in VW: namespaces and features."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leaseboard.algorithms.benches.stream import Origin, Stream
from leaseboard.algorithms.online.configuration import Interaction
from leaseboard.algorithms.online.hashing import hash_name


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of dense examples.

    Attributes
    ----------
    namespaces : tuple of str
        Names in the order in which VW meets them.
    columns : tuple of tuple of int
        For each namespace its columns, in the order of its features.
    features : tuple of str
        The features' names, by column.
    bits : int
        VW's ``-b``: weights live in a table of ``2 ** bits`` cells.
    origins : tuple of Origin
        For people: what each column is made of; empty where `features` say that.
    called : mapping of str to str
        For people: how those have called a namespace who named it themselves.
    """

    namespaces: tuple[str, ...]
    columns: tuple[tuple[int, ...], ...]
    features: tuple[str, ...]
    bits: int = 18
    origins: tuple[Origin, ...] = field(default=(), compare=False)
    called: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def mask(self) -> int:
        """What keeps the low `bits` bits of a hash."""
        return (1 << self.bits) - 1

    @property
    def n_features(self) -> int:
        """How many columns there are."""
        return len(self.features)

    @property
    def full_names(self) -> bool:
        """Whether VW needs full names to tell the namespaces apart, not just first letters."""
        return len({name[:1] for name in self.namespaces}) < len(self.namespaces)

    def groups(self) -> list[tuple[str, tuple[int, ...]]]:
        """Namespaces with their columns in the order in which VW sums them.

        VW keeps the namespaces of one first letter together, where the first of them appears.
        """
        letters = list(dict.fromkeys(name[:1] for name in self.namespaces))
        pairs = zip(self.namespaces, self.columns, strict=True)
        return sorted(pairs, key=lambda pair: letters.index(pair[0][:1]))

    def ordered(self, interactions: Sequence[Interaction]) -> list[Interaction]:
        """`interactions` in the order in which VW generates them.

        By length and letters; with full names, by letters and hashes whatever the length.
        """
        full_names = self.full_names
        return [unit for _, unit in sorted(generated(i, full_names) for i in interactions)]

    def namespace(self, name: str) -> int:
        """The place of the namespace called `name`; KeyError if there is none."""
        try:
            return self.namespaces.index(name)
        except ValueError:
            raise KeyError(
                f"unknown namespace {name!r}: the data have {', '.join(self.namespaces)}"
            ) from None

    @functools.lru_cache(maxsize=16)  # noqa: B019 - frozen values, few and small
    def indices(self) -> tuple[int, ...]:
        """The masked hash of every column, by column."""
        found = [0] * self.n_features
        for name, columns in zip(self.namespaces, self.columns, strict=True):
            seed = hash_name(name.strip(), 0)
            for column in columns:
                found[column] = hash_name(self.features[column], seed) & self.mask
        return tuple(found)

    def dimension(
        self, interactions: Sequence[Interaction] = (), kept: Sequence[str] | None = None
    ) -> int:
        """The number of features that `interactions` induce beside the `kept` namespaces', d_c."""
        total = self.n_features
        if kept is not None:
            total = sum(len(self.columns[self.namespace(name)]) for name in kept)
        sizes = {
            name: len(columns) for name, columns in zip(self.namespaces, self.columns, strict=True)
        }
        return total + sum(n_products(interaction, sizes) for interaction in interactions)


def n_products(interaction: Interaction, sizes: Mapping[str, int]) -> int:
    """The number of features of one interaction of namespaces of these `sizes`.

    A namespace with itself has each combination once, as in VW.

    Examples
    --------
    >>> n_products(("a", "b"), {"a": 3, "b": 2}), n_products(("a", "a"), {"a": 3})
    (6, 6)
    """
    found, times = 1, 1
    for k, name in enumerate(interaction):  # sorted: equal names are neighbours
        times = times + 1 if k and interaction[k - 1] == name else 1
        found = found * (sizes[name] + times - 1) // times
    return found


def generated(interaction: Interaction, full_names: bool) -> tuple[tuple[Any, ...], Interaction]:
    """Where VW generates an interaction among others, and the order of its namespaces."""
    if not full_names:
        unit = tuple(sorted(interaction))
        return (len(unit), unit), unit
    keys = sorted((name[:1], hash_name(name, 0), name) for name in interaction)
    return tuple(keys), tuple(name for *_, name in keys)


def require_same_naming(old: Schema, new: Schema) -> None:
    """Refuse a namespace that would make live workspaces mistake it for an earlier one."""
    if old.full_names != new.full_names:
        added = ", ".join(map(repr, new.namespaces[len(old.namespaces) :]))
        raise ValueError(
            f"new namespace {added} begins like an earlier one: engine 'vw' tells namespaces"
            " apart by their first letters once it runs, rename it"
        )


def stream_schema(stream: Stream, width: int | None = None) -> Schema:
    """Return the schema of the first `width` columns of a stream, by default of all."""
    known = len(stream.names) if width is None else width
    columns: dict[str, list[int]] = {}
    for run in stream.namespaces:
        if run.start < known:
            columns.setdefault(run.name, []).extend(range(run.start, min(run.stop, known)))
    return Schema(
        namespaces=tuple(columns),
        columns=tuple(map(tuple, columns.values())),
        features=stream.names[:known],
        origins=(stream.origins or tuple(map(Origin, stream.names)))[:known],
    )
