"""Many classes: a race of each against the rest, and a mixture near simple forecasts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
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

NUMBERS = 1_000_000
"""Configurations of the race of class 1 + k are called k times so many, and on."""

_NUMBERS = ("configuration", "parent", "previous", "source")
"""The fields of events that are numbers of configurations."""


class OneVsRest:
    """A race of each class but the first, whose share is what the others leave.

    Two classes are one race, and its chances. From three on the races' chances, scaled to 1, are
    averaged with the classes' frequencies and those after the class before, by Bayes' rule
    (`algorithms.chacha.safe.bayes`): at no time is the log loss more than ln 3 + 1.6 nats above
    the best of the three.

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
    began : list of int
        How many examples came before the first one that each race learned.
    """

    kept: ClassVar[tuple[str, ...]] = ("at", "n_classes", "last", "bayes")

    def __init__(self, new_race: Callable[[Schema], Race], schema: Schema) -> None:
        self.new_race, self.schema = new_race, schema
        self.at, self.n_classes, self.last = 0, 0, -1
        self.races = [new_race(schema)]
        self.bayes = new_weights(3)
        self.counts = np.zeros((2, 1))
        self.rows = np.zeros((REMEMBERED, schema.n_features), dtype=np.float32)
        self.began = [0]
        self._events: list[Event] = []

    # -- the stream ---------------------------------------------------------------------------

    def open(self) -> Iterator[Event]:
        """See `Race.open`."""
        self._tell(0, self.races[0].open())
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
        """
        parts = []
        while len(classes):
            new = np.flatnonzero(classes >= self.n_classes)
            n = len(classes) if not len(new) else int(new[0])
            if n == 0:  # its own class is new
                n = 1
                parts.append(self.predict(examples[0])[None])
                self._welcome()
                self._learn(examples[:n], classes[:n], importances[:n])
            else:
                parts.append(self._learn(examples[:n], classes[:n], importances[:n]))
            examples, classes, importances = examples[n:], classes[n:], importances[n:]
        told = np.zeros((sum(map(len, parts)), self.n_classes))
        start = 0
        for part in parts:
            told[start : start + len(part), : part.shape[1]] = part
            start += len(part)
        return told

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
            self._tell(k, race.widen())
        return self.decide()

    def _learn(self, examples: Floats, classes: NDArray[np.int64], importances: Floats) -> Doubles:
        """Learn examples of classes that came before."""
        margins = np.empty((len(classes), len(self.races)))
        for k, race in enumerate(self.races):
            labels = np.where(classes == 1 + k, 1, -1).astype(np.float32)
            margins[:, k] = self._advance(k, race, examples, labels, importances)
        self.at += len(classes)
        late = examples[-REMEMBERED:]
        self.rows[np.arange(self.at - len(late), self.at) % REMEMBERED] = late
        own = self._own(margins)
        told = own.copy()
        for t, number in enumerate(classes.tolist()):
            if self.n_classes > 2:
                told[t] = self._average(own[t])
            if importances[t] <= 0:
                continue
            if self.n_classes > 2:
                update(np.ascontiguousarray(self._experts(own[t])[:, number]), self.bayes)
            self.counts[0, number] += 1.0
            if self.last >= 0:
                self.counts[1 + self.last, number] += 1.0
            self.last = number
        return told

    def _advance(
        self, k: int, race: Race, examples: Floats, labels: Floats, importances: Floats
    ) -> Floats:
        forecasts, done = np.empty(len(labels), dtype=np.float32), 0
        while done < len(labels):
            rest = slice(done, None)
            done += race.learn(examples[rest], labels[rest], importances[rest], forecasts[rest])
            if race.is_due():
                self._tell(k, race.decide())
        return forecasts

    def _welcome(self) -> None:
        """Make room for the next class; from the third on with a race of its own."""
        self.n_classes += 1
        counts = np.zeros((1 + self.n_classes, self.n_classes))
        counts[: self.counts.shape[0], : self.counts.shape[1]] = self.counts
        self.counts = counts
        if self.n_classes <= 2:
            return
        race, k = self.new_race(self.schema), len(self.races)
        n = min(self.at, REMEMBERED)
        self.races.append(race)
        self.began.append(self.at - n)
        self._tell(k, race.open())
        rows = self.rows[np.arange(self.at - n, self.at) % REMEMBERED]
        ones = np.ones(n, dtype=np.float32)
        self._advance(k, race, rows, -ones, ones)

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

    def _tell(self, k: int, events: Iterator[Event]) -> None:
        """Keep the events of race `k`, with times and numbers that all races understand."""
        for event in events:
            named = {
                name: NUMBERS * k + value
                for name in _NUMBERS
                if (value := getattr(event, name, None)) is not None
            }
            self._events.append(dataclasses.replace(event, at=self.began[k] + event.at, **named))

    def state(self) -> dict[str, Any]:
        """Everything that a fresh one needs to go on as this one does, as plain values."""
        return values_of(self, self.kept) | {
            "races": [race.state() for race in self.races],
            "counts": self.counts,
            "rows": self.rows,
            "began": self.began,
        }

    def fill(self, state: Any) -> None:
        """Go on from `state`, where nothing was seen so far; ValueError if none has it."""
        n_races = max(1, state["n_classes"] - 1)
        if not len(state["races"]) == len(state["began"]) == n_races:
            raise ValueError(f"{n_races} races are needed")
        self.races += [self.new_race(self.schema) for _ in range(n_races - 1)]
        for race, one in zip(self.races, state["races"], strict=True):
            race.fill(one)
        fill(self, state, self.kept)
        self.counts = np.zeros((1 + max(1, self.n_classes), max(1, self.n_classes)))
        fill(self, state, ("counts", "rows"))
        self.began = list(map(int, state["began"]))
        if not -1 <= self.last < self.n_classes:
            raise ValueError(f"{self.last} is none of {self.n_classes} classes")
