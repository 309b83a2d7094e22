"""Predictions that wait for their labels: by an id, in bounded memory."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from leaseboard.algorithms import plain
from leaseboard.algorithms.array_types import Doubles
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online_automl.safe.later import Waiting
from leaseboard.algorithms.tables.features import Example
from leaseboard.algorithms.tables.values import copied


class Pending:
    """Examples that wait for their labels, with their predictions.

    Parameters
    ----------
    most : int
        Of more, the oldest is dropped.

    Attributes
    ----------
    waiting : dict of Hashable to (dict or None, Any, int, ndarray of float64)
        By id, the oldest first: a copy of the example unless the caller has it, its prediction,
        how many were made before it, and the numbers of which it was made.
    made, dropped : int
        How many predictions were made, and dropped.
    of : Waiting
        How many wait; the last of their numbers names the entity.
    """

    def __init__(self, most: int) -> None:
        if not isinstance(most, int) or isinstance(most, bool) or most < 1:
            raise UsageError(
                f"max_pending={most!r} must be a whole number of examples, 1 at least"
            )
        self.most = most
        self.waiting: dict[Hashable, tuple[Example | None, Any, int, Doubles]] = {}
        self.made = self.dropped = 0
        self.of = Waiting()

    def add(self, key: Hashable, x: Example | None, prediction: Any, kept: Doubles) -> None:
        """Remember an example until its label comes; its id does not wait yet."""
        self.waiting[key] = None if x is None else _copied(x), prediction, self.made, kept
        self.made += 1
        self.of.add(int(kept[-1]))

    def pop(self, key: Hashable) -> Doubles:
        """Forget an example that waits; return the numbers of which its prediction was made."""
        kept = self.waiting.pop(key)[-1]
        self.of.add(int(kept[-1]), -1)
        return kept

    def get(self, key: Hashable) -> tuple[Example | None, Any, int, Doubles]:
        """Return an example that waits, its prediction, how many were made since, and its numbers.

        Raises
        ------
        UsageError
            If none of this id waits.
        """
        if key not in self.waiting:
            raise UsageError(
                f"id {key!r} waits for no label: it was never predicted with it, its label is"
                f" learned, or it was forgotten ({self.dropped} were dropped as the oldest of more"
                f" than max_pending={self.most}); predict it with its id first"
            )
        x, prediction, before, kept = self.waiting[key]
        return x, prediction, self.made - 1 - before, kept

    def state(self) -> dict[str, Any]:
        """Return all that it holds, as plain values."""
        rows = zip(*self.waiting.values(), strict=True)
        examples, predictions, before, kept = rows if self.waiting else [()] * 4
        return {
            "keys": list(self.waiting),
            "examples": list(examples),
            "predictions": list(predictions),
            "before": list(before),
            "parts": np.array(kept),
            "made": self.made,
            "dropped": self.dropped,
        }

    def fill(self, state: Any) -> None:
        """Go on from `state`."""
        rows = (state[name] for name in ("examples", "predictions", "before", "parts"))
        self.waiting = dict(zip(state["keys"], zip(*rows, strict=True), strict=True))
        for kept in state["parts"]:
            self.of.add(int(kept[-1]))
        plain.fill(self, state, ("made", "dropped"))


def _copied(x: Example) -> dict[Hashable, Any]:
    """Return an example that was read before, as plain values that no caller can change."""
    return {
        name: _copied(value) if isinstance(value, Mapping) else copied(value)
        for name, value in x.items()
    }
