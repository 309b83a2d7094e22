"""What an optimiser is, so that it can be continued from a recorded history.

An optimiser is asked for trial n when it has been told the trials 0 to n - 1. What it suggests
depends on these and on its seed alone, so another process that has read the record continues
exactly where the first one stopped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leaseboard.tasks.evaluate.trials.spaces import Space


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Which arm to try with which active hyperparameters, on which share of the rows."""

    arm: str
    parameters: Mapping[str, Any]
    fidelity: float = 1.0


class Optimiser(ABC):
    """Suggests trial after trial over the arms of a space; a space of one arm tunes that arm."""

    def __init__(self, space: Space, seed: int) -> None:
        self.space = space
        self.seed = seed
        self.names = list(space.arms)

    @abstractmethod
    def suggest(self, n: int) -> Suggestion:
        """Trial number `n`, from 0, after it was told all before."""

    @abstractmethod
    def tell(self, n: int, suggestion: Suggestion, reward: float) -> None:
        """Trial `n` and what it gave; a failed trial gave 0."""
