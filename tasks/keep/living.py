"""What the lineages of a keep have learned: of a stream, of a table, or a first try."""

from __future__ import annotations

import json
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from leaseboard.algorithms import registry
from leaseboard.algorithms.chacha.racing import Racing
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.keep.rows import Values, frame_of
from leaseboard.tasks.keep.windowed import kind_of
from leaseboard.tasks.models.continued import LEVEL, Continued, Told

Task = Literal["regression", "classification"]

WAITING = 1_000_000
"""So many rows may wait for their labels."""

LEAST_ROWS = 20
"""Labels that a lineage needs to be made."""

FIRST_TRIES = ("running-mean", "last-label")
"""What a person tries first, and what a kept model must beat."""


@dataclass(frozen=True)
class Recipe:
    """How a lineage is made.

    - `algorithm`: a race of streams, such as ``chacha``, or one that
      `leaseboard.tasks.keep.windowed` knows.
    - `settings`: of the race; of what is made on a window see there.
    """

    target: str
    task: Task
    algorithm: str
    settings: Mapping[str, Any]
    seed: int = 0

    @property
    def goes_on(self) -> bool:
        """Whether it learns row after row, where others are searched again on a window."""
        return issubclass(registry.algorithm_class(self.algorithm), Racing)

    def check(self) -> None:
        """UsageError if there is no such algorithm, none that can be kept, or not so."""
        if self.goes_on:
            return
        kind = kind_of(self.algorithm)
        if kind is None:
            raise UsageError(
                f"algorithm {self.algorithm!r} cannot be kept: name a race of streams such as"
                " chacha, a policy over arms such as rising-bandits-cost, abc, or apple"
            )
        kind(self).check()

    def suffices(self, labels: Sequence[Any]) -> bool:
        """Whether a lineage can be made of rows with these labels."""
        one_class = self.task == "classification" and len(set(map(str, labels))) < 2
        return len(labels) >= LEAST_ROWS and (self.goes_on or not one_class)


class Living(ABC):
    """What forecasts rows and may go on learning."""

    def expect(self, ids: Sequence[str], features: pd.DataFrame) -> list[Told]:
        """Forecast rows whose labels come later; empty while nothing has been learned."""
        del ids
        return self.foresee(features)

    def expect_rows(
        self, ids: Sequence[str], rows: Sequence[Values], dates: Iterable[str]
    ) -> list[Told]:
        """What `expect` says of rows as the state keeps them; see `foresee_rows`."""
        return self.expect(ids, frame_of(rows, dates))

    @abstractmethod
    def foresee(self, features: pd.DataFrame) -> list[Told]:
        """The same, remembering nothing."""

    def foresee_rows(
        self, rows: Sequence[Values], dates: Iterable[str], level: float = LEVEL
    ) -> list[Told]:
        """The same for rows as the state keeps them.

        - `dates`: the columns that hold dates.
        - `level`: of the intervals, one of `levels` where there are any.
        """
        del level
        return self.foresee(frame_of(rows, dates))

    @property
    def levels(self) -> tuple[float, ...]:
        """Those of the intervals that it can tell."""
        return ()

    @property
    def classes(self) -> tuple[str, ...]:
        """Those that were seen; none where numbers are forecast."""
        return ()

    @abstractmethod
    def learn(self, ids: Sequence[str], features: pd.DataFrame, labels: Sequence[Any]) -> None:
        """Learn the labels of rows, in the order in which they came."""

    def learn_rows(
        self, ids: Sequence[str], rows: Sequence[Values], dates: Iterable[str],
        labels: Sequence[Any],
    ) -> None:  # fmt: skip
        """What `learn` does, of rows as the state keeps them."""
        self.learn(ids, frame_of(rows, dates), labels)

    @abstractmethod
    def dump(self) -> bytes:
        """All of it; see `living`."""

    def at_rest(self, content: bytes) -> bytes:
        """Of `content`, which `dump` gave, what is needed to forecast and learn no more."""
        return content


class LivingStream(Living):
    """A race that goes on.

    `content`: what `dump` gave; None for one that has seen nothing.
    """

    def __init__(self, recipe: Recipe, content: bytes | None = None) -> None:
        self._recipe = recipe
        self._model: Continued | None = None
        if content is not None:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model"
                path.write_bytes(content)
                self._model = Continued.load(path)

    def expect(self, ids: Sequence[str], features: pd.DataFrame) -> list[Told]:
        """See `Living.expect`; intervals are as wide as the delay of labels makes them."""
        return [] if self._model is None else self._model.expect(ids, self._whole(features))

    def expect_rows(
        self, ids: Sequence[str], rows: Sequence[Values], dates: Iterable[str]
    ) -> list[Told]:
        """See `Living.expect_rows`; without a table, which takes most of the time of one row."""
        if self._model is None or not self._model.kinds.keys() >= {*rows[0], self._recipe.target}:
            return super().expect_rows(ids, rows, dates)
        return self._model.expect(ids, rows)

    def learn_rows(
        self, ids: Sequence[str], rows: Sequence[Values], dates: Iterable[str],
        labels: Sequence[Any],
    ) -> None:  # fmt: skip
        """See `Living.learn_rows`; without a table."""
        if self._model is None or not self._model.kinds.keys() >= {*rows[0], self._recipe.target}:
            super().learn_rows(ids, rows, dates, labels)
        else:
            self._model.answer(ids, labels, rows)

    def foresee(self, features: pd.DataFrame) -> list[Told]:
        """See `Living.foresee`."""
        return [] if self._model is None else self._model.foresee(self._whole(features))

    def foresee_rows(
        self, rows: Sequence[Values], dates: Iterable[str], level: float = LEVEL
    ) -> list[Told]:
        """See `Living.foresee_rows`."""
        return [] if self._model is None else self._model.foresee_rows(rows, level)

    @property
    def levels(self) -> tuple[float, ...]:
        """See `Living.levels`."""
        return () if self._model is None else self._model.levels

    @property
    def classes(self) -> tuple[str, ...]:
        """See `Living.classes`."""
        found = self._model
        return () if not found or found.is_regression else tuple(map(str, found.model.classes))

    def learn(self, ids: Sequence[str], features: pd.DataFrame, labels: Sequence[Any]) -> None:
        """See `Living.learn`."""
        if self._model is None:
            recipe = self._recipe
            self._model = Continued.new(
                features.assign(**{recipe.target: list(labels)}),
                target=recipe.target,
                task=recipe.task,
                algorithm=recipe.algorithm,
                settings={"pending": WAITING, **recipe.settings},
                seed=recipe.seed,
            )
        self._model.answer(ids, labels, self._whole(features))

    def _whole(self, features: pd.DataFrame) -> pd.DataFrame:
        """With the columns that it has learned and the contract no longer names, all missing."""
        assert self._model is not None
        known = (name for name in self._model.kinds if name != self._model.target)
        absent = [name for name in known if name not in features]
        return features.assign(**dict.fromkeys(absent)) if absent else features

    def dump(self) -> bytes:
        """See `Living.dump`."""
        assert self._model is not None
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            self._model.model.save(path)
            return path.read_bytes()

    def at_rest(self, content: bytes) -> bytes:
        """See `Living.at_rest`; what was said of rows that wait for their label is left out."""
        rested = LivingStream(self._recipe, content)
        assert rested._model is not None
        rested._model.model.forget_waiting()
        return rested.dump()


