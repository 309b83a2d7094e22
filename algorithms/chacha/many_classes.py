"""A bench's stream of three and more classes: a race of each against the rest, told as one run."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from algorithms.base import Run
from algorithms.benches.stream import StreamBench
from algorithms.chacha.one_vs_rest import NUMBERED, STRIDE, OneVsRest
from algorithms.chacha.race import Race
from algorithms.events import (
    ChampionChanged,
    ClassChampionChanged,
    ConfigurationAdmitted,
    ConfigurationScored,
    Event,
    LeaseGranted,
)
from algorithms.online.schema import Schema, stream_schema

BLOCK = 64
"""Examples between two records."""


def race_classes(bench: StreamBench, new_race: Callable[[Schema], Race]) -> Run:
    """Run `OneVsRest` over a stream of classes.

    The champion is the whole: a configuration that is admitted last, with the champion of each
    class. What a race's own configurations lose is counted against the rest, no score that could
    stand beside the job's; so none is told.

    Parameters
    ----------
    bench : StreamBench
    new_race : callable
        See `OneVsRest`, which is the model.
    """
    stream, budget = bench.stream, bench.budget
    races = OneVsRest(new_race, stream_schema(stream))
    teller = _Teller(races, stream.classes)
    yield from teller.told(races.open())
    for start in range(0, budget, BLOCK):
        rows = slice(start, min(start + BLOCK, budget))
        live = sum(len(race.live) for race in races.races)
        classes = stream.labels[rows].astype(np.int64)
        importances = np.ones(len(classes), dtype=np.float32)
        measured = bench.record(races.learn(stream.features[rows], classes, importances), live)
        yield from heapq.merge(measured, teller.told(races.decide()), key=attrgetter("at"))
    whole = len(teller.numbers)
    parameters = races.champions(stream.classes)
    yield ConfigurationAdmitted(at=budget, configuration=whole, parameters=parameters)
    yield ChampionChanged(at=budget, configuration=whole, previous=None)
    score = float(bench.score().value)
    yield ConfigurationScored(at=budget, configuration=whole, value=score, units=budget)
    return races


class _Teller:
    """Tells events of all races as those of one run.

    Attributes
    ----------
    numbers : dict of int to int
        The configurations of the run, by what `OneVsRest` calls them.
    """

    def __init__(self, races: OneVsRest, classes: tuple[str, ...]) -> None:
        self.races = races
        self.classes = (*classes, "")  # the first race is there before a second class came
        self.numbers: dict[int, int] = {}

    def told(self, events: Iterable[Event]) -> Iterator[Event]:
        """The events in the order of their times."""
        return map(self._renamed, sorted(map(self._in_time, events), key=attrgetter("at")))

    def _in_time(self, event: Event) -> Event:
        """A race of a class that comes late begins after its first example."""
        k = _race_of(event)
        return replace(event, at=max(event.at, self.races.arrived[k] + 1)) if k else event

    def _renamed(self, event: Event) -> Event:
        k = _race_of(event)
        label = self.classes[1 + k]
        if isinstance(event, ConfigurationAdmitted):
            self.numbers[event.configuration] = len(self.numbers)
            event = replace(event, parameters={"class": label, **event.parameters})
        elif isinstance(event, LeaseGranted):
            assert event.slot is not None
            event = replace(event, slot=event.slot + k * self.races.races[k].b)
        named: dict[str, Any] = {
            name: self.numbers[value]
            for name in NUMBERED
            if (value := getattr(event, name, None)) is not None
        }
        if isinstance(event, ChampionChanged):
            return ClassChampionChanged(at=event.at, label=label, **named)
        return replace(event, **named)


def _race_of(event: Event) -> int:
    """The race whose configuration the event speaks of."""
    number: int = attrgetter("configuration")(event)  # all events of races have one
    return number // STRIDE
