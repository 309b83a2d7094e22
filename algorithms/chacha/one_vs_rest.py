"""Many classes: a race of each against the rest, and a mixture near simple forecasts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.benches.stream import MOST_CLASSES
from leaseboard.algorithms.chacha.class_mixture import ClassMixture
from leaseboard.algorithms.chacha.race import Race
from leaseboard.algorithms.events import ColumnsGrouped, Event, of
from leaseboard.algorithms.online.kernel import Doubles, Floats
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.plain import fill, values_of

REMEMBERED = 256
"""Examples that a race of a class that comes late learns first, as ones of the rest."""

BLOCK = 512
"""Examples that each race learns before the next one does, at most: longer than a round, so that
few rounds are torn, and not so long that much has to be kept of each class."""

STRIDE = 1_000_000
"""Configurations of the race of class 1 + k are called k times so many, and on."""

FIRST = {"share": "what the others leave"}
"""What is told of the first class, which has no race."""

NUMBERED = ("configuration", "parent", "previous", "source")
"""The fields of events that are numbers of configurations."""


class OneVsRest:
    """A race of each class but the first, whose share is what the others leave.

    Two classes are one race, and its chances. From three on the races' chances, scaled to 1, are
    one of the experts of a mixture (`leaseboard.algorithms.chacha.class_mixture`). Over the
    examples from there on, but for those on which a class is new, the log loss is at no time more
    than ln 6 + 1.6 nats above the best of: the races, two softmax regressions (none of these is
    surer than .001 over the number of classes), the pool of the three, the classes' frequencies,
    and those after the class before.

    Examples of importance 0 are forecast, and teach nothing.

    Parameters
    ----------
    new_race : callable
        Makes a race for examples of a schema, with labels -1 and 1.
    schema : Schema
    n_classes : int
        How many will come, where it is known; the races share memory for so many, else each for
        those that came when it began.
    declared : int
        0, or 2 where both classes of the first race are known before the first example.

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
    model_examples : int
        Models times the examples that they have learned here.
    """

    kept: ClassVar[tuple[str, ...]] = ("at", "n_classes")

    def __init__(
        self,
        new_race: Callable[[Schema], Race],
        schema: Schema,
        n_classes: int = 0,
        declared: int = 0,
    ) -> None:
        self.new_race, self.schema, self.expected = new_race, schema, n_classes
        self.at, self.n_classes = 0, declared
        self.races = [new_race(schema)]
        self.races[0].share(n_classes + 1)
        self.mixture = ClassMixture(schema.n_features)
        self.mixture.grow(schema.n_features, declared)
        self.rows = np.zeros((REMEMBERED, schema.n_features), dtype=np.float32)
        self.weights = np.zeros(REMEMBERED, dtype=np.float32)
        self.classes = np.zeros(REMEMBERED, dtype=np.int64)
        self.arrived = [0]
        self.model_examples = 0
        self._events: list[Event] = []

    # -- the stream ---------------------------------------------------------------------------

    def open(self) -> Iterator[Event]:
        """See `Race.open`."""
        self._teller(0)(self.races[0].open())
        return self.decide()

    def predict(self, example: Floats) -> Doubles:
        """Return the chances of the classes that came so far; nothing is learned.

        Parameters
        ----------
        example : ndarray of float32, shape (n_features,)

        Returns
        -------
        ndarray of float64, shape (n_classes,)
        """
        margins = np.array([[race.predict(example) for race in self.races]])
        own: Doubles = self._own(margins)[0]
        return own if self.n_classes <= 2 else self.mixture.chances(own, example)

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
            If a class is not the next number, or one of more than `MOST_CLASSES`.
        """
        told = np.zeros((len(classes), max(self.n_classes, 1 + int(classes.max(initial=-1)))))
        alike = np.where(importances > 0, np.maximum(classes - self.n_classes + 1, 0), -1)
        start = 0
        while start < len(classes):
            # As far as nothing new comes, and none or all are passed over.
            ahead = alike[start : start + BLOCK]
            other = np.flatnonzero(ahead != ahead[0])
            stop = start + (int(other[0]) if len(other) else len(ahead))
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

    def single_calls(
        self, row: Floats
    ) -> tuple[Callable[[], Doubles], Callable[[float, float], bool]]:
        """See `Race.single_calls`; what learns says whether there are events to be told."""

        def learn(number: float, importance: float) -> bool:
            weight = np.array([importance], dtype=np.float32)
            self.learn(row[None], np.array([number], dtype=np.int64), weight)
            return self.is_due()

        return partial(self.predict, row), learn

    def is_due(self) -> bool:
        """Return whether there are events to be told."""
        return bool(self._events)

    def decide(self) -> Iterator[Event]:
        """Yield the events since the last call; decisions were taken as they were due."""
        events, self._events = sorted(self._events, key=lambda event: event.at), []
        return iter(events)

    def require_fit(self, schema: Schema) -> None:
        """See `Race.require_fit`, of each of the races."""
        for race in self.races:
            race.require_fit(schema)

    def grow(self, schema: Schema) -> Iterator[Event]:
        """See `Race.grow`."""
        for k, race in enumerate(self.races):
            self._teller(k)(race.grow(schema))
        self.schema = schema
        rows = np.zeros((REMEMBERED, schema.n_features), dtype=np.float32)
        rows[:, : self.rows.shape[1]] = self.rows
        self.rows = rows
        self.mixture.grow(schema.n_features, self.n_classes)
        return self.decide()

    def _learn(self, examples: Floats, classes: NDArray[np.int64], importances: Floats) -> Doubles:
        """Learn examples of classes that came before."""
        margins = np.empty((len(classes), len(self.races)))
        for k, race in enumerate(self.races):
            labels = np.where(classes == 1 + k, 1, -1).astype(np.float32)
            margins[:, k] = self._advance(race, examples, labels, importances, self._teller(k))
        self.at += len(classes)
        late = slice(-REMEMBERED, None)
        places = np.arange(self.at - len(classes[late]), self.at) % REMEMBERED
        self.rows[places], self.classes[places] = examples[late], classes[late]
        self.weights[places] = importances[late]
        own = self._own(margins)
        if self.n_classes <= 2:
            self.mixture.count(classes, importances)
            return own
        return self.mixture.learn(own, examples, classes, importances)

    def _advance(
        self,
        race: Race,
        examples: Floats,
        labels: Floats,
        importances: Floats,
        tell: Callable[[Iterable[Event]], None],
    ) -> Floats:
        """Let a race learn a block; tell what it decides. Its progressive forecasts."""
        forecasts, done = np.empty(len(labels), dtype=np.float32), 0
        while done < len(labels):
            rest, live = slice(done, None), len(race.live)
            n = race.learn(examples[rest], labels[rest], importances[rest], forecasts[rest])
            self.model_examples += live * n
            done += n
            if race.is_due():
                tell(race.decide())
        return forecasts

    def _welcome(self, number: int) -> None:
        """Make room for the next class; from the third on with a race of its own."""
        if number != self.n_classes or number >= MOST_CLASSES:
            raise ValueError(
                f"class {number} after {self.n_classes} others: each new one is the next number,"
                f" and at most {MOST_CLASSES} are learned; is the label a number to be forecast,"
                " or an id?"
            )
        if number >= 2:
            race, n = self.new_race(self.schema), min(self.at, REMEMBERED)
            race.share(max(self.expected, 1 + number) + 1)
            places = np.arange(self.at - n, self.at) % REMEMBERED
            # The first race has told the groups of columns, which are the same for all.
            events = list(race.open())
            for told in of(events, ColumnsGrouped):
                events.remove(told)
            labels = np.full(n, -1, dtype=np.float32)
            self._advance(race, self.rows[places], labels, self.weights[places], events.extend)
            # Nothing was changed until here.
            self.races.append(race)
            self.arrived.append(self.at)
            self._teller(len(self.races) - 1)(events)
        self.n_classes = 1 + number
        self.mixture.grow(self.schema.n_features, self.n_classes)
        if number == 2:
            self.mixture.train(self.rows[places], self.classes[places], self.weights[places])

    # -- chances ------------------------------------------------------------------------------

    def _own(self, margins: Doubles) -> Doubles:
        """Return the races' chances, shape (n, n_classes), scaled to 1."""
        if self.n_classes < 2:
            return np.ones((len(margins), self.n_classes))
        chances = np.empty((len(margins), self.n_classes))
        chances[:, 1:] = 1.0 / (1.0 + np.exp(-np.clip(margins, -500.0, 500.0)))
        chances[:, 0] = 1.0 - chances[:, 1:].sum(axis=1)
        chances = np.maximum(chances, 0.0)  # the first class has what the others leave
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    # -- inspection ---------------------------------------------------------------------------

    def champions(self, names: Sequence[Any]) -> dict[Any, dict[str, Any]]:
        """What the champion of each class chose, by the class's name; of the first, `FIRST`."""
        chosen = [race.parameters(race.configurations[race.champion]) for race in self.races]
        return dict(zip(names, [dict(FIRST), *chosen], strict=False))

    def _teller(self, k: int) -> Callable[[Iterable[Event]], None]:
        """What keeps the events of race `k`, with times and numbers that all races understand."""
        if k == 0:
            return self._events.extend
        arrived = self.arrived[k]
        began = arrived - min(arrived, REMEMBERED)

        def tell(events: Iterable[Event]) -> None:
            for event in events:
                named = {
                    name: STRIDE * k + value
                    for name in NUMBERED
                    if (value := getattr(event, name, None)) is not None
                }
                at = max(arrived, began + event.at)
                self._events.append(dataclasses.replace(event, at=at, **named))

        return tell

    def state(self) -> dict[str, Any]:
        """Everything that a fresh one needs to go on as this one does, as plain values."""
        return values_of(self, self.kept) | {
            "races": [race.state() for race in self.races],
            "mixture": self.mixture.state(),
            "rows": self.rows,
            "classes": self.classes,
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
        fill(self, state, ("rows", "classes", "weights"))
        self.mixture.grow(self.schema.n_features, self.n_classes)
        self.mixture.fill(state["mixture"])
        if not ((self.classes >= 0) & (self.classes < max(1, self.n_classes))).all():
            raise ValueError(f"{self.classes} are not {self.n_classes} classes")
