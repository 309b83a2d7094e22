"""Many classes: a race of each against the rest, and a mixture near simple forecasts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from algorithms.chacha.race import Race
from algorithms.chacha.safe.bayes import new_weights, update
from algorithms.events import Event
from algorithms.online.live import Doubles, Floats
from algorithms.online.schema import Schema
from algorithms.plain import fill, values_of

REMEMBERED = 256
"""Examples that a race of a class that comes late learns first, as ones of the rest."""

LEAST = 1e-3
"""No class gets less of a chance than this, divided by their number."""

OWN, FREQUENCY, AFTER_LAST = range(3)
"""The experts, from three classes on: the races, and how often each class came, at all and after
the class before."""

MOST = 1000
"""Classes; of more there would be a million counts, and a race each."""

STRIDE = 1_000_000
"""Configurations of the race of class 1 + k are called k times so many, and on."""

_NUMBERED = ("configuration", "parent", "previous", "source")
"""The fields of events that are numbers of configurations."""


class OneVsRest:
    """A race of each class but the first, whose share is what the others leave.

    Two classes are one race, and its chances. From three on the races' chances, scaled to 1 with
    no class less than `LEAST` over their number, are averaged with the classes' frequencies and
    those after the class before, by Bayes' rule (`algorithms.chacha.safe.bayes`). Over the
    examples from there on, but for those on which a class is new, the log loss is at no time more
    than ln 3 + 1.6 nats above the best of the three.

    Examples of importance 0 are forecast, and teach nothing.

    Parameters
    ----------
    new_race : callable
        Makes a race for examples of a schema, with labels -1 and 1.
    schema : Schema

    Attributes
    ----------
    at : int
        Examples learned.
    n_classes : int
        Classes that came so far; they are called 0, 1, 2, ... in that order.
    races : list of Race
        Of the classes 1, 2, ...; the first is there from the beginning.
    arrived : list of int
        How many examples had been learned when each race began. Of these it learned the last
        `REMEMBERED` at once.
    """

    kept: ClassVar[tuple[str, ...]] = ("at", "n_classes", "last", "bayes")

    def __init__(self, new_race: Callable[[Schema], Race], schema: Schema) -> None:
        self.new_race, self.schema = new_race, schema
        self.at, self.n_classes, self.last = 0, 0, -1
        self.races = [new_race(schema)]
        self.bayes = new_weights(3)
        self.counts = np.zeros((2, 1))
        self.rows = np.zeros((REMEMBERED, schema.n_features), dtype=np.float32)
        self.weights = np.zeros(REMEMBERED, dtype=np.float32)
        self.arrived = [0]
        self._events: list[Event] = []

    # -- the stream ---------------------------------------------------------------------------

    def open(self) -> Iterator[Event]:
        """See `Race.open`."""
        self._teller(0)(self.races[0].open())
        return self.decide()

    def predict(self, example: Floats) -> Doubles:
        """The chances of the classes that came so far; nothing is learned.

        Parameters
        ----------
        example : ndarray of float32, shape (n_features,)

        Returns
        -------
        ndarray of float64, shape (n_classes,)
        """
        margins = np.array([[race.predict(example) for race in self.races]])
        return self._average(self._own(margins)[0])

    def learn(self, examples: Floats, classes: NDArray[np.int64], importances: Floats) -> Doubles:
        """Learn a block.

        Parameters
        ----------
        examples : ndarray of float32, shape (n, n_features)
        classes : ndarray of int64, shape (n,)
            Numbers of classes; one that is new is the next number.
        importances : ndarray of float32, shape (n,)

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
            Progressive chances; a class had none before it came.

        Raises
        ------
        ValueError
            If a class is not the next number, or one of more than `MOST`.
        """
        told = np.zeros((len(classes), max(self.n_classes, 1 + int(classes.max(initial=-1)))))
        alike = np.where(importances > 0, np.maximum(classes - self.n_classes + 1, 0), -1)
        start = 0
        while start < len(classes):
            # As far as nothing new comes, and none or all are passed over.
            other = np.flatnonzero(alike[start:] != alike[start])
            stop = start + (int(other[0]) if len(other) else len(classes) - start)
            known = self.n_classes
            if alike[start] == 0:
                block = slice(start, stop)
                rows = self._learn(examples[block], classes[block], importances[block])
            elif alike[start] < 0:
                rows = np.array([self.predict(row) for row in examples[start:stop]])
            else:
                stop = start + 1
                rows = self.predict(examples[start])[None]
                self._welcome(int(classes[start]))
                self._learn(examples[start:stop], classes[start:stop], importances[start:stop])
                late = classes[stop:] - self.n_classes + 1
                alike[stop:] = np.where(importances[stop:] > 0, np.maximum(late, 0), -1)
            told[start:stop, :known] = rows
            start = stop
        return told[:, : self.n_classes]

    def learn_one(self, example: Floats, number: float, importance: float) -> bool:
        """Learn one example of a class; say whether there are events to be told."""
        weight = np.array([importance], dtype=np.float32)
        self.learn(example[None], np.array([number], dtype=np.int64), weight)
        return self.is_due()

    def is_due(self) -> bool:
        """Whether there are events to be told."""
        return bool(self._events)

    def decide(self) -> Iterator[Event]:
        """The events since the last call; decisions were taken as they were due."""
        events, self._events = sorted(self._events, key=lambda event: event.at), []
        return iter(events)

    def grow(self, schema: Schema) -> bool:
        """See `Race.grow`; ValueError, and no change, if one of the races cannot."""
        for race in self.races:
            race.require_fit(schema)
        widened = [race.grow(schema) for race in self.races]
        self.schema = schema
        rows = np.zeros((REMEMBERED, schema.n_features), dtype=np.float32)
        rows[:, : self.rows.shape[1]] = self.rows
        self.rows = rows
        return any(widened)

    def widen(self) -> Iterator[Event]:
        """See `Race.widen`."""
        for k, race in enumerate(self.races):
            self._teller(k)(race.widen())
        return self.decide()

    def _learn(self, examples: Floats, classes: NDArray[np.int64], importances: Floats) -> Doubles:
        """Learn examples of classes that came before."""
        margins = np.empty((len(classes), len(self.races)))
        for k, race in enumerate(self.races):
            labels = np.where(classes == 1 + k, 1, -1).astype(np.float32)
            margins[:, k] = _advance(race, examples, labels, importances, self._teller(k))
        self.at += len(classes)
        late = slice(-REMEMBERED, None)
        places = np.arange(self.at - len(classes[late]), self.at) % REMEMBERED
        self.rows[places], self.weights[places] = examples[late], importances[late]
        own = self._own(margins)
        told = own.copy()
        numbers = zip(classes.tolist(), importances.tolist(), strict=True)
        for t, (number, weight) in enumerate(numbers):
            if self.n_classes > 2:
                experts = self._experts(own[t])
                told[t] = self.bayes[1:] @ experts
                if self.counts[0, number]:  # of a class that is new nothing was told
                    update(experts[:, number] ** min(weight, 1.0), self.bayes)
            self.counts[0, number] += weight
            if self.last >= 0:
                self.counts[1 + self.last, number] += weight
            self.last = number
        return told

    def _welcome(self, number: int) -> None:
        """Make room for the next class; from the third on with a race of its own."""
        if number != self.n_classes or number >= MOST:
            raise ValueError(
                f"class {number} after {self.n_classes} others: each new one is the next number,"
                f" and at most {MOST} are learned; is the label a number to be forecast, or an id?"
            )
        if number >= 2:
            race, n = self.new_race(self.schema), min(self.at, REMEMBERED)
            places = np.arange(self.at - n, self.at) % REMEMBERED
            events = list(race.open())
            labels = np.full(n, -1, dtype=np.float32)
            _advance(race, self.rows[places], labels, self.weights[places], events.extend)
            # Nothing was changed until here.
            self.races.append(race)
            self.arrived.append(self.at)
            self._teller(len(self.races) - 1)(events)
        counts = np.zeros((2 + number, 1 + number))
        counts[: self.counts.shape[0], : self.counts.shape[1]] = self.counts
        self.n_classes, self.counts = 1 + number, counts

    # -- chances ------------------------------------------------------------------------------

    def _own(self, margins: Doubles) -> Doubles:
        """The races' chances, shape (n, n_classes), scaled to 1."""
        if self.n_classes < 2:
            return np.ones((len(margins), self.n_classes))
        chances = np.empty((len(margins), self.n_classes))
        chances[:, 1:] = 1.0 / (1.0 + np.exp(-np.clip(margins, -500.0, 500.0)))
        chances[:, 0] = 1.0 - chances[:, 1:].sum(axis=1)
        if self.n_classes > 2:
            chances = np.maximum(chances, LEAST / self.n_classes)
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def _average(self, own: Doubles) -> Doubles:
        if self.n_classes <= 2:
            return own
        return np.asarray(self.bayes[1:] @ self._experts(own))

    def _experts(self, own: Doubles) -> Doubles:
        """What each expert thinks of each class, shape (3, n_classes)."""
        rows = self.counts[[0, 1 + self.last]] + 0.5
        return np.vstack((own, rows / rows.sum(axis=1, keepdims=True)))

    # -- inspection ---------------------------------------------------------------------------

    def champions(self) -> list[dict[str, Any]]:
        """What each race's champion chose."""
        return [race.parameters(race.configurations[race.champion]) for race in self.races]

    def _teller(self, k: int) -> Callable[[Iterable[Event]], None]:
        """What keeps the events of race `k`, with times and numbers that all races understand."""
        arrived = self.arrived[k]
        began = arrived - min(arrived, REMEMBERED)

        def tell(events: Iterable[Event]) -> None:
            for event in events:
                named = {
                    name: STRIDE * k + value
                    for name in _NUMBERED
                    if (value := getattr(event, name, None)) is not None
                }
                at = max(arrived, began + event.at)
                self._events.append(dataclasses.replace(event, at=at, **named))

        return tell

    def state(self) -> dict[str, Any]:
        """Everything that a fresh one needs to go on as this one does, as plain values."""
        return values_of(self, self.kept) | {
            "races": [race.state() for race in self.races],
            "counts": self.counts,
            "rows": self.rows,
            "weights": self.weights,
            "arrived": self.arrived,
        }

    def fill(self, state: Any) -> None:
        """Go on from `state`, where nothing was seen so far; ValueError if none has it."""
        arrived = state["arrived"]
        if len(state["races"]) != len(arrived) or len(arrived) != max(1, state["n_classes"] - 1):
            raise ValueError(f"{len(arrived)} races of {state['n_classes']} classes")
        fill(self, state, self.kept)
        self.races += [self.new_race(self.schema) for _ in arrived[1:]]
        for race, one, at in zip(self.races, state["races"], arrived, strict=True):
            race.fill(one)
            if type(at) is not int or race.at != self.at - at + min(at, REMEMBERED):
                raise ValueError(f"a race of {race.at} examples came after {at} of {self.at}")
        self.arrived = list(arrived)
        self.counts = np.zeros((1 + max(1, self.n_classes), max(1, self.n_classes)))
        fill(self, state, ("counts", "rows", "weights"))
        weights = self.bayes[1:]
        if not (self.bayes[0] >= 0 and (weights > 0).all() and abs(weights.sum() - 1) < 1e-6):
            raise ValueError(f"{self.bayes} are no weights")
        if not (-1 <= self.last < self.n_classes and (self.counts >= 0).all()):
            raise ValueError(f"{self.last} is none of {self.n_classes} classes")


def _advance(
    race: Race,
    examples: Floats,
    labels: Floats,
    importances: Floats,
    tell: Callable[[Iterable[Event]], None],
) -> Floats:
    """Let a race learn a block; tell the events of its decisions. Its progressive forecasts."""
    forecasts, done = np.empty(len(labels), dtype=np.float32), 0
    while done < len(labels):
        rest = slice(done, None)
        done += race.learn(examples[rest], labels[rest], importances[rest], forecasts[rest])
        if race.is_due():
            tell(race.decide())
    return forecasts
