"""Algorithms that are races, which run over an environment's stream."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

from pydantic.dataclasses import dataclass

from leaseboard.algorithms.base import Run
from leaseboard.algorithms.environments.stream import (
    StreamAlgorithm,
    StreamEnvironment,
    play,
    require_finite,
)
from leaseboard.algorithms.events import (
    ChampionChanged,
    ConfigurationAdmitted,
    ConfigurationScored,
)
from leaseboard.algorithms.online.schema import Schema, stream_schema
from leaseboard.algorithms.online_automl.late_labels import LateClasses, LateNumbers
from leaseboard.algorithms.online_automl.one_vs_rest import OneVsRest
from leaseboard.algorithms.online_automl.race import Race
from leaseboard.algorithms.online_automl.stream_race import StreamRace


@dataclass(frozen=True, kw_only=True)
class Racing(StreamAlgorithm):
    """Algorithm that is a race."""

    predicts_pending: ClassVar[bool] = True

    @abstractmethod
    def race(
        self,
        schema: Schema,
        seed: int,
        task: str,
        horizon: float = math.inf,
    ) -> Race:
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

    def late(self, task: str) -> LateNumbers | LateClasses | None:
        """Return what predicts while labels are pending, which has seen nothing, if it is known.

        Without it a race predicts what it would next.
        """
        del task
        return None

    def live_at_most(self, env: StreamEnvironment) -> int | None:
        """Return `capacity`, for each race that may come."""
        n_races = max(1, len(env.stream.classes) - 1)
        return None if self.capacity is None else n_races * self.capacity

    def run(self, env: StreamEnvironment, seed: int) -> Run:
        """Race over the stream; what predicts on is the model."""
        stream, budget = env.stream, env.budget
        if budget == 0:
            return None
        require_finite(stream, budget)
        schema = stream_schema(stream, stream.width(0))
        if stream.classes:
            return (yield from race_classes(self, schema, env, seed))
        race = self.race(schema, seed, stream.task, budget)
        learner = StreamRace(race, stream, budget, self.late(stream.task))
        yield from play(env, learner, learner.decided)
        env.note(learner.notes())
        yield from race.conclude()
        return race.model()


def race_classes(racing: Racing, schema: Schema, env: StreamEnvironment, seed: int) -> Run:
    """Run `OneVsRest` over a stream of classes.

    The champion is the whole: a configuration that is admitted last, with the champion of each
    class. What a race's own configurations lose is counted against the rest, which is not a score
    to compare with the job's; so none is reported.

    Parameters
    ----------
    racing : Racing
        Of each race of the model.
    schema : Schema
        Of the first example.
    env : StreamEnvironment
    seed : int
    """
    stream, budget = env.stream, env.budget
    whole = OneVsRest(
        lambda schema: racing.race(schema, seed, stream.task),
        schema,
        len(stream.classes),
        names=stream.classes,
    )
    learner = StreamRace(whole, stream, budget, racing.late(stream.task))
    yield from play(env, learner, learner.decided)
    env.note(learner.notes())
    number, parameters = len(whole.numbers), whole.champions(stream.classes)
    yield ConfigurationAdmitted(at=budget, configuration=number, parameters=parameters)
    yield ChampionChanged(at=budget, configuration=number, previous=None)
    score = float(env.score().value)
    yield ConfigurationScored(at=budget, configuration=number, value=score, units=budget)
    return whole
