"""What is tuned: the interactions of namespaces and the learning rate of VW's default learner."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

Interaction = tuple[str, ...]
"""The names of the namespaces that are multiplied, in sorted order."""


@dataclass(frozen=True, slots=True)
class VWConfiguration:
    """A choice of hyperparameters; equal choices compare equal.

    Attributes
    ----------
    interactions : tuple of tuple of str
        Sorted by length, then by name, the order in which VW generates them.
    learning_rate : float
    namespaces : tuple of str, optional
        Those whose features it has, sorted; all of the schema's if none are named.
    """

    interactions: tuple[Interaction, ...] = ()
    learning_rate: float = 0.5
    namespaces: tuple[str, ...] | None = None
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "interactions", _ordered(tuple(map(tuple, self.interactions))))
        if self.namespaces is not None:
            object.__setattr__(self, "namespaces", _sorted(tuple(self.namespaces)))
        values = self.interactions, self.learning_rate, self.namespaces
        object.__setattr__(self, "_hash", hash(values))  # it is asked for all the time
        if not self.learning_rate > 0:
            raise ValueError(
                f"learning rate {self.learning_rate!r} must be positive: VW's default is 0.5"
            )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:  # another process hashes texts otherwise
        return VWConfiguration, (self.interactions, self.learning_rate, self.namespaces)

    def extends(self, other: VWConfiguration) -> bool:
        """Return whether it has every namespace that `other` names, and all its interactions."""
        return _extends(self, other)

    def parameters(self) -> dict[str, Any]:
        """Return the choice as plain values, for events and tables."""
        kept = {} if self.namespaces is None else {"namespaces": list(self.namespaces)}
        return {
            "interactions": [interaction_text(i) for i in self.interactions],
            "learning_rate": self.learning_rate,
            **kept,
        }


@lru_cache(maxsize=4096)  # a race makes each many times, at other rates
def _ordered(interactions: tuple[Interaction, ...]) -> tuple[Interaction, ...]:
    return tuple(sorted({tuple(sorted(i)) for i in interactions}, key=lambda i: (len(i), i)))


@lru_cache(maxsize=4096)
def _extends(one: VWConfiguration, other: VWConfiguration) -> bool:
    kept = set(other.namespaces or ()) <= set(one.namespaces or ())
    return kept and set(other.interactions) <= set(one.interactions)


@lru_cache(maxsize=1024)
def _sorted(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def interaction_text(interaction: Interaction) -> str:
    """Return how an interaction is written.

    Examples
    --------
    >>> interaction_text(("a", "b")), interaction_text(("price", "user"))
    ('ab', 'price|user')
    """
    separator = "" if all(len(name) == 1 for name in interaction) else "|"
    return separator.join(interaction)
