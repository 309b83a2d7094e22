"""Many classes: a race of each against the rest, and a mixture near simple predictions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.array_types import Doubles, Floats
from leaseboard.algorithms.environments.stream import MOST_CLASSES
from leaseboard.algorithms.events import (
    ChampionChanged,
    ClassChampionChanged,
    ColumnsGrouped,
    ConfigurationAdmitted,
    Event,
    LeaseGranted,
)
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.online_automl.class_mixture import ClassMixture, SingleClasses
from leaseboard.algorithms.online_automl.last_rows import REMEMBERED, LastRows
from leaseboard.algorithms.online_automl.members.class_pool import ClassPool
from leaseboard.algorithms.online_automl.race import Race
from leaseboard.algorithms.online_automl.safe.bayes import one_vs_rest
from leaseboard.algorithms.plain import Saved, fill
from leaseboard.algorithms.transcendental import exp

BLOCK = 512
"""Examples that each race learns before the next one does, at most: longer than a round, so that
few rounds are torn, and not so long that much has to be kept of each class."""

STRIDE = 1_000_000
"""Numbers that the configurations of one race have, at most."""

FIRST = {"probability": "implied by the others"}
"""Parameters of the first class, which has no race."""

TINY = 1e-30
"""Importances below this are 0 for what learns in single precision, or nearly."""

NUMBERED = ("configuration", "parent", "previous", "source")
"""The fields of events that are numbers of configurations."""


class OneVsRest(Saved):
    """Races of each class but the first, whose probability the others imply.

    Two classes are one race, and its probabilities. From three on the races' probabilities, scaled
    to 1, are one of the experts of a mixture
    (`leaseboard.algorithms.online_automl.class_mixture`). Over the examples from there on, but for
    those on which a class is new, the log loss is at no time more than ln 6 + 1.6 nats above the
    best of: the races, two softmax regressions (none of these is surer than .001 over the number
    of classes), the pool of the three, the classes' frequencies, and those after the class before.

    Examples of importance 0 are predicted, and teach nothing.

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
    names : sequence of str
        Of all classes, by which events name them; none where they are not known.

    Attributes
    ----------
    at : int
        Examples learned.
    n_classes : int
        Classes that came so far; they are called 0, 1, 2, ... in that order.
    races : list of Race
        Of the classes 1, 2, ...; the first is there from the beginning.
    last : LastRows
        The last examples; a race of a class that comes late learns them first, as ones of the
        rest.
    numbers : dict of int to int
        Those that the configurations of all races have in events, by race and number there.
    arrived : list of int
        How many examples had been learned when each race began. Of these it learned the last
        `REMEMBERED` at once.
    model_examples : int
        Models times the examples that they have learned here.
    """

    kept: ClassVar[tuple[str, ...]] = (
        "at", "n_classes", "races", "mixture", "pool", "last", "arrived", "numbers",
    )  # fmt: skip

    def __init__(
        self,
        new_race: Callable[[Schema], Race],
        schema: Schema,
        n_classes: int = 0,
        declared: int = 0,
        names: Sequence[str] = (),
    ) -> None:
        self.new_race, self.schema, self.expected = new_race, schema, n_classes
        self.names = names and (*names, "")  # the first race is there before a second class came
        self.at, self.n_classes = 0, declared
        self.races = [new_race(schema)]
        self.races[0].share(n_classes + 1)
        self.mixture = ClassMixture(schema.n_features)
        self.mixture.grow(schema.n_features, declared)
        self.pool: ClassPool | None = None
        self.last = LastRows(schema.n_features)
        self.arrived = [0]
        self.model_examples = self._changes = 0
        self.numbers: dict[int, int] = {}
        self._events: list[tuple[int, Event]] = []

    # -- the stream ---------------------------------------------------------------------------

    def open(self) -> Iterator[Event]:
        """See `Race.open`."""
        self._record(0, self.races[0].open())
        return self.decide()

    def predict(self, example: Floats, *, later: bool = False) -> Doubles:
        """Return the probabilities of the classes that came so far; nothing is learned.

        Parameters
        ----------
        example : ndarray of float32, shape (n_features,)
        later : bool
            See `Race.predict`.

        Returns
        -------
        ndarray of float64, shape (n_classes,)
        """
        margins = np.array([race.predict(example, later=later) for race in self.races])
        return self.of_margins(margins, example, later=later)

    def of_margins(
        self, margins: Doubles, example: Floats | None = None, *, later: bool = False
    ) -> Doubles:
        """Return the probabilities by what the races say of an example, without it by that alone.

        The class before it is not known, if it is `later`.
        """
        found: Doubles = self._own(margins[None])[0]
        if self.n_classes <= 2 or example is None:
            return found
        last = self.mixture.last
        self.mixture.last = -1 if later else last
        found = self.mixture.probabilities(found, example)
        self.mixture.last = last
        return found if self.pool is None else self.pool.predict(found, example)

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
            Progressive probabilities; a class had none before it came.

        Raises
        ------
        ValueError
            If a class is not the next number, or one of more than `MOST_CLASSES`.
        """
        found = np.zeros((len(classes), max(self.n_classes, 1 + int(classes.max(initial=-1)))))
        start = 0
        while start < len(classes):
            ahead, known = slice(start, start + BLOCK), self.n_classes
            weighs, new = importances[ahead] > 0, classes[ahead] >= known
            if weighs[0] and new[0]:
                stop = start + 1
                rows = self.predict(examples[start])[None]
                self._welcome(int(classes[start]))
                self._learn(examples[start:stop], classes[start:stop], importances[start:stop])
            else:  # as far as nothing new comes, and none or all are passed over
                alike = np.append((weighs == weighs[0]) & ~(weighs & new), False)
                stop = start + int(alike.argmin())
                block = examples[start:stop]
                if weighs[0]:
                    rows = self._learn(block, classes[start:stop], importances[start:stop])
                else:
                    rows = np.array([self.predict(row) for row in block])
            found[start:stop, :known] = rows
            start = stop
        return found[:, : self.n_classes]

    def notes(self) -> dict[str, float]:
        """Return metrics of the members, where three and more classes share them."""
        return {} if self.pool is None else self.pool.notes()

    def single_calls(
        self, row: Floats
    ) -> tuple[Callable[[], Doubles], Callable[[float, float], bool]]:
        """See `Race.single_calls`; what learns returns whether there are events to report."""
        predict_margin, learn_label = self.races[0].single_calls(row)
        all_races = self._together(row)

        def predict() -> Doubles:
            # As `_own`, for two classes in a third of its time.
            if self.n_classes == 2:
                margin = min(max(predict_margin(), -500.0), 500.0)
                second = 1.0 / (1.0 + exp(-margin))
                first = max(1.0 - second, 0.0)
                return np.array((first / (first + second), second / (first + second)))
            if self.n_classes > 2 and (races := all_races()):
                return races.predict(self.pool)
            return self.predict(row)

        def learn(number: float, importance: float) -> bool:
            k, race = int(number), self.races[0]
            if k >= self.n_classes or self.n_classes < 2 or importance < TINY:
                return self._learn_one(row, k, importance)
            if self.n_classes > 2:
                races = all_races()
                if races is None:
                    return self._learn_one(row, k, importance)
                if races.learn(k, importance, self.pool):
                    for place, each in enumerate(races.races):
                        each.ensemble.move(each.at)
                        if each.is_due():
                            self._record(place, each.decide())
                self.model_examples += races.n_live
            else:
                self.model_examples += len(race.live)
                if learn_label(2.0 * k - 1.0, importance):
                    self._record(0, race.decide())
                self.mixture.count_class(k, float(np.float32(importance)))
            self.last.add_one(self.at, row, k, importance)
            self.at += 1
            return bool(self._events)

        return predict, learn

    def _together(self, row: Floats) -> Callable[[], SingleClasses | None]:
        """Return what returns the way of an example in `row` through all races, if it has one."""
        many: SingleClasses | None = None
        changes = -1

        def current() -> SingleClasses | None:
            nonlocal many, changes
            if changes != self._changes:  # a block was learned, or a race has joined
                changes = self._changes
                if many is None or len(many.races) < len(self.races):
                    many = SingleClasses.of(self.races, self.mixture, row)
                else:
                    many.until = 0
            return many

        return current

    def _learn_one(self, row: Floats, number: int, importance: float) -> bool:
        """Learn one example as a block; return whether there are events to report."""
        self.learn(row[None], np.array([number]), np.array([importance], dtype=np.float32))
        return self.is_due()

    def is_due(self) -> bool:
        """Return whether there are events to report."""
        return bool(self._events)

    def decide(self) -> Iterator[Event]:
        """Yield the events since the last call, with times and numbers of all races as one.

        Decisions were taken when they were due.
        """
        events, self._events = self._events, []
        timed = [(self._time_of(k, event), k, event) for k, event in events]
        for at, k, event in sorted(timed, key=itemgetter(0)):
            changes: dict[str, Any] = {"at": at}
            if isinstance(event, ConfigurationAdmitted):
                self.numbers[k * STRIDE + event.configuration] = len(self.numbers)
                if self.names:
                    changes["parameters"] = {"class": self.names[1 + k], **event.parameters}
            if len(self.races) == 1 and not self.names:  # all numbers are those of its race
                yield event
                continue
            if isinstance(event, LeaseGranted) and event.slot is not None:
                changes["slot"] = event.slot + k * self.races[k].b
            for name in NUMBERED:
                if (value := getattr(event, name, None)) is not None:
                    changes[name] = self.numbers[k * STRIDE + value]
            if self.names and isinstance(event, ChampionChanged):
                yield ClassChampionChanged(label=self.names[1 + k], **changes)
            else:
                yield dataclasses.replace(event, **changes)

    def _time_of(self, k: int, event: Event) -> float:
        """Return how many examples all races had learned, after the first of its class."""
        arrived = self.arrived[k]
        return max(arrived + 1, arrived - min(arrived, REMEMBERED) + event.at) if k else event.at

    def _record(self, k: int, events: Iterable[Event]) -> None:
        self._events += ((k, event) for event in events)

    def require_fit(self, schema: Schema) -> None:
        """See `Race.require_fit`, of each of the races."""
        for race in self.races:
            race.require_fit(schema)

    def grow(self, schema: Schema) -> Iterator[Event]:
        """See `Race.grow`."""
        for k, race in enumerate(self.races):
            self._record(k, race.grow(schema))
        self.schema = schema
        self.last.grow(schema.n_features, self.at)
        self.mixture.grow(schema.n_features, self.n_classes)
        if self.pool is not None:
            self.pool.grow(schema.n_features, self.n_classes)
        return self.decide()

    def _learn(self, examples: Floats, classes: NDArray[np.int64], importances: Floats) -> Doubles:
        """Learn examples of classes that came before."""
        margins = np.empty((len(classes), len(self.races)))
        for k, race in enumerate(self.races):
            labels = np.where(classes == 1 + k, 1, -1).astype(np.float32)
            margins[:, k], events = self._advance(race, examples, labels, importances)
            self._record(k, events)
        self.last.add(self.at, examples, classes, importances)
        self.at += len(classes)
        own = self._own(margins)
        if self.n_classes <= 2:
            self.mixture.count(classes, importances)
            return own
        found = self.mixture.learn(own, examples, classes, importances)
        if self.pool is None:
            return found
        return self.pool.learn(found, examples, classes.astype(np.float64), importances)

    def _advance(
        self,
        race: Race,
        examples: Floats,
        labels: Floats,
        importances: Floats,
    ) -> tuple[Floats, list[Event]]:
        """Let a race learn a block; return progressive predictions, and what it decides."""
        self._changes += 1
        predictions, events, done = np.empty(len(labels), dtype=np.float32), list[Event](), 0
        while done < len(labels):
            rest, live = slice(done, None), len(race.live)
            n = race.learn(examples[rest], labels[rest], importances[rest], predictions[rest])
            self.model_examples += live * n
            done += n
            if race.is_due():
                events += race.decide()
        return predictions, events

    def _welcome(self, number: int) -> None:
        """Make room for the next class; from the third on with a race of its own."""
        if number != self.n_classes or number >= MOST_CLASSES:
            raise ValueError(
                f"class {number} after {self.n_classes} others: each new one is the next number,"
                f" and at most {MOST_CLASSES} are learned; is the label a number to be predicted,"
                " or an id?"
            )
        if number >= 2:
            race, (rows, classes, weights) = self._race_of_one(), self.last.after(self.at)
            race.share(max(self.expected, 1 + number) + 1)
            # The first race has reported the groups of columns, which are the same for all.
            opened = [each for each in race.open() if not isinstance(each, ColumnsGrouped)]
            labels = np.full(len(rows), -1, dtype=np.float32)
            _, events = self._advance(race, rows, labels, weights)
            # Nothing was changed until here.
            self.races.append(race)
            self.arrived.append(self.at)
            self._record(len(self.races) - 1, opened + events)
        self.n_classes = 1 + number
        self.mixture.grow(self.schema.n_features, self.n_classes)
        if number == 2:
            self.pool = self.races[0].release_pool()
        if self.pool is not None:
            self.pool.grow(self.schema.n_features, self.n_classes)
        if number == 2:
            self.mixture.train(rows, classes.astype(np.int64), weights)

    def _race_of_one(self) -> Race:
        """Return a race of one class of many, which share the members."""
        race = self.new_race(self.schema)
        race.release_pool()
        return race

    # -- probabilities
    # ------------------------------------------------------------------------------

    def _own(self, margins: Doubles) -> Doubles:
        """Return the races' probabilities, shape (n, n_classes), scaled to 1."""
        found = np.ones((len(margins), self.n_classes))
        for t in range(len(margins) if self.n_classes > 1 else 0):
            one_vs_rest(np.ascontiguousarray(margins[t]), found[t])
        return found

    # -- inspection ---------------------------------------------------------------------------

    def champions(self, names: Sequence[Any]) -> dict[Any, dict[str, Any]]:
        """Return what the champion of each class chose, by its name; of the first, `FIRST`."""
        chosen = [race.parameters(race.configurations[race.champion]) for race in self.races]
        return dict(zip(names, [dict(FIRST), *chosen], strict=False))

    def fill(self, state: Any) -> None:
        """See `Saved.fill`."""
        fill(self, state, ("n_classes",))
        if state["pool"] is not None:
            self.pool = self.races[0].release_pool()
            assert self.pool is not None
            self.pool.grow(self.schema.n_features, self.n_classes)
        self.races += [self._race_of_one() for _ in state["arrived"][1:]]
        self.mixture.grow(self.schema.n_features, self.n_classes)
        super().fill(state)
