"""What is tuned: the interactions of namespaces and the learning rate of VW's default learner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Interaction = tuple[str, ...]
"""The names of the namespaces that are multiplied, in sorted order."""

DEFAULT_LEARNING_RATE = 0.5


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
    learning_rate: float = DEFAULT_LEARNING_RATE
    namespaces: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        ordered = sorted({tuple(sorted(i)) for i in self.interactions}, key=_length_then_name)
        object.__setattr__(self, "interactions", tuple(ordered))
        if self.namespaces is not None:
            object.__setattr__(self, "namespaces", tuple(sorted(set(self.namespaces))))
        if not self.learning_rate > 0:
            raise ValueError(
                f"learning rate {self.learning_rate!r} must be positive: VW's default is 0.5"
            )

    def extends(self, other: VWConfiguration) -> bool:
        """Return whether it has every namespace that `other` names, and all its interactions."""
        kept = set(other.namespaces or ()) <= set(self.namespaces or ())
        return kept and set(other.interactions) <= set(self.interactions)

    def parameters(self) -> dict[str, Any]:
        """Return the choice as plain values, for events and tables."""
        kept = {} if self.namespaces is None else {"namespaces": list(self.namespaces)}
        return {
            "interactions": [interaction_text(i) for i in self.interactions],
            "learning_rate": self.learning_rate,
            **kept,
        }


def interaction_text(interaction: Interaction) -> str:
    """Return how an interaction is written.

    Examples
    --------
    >>> interaction_text(("a", "b")), interaction_text(("price", "user"))
    ('ab', 'price|user')
    """
    separator = "" if all(len(name) == 1 for name in interaction) else "|"
    return separator.join(interaction)


def _length_then_name(interaction: Interaction) -> tuple[int, Interaction]:
    return len(interaction), interaction
