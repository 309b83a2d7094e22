"""Base of the classes for streams: growth, state, inspection, blocks of examples.

River is optional: without it what it gives its estimators is missing (``clone``, ``|``, others).
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaseboard.algorithms import plain
from leaseboard.algorithms.arrays import Floats
from leaseboard.algorithms.base import settings_of
from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.algorithms.events import BoundsUpdated, Event, from_json, to_json
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.online_automl.late import Pending
from leaseboard.algorithms.online_automl.race import Race
from leaseboard.algorithms.online_automl.racing import racing_of
from leaseboard.algorithms.online_automl.safe.predictor import SingleExample
from leaseboard.algorithms.online_automl.safe.safe_race import SafeRace
from leaseboard.algorithms.tables.features import Example, FeatureMap
from leaseboard.algorithms.tables.values import (
    LONGEST_LABEL,
    importance_of,
    importances_of,
    is_gap,
    labels_of,
    seconds_of,
    standard_value,
    text_of,
    unique_names,
)

MiniBatchRegressor: Any = object
MiniBatchClassifier: Any = object
with suppress(ImportError):  # also of a river.py of the user's
    river = import_module("river.base")
    MiniBatchRegressor, MiniBatchClassifier = river.MiniBatchRegressor, river.MiniBatchClassifier

MOST_ENTITIES = 100_000
"""Those of a column that is named; later ones are predicted as one that was never seen."""


class OnlineModel:
    """Base of the regressor and the classifier, whose docstrings document it."""

    _task: str

    def __init__(
        self,
        seed: int = 0,
        algorithm: str = "online-automl",
        max_pending: int = 10_000,
        **settings: Any,
    ) -> None:
        self.seed, self.algorithm = seed, algorithm
        self.max_pending, self.settings = max_pending, settings
        self._events: list[Event] = []
        self._racing = racing_of(algorithm, settings)
        self._features = FeatureMap()
        self.entity: str = getattr(self._racing, "entity", "")
        self._entities: dict[str, int] = {}  # numbers of those that were learned
        self._race: Race | None = None
        self._pending = Pending(max_pending)
        self._late = self._racing.late(self._task)
        self.about: dict[str, Any] = {}
        # Of a classifier, the second for what was last predicted with an id.
        self.classes: list[Hashable] = []
        self.waited: dict[Hashable, float] = {}
        self._single: SingleExample | None = None
        self._refuses = ""  # why a model that was loaded here cannot learn

    # The stream

    @property
    def examples(self) -> int:
        """Number of examples that have been learned."""
        return 0 if self._race is None else self._race.at

    def _with_entity(self, x: Example, *, learns: bool = False) -> Example:
        """Return an example with its entity as a text, after which the race knows its number."""
        if not self.entity or not isinstance(x, Mapping):
            return x
        key: Any = next((name for name in x if str(name) == self.entity), None)
        if key is None:
            raise UsageError(unknown("entity column", self.entity, [*map(str, x)]))
        value = standard_value(x[key].item() if isinstance(x[key], np.number) else x[key])
        text = "" if is_gap(value) else text_of(value)
        x = {**x, key: text[:LONGEST_LABEL] or None}
        number = self._entities.get(text, 0)
        if learns and text and not number and len(self._entities) < MOST_ENTITIES:
            self._features.values(x)  # refused before anything is changed
            number = self._entities[text] = len(self._entities) + 1
        if isinstance(self._race, SafeRace):
            self._race.head.number[0] = number
        return x

    def _predict(self, x: Example) -> Any:
        race = self._race
        if race is None:
            self._row(x)  # refused alike
            return 0.0
        found = (self._single or self._bind()).predict(x)
        return race.predict(self._row(x)) if found is None else found

    def _row(self, x: Example) -> Floats:
        """Return an example as a row of the known features."""
        x, features = self._with_entity(x), self._features
        return features.example if features.read_quickly(x) else features.row(features.values(x))

    def _learn(self, x: Example, label: float, w: Any) -> None:
        if self._refuses:
            raise UsageError(self._refuses)
        importance = importance_of(w)
        if not importance:
            self._features.values(self._with_entity(x))  # refused alike
            return
        x, features = self._with_entity(x, learns=True), self._features
        if features.read_quickly(x):
            features.reader.learn_gaps()
        else:
            values = features.values(x)
            unknown = features.unknown(values)
            if unknown or self._race is None:
                self._adopt(features.extended(unknown))
            self._features.row(values, learns=True)
        race = self._race
        assert race is not None
        if (self._single or self._bind()).one.learn(label, importance):
            self._record(race.decide())

    def _learn_block(self, X: ArrayLike, y: ArrayLike, w: ArrayLike | None) -> Floats:
        """Learn a block as its examples one by one; return progressive predictions of numbers."""
        labels, examples = labels_of(y), examples_of(X)
        if len(labels) != len(examples):
            raise ValueError(f"{len(labels)} labels for {len(examples)} examples: give one each")
        importances = importances_of(w, len(labels))
        self._check(examples, importances > 0)
        predictions = np.zeros(len(labels), dtype=np.float32)
        weighed = zip(examples, labels.tolist(), importances.tolist(), strict=True)
        for i, (x, label, importance) in enumerate(weighed):
            if self._task != "regression":
                self._learn(x, label, importance)
            elif self._single is not None and self._single.learn(x, label, importance):
                predictions[i] = self._single.one.said
            else:
                predictions[i] = self._predict(x)
                self._learn(x, label, importance)
        return predictions

    def _check(self, examples: Iterable[Example], weighs: NDArray[np.bool_]) -> None:
        """Raise TypeError or ValueError if an example cannot be learned after those before."""
        features = self._features
        for given, learns in zip(examples, weighs, strict=True):
            x = self._with_entity(given)
            if features.read_quickly(x):
                continue
            values = features.values(x)
            unknown = features.unknown(values) if learns else {}
            if unknown:
                features = features.extended(unknown)

    def _adopt(self, features: FeatureMap) -> None:
        """Start the race, or go on with more columns; ValueError, and no change, if too many."""
        race = self._race
        if race is None:
            race = self._new_race(features.schema())
            events: Iterable[Event] = list(race.open())
            self._features, self._race = features, race
        else:
            schema = features.schema()
            race.require_fit(schema)
            self._features, self._single = features, None
            events = race.grow(schema)
        self._record(events)

    def _bind(self) -> SingleExample:
        """Return the way of single examples, for as long as they have these features."""
        race, reader = self._race, self._features.reader
        assert race is not None

        def decide() -> None:
            self._record(race.decide())

        reads = not self.entity and not self._refuses
        self._single = SingleExample(race, reader, reads, decide)
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

        ``season`` is how many
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
    def live(self) -> list[dict[str, Any]]:
        """The live models: hyperparameters, examples learned, lease, loss, bounds if published."""
        return [] if self._race is None else self._race.standings()

    @property
    def members(self) -> list[dict[str, Any]]:
        """What predicts together: weights, leases, and microseconds an example.

        Empty before the first example, and of an algorithm without members.
        """
        pool = self._pool()
        return [] if pool is None else pool.standings()

    def fit_ahead(self) -> None:
        """Fit the boosted trees to all examples that they remember, for forecasts of many others.

        Nothing is done without a lease, or before the first 200 examples. It changes no other
        prediction, and ends with the next example. UsageError if LightGBM is not installed.
        """
        if (pool := self._pool()) is not None:
            pool.fit_ahead()

    def _ahead(self) -> AbstractContextManager[None]:
        return nullcontext() if (pool := self._pool()) is None else pool.ahead()

    def _pool(self) -> Any:
        """Return the members; None if there are none."""
        first = self._first_race()
        own = first.ensemble.pool if isinstance(first, SafeRace) else None
        return own or getattr(self._race, "pool", None)  # that many classes share

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
            "late": self._late.state(),
            "features": self._features.state(),
            "entities": [*self._entities],
            "history": [*map(to_json, self._events)],
            "race": None if self._race is None else self._race.state(),
        }

    def _fill(self, state: dict[str, Any]) -> None:
        """Go on from `state`; nothing was learned so far."""
        self._features = FeatureMap.restored(state["features"])
        self._entities = {text: number for number, text in enumerate(state["entities"], 1)}
        self._events = [*map(from_json, state["history"])]
        if state["race"] is not None:
            self._race = self._new_race(self._features.schema())
            self._race.fill(state["race"])
            pool = self._pool()
            self._refuses = "" if pool is None else pool.missing
        self.about = dict(state["about"])
        self._pending.fill(state["pending"])
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
        with plain.replacing(Path(path)) as partial:
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
        kind, state = plain.load(plain.read_content(path), name)
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
            own = state["settings"]
            model = cls(state["seed"], state["algorithm"], state["max_pending"], **own)
            model._fill(state)
        except plain.UNFIT as error:
            raise plain.damaged(name) from error
        return model

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the file's content: joblib's own pickles would part arrays that are shared."""
        return plain.unpickled, (type(self), self.dump())

    # Labels that come later

    def _predict_pending(self, id: Hashable, x: Example, store_x: bool) -> Any:
        """Predict an example, and remember it until its label comes; see `predict_one`."""
        pending = self._pending
        if id in pending.waiting:
            raise UsageError(
                f"id {id!r} waits for its label already: learn it first, or take another id"
            )
        plain.check(id)
        said, kept = self._late.ask(self._race, self._row(x), pending.of)
        prediction = self._taken(said)
        pending.add(id, x if store_x else None, prediction, kept)
        if self.n_pending > pending.most:
            self._late.forget(pending.pop(next(iter(pending.waiting))))
            pending.dropped += 1
        return prediction

    def _taken(self, said: Any) -> Any:
        """Return a late prediction as users get it."""
        return said

    def is_pending(self, id: Hashable) -> bool:
        """Return whether an example of this id waits for its label.

        Parameters
        ----------
        id : Hashable

        Returns
        -------
        bool
        """
        return id in self._pending.waiting

    def learn_label(
        self, id: Hashable, y: Any, w: float = 1.0, *, x: Example | None = None
    ) -> None:
        """Learn the label of an example that was predicted with an id.

        Labels come in any order. The model learns as by ``learn_one(x, y, w)``: what it knows
        depends on the labels that it was given and their order, not on when their predictions were
        made.

        Parameters
        ----------
        id : Hashable
            That of ``predict_one(x, id=id)``.
        y : float, or a class
            The label.
        w : float
            Importance: learned as if seen so many times.
        x : dict, optional
            The example, if it was predicted with ``store_x=False``; otherwise it is not read.

        Raises
        ------
        UsageError
            If the id does not wait: a label is learned once. If no copy was stored, and `x` is not
            given.
        """
        stored, prediction, delay, kept = self._pending.get(id)
        example = x if stored is None else stored
        if example is None:
            raise UsageError(
                f"id {id!r} was predicted with store_x=False: hand its example over again, as x="
            )
        self.learn_one(example, y, w)  # type: ignore[attr-defined]
        self._pending.pop(id)
        if w > 0:
            self._late.answer(self._race, self._number_of(y), prediction, kept, delay)
        else:
            self._late.forget(kept)

    def forget_pending(self, ids: Iterable[Hashable] | None = None) -> None:
        """Forget examples that wait: their labels can no longer be learned by id.

        Parameters
        ----------
        ids : iterable of Hashable, optional
            Those to forget; by default all.
        """
        for id in list(self._pending.waiting) if ids is None else ids:
            if self.is_pending(id):
                # Of the last prediction, it is as if it had not been made.
                self._pending.made -= self._pending.get(id)[2] == 0
                self._late.forget(self._pending.pop(id))

    @property
    def n_pending(self) -> int:
        """Number of examples that wait for their labels."""
        return len(self._pending.waiting)

    @property
    def n_dropped(self) -> int:
        """Number of examples that were dropped while they waited, because too many did."""
        return self._pending.dropped

    def _number_of(self, y: Any) -> float:
        """Return the number that a label is to a race."""
        return float(y)


