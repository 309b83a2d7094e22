"""A race as the learner of a stream, whenever its labels come."""

from __future__ import annotations

from typing import Any

import numpy as np

from leaseboard.algorithms.array_types import Doubles, Floats
from leaseboard.algorithms.environments.stream import Stream
from leaseboard.algorithms.events import Event
from leaseboard.algorithms.online.schema import stream_schema
from leaseboard.algorithms.online_automl.late_labels import LateClasses, LateNumbers
from leaseboard.algorithms.online_automl.one_vs_rest import OneVsRest
from leaseboard.algorithms.online_automl.pending import Pending

ROW_BY_ROW = (
    "share_of_bound", "nats_over_best", "coverage", "coverage_in_worst_window", "interval_width",
    "unbounded_intervals",
)  # fmt: skip
"""Metrics of a race that are of predictions after which each label is known."""


class StreamRace:
    """Race as a `leaseboard.algorithms.environments.arrival.StreamLearner`.

    Its predictions are those of `leaseboard.algorithms.online_automl.streaming`, in blocks or by
    ``predict_one(x, id=id)`` and `learn_label`.

    Parameters
    ----------
    race : Race or OneVsRest
        It has seen nothing, and knows the columns that are there from the first example on.
    stream : Stream
    end : int
        Examples that will come; after the last label nothing is decided.
    late : LateNumbers or LateClasses, optional
        What predicts while labels are pending; without it the race does, without past labels
        where it can.

    Attributes
    ----------
    live : float
        How many models learned an example of the last block, in the mean.
    """

    def __init__(
        self, race: Any, stream: Stream, end: int, late: LateNumbers | LateClasses | None = None
    ) -> None:
        self.race, self.end, self.live, self._stream = race, end, 0.0, stream
        self._events: list[Event] = [*race.open()]
        self._stretches = stream.stretches(end)
        self._rows, self._features = next(self._stretches)
        self._row = np.zeros(0, dtype=np.float32)
        self._one: Any
        self.late, self.said = late, Pending(max(1, end))

    def predict_waiting(self, examples: Floats, pending: int) -> Doubles:
        """See `StreamLearner`; what is new with an example has no part in its prediction."""
        del pending
        self._bind()
        found = []
        for example in examples:
            self._row[:] = example[: len(self._row)]
            found.append(self._predict())
        return np.array(found, dtype=np.float64)

    def learn_many(self, examples: Floats, labels: Floats) -> Any:
        """Learn examples that were predicted; or predict and learn some, until a decision is due.

        Returns
        -------
        ndarray
            The predictions of what was learned, if they were not asked for before.
        """
        race, first = self.race, None
        if self.said.waiting:
            for example, label in zip(examples, labels.tolist(), strict=True):
                self._grow()
                self._bind()
                self._row[:] = example[: len(self._row)]
                self._decide(self._one.learn(label, 1.0))
                self._answer(label)
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
            before, classes = race.model_examples, labels.astype(np.int64)
            ones = np.ones(len(classes), dtype=np.float32)
            found: Any = race.learn(features, classes, ones)
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
        found: dict[str, float] = self.race.notes()
        if not self.said.made:
            return found
        own = {} if self.late is None else self.late.notes(self.race)
        return {name: found[name] for name in found if name not in ROW_BY_ROW} | own

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
            self._one = self.race.single_calls(self._row)

    def _predict(self) -> Any:
        race, late, waiting = self.race, self.late, self.said.of
        kept = np.empty(0) if late is None else late.nothing(race)
        if late is not None and late.weighs(race, waiting[-1]):
            prediction, kept = late.ask(race, self._row, waiting)
        elif waiting[-1]:
            prediction = race.predict(self._row, later=True)
        else:
            prediction = self._one.predict()
        self.said.add(self.said.made, None, prediction, kept)
        return prediction

    def _answer(self, label: float) -> None:
        """Learn what the first prediction that waits lost, whose label was learned."""
        key = next(iter(self.said.waiting))
        _, prediction, delay, kept = self.said.get(key)
        self.said.pop(key)
        if self.late is not None:
            self.late.answer(self.race, label, prediction, kept, delay)
