"""Races that go on predicting while labels are pending."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

import numpy as np

from leaseboard.algorithms.environments.stream import Stream
from leaseboard.algorithms.events import Event
from leaseboard.algorithms.online.kernel import Doubles, Floats
from leaseboard.algorithms.online.schema import stream_schema
from leaseboard.algorithms.online_automl.one_vs_rest import OneVsRest
from leaseboard.algorithms.online_automl.safe.aggregate import ALLOWED
from leaseboard.algorithms.online_automl.safe.later import BASELINES, N_BASELINES, N_PARTS, caller
from leaseboard.algorithms.online_automl.safe.safe_race import SafeRace
from leaseboard.algorithms.online_automl.safe.scale import SHOWN, deviation
from leaseboard.algorithms.online_automl.safe.waited import OWN, Waited

ROW_BY_ROW = (
    "share_of_bound", "nats_over_best", "coverage", "coverage_in_worst_window", "interval_width",
    "unbounded_intervals",
)  # fmt: skip
"""Metrics of a race that are of predictions after which each label is known."""

BASELINES_AT = np.array(BASELINES)


class PendingRace:
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
    events : list of Event
        What it decided and has not been asked for.
    """

    def __init__(self, race: Any, stream: Stream, end: int) -> None:
        self.race, self.stream, self.end = race, stream, end
        self.events: list[Event] = [*race.open()]
        self._bind()

    def _bind(self) -> None:
        self.row = np.zeros(self.race.schema.n_features, dtype=np.float32)
        self._predict_next, self._learn = self.race.single_calls(self.row)

    def predict_waiting(self, examples: Floats, pending: int) -> Doubles:
        """See `StreamLearner`; what is new with an example has no part in its prediction."""
        found = []
        for ahead, example in enumerate(examples):
            self.row[:] = example[: len(self.row)]
            found.append(self._predict(pending + ahead))
        return np.array(found, dtype=np.float64)

    def learn_many(self, examples: Floats, labels: Floats) -> Floats:
        """Learn examples that were predicted; return nothing else of them."""
        race, stream = self.race, self.stream
        for example, label in zip(examples, labels.tolist(), strict=True):
            if stream.width(race.at) > len(self.row):
                schema = stream_schema(stream, stream.width(race.at))
                race.require_fit(schema)
                self.events += race.grow(schema)
                self._bind()
            self.row[:] = example[: len(self.row)]
            if self._learn(label, 1.0) and race.at < self.end:
                self.events += race.decide()
            self._answered(label)
        return labels[:0]

    def decided(self) -> list[Event]:
        """Return the events since the last call."""
        events, self.events = self.events, []
        return events

    def live(self) -> int:
        """Return how many models learn."""
        races = self.race.races if isinstance(self.race, OneVsRest) else [self.race]
        return sum(len(race.live) for race in races)

    def notes(self) -> dict[str, float]:
        """Return metrics of the race, as `Race.notes`, that hold where labels come later."""
        found = self.race.notes()
        return {name: value for name, value in found.items() if name not in ROW_BY_ROW}

    def _predict(self, pending: int) -> Any:
        return self.race.predict_later(self.row) if pending else self._predict_next()

    def _answered(self, label: float) -> None:
        """Learn what the prediction lost whose label is learned."""


class PendingNumbers(PendingRace):
    """Race of numbers that weighs predictions by how those did whose labels were pending.

    Its numbers are those of `leaseboard.algorithms.online_automl.streaming.OnlineAutoMLRegressor`
    by ``predict_one(x, id=id)`` and `learn_label`.

    Parameters
    ----------
    race, stream, end
        See `PendingRace`.
    waited : Waited
        It has seen nothing.
    """

    def __init__(self, race: SafeRace, stream: Stream, end: int, waited: Waited) -> None:
        super().__init__(race, stream, end)
        self.waited, self.made = waited, 0
        self.best, self.lost, self.allowed, self.share = np.zeros(N_BASELINES), 0.0, 0.0, 0.0
        self.own, self.said = Counter[int](), deque[tuple[float, int, Doubles]]()

    def _bind(self) -> None:
        super()._bind()
        self._parts = caller(self.race, self.row)

    def _predict(self, pending: int) -> float:
        entity = self.race.head.entity(self.row)
        if self.race.at:
            parts = self._parts(pending, self.own[entity])
            prediction, kept = self.waited.predict(parts, waits=True)
            kept[-1] = entity
        else:
            prediction, kept = 0.0, self.waited.nothing()
        self.own[entity] += 1
        self.said.append((prediction, self.made, kept))
        self.made += 1
        return prediction

    def _answered(self, label: float) -> None:
        prediction, before, kept = self.said.popleft()
        self.own[int(kept[-1])] -= 1
        shown = float(self.race.ensemble.expansion.scale[SHOWN])
        copy = int(kept[N_PARTS + OWN - 1])
        if copy < 0:
            return
        state = self.waited.copies[copy]
        self.allowed -= float(state[ALLOWED])
        self.waited.update(label, shown, prediction, kept, self.made - 1 - before)
        self.allowed += float(state[ALLOWED])
        self.lost += (float(np.float32(prediction)) - label) ** 2
        self.best += (kept[BASELINES_AT] - label) ** 2
        if self.lost:
            self.share = max(self.share, self.lost / (float(self.best.min()) + self.allowed))

    def notes(self) -> dict[str, float]:
        """See `PendingRace.notes`.

        ``share_of_bound`` is the largest share that was lost, at any time, of what the theorem of
        `Waited` allows: what the best baseline lost, and the constants of all copies.
        """
        width = deviation(self.race.ensemble.expansion.scale)
        own = self.waited.intervals.notes(width)
        return super().notes() | own | {"share_of_bound": self.share}
