"""Names of the columns of a block of examples in VW: namespaces and features."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leaseboard.algorithms.environments.stream import Origin, Stream
from leaseboard.algorithms.online.configuration import Interaction
from leaseboard.algorithms.online.hashing import hash_name


@dataclass(frozen=True, slots=True)
class Schema:
    """Columns of dense examples.

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
        For users: what each column is made of; empty where `features` say that.
    called : mapping of str to str
        For users: the names of namespaces that they named themselves.
    entity : str
        The column whose values are entities, where it is named.
    """

    namespaces: tuple[str, ...]
    columns: tuple[tuple[int, ...], ...]
    features: tuple[str, ...]
    bits: int = 18
    origins: tuple[Origin, ...] = field(default=(), compare=False)
    called: Mapping[str, str] = field(default_factory=dict, compare=False)
    entity: str = field(default="", compare=False)

    @property
    def mask(self) -> int:
        """Mask that keeps the low `bits` bits of a hash."""
        return (1 << self.bits) - 1

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.features)

    @property
    def full_names(self) -> bool:
        """True if VW needs full names to distinguish the namespaces, not just first letters."""
        return len({name[:1] for name in self.namespaces}) < len(self.namespaces)

    def groups(self) -> list[tuple[str, tuple[int, ...]]]:
        """Return namespaces with their columns in the order in which VW sums them.

        VW keeps the namespaces of one first letter together, where the first of them appears.
        """
        letters = list(dict.fromkeys(name[:1] for name in self.namespaces))
        pairs = zip(self.namespaces, self.columns, strict=True)
        return sorted(pairs, key=lambda pair: letters.index(pair[0][:1]))

    @functools.lru_cache(maxsize=16)  # noqa: B019 - frozen values, few and small
    def indices(self) -> tuple[int, ...]:
        """Return the masked hash of every column, by column."""
        found = [0] * self.n_features
        for name, columns in zip(self.namespaces, self.columns, strict=True):
            seed = hash_name(name.strip(), 0)
            for column in columns:
                found[column] = hash_name(self.features[column], seed) & self.mask
        return tuple(found)

    def dimension(self, interactions: Sequence[Interaction] = ()) -> int:
        """Return d_c: the number of features, those that `interactions` induce included."""
        sizes = {
            name: len(columns) for name, columns in zip(self.namespaces, self.columns, strict=True)
        }
        return self.n_features + sum(n_products(each, sizes) for each in interactions)


def n_products(interaction: Interaction, sizes: Mapping[str, int]) -> int:
    """Return the number of features of one interaction of namespaces of these `sizes`.

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
    """Return where VW generates an interaction among others, and the order of its namespaces."""
    if not full_names:
        unit = tuple(sorted(interaction))
        return (len(unit), unit), unit
    keys = sorted((name[:1], hash_name(name, 0), name) for name in interaction)
    return tuple(keys), tuple(name for *_, name in keys)


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
