"""Algorithms that are races, which run over an environment's stream."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import attrgetter
from typing import Any, ClassVar

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
    ClassChampionChanged,
    ConfigurationAdmitted,
    ConfigurationScored,
    Event,
    LeaseGranted,
)
from leaseboard.algorithms.online.schema import Schema, stream_schema
from leaseboard.algorithms.online_automl.late_labels import LateClasses, LateNumbers
from leaseboard.algorithms.online_automl.one_vs_rest import NUMBERED, STRIDE, OneVsRest
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
        lambda schema: racing.race(schema, seed, stream.task), schema, len(stream.classes)
    )
    learner = StreamRace(whole, stream, budget, racing.late(stream.task))
    numbering = _Numbering(whole, stream.classes)
    yield from play(env, learner, lambda: numbering.renamed(learner.decided()))
    env.note(learner.notes())
    number, parameters = len(numbering.numbers), whole.champions(stream.classes)
    yield ConfigurationAdmitted(at=budget, configuration=number, parameters=parameters)
    yield ChampionChanged(at=budget, configuration=number, previous=None)
    score = float(env.score().value)
    yield ConfigurationScored(at=budget, configuration=number, value=score, units=budget)
    return whole


class _Numbering:
    """Numbering by which the events of all races are those of one run.

    Attributes
    ----------
    numbers : dict of int to int
        The configurations of the run, by what `OneVsRest` calls them.
    """

    def __init__(self, races: OneVsRest, classes: tuple[str, ...]) -> None:
        self.races = races
        self.classes = (*classes, "")  # the first race is there before a second class came
        self.numbers: dict[int, int] = {}

    def renamed(self, events: Iterable[Event]) -> Iterator[Event]:
        """Return the events in the order of their times."""
        timed = []
        for event in events:
            # The race of a class that comes late begins after its first example.
            k, begin = _race_of(event), self.races.arrived[_race_of(event)] + 1
            timed.append(replace(event, at=begin) if k and event.at < begin else event)
        return map(self._renamed, sorted(timed, key=attrgetter("at")))

    def _renamed(self, event: Event) -> Event:
        k, changes = _race_of(event), dict[str, Any]()
        label = self.classes[1 + k]
        if isinstance(event, ConfigurationAdmitted):
            self.numbers[event.configuration] = len(self.numbers)
            changes["parameters"] = {"class": label, **event.parameters}
        elif isinstance(event, LeaseGranted):
            assert event.slot is not None
            changes["slot"] = event.slot + k * self.races.races[k].b
        for name in NUMBERED:
            if (value := getattr(event, name, None)) is not None:
                changes[name] = self.numbers[value]
        if isinstance(event, ChampionChanged):
            return ClassChampionChanged(at=event.at, label=label, **changes)
        return replace(event, **changes)


def _race_of(event: Event) -> int:
    """Return the number of the race whose configuration the event is about."""
    number: int = attrgetter("configuration")(event)  # all events of races have one
    return number // STRIDE
