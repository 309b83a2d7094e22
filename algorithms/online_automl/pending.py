"""Predictions now, labels later: by an id, in any order, some never, in bounded memory."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from leaseboard.algorithms import plain
from leaseboard.algorithms.array_types import Doubles, Floats
from leaseboard.algorithms.errors import UsageError, short
from leaseboard.algorithms.online_automl.late_labels import LateClasses, LateNumbers
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
        How many wait; the last of their parts names the entity.
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

    def __contains__(self, key: object) -> bool:
        """Return whether an example of this id waits; UsageError for what cannot be an id."""
        try:
            return key in self.waiting
        except TypeError as error:
            raise _unfit(key) from error

    def add(self, key: Hashable, x: Example | None, prediction: Any, parts: Doubles) -> None:
        """Remember an example until its label comes; its id does not wait yet."""
        self.waiting[key] = None if x is None else _copied(x), prediction, self.made, parts
        self.made += 1
        self.of.add(_entity(parts))

    def pop(self, key: Hashable) -> Doubles:
        """Forget an example that waits; return its parts."""
        parts = self.waiting.pop(key)[-1]
        self.of.add(_entity(parts), -1)
        return parts

    def get(self, key: Hashable) -> tuple[Example | None, Any, int, Doubles]:
        """Return an example that waits, its prediction, how many were made since, and its parts.

        Raises
        ------
        UsageError
            If none of this id waits.
        """
        if key not in self:
            raise UsageError(
                f"id {key!r} waits for no label: it was never predicted with it, its label is"
                f" learned, or it was forgotten ({self.dropped} were dropped as the oldest of more"
                f" than max_pending={self.most}); predict it with its id first"
            )
        x, prediction, before, parts = self.waiting[key]
        return x, prediction, self.made - 1 - before, parts

    def state(self) -> dict[str, Any]:
        """Return all that it holds, as plain values."""
        rows = self.waiting.values()
        return {
            "keys": list(self.waiting),
            "examples": [_plain(x) for x, *_ in rows],
            "predictions": [prediction for _, prediction, *_ in rows],
            "before": np.array([before for _, _, before, _ in rows], dtype=np.int64),
            "parts": np.array([parts for *_, parts in rows], dtype=np.float64),
            "made": self.made,
            "dropped": self.dropped,
        }

    def fill(self, state: Any) -> None:
        """Go on from `state`."""
        examples, before = map(_read, state["examples"]), state["before"].tolist()
        rows = zip(examples, state["predictions"], before, state["parts"], strict=True)
        self.waiting = dict(zip(state["keys"], rows, strict=True))
        for parts in state["parts"]:
            self.of.add(_entity(parts))
        plain.fill(self, state, ("made", "dropped"))


def _entity(parts: Doubles) -> int:
    return int(parts[-1]) if len(parts) else 0


class LaterLabels(ABC):
    """Model of a stream whose labels come after other predictions were made."""

    _pending: Pending
    _lock: threading.RLock
    _late: LateNumbers | LateClasses | None
    _race: Any

    def _predict_pending(self, id: Hashable, x: Example, store_x: bool) -> Any:
        """Predict an example, and remember it until its label comes; see `predict_one`."""
        if id in self._pending:
            raise UsageError(
                f"id {id!r} waits for its label already: learn it first, or take another id"
            )
        try:
            plain.check(id)
        except UsageError as error:
            raise _unfit(id) from error
        if _holds_nan(id):
            raise UsageError(
                f"id {id!r} is not equal to itself: no label would find it; take another"
            )
        prediction, parts = self._preview(x)
        self._pending.add(id, x if store_x else None, prediction, parts)
        if self.n_pending > self._pending.most:
            self._release(self._pending.pop(next(iter(self._pending.waiting))))
            self._pending.dropped += 1
        return prediction

    def is_pending(self, id: Hashable) -> bool:
        """Return whether an example of this id waits for its label.

        Parameters
        ----------
        id : Hashable

        Returns
        -------
        bool
        """
        return id in self._pending

    def _preview(self, x: Example) -> tuple[Any, Doubles]:
        """Return a prediction whose label will be learned by an id, and of what it was made."""
        late, waiting = self._late, self._pending.of
        if late is not None and late.weighs(self._race, waiting[-1]):
            with self._lock:
                return late.ask(self._race, self._row(x), waiting)
        kept = np.empty(0) if late is None else late.nothing(self._race)
        return self._predict(x, later=waiting[-1] > 0), kept

    def _release(self, parts: Doubles) -> None:
        """Let a prediction go whose label never comes, by its parts."""
        if self._late is not None:
            self._late.forget(parts)

    def learn_label(
        self, id: Hashable, y: Any, w: float = 1.0, *, x: Example | None = None
    ) -> None:
        """Learn the label of an example that was predicted with an id.

        Labels come in any order. The model learns as by ``learn_one(x, y, w)``: what it knows
        depends on the labels that it was given and their order, not on when their predictions were
        made.

        Parameters
        ----------
        id : Hashable
            That of ``predict_one(x, id=id)``.
        y : float, or a class
            The label.
        w : float
            Importance: learned as if seen so many times.
        x : dict, optional
            The example, if it was predicted with ``store_x=False``; otherwise it is not read.

        Raises
        ------
        UsageError
            If the id does not wait: a label is learned once. If no copy was stored, and `x` is not
            given.
        """
        stored, prediction, delay, parts = self._pending.get(id)
        example = x if stored is None else stored
        if example is None:
            raise UsageError(
                f"id {id!r} was predicted with store_x=False: hand its example over again, as x="
            )
        self.learn_one(example, y, w)
        self._pending.pop(id)
        if self._late is not None and w > 0:
            self._late.answer(self._race, self._number_of(y), prediction, parts, delay)
        else:
            self._release(parts)

    def forget_pending(self, ids: Iterable[Hashable] | None = None) -> None:
        """Forget examples that wait: their labels can no longer be learned by id.

        Parameters
        ----------
        ids : iterable of Hashable, optional
            Those to forget; by default all.
        """
        for id in list(self._pending.waiting) if ids is None else ids:
            if id in self._pending:
                # Of the last prediction, it is as if it had not been made.
                self._pending.made -= self._pending.get(id)[2] == 0
                self._release(self._pending.pop(id))

    @property
    def n_pending(self) -> int:
        """Number of examples that wait for their labels."""
        return len(self._pending.waiting)

    @property
    def n_dropped(self) -> int:
        """Number of examples that were dropped while they waited, because too many did."""
        return self._pending.dropped

    @abstractmethod
    def learn_one(self, x: Example, y: Any, w: float = 1.0) -> None:
        """Learn one example."""

    @abstractmethod
    def _predict(self, x: Example, *, later: bool = False) -> Any:
        """Return what the race predicts of an example; see `Race.predict`."""

    @abstractmethod
    def _row(self, x: Example) -> Floats:
        """Return an example as a row of the known features."""

    def _number_of(self, y: Any) -> float:
        """Return the number that a label is to a race."""
        return float(y)


def _unfit(id: object) -> UsageError:
    said = short(" ".join(repr(id).split()), 60)
    return UsageError(
        f"id {said} is of a type that cannot be saved: take a number, a text, bytes, or a tuple of"
        " them, such as str(id)"
    )


def _holds_nan(id: Any) -> bool:
    return any(map(_holds_nan, id)) if isinstance(id, tuple) else bool(id != id)  # noqa: PLR0124


def _copied(x: Example) -> dict[Hashable, Any]:
    """Return an example that was read before, as plain values that no caller can change."""
    return {
        name: _copied(value) if isinstance(value, Mapping) else copied(value)
        for name, value in x.items()
    }


def _plain(x: Any) -> Any:
    """Return what `_copied` made, with each date as a list of its text: no other value is one."""
    if isinstance(x, Mapping):
        return {name: _plain(value) for name, value in x.items()}
    return [str(x)] if isinstance(x, np.datetime64) else x


def _read(x: Any) -> Any:
    """Return the example of which `_plain` made `x`."""
    if isinstance(x, Mapping):
        return {name: _read(value) for name, value in x.items()}
    return np.datetime64(x[0]) if isinstance(x, list) else x
