"""A bench's stream of three and more classes: a race of each against the rest, told as one run."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from leaseboard.algorithms.base import Run
from leaseboard.algorithms.benches.stream import StreamBench
from leaseboard.algorithms.chacha.one_vs_rest import BLOCK, NUMBERED, STRIDE, OneVsRest
from leaseboard.algorithms.chacha.race import Race
from leaseboard.algorithms.events import (
    ChampionChanged,
    ClassChampionChanged,
    ConfigurationAdmitted,
    ConfigurationScored,
    Event,
    LeaseGranted,
)
from leaseboard.algorithms.online.schema import Schema, stream_schema


def race_classes(bench: StreamBench, new_race: Callable[[Schema], Race]) -> Run:
    """Run `OneVsRest` over a stream of classes.

    The champion is the whole: a configuration that is admitted last, with the champion of each
    class. What a race's own configurations lose is counted against the rest, no score that could
    stand next to the job's; so none is told.

    Parameters
    ----------
    bench : StreamBench
    new_race : callable
        See `OneVsRest`, which is the model.
    """
    stream, budget = bench.stream, bench.budget
    whole: OneVsRest | None = None
    for stretch, features in stream.stretches(budget):
        schema = stream_schema(stream, features.shape[1])
        if whole is None:
            whole = OneVsRest(new_race, schema, len(stream.classes))
            teller = _Teller(whole, stream.classes)
            yield from teller.told(whole.open())
        else:
            first = whole.predict(features[0, : whole.schema.n_features])
            whole.require_fit(schema)
            yield from teller.told(whole.grow(schema))
        for start in range(stretch.start, stretch.stop, BLOCK):
            rows = slice(start, min(start + BLOCK, stretch.stop))
            classes = stream.labels[rows].astype(np.int64)
            importances = np.ones(len(classes), dtype=np.float32)
            before = whole.model_examples
            block = features[start - stretch.start : rows.stop - stretch.start]
            chances = whole.learn(block, classes, importances)
            if start and start == stretch.start:
                chances[0] = np.pad(first, (0, chances.shape[1] - len(first)))
            measured = bench.record(chances, (whole.model_examples - before) / len(classes))
            yield from heapq.merge(measured, teller.told(whole.decide()), key=attrgetter("at"))
    assert whole is not None
    number, parameters = len(teller.numbers), whole.champions(stream.classes)
    yield ConfigurationAdmitted(at=budget, configuration=number, parameters=parameters)
    yield ChampionChanged(at=budget, configuration=number, previous=None)
    score = float(bench.score().value)
    yield ConfigurationScored(at=budget, configuration=number, value=score, units=budget)
    return whole


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
        begin = self.races.arrived[k] + 1
        return replace(event, at=begin) if k and event.at < begin else event

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
    """The race whose configuration the event speaks of."""
    number: int = attrgetter("configuration")(event)  # all events of races have one
    return number // STRIDE
