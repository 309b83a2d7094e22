"""Forecasts now, labels later: by an id, in any order, some never, in bounded memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms import plain
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.locks import Exclusive
from leaseboard.algorithms.tables.features import Example
from leaseboard.algorithms.tables.values import copied

Doubles = NDArray[np.float64]


class Pending:
    """The examples that wait for their labels, with what was said of them.

    Parameters
    ----------
    most : int
        Of more, the oldest is dropped.

    Attributes
    ----------
    waiting : dict of Hashable to (dict or None, Any, int, ndarray of float64)
        By id, the oldest first: a copy of the example unless who asks keeps it, its forecast, how
        many were made before it, and what else was said.
    made, dropped : int
        How many forecasts were made, and dropped.
    """

    def __init__(self, most: int) -> None:
        if not isinstance(most, int) or isinstance(most, bool) or most < 1:
            raise UsageError(f"pending={most!r} must be a whole number of examples, 1 at least")
        self.most = most
        self.waiting: dict[Hashable, tuple[Example | None, Any, int, Doubles]] = {}
        self.made = self.dropped = 0

    def add(self, key: Hashable, x: Example | None, forecast: Any, said: Doubles) -> None:
        """Keep an example until it is answered; its id is not among those that wait."""
        self.waiting[key] = None if x is None else _copied(x), forecast, self.made, said
        self.made += 1
        if len(self.waiting) > self.most:
            del self.waiting[next(iter(self.waiting))]
            self.dropped += 1

    def get(self, key: Hashable) -> tuple[Example | None, Any, int, Doubles]:
        """An example that waits, its forecast, how many were made since, and what else was said.

        Raises
        ------
        UsageError
            If none of this id waits.
        """
        if key not in self.waiting:
            raise UsageError(
                f"id {key!r} waits for no label: it was never forecast, is answered, or was among"
                f" the {self.dropped} dropped as the oldest of more than {self.most}; forecast it"
                " first, or allow more by pending="
            )
        x, forecast, before, said = self.waiting[key]
        return x, forecast, self.made - 1 - before, said

    def state(self) -> dict[str, Any]:
        """All that it holds, as plain values."""
        rows = self.waiting.values()
        return {
            "keys": list(self.waiting),
            "examples": [_plain(x) for x, *_ in rows],
            "forecasts": [forecast for _, forecast, *_ in rows],
            "before": np.array([before for _, _, before, _ in rows], dtype=np.int64),
            "said": np.array([said for *_, said in rows], dtype=np.float64),
            "made": self.made,
            "dropped": self.dropped,
        }

    def fill(self, state: Any, width: int) -> None:
        """Go on from `state`; ValueError if it holds too many, or not `width` numbers of each."""
        keys, said = state["keys"], np.asarray(state["said"])
        if len(keys) > self.most:
            raise ValueError(f"{len(keys)} examples wait, and at most {self.most} can")
        if keys and (said.shape != (len(keys), width) or said.dtype != np.float64):
            raise ValueError(f"no {width} numbers of each of {len(keys)} forecasts")
        before = np.zeros(len(keys), dtype=np.int64)
        plain.fill_array(before, state["before"])
        examples = map(_read, state["examples"])
        rows = zip(examples, state["forecasts"], before.tolist(), said, strict=True)
        self.waiting = dict(zip(keys, rows, strict=True))
        plain.fill(self, state, ("made", "dropped"))


class LaterLabels(Exclusive, ABC):
    """What a model of a stream does where labels come after other forecasts were made."""

    _pending: Pending

    def forecast_one(self, key: Hashable, x: Example, *, keep: bool = True) -> Any:
        """Forecast an example whose label comes later, and remember it until then.

        Parameters
        ----------
        key : Hashable
            An id for `answer_one`: a number, a text, or a tuple of them.
        x : dict
            Of more examples than the model's `pending` the oldest is dropped.
        keep : bool
            Whether a copy of `x` is kept with what was said of it, some 1.5 KB with ten features.
            Without one it takes some 300 bytes, and `answer_one` is to be given `x` again.

        Returns
        -------
        The forecast; by the regressor's default weighed by how forecasts that waited did.

        Raises
        ------
        UsageError
            If the id waits for its label already, or could not be saved.

        Examples
        --------
        >>> from leaseboard.algorithms.chacha.streaming import ChaChaRegressor
        >>> model = ChaChaRegressor(b=3)
        >>> for t in range(100):
        ...     forecast = model.forecast_one(t, {"a": t % 3 - 1.0})
        ...     if t >= 10:
        ...         model.answer_one(t - 10, (t - 10) % 3)
        >>> model.examples, model.waiting
        (90, 10)
        """
        if key in self._pending.waiting:
            raise UsageError(
                f"id {key!r} waits for its label already: answer it first, or take another id"
            )
        try:
            plain.check(key)
        except UsageError as error:
            raise UsageError(
                f"id {key!r} is of a type that cannot be saved: take a number, a text, or a tuple"
                " of them, such as str(id)"
            ) from error
        forecast, said = self._say(x)
        self._pending.add(key, x if keep else None, forecast, said)
        return forecast

    def foresee_one(self, x: Example) -> Any:
        """What `forecast_one` would say of an example, remembering nothing."""
        return self._say(x)[0]

    def awaits(self, key: Hashable) -> bool:
        """Whether an example of this id waits for its label."""
        return key in self._pending.waiting

    def awaited(self, key: Hashable) -> Any:
        """What was forecast of an example that waits; UsageError if none of this id does."""
        return self._pending.get(key)[1]

    def _say(self, x: Example) -> tuple[Any, Doubles]:
        """A forecast that waits, and `_n_said` numbers that are kept of it."""
        return self.predict_one(x), np.empty(0)

    def _n_said(self) -> int:
        return 0

    def answer_one(
        self, key: Hashable, y: Any, w: float = 1.0, *, x: Example | None = None
    ) -> None:
        """Learn the label of an example that was forecast, in whatever order labels come.

        The model learns as by ``learn_one(x, y, w)``: what it knows depends on the labels that it
        was told and their order, not on when their forecasts were made. `x` is read only where
        no copy of it was kept.

        Raises
        ------
        UsageError
            If the id does not wait: a label is learned once. If no copy was kept, and `x` is not
            given.
        """
        kept, *_ = self._pending.get(key)
        example = x if kept is None else kept
        if example is None:
            raise UsageError(
                f"id {key!r} was forecast with keep=False: hand its example over again, as x="
            )
        self.learn_one(example, y, w)
        del self._pending.waiting[key]

    def forget_waiting(self) -> None:
        """Let go of all examples that wait: their labels can no more be answered."""
        self._pending.waiting.clear()

    @property
    def waiting(self) -> int:
        """How many examples wait for their labels."""
        return len(self._pending.waiting)

    @property
    def dropped(self) -> int:
        """How many examples were dropped while they waited, because too many did."""
        return self._pending.dropped

    @abstractmethod
    def predict_one(self, x: Example) -> Any:
        """The forecast for one example; nothing is learned."""

    @abstractmethod
    def learn_one(self, x: Example, y: Any, w: float = 1.0) -> None:
        """Learn one example."""


def _copied(x: Example) -> dict[Hashable, Any]:
    """An example that was read before, as plain values that nobody else can change."""
    return {
        name: _copied(value) if isinstance(value, Mapping) else copied(value)
        for name, value in x.items()
    }


def _plain(x: Any) -> Any:
    """What `_copied` made, with each date as a list of its text, which no other value is."""
    if isinstance(x, Mapping):
        return {name: _plain(value) for name, value in x.items()}
    return [str(x)] if isinstance(x, np.datetime64) else x


def _read(x: Any) -> Any:
    """What `_plain` was made of."""
    if isinstance(x, Mapping):
        return {name: _read(value) for name, value in x.items()}
    return np.datetime64(x[0]) if isinstance(x, list) else x
