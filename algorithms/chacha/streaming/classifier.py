"""ChaCha for classes that come as a stream, two or more, each when it comes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leaseboard.algorithms import plain
from leaseboard.algorithms.benches.stream import MOST_CLASSES
from leaseboard.algorithms.chacha.one_vs_rest import OneVsRest
from leaseboard.algorithms.chacha.oracle import ConfigOracle
from leaseboard.algorithms.chacha.race import Race
from leaseboard.algorithms.chacha.streaming.base import OnlineChaCha
from leaseboard.algorithms.chacha.streaming.blocks import examples_of, in_kind, shares_in_kind
from leaseboard.algorithms.chacha.streaming.river_base import MiniBatchClassifier
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.locks import exclusive
from leaseboard.algorithms.online.kernel import Floats
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.tables.features import Example
from leaseboard.algorithms.tables.inputs import importances_of
from leaseboard.algorithms.tables.values import is_missing


class ChaChaClassifier(OnlineChaCha, MiniBatchClassifier):
    """ChaCha for classes, each against the rest; one of River's classifiers where it is installed.

    A class may come at any time. Two are one race; from the third on each new class brings one
    more, which takes as long as the first: see `leaseboard.algorithms.chacha.one_vs_rest`, and for
    what is made of them `leaseboard.algorithms.chacha.class_mixture`. `champion` is then a dict of
    one champion a class, rows of `live` have a ``class``, and the numbers of configurations in
    `history` go through all races.

    Attributes
    ----------
    classes : list
        In the order in which they came, or were declared.

    Examples
    --------
    >>> model = ChaChaClassifier(b=4)
    >>> for a in np.random.default_rng(0).integers(-1, 2, 600).tolist():
    ...     model.learn_one({"a": float(a)}, ("down", "none", "up")[a + 1])
    >>> [model.predict_one({"a": a}) for a in (-1.0, 0.0, 1.0)]
    ['down', 'none', 'up']
    >>> round(model.predict_proba_one({"a": 1.0})["up"], 1)
    1.0
    """

    _task = "classification"
    _race: Any

    def __init__(
        self,
        namespaces: Mapping[str, list[str]] | None = None,
        oracle: ConfigOracle | None = None,
        seed: int = 0,
        algorithm: str = "chacha",
        pending: int = 10_000,
        **settings: Any,
    ) -> None:
        super().__init__(namespaces, oracle, seed, algorithm, pending, **settings)
        self.classes: list[Hashable] = []

    @property
    def _multiclass(self) -> bool:
        """River's word for "more than two classes"."""
        return True

    def declare(self, first: Hashable, second: Hashable) -> None:
        """Name two classes before the first example, which is then half of each; others may come.

        Raises
        ------
        UsageError
            If something was learned.
        """
        if self._race is not None:
            raise UsageError("classes are declared before the first example: make a new model")
        self.classes = self._with([first, second])

    def predict_one(self, x: Example) -> Hashable:
        """The likeliest class, of several the first that came; None before the first example."""
        probabilities = self.predict_proba_one(x)
        return max(probabilities, key=probabilities.__getitem__, default=None)

    def predict_proba_one(self, x: Example) -> dict[Hashable, float]:
        """The probability of each class seen so far."""
        chances: Any = self._forecast(x)
        if not isinstance(chances, np.ndarray):  # nothing was learned
            return dict.fromkeys(self.classes, 0.5)
        # Another thread may have learned more classes since.
        return dict(zip(self.classes[: len(chances)], chances.tolist(), strict=True))

    def learn_one(self, x: Example, y: Hashable, w: float = 1.0) -> None:
        """Learn one example.

        Parameters
        ----------
        x : dict
        y : Hashable
            Its class, which may be new: a text, a number, or a tuple of them. NumPy's texts and
            numbers are taken as Python's.
        w : float
            Importance: learned as if seen so many times. With 0 nothing is learned, no class
            either.

        Raises
        ------
        ValueError
            If the label is missing, or one class of too many.
        TypeError
            If it cannot be a key of a dict.
        UsageError
            If it could not be saved, such as a date.
        """
        classes = self._with([y])
        try:
            self._learn(x, classes.index(y), w)
        finally:
            self._name(classes)

    def learn_many(self, X: ArrayLike, y: ArrayLike, w: ArrayLike | None = None) -> None:
        """Learn a block in order, each example as by `learn_one`.

        Parameters
        ----------
        X : array-like of numbers or DataFrame, shape (n_examples, n_features)
        y : array-like, shape (n_examples,)
        w : array-like, shape (n_examples,), optional
            Importances.

        Raises
        ------
        ValueError, TypeError
            See `learn_one`; nothing is learned.
        UsageError
            If an array holds other things than numbers, or a label could not be saved.
        """
        # an array's own list has whole numbers for dates
        listed = hasattr(y, "tolist") and not isinstance(y, np.ndarray)
        labels: list[Any] = y.tolist() if listed else list(y)  # type: ignore[union-attr, arg-type]
        weights = importances_of(w, len(labels))
        classes = self._with([one for one, weight in zip(labels, weights, strict=True) if weight])
        places = {label: place for place, label in enumerate(classes)}
        numbers = [places.get(label, 0) for label in labels]
        try:
            self._learn_block(X, np.array(numbers, dtype=np.float32), weights)
        finally:
            self._name(classes)

    def predict_many(self, X: ArrayLike) -> Any:
        """The likeliest class of each row: an array, of a DataFrame a Series with its index."""
        return in_kind(X, [self.predict_one(x) for x in examples_of(X)])

    def predict_proba_many(self, X: ArrayLike) -> Any:
        """The probabilities of the classes seen so far: a DataFrame with a column each."""
        rows = [self.predict_proba_one(x) for x in examples_of(X)]
        return shares_in_kind(X, rows, self.classes)

    @property
    @exclusive
    def champion(self) -> dict[Any, Any] | None:
        """The champion's hyperparameters; of more than two classes by class.

        The first of these has no race, and so no champion: its share is what the others leave.
        """
        if self._race is None:
            return None
        champions: dict[Any, Any] = self._race.champions(self.classes)
        if len(champions) > 2:
            return champions
        race: Race = self._race.races[0]
        return race.parameters(race.configurations[race.champion])

    @property
    @exclusive
    def live(self) -> list[dict[str, Any]]:
        """See `OnlineChaCha.live`; of more than two classes with the ``class`` of each model."""
        races: list[Race] = [] if self._race is None else self._race.races
        if len(races) < 2:
            return [row for race in races for row in race.standings()]
        return [
            {"class": label, **row}
            for label, race in zip(self.classes[1:], races, strict=True)
            for row in race.standings()
        ]

    def export(self, path: str | Path) -> str:
        """Write the champion as a VW model file, which predicts above 0 for the second class.

        Otherwise as `OnlineChaCha.export`; UsageError too for more than two classes.
        """
        if len(self.classes) > 2:
            raise UsageError(
                f"{len(self.classes)} classes have {len(self.classes) - 1} champions, and a VW"
                " model file holds one model: keep them by `save`"
            )
        return super().export(path)

    def _first_race(self) -> Race | None:
        return None if self._race is None else self._race.races[0]

    def _champion_learner(self) -> Any:
        return self._race.races[0].champion_learner()

    def _advance(self, examples: Floats, labels: Floats, importances: Floats) -> Floats:
        race: Any = self._race
        chances = race.learn(examples, labels.astype(np.int64), importances)
        self._record(race.decide())
        likeliest = chances.argmax(axis=1) if chances.shape[1] else np.zeros(len(chances))
        return np.asarray(likeliest, dtype=np.float32)

    def _new_race(self, schema: Schema) -> Any:
        return OneVsRest(super()._new_race, schema, declared=len(self.classes))

    def _state(self) -> dict[str, Any]:
        return super()._state() | {"classes": self.classes}

    def _fill(self, state: dict[str, Any]) -> None:
        super()._fill(state)
        if type(state["classes"]) is not list:
            raise ValueError(f"{state['classes']!r} is no list of classes")
        self.classes = self._with(state["classes"])
        if self._race is not None and len(self.classes) != self._race.n_classes:
            raise ValueError(f"{self.classes} are not {self._race.n_classes} classes")

    def _with(self, labels: list[Hashable]) -> list[Hashable]:
        """The classes, with those among `labels` that are new."""
        classes = dict.fromkeys(self.classes)
        for label in labels:
            classes[_class_of(label)] = None
        if len(classes) > MOST_CLASSES:
            raise ValueError(
                f"{len(classes)} classes are more than {MOST_CLASSES}, with a race each: take"
                " numbers that are to be forecast to ChaChaRegressor, and no ids for labels"
            )
        return list(classes)

    def _name(self, classes: list[Hashable]) -> None:
        """Keep the names of as many classes as the races know of."""
        known = len(self.classes) if self._race is None else self._race.n_classes
        self.classes = classes[:known]


def _class_of(label: Hashable) -> Hashable:
    """The class that a label names, as a value that can be saved: a ``str`` of a NumPy text."""
    hash(label)
    is_time = isinstance(label, np.datetime64 | np.timedelta64)
    value = label.item() if isinstance(label, np.generic) and not is_time else label
    if is_missing(value) or (isinstance(value, float) and math.isnan(value)):
        raise ValueError(f"label {value!r} is no class: give a value to be predicted")
    try:
        plain.check(value)
    except UsageError as error:
        raise UsageError(
            f"label {value!r} is no class that can be saved: take a text, a number, or a tuple of"
            " them, such as str(label)"
        ) from error
    return value