class LivingTable(Living):
    """An estimator that was made on a window of rows, and learns no more."""

    def __init__(self, recipe: Recipe, content: bytes | None = None) -> None:
        kind = kind_of(recipe.algorithm)
        assert kind is not None, "a recipe is checked before it is followed"
        self._recipe, self._kind = recipe, kind(recipe)
        self._estimator: Any = None
        if content is not None:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model"
                path.write_bytes(content)
                self._estimator = self._kind.load(path)

    def foresee(self, features: pd.DataFrame) -> list[Told]:
        """See `Living.foresee`; a class is certain where the estimator tells no chances."""
        if self._estimator is None:
            return []
        if self._recipe.task == "regression":
            found: list[Told] = self._estimator.predict(features).tolist()
            return found
        if not hasattr(self._estimator, "predict_proba"):
            return [{str(name): 1.0} for name in self._estimator.predict(features)]
        shares = self._estimator.predict_proba(features).tolist()
        return [dict(zip(self.classes, row, strict=True)) for row in shares]

    @property
    def classes(self) -> tuple[str, ...]:
        """See `Living.classes`."""
        return tuple(map(str, getattr(self._estimator, "classes_", ())))

    def learn(self, ids: Sequence[str], features: pd.DataFrame, labels: Sequence[Any]) -> None:
        """Learn these rows, once."""
        if self._estimator is None:
            kept = np.float64 if self._recipe.task == "regression" else object
            self._estimator = self._kind.fit(features, np.asarray(list(labels), dtype=kept))

    def dump(self) -> bytes:
        """See `Living.dump`."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            self._kind.dump(self._estimator, path)
            return path.read_bytes()


class LivingFirstTry(Living):
    """The mean of the labels so far, of classes their shares; or the last label."""

    def __init__(self, name: str, task: Task, content: bytes | None = None) -> None:
        self._name, self._task = name, task
        self._seen: dict[str, float] = {} if content is None else json.loads(content)

    def expect_rows(
        self, ids: Sequence[str], rows: Sequence[Values], dates: Iterable[str]
    ) -> list[Told]:
        """See `Living.expect_rows`; what they hold is of no account."""
        return self.foresee(pd.DataFrame(index=range(len(rows))))

    def learn_rows(
        self, ids: Sequence[str], rows: Sequence[Values], dates: Iterable[str],
        labels: Sequence[Any],
    ) -> None:  # fmt: skip
        """See `Living.learn_rows`."""
        self.learn(ids, pd.DataFrame(), labels)

    def foresee(self, features: pd.DataFrame) -> list[Told]:
        """The same for each row."""
        seen = self._seen
        if not seen:
            return []
        total = sum(seen.values()) if self._task == "classification" else seen["count"]
        if self._task == "classification":
            return [{name: count / total for name, count in seen.items()}] * len(features)
        return [seen["sum"] / total] * len(features)

    def learn(self, ids: Sequence[str], features: pd.DataFrame, labels: Sequence[Any]) -> None:
        """See `Living.learn`."""
        if not len(labels):
            return
        if self._name == "last-label":
            labels, self._seen = labels[-1:], {}
        if self._task == "regression":
            told = {"sum": float(np.sum(np.asarray(labels, dtype=np.float64))),
                    "count": float(len(labels))}  # fmt: skip
        else:
            names, counts = np.unique(np.asarray(labels, dtype=str), return_counts=True)
            told = dict(zip(names.tolist(), map(float, counts), strict=True))
        self._seen = {key: self._seen.get(key, 0.0) + told.get(key, 0.0)
                      for key in self._seen | told}  # fmt: skip

    def dump(self) -> bytes:
        """See `Living.dump`."""
        return json.dumps(self._seen).encode()


def living(name: str, recipe: Recipe, content: bytes | None = None) -> Living:
    """The lineage called `name`, a first try or what the recipe makes, as it was dumped."""
    if name in FIRST_TRIES:
        return LivingFirstTry(name, recipe.task, content)
    return LivingStream(recipe, content) if recipe.goes_on else LivingTable(recipe, content)
