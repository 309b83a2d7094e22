"""Algorithms that are races, which run over an environment's stream whenever its labels come."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from leaseboard.algorithms import events, registry
from leaseboard.algorithms.arrays import Doubles, Floats
from leaseboard.algorithms.base import Run
from leaseboard.algorithms.environments.stream import (
    Stream,
    StreamAlgorithm,
    StreamEnvironment,
    play,
    require_finite,
)
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.online_automl.late import Late, Pending
from leaseboard.algorithms.online_automl.one_vs_rest import OneVsRest
from leaseboard.algorithms.online_automl.race import Race

ROW_BY_ROW = (
    "share_of_bound", "nats_over_best", "coverage", "coverage_in_worst_window", "interval_width",
    "unbounded_intervals",
)  # fmt: skip
"""Metrics of a race that are of predictions after which each label is known."""


@dataclass(frozen=True, kw_only=True)
class Racing(StreamAlgorithm):
    """Algorithm that is a race."""

    predicts_pending: ClassVar[bool] = True

    @abstractmethod
    def race(self, schema: Schema, seed: int, task: str, horizon: float = math.inf) -> Race:
        """Return a race that has seen nothing; also for streams without an environment.

        Parameters
        ----------
        schema : Schema
        seed : int
        task : "regression" or "classification"
            Classes are labelled -1 and 1.
        horizon : float
            Length of the stream where it is known.
        """

    def late(self, task: str) -> Late:
        """Return what predicts while labels are pending, which has seen nothing."""
        return Late()

    def live_at_most(self, env: StreamEnvironment) -> int | None:
        """Return `capacity`, for each race that may come."""
        n_races = max(1, len(env.stream.classes) - 1)
        return None if self.capacity is None else n_races * self.capacity

    def run(self, env: StreamEnvironment, seed: int) -> Run:
        """Race over the stream.

        Of three and more classes the champion is the whole: a configuration that is admitted last,
        with the champion of each class. What a race's own configurations lose is counted against
        the rest, which is not a score to compare with the job's; so none is reported.
        """
        stream, budget = env.stream, env.budget
        if budget == 0:
            return
        require_finite(stream, budget)
        schema, names = stream.schema.first(stream.width(0)), stream.classes
        race: Any = (
            OneVsRest(lambda own: self.race(own, seed, stream.task), schema, names=names)
            if names
            else self.race(schema, seed, stream.task, budget)
        )
        learner = StreamRace(race, stream, budget, self.late(stream.task))
        yield from play(env, learner, learner.decided)
        env.note(learner.notes())
        if not names:
            yield from race.conclude()
            return
        number, parameters = len(race.numbers), race.champions(names)
        yield events.ConfigurationAdmitted(at=budget, configuration=number, parameters=parameters)
        yield events.ChampionChanged(at=budget, configuration=number, previous=None)
        score = float(env.score().value)
        yield events.ConfigurationScored(
            at=budget, configuration=number, value=score, units=budget
        )


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
    late : Late
        What predicts while labels are pending.
    """

    def __init__(self, race: Any, stream: Stream, end: int, late: Late) -> None:
        self.race, self.end, self._stream = race, end, stream
        self._events: list[events.Event] = [*race.open()]
        self._stretches = stream.stretches(end)
        self._rows, self._features = next(self._stretches)
        self.late, self.said = late, Pending(max(1, end))

    def predict_waiting(self, examples: Floats, pending: int) -> Doubles:
        """See `StreamLearner`; what is new with an example has no part in its prediction."""
        for example in examples[:, : self.race.schema.n_features]:
            asked = self.late.ask(self.race, example, self.said.of)
            self.said.add(self.said.made, None, *asked)
        last = [*self.said.waiting.values()][-len(examples) :]
        return np.array([prediction for _, prediction, *_ in last], dtype=np.float64)

    def learn_many(self, examples: Floats, labels: Floats) -> Any:
        """Learn examples that were predicted; or predict and learn some, until a decision is due.

        Returns
        -------
        ndarray
            The predictions of what was learned, if they were not asked for before.
        """
        race, first = self.race, None
        if self.said.waiting:
            for t, label in enumerate(labels.tolist()):
                self._grow()
                self._learn(examples[t : t + 1, : race.schema.n_features], labels[t : t + 1])
                key = next(iter(self.said.waiting))
                _, prediction, delay, kept = self.said.get(key)
                self.said.pop(key)
                self.late.answer(race, label, prediction, kept, delay)
            return labels[:0]
        if race.at == self._rows.stop:
            first = race.predict(examples[0, : race.schema.n_features])
            self._grow()
        before = race.at - self._rows.start
        features = self._features[before : before + len(labels)]
        found = self._learn(features, labels[: len(features)])
        if first is not None:
            found[0] = np.pad(first, (0, found.shape[1] - len(first))) if found.ndim > 1 else first
        return found

    def _learn(self, features: Floats, labels: Floats) -> Any:
        """Learn examples with the columns that have begun until a decision is due; take it."""
        race, ones = self.race, np.ones(len(labels), dtype=np.float32)
        if many := isinstance(race, OneVsRest):
            found: Any = race.learn(features, labels.astype(np.int64))
        else:
            found = race.learn(features, labels, ones)
        if race.is_due() and (many or race.at < self.end):
            self._events += race.decide()
        return found

    def decided(self) -> list[events.Event]:
        """Return the events since the last call."""
        made, self._events = self._events, []
        return made

    def notes(self) -> dict[str, float]:
        """Return metrics of the race, as `Race.notes`, that hold where labels come later."""
        found: dict[str, float] = self.race.notes()
        if not self.said.made:
            return found
        kept = {name: found[name] for name in found if name not in ROW_BY_ROW}
        return kept | self.late.notes(self.race)

    def _grow(self) -> None:
        """Go on with the columns that begin with the next example."""
        race = self.race
        if race.at == self._rows.stop:
            self._rows, self._features = next(self._stretches)
            schema = self._stream.schema.first(self._features.shape[1])
            race.require_fit(schema)
            self._events += race.grow(schema)


def racing_of(algorithm: str, settings: Mapping[str, Any]) -> Racing:
    """Return the registered race called `algorithm`; UsageError for others, and for files."""
    if not registry.files_of(algorithm):  # no file: what is saved must not name code
        built = registry.build(algorithm, settings)
        if isinstance(built, Racing):
            return built
    raise UsageError(
        f"algorithm {algorithm!r} is not a race of models on a stream, which alone learns on from"
        " table to table: name online-automl, chacha, chacha-flaml or chacha-literal"
    )
