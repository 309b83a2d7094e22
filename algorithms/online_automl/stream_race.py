"""A race as the learner of a stream, whenever its labels come."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from leaseboard.algorithms.array_types import Doubles, Floats
from leaseboard.algorithms.environments.stream import Stream
from leaseboard.algorithms.events import Event
from leaseboard.algorithms.online.schema import stream_schema
from leaseboard.algorithms.online_automl.late_classes import LateClasses
from leaseboard.algorithms.online_automl.one_vs_rest import BLOCK, OneVsRest
from leaseboard.algorithms.online_automl.pending import Pending
from leaseboard.algorithms.online_automl.safe.aggregate import ALLOWED
from leaseboard.algorithms.online_automl.safe.later import BASELINES, N_BASELINES, N_PARTS, caller
from leaseboard.algorithms.online_automl.safe.log_odds import logit
from leaseboard.algorithms.online_automl.safe.safe_race import SafeRace
from leaseboard.algorithms.online_automl.safe.scale import SHOWN, deviation_of
from leaseboard.algorithms.online_automl.safe.waited import OWN, Waited

ROW_BY_ROW = (
    "share_of_bound", "nats_over_best", "coverage", "coverage_in_worst_window", "interval_width",
    "unbounded_intervals",
)  # fmt: skip
"""Metrics of a race that are of predictions after which each label is known."""


class StreamRace:
    """Race as a `leaseboard.algorithms.environments.arrival.StreamLearner`.

    While labels are pending, it predicts without past labels where it can.

    Parameters
    ----------
    race : Race or OneVsRest
        It has seen nothing, and knows the columns that are there from the first example on.
    stream : Stream
    end : int
        Examples that will come; after the last label nothing is decided.

    Attributes
    ----------
    live : float
        How many models learned an example of the last block, in the mean.
    """

    def __init__(self, race: Any, stream: Stream, end: int) -> None:
        self.race, self.end, self.live, self._stream = race, end, 0.0, stream
        self._events: list[Event] = [*race.open()]
        self._stretches = stream.stretches(end)
        self._rows, self._features = next(self._stretches)
        self._row = np.zeros(0, dtype=np.float32)
        self._calls: tuple[Callable[[], Any], Callable[[float, float], bool]]
        self._pending, self._waits = 0, False

    def predict_waiting(self, examples: Floats, pending: int) -> Doubles:
        """See `StreamLearner`; what is new with an example has no part in its prediction."""
        self._waits = True
        self._bind()
        found = []
        for ahead, example in enumerate(examples):
            self._row[:] = example[: len(self._row)]
            found.append(self._predict(pending + ahead))
        self._pending += len(examples)
        return np.array(found, dtype=np.float64)

    def learn_many(self, examples: Floats, labels: Floats) -> Any:
        """Learn examples that were predicted; or predict and learn some, until a decision is due.

        Returns
        -------
        ndarray
            The predictions of what was learned, if they were not asked for before.
        """
        race, first = self.race, None
        for example, label in zip(examples, labels.tolist(), strict=True) if self._pending else ():
            self._grow()
            self._bind()
            self._row[:] = example[: len(self._row)]
            due = self._calls[1](label, 1.0)
            self._decide(due)
            self._answered(label)
        if self._pending:
            self._pending -= len(labels)
            self.live = sum(len(each.live) for each in getattr(race, "races", [race]))
            return labels[:0]
        if race.at == self._rows.stop:
            first = race.predict(examples[0, : race.schema.n_features])
            self._grow()
        start, before = race.at, race.at - self._rows.start
        features = self._features[before : before + len(labels)]
        found = self._learned(features, labels[: len(features)])
        if first is not None:
            found[0] = np.pad(first, (0, found.shape[1] - len(first))) if found.ndim > 1 else first
        self._decide(race.is_due())
        return found[: race.at - start]

    def _learned(self, features: Floats, labels: Floats) -> Any:
        """Learn examples with the columns that have begun; return at least their predictions."""
        race = self.race
        if isinstance(race, OneVsRest):
            before, classes = race.model_examples, labels[:BLOCK].astype(np.int64)
            ones = np.ones(len(classes), dtype=np.float32)
            found: Any = race.learn(features[:BLOCK], classes, ones)
            self.live = (race.model_examples - before) / len(classes)
            return found
        found, self.live = np.empty(len(labels), dtype=np.float32), len(race.live)
        race.learn(features, labels, np.ones(len(labels), dtype=np.float32), found)
        return found

    def decided(self) -> list[Event]:
        """Return the events since the last call."""
        events, self._events = self._events, []
        return events

    def notes(self) -> dict[str, float]:
        """Return metrics of the race, as `Race.notes`, that hold where labels come later."""
        found = self.race.notes()
        left_out = ROW_BY_ROW if self._waits else ()
        return {name: value for name, value in found.items() if name not in left_out}

    def _decide(self, due: bool) -> None:
        """Take the decisions that are due, of many classes note those that were taken."""
        if due and (self.race.at < self.end or isinstance(self.race, OneVsRest)):
            self._events += self.race.decide()

    def _grow(self) -> None:
        """Go on with the columns that begin with the next example."""
        race = self.race
        if race.at == self._rows.stop:
            self._rows, self._features = next(self._stretches)
            schema = stream_schema(self._stream, self._features.shape[1])
            race.require_fit(schema)
            self._events += race.grow(schema)

    def _bind(self) -> None:
        """Load what takes single examples, when one comes."""
        if len(self._row) != self.race.schema.n_features:
            self._row = np.zeros(self.race.schema.n_features, dtype=np.float32)
            self._calls = self.race.single_calls(self._row)

    def _predict(self, pending: int) -> Any:
        return self.race.predict(self._row, later=True) if pending else self._calls[0]()

    def _answered(self, label: float) -> None:
        """Learn what the prediction lost whose label is learned."""


class ClassesRace(StreamRace):
    """Race of classes that weighs predictions by the errors of those whose labels were pending.

    Its classes are those of `leaseboard.algorithms.online_automl.streaming.OnlineAutoMLClassifier`
    by ``predict_one(x, id=id)`` and `learn_label`.
    """

    def __init__(self, race: Any, stream: Stream, end: int) -> None:
        super().__init__(race, stream, end)
        self.late, self.said = LateClasses(), deque[Doubles]()

    def _predict(self, pending: int) -> Any:
        n_classes = getattr(self.race, "n_classes", 2) if self.race.at else 0
        if not pending or n_classes < 2:
            self.said.append(self.late.nothing(n_classes))
            return super()._predict(pending)
        shares, kept = self.late.predict(self.race, self._row, pending)
        self.said.append(kept)
        of_two = isinstance(self.race, SafeRace)  # whose predictions are log odds
        return logit(shares[1] - shares[0]) if of_two else shares

    def _answered(self, label: float) -> None:
        of_two = isinstance(self.race, SafeRace)
        self.late.answer(self.said.popleft(), label > 0.0 if of_two else label)


class NumbersRace(StreamRace):
    """Race of numbers that weighs predictions by how those did whose labels were pending.

    Its numbers are those of `leaseboard.algorithms.online_automl.streaming.OnlineAutoMLRegressor`
    by ``predict_one(x, id=id)`` and `learn_label`.

    Parameters
    ----------
    race, stream, end
        See `StreamRace`.
    waited : Waited
        It has seen nothing.
    """

    def __init__(self, race: SafeRace, stream: Stream, end: int, waited: Waited) -> None:
        super().__init__(race, stream, end)
        self.waited, self.said = waited, Pending(max(1, end))
        self.best, self.lost, self.allowed, self.share = np.zeros(N_BASELINES), 0.0, 0.0, 0.0

    def _bind(self) -> None:
        known = self._row
        super()._bind()
        if self._row is not known:
            self._parts = caller(self.race, self._row)

    def _predict(self, pending: int) -> float:
        entity, said = self.race.head.entity(self._row), self.said
        if self.race.at:
            parts = self._parts(pending, said.of[entity])
            prediction, kept = self.waited.predict(parts)
            kept[-1] = entity
        else:
            prediction, kept = 0.0, self.waited.nothing()
        said.add(said.made, None, prediction, kept)
        return prediction

    def _answered(self, label: float) -> None:
        key = self.race.at - 1
        _, prediction, delay, kept = self.said.get(key)
        self.said.pop(key)
        shown = float(self.race.ensemble.expansion.scale[SHOWN])
        copy = int(kept[N_PARTS + OWN - 1])
        if copy < 0:
            return
        state = self.waited.copies[copy]
        self.allowed -= float(state[ALLOWED])
        self.waited.update(label, shown, prediction, kept, delay)
        self.allowed += float(state[ALLOWED])
        self.lost += (float(np.float32(prediction)) - label) ** 2
        self.best += (kept[[*BASELINES]] - label) ** 2
        if self.lost:
            self.share = max(self.share, self.lost / (float(self.best.min()) + self.allowed))

    def notes(self) -> dict[str, float]:
        """See `StreamRace.notes`.

        ``share_of_bound`` is the largest share that was lost, at any time, of what the theorem of
        `Waited` allows: what the best baseline lost, and the constants of all copies.
        """
        if not self._waits:
            return super().notes()
        width = deviation_of(self.race.ensemble.expansion.scale)
        own = self.waited.intervals.notes(width)
        return super().notes() | own | {"share_of_bound": self.share}