def is_frame(X: Any) -> bool:
    """Return whether `X` is a DataFrame, whose columns have names."""
    return hasattr(X, "columns")


def examples_of(X: Any) -> list[dict[Hashable, Any]]:
    """Return the rows of a DataFrame, or of an array, whose columns are called 0, 1, 2..."""
    if is_frame(X):
        # pandas is heavy
        from leaseboard.algorithms.tables.column_types import standard_types, with_dates

        unique_names(X.columns)
        return with_dates(standard_types(X)).to_dict("records")
    given = np.asarray(X)
    if given.dtype.kind == "m":
        given = seconds_of(given)
    if given.shape == (0,):
        return []
    if given.dtype.kind not in "fiub" or given.ndim != 2:
        raise UsageError(
            f"a block of shape {given.shape} and type {given.dtype} must hold numbers and be of"
            " shape (n_examples, n_features): make a DataFrame of other values, or use learn_one"
        )
    names = list(map(str, range(given.shape[1])))
    return [dict(zip(names, row, strict=True)) for row in given.tolist()]


def in_kind(X: Any, answers: Sequence[Any] | NDArray[Any]) -> Any:
    """Return one answer a row: for a DataFrame a Series with its index, for an array an array."""
    if is_frame(X):
        import pandas as pd  # heavy, and callers with a DataFrame have loaded it

        return pd.Series(answers, index=X.index)
    return np.asarray(answers)


def shares_in_kind(
    X: Any, rows: Sequence[Mapping[Hashable, float]], classes: Sequence[Any]
) -> Any:
    """Return a DataFrame with a row for each of `X` and a column for each class."""
    import pandas as pd

    return pd.DataFrame(rows, index=getattr(X, "index", None), columns=list(classes))
