"""What ChaCha's classes for people's own streams share: growth, state, inspection, export."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaseboard.algorithms.base import settings_of
from leaseboard.algorithms.chacha.oracle import ConfigOracle
from leaseboard.algorithms.chacha.race import Race
from leaseboard.algorithms.chacha.race_file import racing_of
from leaseboard.algorithms.chacha.safe.safe_race import SafeRace
from leaseboard.algorithms.chacha.streaming.blocks import examples_of, is_frame
from leaseboard.algorithms.chacha.streaming.event_rows import Row, event_of, row_of
from leaseboard.algorithms.chacha.streaming.files import Savable, replacing
from leaseboard.algorithms.chacha.streaming.later_labels import LaterLabels, Pending
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.events import BoundsUpdated, Event
from leaseboard.algorithms.locks import exclusive, half_learned, new_lock
from leaseboard.algorithms.online.kernel import Floats
from leaseboard.algorithms.online.learner import Learner
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.tables.features import Example, FeatureMap
from leaseboard.algorithms.tables.inputs import (
    importance_of,
    importances_of,
    is_numeric,
    labels_of,
    numeric_block,
)

Single = tuple[Callable[[], Any], Callable[[float, float], bool], Callable[[], None]]
"""See `OnlineChaCha._bind`."""


class OnlineChaCha(Savable, LaterLabels):
    """What the regressor and the classifier share.

    Parameters
    ----------
    namespaces : mapping of str to sequence of str, optional
        Which features belong to which namespace, for examples without namespaces of their own.
        By default the features of the first example, by name, are cut into up to ten groups.
    oracle : ConfigOracle, optional
        Proposes what to try next, in the place of that of the setting `tune`.
    seed : int
        Same seed, same examples: same predictions.
    algorithm : str
        The registered name of a race: ``"chacha"``, ``"chacha-paper"``, ``"chacha-flaml"`` and
        so on.
    pending : int
        How many examples may wait for their labels, see `forecast_one`.
    **settings
        Those of the algorithm, such as ``b=10``, ``delta=0.05``, ``engine="vw"``.

    Attributes
    ----------
    about : dict
        Plain values of your own, such as where the examples come from: saved with the model.

    Notes
    -----
    What is wrong is refused before anything is changed, so a failed call leaves the model as it
    was: an example that is not a mapping, or a value or label of another type (TypeError); a value
    that is infinite, a label or importance that is NaN or infinite, two features or columns of one
    name, or one named like what is made of another (``x is missing``), more interactions of new
    features than memory allows (ValueError; of a frame with new texts, the examples before that
    one have been learned). What a value may be says
    `leaseboard.algorithms.tables.features.FeatureMap`: numbers, booleans, texts, dates, and None
    or NaN for a missing one. A feature that is not named counts 0.
    Several threads may use one model: of their calls one runs at a time, and a block is one call.
    A call that finds another thread learning is refused with a UsageError and changes nothing.
    Every call is after learning was broken off by an interrupt, or by an error in code of yours.
    What is learned with a feature or a namespace that is new gives it a place; a new namespace
    also makes new interactions for the oracle to propose.
    """

    _task: str
    locking = ("predict_one", "predict_proba_one")  # by `_forecast`

    def __init__(
        self,
        namespaces: Mapping[str, list[str]] | None = None,
        oracle: ConfigOracle | None = None,
        seed: int = 0,
        algorithm: str = "chacha",
        pending: int = 10_000,
        **settings: Any,
    ) -> None:
        self.namespaces, self.oracle, self.seed = namespaces, oracle, seed
        self.algorithm, self.pending, self.settings = algorithm, pending, settings
        self._events: list[Event] = []
        self._untold: list[Row] = []
        self._racing = racing_of(algorithm, settings)
        self._features = FeatureMap(namespaces)
        self._race: Race | None = None
        self._pending = Pending(pending)
        self.about: dict[str, Any] = {}
        self._single: Single | None = None
        self._learning, self._lock = False, new_lock()

    # The stream

    @property
    def examples(self) -> int:
        """How many examples have been learned."""
        return 0 if self._race is None else self._race.at

    def _forecast(self, x: Example) -> float:
        # As `exclusive`, in half its time.
        if self._learning:
            raise half_learned()
        with self._lock:
            if self._learning:
                raise half_learned()
            features = self._features
            if not features.read_quickly(x):
                features.row(features.values(x))
            return 0.0 if self._race is None else (self._single or self._bind())[0]()

    def _row(self, x: Example) -> Floats:
        """An example as a row of the known features."""
        features = self._features
        return features.example if features.read_quickly(x) else features.row(features.values(x))

    def _learn(self, x: Example, label: float, w: Any) -> None:
        importance = importance_of(w)
        if not importance:
            self._features.values(x)  # refused alike
            return
        self._row_to_learn(x)
        if (self._single or self._bind())[1](label, importance):
            assert self._race is not None
            self._record(self._race.decide())
        self._learning = False

    def _row_to_learn(self, x: Example) -> Floats:
        """An example as a row, in which each of its features has a place.

        From here on the model is `_learning`.
        """
        features = self._features
        if features.read_quickly(x):
            self._learning = True
            (self._single or self._bind())[2]()
            return features.example
        values = features.values(x)
        unknown = features.unknown(values)
        if unknown or self._race is None:
            # What is new with an example has no part in the forecast of it.
            self._first = self._race.predict(features.row(values)) if self._race else 0.0
            self._adopt(features.extended(unknown))
        self._learning = True
        return self._features.row(values, learns=True)

    def _forecast_block(self, X: ArrayLike) -> Floats:
        if not is_numeric(X):
            return np.array([self._forecast(x) for x in examples_of(X)], dtype=np.float32)
        names, block = numeric_block(X)
        rows = block if names == self._features.names else self._known_columns(X, names, block)
        if np.isnan(block).any():
            return np.array([self._forecast(x) for x in examples_of(X)], dtype=np.float32)
        if self._race is None:
            return np.zeros(len(block), dtype=np.float32)
        return np.array([self._race.predict(row) for row in rows], dtype=np.float32)

    def _known_columns(self, X: ArrayLike, names: list[str], block: Floats) -> Floats:
        """Rows of the known features; UsageError if an array of numbers lacks one."""
        values = self._features.values(dict.fromkeys(names, 0.0))
        absent = self._features.absent(values)
        if absent and not is_frame(X):
            raise UsageError(
                f"columns {', '.join(repr(name) for _, name in absent)} were learned and are not"
                " in the block: add them, or name those that are there by a DataFrame's columns,"
                " where an absent feature counts 0"
            )
        unknown = self._features.unknown(values)
        known = {key: i for i, key in enumerate(values) if key not in unknown}
        rows = np.zeros((len(block), self._features.n_features), dtype=np.float32)
        rows[:, self._features.columns(known)] = block[:, list(known.values())]
        return rows

    def _learn_block(self, X: ArrayLike, y: ArrayLike, w: ArrayLike | None) -> Floats:
        """Learn a block as its examples one by one, which a block of numbers need not be."""
        labels = labels_of(y)
        importances = importances_of(w, len(labels))
        block = numeric_block(X) if is_numeric(X) else None
        n_examples = len(X if block is None else block[1])  # type: ignore[arg-type]
        if len(labels) != n_examples:
            raise ValueError(f"{len(labels)} labels for {n_examples} examples: give one each")
        if not n_examples:
            return np.zeros(0, dtype=np.float32)
        weighs = importances > 0
        if block is not None and weighs.any() and not np.isnan(block[1]).any():
            forecasts = self._advance(self._rows(*block, weighs), labels, importances)
            self._learning = False
            return forecasts
        examples = examples_of(X)
        self._check(examples, weighs)
        forecasts = np.zeros(n_examples, dtype=np.float32)
        for i, x in enumerate(examples):
            known, one = self._features, slice(i, i + 1)
            row = self._row_to_learn(x) if weighs[i] else self._row(x)
            if self._race is not None:
                said = self._advance(row[None], labels[one], importances[one])
                new = self._features is not known and self._task == "regression"
                forecasts[i] = self._first if new else said[0]
        self._learning = False
        return forecasts

    def _check(self, examples: Iterable[Example], weighs: NDArray[np.bool_]) -> None:
        """TypeError or ValueError if an example cannot be learned after those before."""
        features = self._features
        for x, learns in zip(examples, weighs, strict=True):
            values = features.values(x)
            unknown = features.unknown(values) if learns else {}
            if unknown:
                features = features.extended(unknown)

    def _rows(self, names: list[str], block: Floats, weighs: NDArray[np.bool_]) -> Floats:
        """The rows of a block of numbers with these columns, to be learned where one `weighs`.

        From here on the model is `_learning`.
        """
        if self._race is None or names != self._features.names:
            values = self._features.values(dict.fromkeys(names, 0.0))
            unknown = self._features.unknown(values)
            if unknown or self._race is None:
                self._adopt(self._features.extended(unknown))
            rows = np.zeros((len(block), self._features.n_features), dtype=np.float32)
            rows[:, self._features.columns(values)] = block
            block = rows
        self._learning = True
        self._features.fill(block[weighs], learns=True)  # no gaps: only what is known changes
        return block

    def _advance(self, examples: Floats, labels: Floats, importances: Floats) -> Floats:
        race, done = self._race, 0
        assert race is not None
        forecasts = np.empty(len(labels), dtype=np.float32)
        while done < len(labels):
            passed = np.flatnonzero(importances[done:] <= 0)
            stop = done + int(passed[0]) if len(passed) else len(labels)
            if stop == done:  # of importance 0: nothing is learned
                forecasts[done] = race.predict(examples[done])
                done += 1
                continue
            rest = slice(done, stop)
            done += race.learn(examples[rest], labels[rest], importances[rest], forecasts[rest])
            if race.is_due():
                self._record(race.decide())
        return forecasts

    def _adopt(self, features: FeatureMap) -> None:
        """Start the race, or go on with more columns; ValueError, and no change, if too many."""
        race = self._race
        if race is None:
            race = self._new_race(features.schema())
            events: Iterable[Event] = list(race.open())
            self._learning = True
        else:
            schema = features.schema()
            race.require_fit(schema)
            self._learning = True
            events = race.grow(schema)
        self._features, self._race, self._single = features, race, None
        self._record(events)

    def _bind(self) -> Single:
        """What predicts the example in the features' row, what learns it, and what its gaps teach.

        It is asked for when it is needed: compiled code has to be loaded.
        """
        features, race = self._features, self._race
        assert race is not None
        self._single = *race.single_calls(features.example), features.single_learn()
        return self._single

    def _new_race(self, schema: Schema) -> Race:
        oracle = copy.deepcopy(self.oracle)  # a race may change its own, never what was given
        return self._racing.race(schema, self.seed, self._task, oracle)

    def _record(self, events: Iterable[Event]) -> None:
        self._events.extend(e for e in events if not isinstance(e, BoundsUpdated))

    # Inspection and export

    @property
    @exclusive
    def history(self) -> list[Event]:
        """What was decided so far."""
        self._read_history()
        return self._events

    def _read_history(self) -> None:
        """See `Savable`."""
        self._events[:0] = map(event_of, self._untold)
        self._untold = []

    @property
    @exclusive
    def champion(self) -> dict[str, Any] | None:
        """The champion's hyperparameters; None before the first example.

        `groups` lists the features of groups that it names in short; ``season`` is how many
        labels ago the one a season ago is.
        """
        race = self._race
        if race is None:
            return None
        champion = race.configurations[race.champion]
        told, seen = race.parameters(champion), champion.namespaces or ()
        if isinstance(race, SafeRace) and race.representations.season in seen:
            told["season"] = race.ensemble.front.period
        return told

    @property
    @exclusive
    def groups(self) -> dict[str, list[str]]:
        """The features in each group that `champion` and `live` do not tell in full, by name."""
        race = self._first_race()
        groups = race.words.groups if isinstance(race, SafeRace) else {}
        return {title: [*every] for title, every in groups.items()}

    @property
    @exclusive
    def live(self) -> list[dict[str, Any]]:
        """The live models: hyperparameters, examples learned, lease, loss, bounds if published."""
        return [] if self._race is None else self._race.standings()

    def export(self, path: str | Path) -> str:
        """Write the champion as a VW model file.

        Returns
        -------
        str
            The options with which ``vw`` trains such a model. With ``-t -i path`` alone it
            predicts as the champion does, from text with the same names.

        Raises
        ------
        UsageError
            If nothing was learned, or the champion sees what Vowpal Wabbit cannot compute:
            features standardised or in pieces, or earlier labels.
        """
        learner = None if self._race is None else self._champion_learner()
        if learner is None:
            raise UsageError("nothing to export: no champion has learned an example yet")
        with replacing(Path(path)) as partial:
            learner.save(partial)
        return learner.command_line()

    def _first_race(self) -> Race | None:
        return self._race

    def _champion_learner(self) -> Learner | None:
        assert self._race is not None
        return self._race.champion_learner()

    def _state(self) -> dict[str, Any]:
        """See `Savable`."""
        return {
            "algorithm": self.algorithm,
            "settings": settings_of(self._racing),
            "seed": self.seed,
            "about": self.about,
            "most_pending": self.pending,
            "pending": self._pending.state(),
            "oracle": None if self.oracle is None else type(self.oracle).__name__,
            "features": self._features.state(),
            "history": [*self._untold, *map(row_of, self._events)],
            "race": None if self._race is None else self._race.state(),
        }

    def _fill(self, state: dict[str, Any]) -> None:
        """See `Savable`."""
        self._features = FeatureMap.restored(state["features"])
        self._untold = list(state["history"])
        if state["race"] is not None:
            self._race = self._new_race(self._features.schema())
            self._race.fill(state["race"])
        self.about = dict(state["about"])
        self._pending.fill(state["pending"], self._n_said())


def is_half_learned(model: object) -> bool:
    """Whether a model has begun to learn and not ended; an unpickled one is not built for that."""
    return bool(getattr(model, "__dict__", {}).get("_learning"))
