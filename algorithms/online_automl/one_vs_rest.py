"""Many classes: a race of each against the rest, and a mixture near simple predictions."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms import events
from leaseboard.algorithms.arrays import Doubles, Floats
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.online_automl.class_mixture import ClassMixture, ClassRow
from leaseboard.algorithms.online_automl.members.pool import ClassPool
from leaseboard.algorithms.online_automl.race import Race
from leaseboard.algorithms.online_automl.safe.bayes import one_vs_rest
from leaseboard.algorithms.plain import Saved, fill

REMEMBERED = 256
"""Last examples, at most, that the race of a new class learns first."""

STRIDE = 1_000_000
"""Numbers that the configurations of one race have, at most."""

FIRST = {"probability": "implied by the others"}
"""Parameters of the first class, which has no race."""

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
    declared : int
        0, or 2 where both classes of the first race are known before the first example.
    names : sequence of str
        Of all classes that will come, by which events name them; none where they are not known.
        The races share memory for so many, else each for those that came when it began.

    Attributes
    ----------
    at : int
        Examples learned.
    n_classes : int
        Classes that came so far; they are called 0, 1, 2, ... in that order.
    races : list of Race
        Of the classes 1, 2, ...; the first is there from the beginning.
    rows, labels, weights : ndarray of float32, shape (REMEMBERED, ...)
        The last examples, their classes and importances; a race of a class that comes late
        learns them first, as ones of the rest.
    numbers : dict of int to int
        Those that the configurations of all races have in events, by race and number there.
    arrived : list of int
        How many examples had been learned when each race began. Of these it learned the last
        `REMEMBERED` at once.
    """

    kept: ClassVar[tuple[str, ...]] = (
        *("at", "n_classes", "races", "mixture", "pool", "arrived", "numbers"),
        *("rows", "labels", "weights"),
    )

    def __init__(
        self,
        new_race: Callable[[Schema], Race],
        schema: Schema,
        declared: int = 0,
        names: Sequence[str] = (),
    ) -> None:
        self.new_race, self.schema, self.expected = new_race, schema, len(names)
        self.names = names and (*names, "")  # the first race is there before a second class came
        self.at, self.n_classes = 0, declared
        self.races = [new_race(schema)]
        self.races[0].share(self.expected + 1)
        self.mixture = ClassMixture(schema.n_features)
        self.mixture.grow(schema.n_features, declared)
        self.pool: ClassPool | None = None
        self.rows = np.zeros((REMEMBERED, schema.n_features), dtype=np.float32)
        self.labels, self.weights = np.zeros((2, REMEMBERED), dtype=np.float32)
        self.arrived = [0]
        self.bind()
        self.numbers: dict[int, int] = {}
        self._events: list[tuple[int, events.Event]] = []

    # -- the stream ---------------------------------------------------------------------------

    def open(self) -> Iterator[events.Event]:
        """See `Race.open`."""
        self.record(0, self.races[0].open())
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
        if not later:
            self.calls.row[:] = example
            return self.calls.predict()
        margins = np.array([race.predict(example, later=True) for race in self.races])
        return self.of_margins(margins, example, later=True)

    def of_margins(
        self, margins: Doubles, example: Floats | None = None, *, later: bool = False
    ) -> Doubles:
        """Return the probabilities by what the races say of an example, without it by that alone.

        The class before it is not known, if it is `later`.
        """
        if example is None:
            found: Doubles = np.empty(self.n_classes)
            one_vs_rest(margins, found)
            return found
        last = self.mixture.last
        self.mixture.last = -1 if later else last
        found = self.mixture.take(margins, example, pool=self.pool)
        self.mixture.last = last
        return found

    def learn(self, examples: Floats, classes: NDArray[np.int64]) -> Doubles:
        """Learn a block.

        Parameters
        ----------
        examples : ndarray of float32, shape (n, n_features)
        classes : ndarray of int64, shape (n,)
            Numbers of classes; one that is new is the next number.

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
            Progressive probabilities; a class had none before it came.
        """
        found = np.zeros((len(classes), max(self.n_classes, 1 + int(classes.max(initial=-1)))))
        one = self.calls
        for t, number in enumerate(classes.tolist()):
            one.row[:], known = examples[t], self.n_classes
            if number >= known:  # which has no probability yet
                found[t, :known] = one.predict()
            one.learn(number, 1.0)
            if number < known:
                found[t, :known] = one.found[:known]
        return found[:, : self.n_classes]

    def learned(self, row: Floats, number: int, importance: float, due: list[int]) -> bool:
        """Note an example that all learned, and what is due; return whether there are events."""
        for k in due:
            self.record(k, self.races[k].decide())
        at = self.at % REMEMBERED
        self.rows[at], self.labels[at], self.weights[at] = row, number, importance
        self.at += 1
        return self.is_due()

    def notes(self) -> dict[str, float]:
        """Return metrics of the members, where three and more classes share them."""
        return {} if self.pool is None else self.pool.notes()

    def bind(self, row: Floats | None = None) -> Any:
        """See `Race.bind`."""
        if row is None:
            row = np.zeros(self.schema.n_features, dtype=np.float32)
        self.calls = ClassRow(self, row)
        return self.calls

    def is_due(self) -> bool:
        """Return whether there are events to report."""
        return bool(self._events)

    def decide(self) -> Iterator[events.Event]:
        """Yield the events since the last call, with times and numbers of all races as one.

        Decisions were taken when they were due.
        """
        noted, self._events = self._events, []
        timed = [(self._time_of(k, event), k, event) for k, event in noted]
        for at, k, event in sorted(timed, key=itemgetter(0)):
            changes: dict[str, Any] = {"at": at}
            if isinstance(event, events.ConfigurationAdmitted):
                self.numbers[k * STRIDE + event.configuration] = len(self.numbers)
                if self.names:
                    changes["parameters"] = {"class": self.names[1 + k], **event.parameters}
            if len(self.races) == 1 and not self.names:  # all numbers are those of its race
                yield event
                continue
            if isinstance(event, events.LeaseGranted) and event.slot is not None:
                changes["slot"] = event.slot + k * self.races[k].b
            for name in NUMBERED:
                if (value := getattr(event, name, None)) is not None:
                    changes[name] = self.numbers[k * STRIDE + value]
            if self.names and isinstance(event, events.ChampionChanged):
                yield events.ClassChampionChanged(label=self.names[1 + k], **changes)
            else:
                yield dataclasses.replace(event, **changes)

    def _time_of(self, k: int, event: events.Event) -> float:
        """Return how many examples all races had learned, after the first of its class."""
        arrived = self.arrived[k]
        return max(arrived + 1, arrived - min(arrived, REMEMBERED) + event.at) if k else event.at

    def record(self, k: int, made: Iterable[events.Event]) -> None:
        """Take events of a race."""
        self._events += ((k, event) for event in made)

    def require_fit(self, schema: Schema) -> None:
        """See `Race.require_fit`, of each of the races."""
        for race in self.races:
            race.require_fit(schema)

    def grow(self, schema: Schema) -> Iterator[events.Event]:
        """See `Race.grow`."""
        for k, race in enumerate(self.races):
            self.record(k, race.grow(schema))
        self.schema = schema
        self.bind()
        self.rows = np.pad(self.rows, ((0, 0), (0, schema.n_features - self.rows.shape[1])))
        self.mixture.grow(schema.n_features, self.n_classes)
        self._widen()
        return self.decide()

    def welcome(self, number: int) -> None:
        """Make room for the next class; from the third on with a race of its own."""
        last = np.arange(max(0, self.at - REMEMBERED), self.at) % REMEMBERED
        rows, weights = self.rows[last], self.weights[last]
        if number >= 2:
            race = self._race_of_one()
            race.share(max(self.expected, 1 + number) + 1)
            made = [*race.open()]
            # Nothing is changed until here.
            self.races.append(race)
            self.arrived.append(self.at)
            self.record(number - 1, made)
            for row, weight in zip(rows, weights.tolist(), strict=True):
                race.calls.write(row)
                if race.calls.learn(-1.0, weight):
                    self.record(number - 1, race.decide())
        self.n_classes = 1 + number
        self.mixture.grow(self.schema.n_features, self.n_classes)
        if number == 2:
            self.pool = self.races[0].release_pool()
            for row, of, weight in zip(rows, self.labels[last], weights, strict=True):
                for one in self.mixture.regressions:  # they alone have learned nothing
                    one.learn(row, int(of), float(weight))
        self._widen()

    def _widen(self) -> None:
        """Show members all classes, and what trees see of new features and races."""
        if self.pool is not None:
            self.pool.grow(self.schema.n_features, self.n_classes, self.races)

    def _race_of_one(self) -> Race:
        """Return a race of one class of many, which share the members."""
        race = self.new_race(self.schema)
        race.release_pool()
        return race

    # -- inspection ---------------------------------------------------------------------------

    def champions(self, names: Sequence[Any]) -> dict[Any, dict[str, Any]]:
        """Return what the champion of each class chose, by its name; of the first, `FIRST`."""
        chosen = [race.parameters(race.configurations[race.champion]) for race in self.races]
        return dict(zip(names, [dict(FIRST), *chosen], strict=False))

    def fill(self, state: Any) -> None:
        """See `Saved.fill`."""
        fill(self, state, ("n_classes",))
        self.races += [self._race_of_one() for _ in state["arrived"][1:]]
        if state["pool"] is not None:
            self.pool = self.races[0].release_pool()
            self._widen()
        self.mixture.grow(self.schema.n_features, self.n_classes)
        super().fill(state)
        self.record(0, ())
