"""Base of the classes for streams: growth, state, inspection."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaseboard.algorithms import plain, registry
from leaseboard.algorithms.array_types import Floats
from leaseboard.algorithms.base import settings_of
from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.algorithms.events import BoundsUpdated, Event
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.online_automl.last_rows import NUMBERS, REMEMBERED, LastRows
from leaseboard.algorithms.online_automl.pending import LaterLabels, Pending
from leaseboard.algorithms.online_automl.race import Race
from leaseboard.algorithms.online_automl.racing import Racing
from leaseboard.algorithms.online_automl.safe.safe_race import SafeRace
from leaseboard.algorithms.online_automl.streaming import files, permutation
from leaseboard.algorithms.online_automl.streaming.blocks import examples_of, is_frame
from leaseboard.algorithms.online_automl.streaming.single_example import SingleExample
from leaseboard.algorithms.tables.features import Example, FeatureMap
from leaseboard.algorithms.tables.inputs import (
    importance_of,
    importances_of,
    is_numeric,
    labels_of,
    numeric_block,
)
from leaseboard.algorithms.tables.values import is_gap, standard_value, text_of

MOST_ENTITIES = 100_000
"""Those of a column that is named; later ones are predicted as one that was never seen."""


def racing_of(algorithm: str, settings: Mapping[str, Any]) -> Racing:
    """Return the registered race called `algorithm`; UsageError for others, and for files."""
    if registry.file_of(algorithm) is None:  # no file: what is saved must not name code
        built = registry.build(algorithm, settings)
        if isinstance(built, Racing):
            return built
    rooms = (".online_automl.", ".chacha.")
    names = [one.name for one in registry.ENTRIES if any(room in one.target for room in rooms)]
    races = [name for name in names if issubclass(registry.algorithm_class(name), Racing)]
    raise UsageError(
        f"algorithm {algorithm!r} is not a race of models on a stream, which alone learns on from"
        f" table to table: name one of {', '.join(races)}"
    )


class OnlineModel(LaterLabels):
    """Base of the regressor and the classifier, whose docstrings document it."""

    _task: str

    def __init__(
        self,
        namespaces: Mapping[str, list[str]] | None = None,
        seed: int = 0,
        algorithm: str = "online-automl",
        max_pending: int = 10_000,
        **settings: Any,
    ) -> None:
        self.namespaces, self.seed = namespaces, seed
        self.algorithm, self.max_pending, self.settings = algorithm, max_pending, settings
        self._events: list[Event] = []
        self._racing = racing_of(algorithm, settings)
        self._features = FeatureMap(namespaces)
        self.entity: str = getattr(self._racing, "entity", "")
        self._entities: dict[str, int] = {}  # numbers of those that were learned
        self._race: Race | None = None
        self._last: LastRows | None = None  # of a regressor; races of classes have their own
        self._pending = Pending(max_pending)
        self._late = self._racing.late(self._task)
        self.about: dict[str, Any] = {}
        self._single: SingleExample | None = None
        self._lock = threading.RLock()  # held while an example is in the row that all share

    # The stream

    @property
    def examples(self) -> int:
        """Number of examples that have been learned."""
        return 0 if self._race is None else self._race.at

    def _without_entity(self, x: Example, *, learns: bool = False) -> Example:
        """Return an example without its entity, which goes to the race as a number.

        One that comes often is a feature too.
        """
        if not self.entity or not isinstance(x, Mapping):
            return x
        key: Any = next((name for name in x if str(name) == self.entity), None)
        if key is None:
            raise UsageError(unknown("entity column", self.entity, [*map(str, x)]))
        rest = {name: value for name, value in x.items() if name != key}
        value = standard_value(x[key].item() if isinstance(x[key], np.number) else x[key])
        text = "" if is_gap(value) else text_of(value)
        number = self._entities.get(text, 0)
        if learns and text and not number and len(self._entities) < MOST_ENTITIES:
            self._features.values(rest)  # refused before anything is changed
            number = self._entities[text] = len(self._entities) + 1
        if isinstance(self._race, SafeRace):
            self._race.head.number[0] = number
            if self._race.head.is_frequent:
                rest[key] = text
        return rest

    def _predict(self, x: Example, *, later: bool = False) -> Any:
        with self._lock:
            if later:
                row = self._row(x)
                return 0.0 if self._race is None else self._race.predict(row, later=True)
            if self._single is not None and (found := self._single.predict(x)) is not None:
                return found
            self._row(x)
            return 0.0 if self._race is None else (self._single or self._bind()).one.predict()

    def _row(self, x: Example) -> Floats:
        """Return an example as a row of the known features."""
        x, features = self._without_entity(x), self._features
        return features.example if features.read_quickly(x) else features.row(features.values(x))

    def _learn(self, x: Example, label: float, w: Any) -> None:
        importance = importance_of(w)
        if not importance:
            self._features.values(self._without_entity(x))  # refused alike
            return
        with self._lock:
            row, race = self._row_to_learn(x), self._race
            assert race is not None
            if self._last is not None:
                self._last.add_one(race.at, row, label, importance)
            if (self._single or self._bind()).one.learn(label, importance):
                self._record(race.decide())

    def _row_to_learn(self, x: Example) -> Floats:
        """Return an example as a row, in which each of its features has a place."""
        x, features = self._without_entity(x, learns=True), self._features
        if features.read_quickly(x):
            features.reader.learn_gaps()
            return features.example
        values = features.values(x)
        unknown = features.unknown(values)
        if unknown or self._race is None:
            self._adopt(features.extended(unknown))
        return self._features.row(values, learns=True)

    def _predict_block(self, X: ArrayLike) -> Floats:
        if not is_frame(X):  # whose columns are known by their places alone
            values: dict[Any, Any] = dict.fromkeys(numeric_block(X)[0], 0.0)
            absent = self._features.absent(self._features.values(values))
            if absent:
                raise UsageError(
                    f"columns {', '.join(repr(name) for _, name in absent)} were learned and are"
                    " not in the block: add them, or name those that are there by a DataFrame's"
                    " columns, where an absent feature counts 0"
                )
        return np.array([self._predict(x) for x in examples_of(X)], dtype=np.float32)

    def _learn_block(self, X: ArrayLike, y: ArrayLike, w: ArrayLike | None) -> Floats:
        """Learn a block as its examples one by one, which a block of numbers need not be."""
        labels = labels_of(y)
        importances = importances_of(w, len(labels))
        block = numeric_block(X) if is_numeric(X) and not self.entity else None
        n_examples = len(X if block is None else block[1])  # type: ignore[arg-type]
        if len(labels) != n_examples:
            raise ValueError(f"{len(labels)} labels for {n_examples} examples: give one each")
        if not n_examples:
            return np.zeros(0, dtype=np.float32)
        weighs = importances > 0
        if block is not None and weighs.any() and not np.isnan(block[1]).any():
            with self._lock:
                return self._advance(self._rows(*block, weighs), labels, importances)
        examples = examples_of(X)
        self._check(examples, weighs)
        predictions = np.zeros(n_examples, dtype=np.float32)
        weighed = zip(examples, labels.tolist(), importances.tolist(), strict=True)
        for i, (x, label, importance) in enumerate(weighed):
            if self._task == "regression":
                predictions[i] = self._predict(x)
            self._learn(x, label, importance)
        return predictions

    def _check(self, examples: Iterable[Example], weighs: NDArray[np.bool_]) -> None:
        """Raise TypeError or ValueError if an example cannot be learned after those before."""
        features = self._features
        for given, learns in zip(examples, weighs, strict=True):
            x = self._without_entity(given)
            if features.read_quickly(x):
                continue
            values = features.values(x)
            unknown = features.unknown(values) if learns else {}
            if unknown:
                features = features.extended(unknown)

    def _rows(self, names: list[str], block: Floats, weighs: NDArray[np.bool_]) -> Floats:
        """Return the rows of a block of these columns; gaps are filled by those that weigh."""
        if self._race is None or names != self._features.names:
            values = self._features.values(dict.fromkeys(names, 0.0))
            unknown = self._features.unknown(values)
            if unknown or self._race is None:
                self._adopt(self._features.extended(unknown))
            rows = np.zeros((len(block), self._features.n_features), dtype=np.float32)
            rows[:, self._features.columns(values)] = block
            block = rows
        self._features.fill(block[weighs], learns=True)  # no gaps: only what is known changes
        return block

    def _advance(self, examples: Floats, labels: Floats, importances: Floats) -> Floats:
        race, done = self._race, 0
        assert race is not None
        predictions = np.empty(len(labels), dtype=np.float32)
        while done < len(labels):
            passed = np.flatnonzero(importances[done:] <= 0)
            stop = done + int(passed[0]) if len(passed) else len(labels)
            if stop == done:  # of importance 0: nothing is learned
                predictions[done] = race.predict(examples[done])
                done += 1
                continue
            rest = slice(done, stop)
            done += race.learn(examples[rest], labels[rest], importances[rest], predictions[rest])
            if race.is_due():
                self._record(race.decide())
        if self._last is not None:
            late = np.flatnonzero(importances > 0)[-REMEMBERED:]
            self._last.add(race.at - len(late), examples[late], labels[late], importances[late])
        return predictions

    def _adopt(self, features: FeatureMap) -> None:
        """Start the race, or go on with more columns; ValueError, and no change, if too many."""
        race = self._race
        if race is None:
            race = self._new_race(features.schema())
            events: Iterable[Event] = list(race.open())
            if self._task == "regression":
                self._last = LastRows(features.n_features, NUMBERS)
            self._features, self._race = features, race
        else:
            schema = features.schema()
            race.require_fit(schema)
            self._features, self._single = features, None
            if self._last is not None:
                self._last.grow(features.n_features, race.at)
            events = race.grow(schema)
        self._record(events)

    def _bind(self) -> SingleExample:
        """Return the way of single examples, for as long as they have these features."""
        race, reader = self._race, self._features.reader
        assert race is not None

        def decide() -> None:
            self._record(race.decide())

        self._single = SingleExample(race, reader, not self.entity, self._last, decide)
        return self._single

    def _new_race(self, schema: Schema) -> Race:
        race = self._racing.race(replace(schema, entity=self.entity), self.seed, self._task)
        if self.entity and isinstance(race, SafeRace):
            race.head.number[0] = len(self._entities)  # of the first example
        return race

    def _record(self, events: Iterable[Event]) -> None:
        # Bounds of all live models would fill the memory.
        self._events += (event for event in events if not isinstance(event, BoundsUpdated))

    # Inspection

    @property
    def history(self) -> list[Event]:
        """Decisions so far, as events."""
        return self._events

    @property
    def champion(self) -> dict[str, Any] | None:
        """The champion's hyperparameters; None before the first example.

        `groups` lists the features of groups that it names in short; ``season`` is how many
        labels ago the one a season ago is.
        """
        race = self._race
        if race is None:
            return None
        champion = race.configurations[race.champion]
        found, seen = race.parameters(champion), champion.namespaces or ()
        if isinstance(race, SafeRace) and race.representations.season in seen:
            found["season"] = race.ensemble.expansion.period
        return found

    @property
    def groups(self) -> dict[str, list[str]]:
        """Features in each group that `champion` and `live` name in short, by name."""
        race = self._first_race()
        groups = race.words.groups if isinstance(race, SafeRace) else {}
        return {title: [*every] for title, every in groups.items()}

    @property
    def live(self) -> list[dict[str, Any]]:
        """The live models: hyperparameters, examples learned, lease, loss, bounds if published."""
        return [] if self._race is None else self._race.standings()

    @property
    def members(self) -> list[dict[str, Any]]:
        """What predicts together: weights, leases, and microseconds an example.

        Empty before the first example, and of an algorithm without members.
        """
        first = self._first_race()
        own = first.ensemble.pool if isinstance(first, SafeRace) else None
        pool = own or getattr(self._race, "pool", None)  # that many classes share
        return [] if pool is None else pool.standings()

    @property
    def feature_importances_(self) -> dict[str, float]:
        """Growth of the loss if a column said nothing, by column, the largest first.

        See `leaseboard.algorithms.online_automl.streaming.permutation`.
        """
        race, columns = self._race, self._features.by_column()
        if race is None:
            raise UsageError("feature_importances_ are of the last examples: learn one first")
        last = self._last or race.last  # type: ignore[attr-defined]
        row = np.zeros(self._features.n_features, dtype=np.float32)
        one = race.single_calls(row)

        def loss(example: Floats, label: float) -> float:
            row[:] = example
            return self._loss(one.predict(), label)

        most = max(permutation.LEAST, permutation.MOST // max(1, len(columns)))
        return permutation.importances(loss, last.after(race.at, most), columns, self.seed)

    def _loss(self, prediction: Any, label: float) -> float:
        return float((prediction - label) ** 2)

    def _first_race(self) -> Race | None:
        return self._race

    def state(self) -> dict[str, Any]:
        """Return all that `_fill` needs, as plain values."""
        return {
            "algorithm": self.algorithm,
            "settings": settings_of(self._racing),
            "seed": self.seed,
            "about": self.about,
            "max_pending": self.max_pending,
            "pending": self._pending.state(),
            "late": None if self._late is None else self._late.state(),
            "features": self._features.state(),
            "entities": [*self._entities],
            "history": list(map(files.row_of, self._events)),
            "last": None if self._last is None else self._last.state(),
            "race": None if self._race is None else self._race.state(),
        }

    def _fill(self, state: dict[str, Any]) -> None:
        """Go on from `state`; nothing was learned so far."""
        self._features = FeatureMap.restored(state["features"])
        self._entities = {text: number for number, text in enumerate(state["entities"], 1)}
        self._events = list(map(files.event_of, state["history"]))
        if state["race"] is not None:
            self._race = self._new_race(self._features.schema())
            self._race.fill(state["race"])
            if self._task == "regression":
                self._last = LastRows(self._features.n_features, NUMBERS)
                self._last.fill(state["last"])
        self.about = dict(state["about"])
        self._pending.fill(state["pending"])
        if self._late is not None:
            self._late.fill(state["late"])

    # Files

    def save(self, path: str | Path) -> None:
        """Write the whole state as numbers and texts; `load` goes on from it exactly.

        Parameters
        ----------
        path : str or Path

        Raises
        ------
        UsageError
            If the classes or `about` hold other things than numbers, texts, arrays of numbers,
            and lists, tuples, sets and dicts of them, or the file cannot be written.
        """
        with files.replacing(Path(path)) as partial:
            partial.write_bytes(self.dump())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the model that `save` wrote. Nothing that the file holds is executed.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        OnlineAutoMLRegressor or OnlineAutoMLClassifier

        Raises
        ------
        UsageError
            If `save` of this version did not write the file.
        """
        name = repr(str(path))
        kind, state = plain.load(files.read_content(path), name)
        if kind != cls.__name__:
            raise UsageError(f"{name} holds {kind} state: load it as such")
        return cls.restored(state, name)

    def dump(self) -> bytes:
        """Return the content of the file that `save` writes."""
        return plain.dump(type(self).__name__, self.state())

    @classmethod
    def restored(cls, state: dict[str, Any], name: str) -> Self:
        """Return the model of the state in a file called `name`; see `load`."""
        try:
            namespaces: dict[str, list[str]] = {}
            for feature, space in state["features"]["declared"].items():
                namespaces.setdefault(space, []).append(feature)
            model = cls(
                namespaces or None, state["seed"], state["algorithm"], state["max_pending"],
                **state["settings"],
            )  # fmt: skip
            model._fill(state)
        except plain.UNFIT as error:
            raise plain.damaged(name) from error
        return model

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the file's content: joblib's own pickles would part arrays that are shared."""
        return files.unpickled, (type(self), self.dump())
