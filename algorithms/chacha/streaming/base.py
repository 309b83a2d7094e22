"""What ChaCha's classes for people's own streams share: growth, state, inspection, export."""

from __future__ import annotations

import dataclasses
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from algorithms import plain
from algorithms.base import configured
from algorithms.chacha.chacha import ChaCha
from algorithms.chacha.oracle import ConfigOracle, load_oracle
from algorithms.chacha.streaming.contest import Contest, PublishedContest, SafeContest
from algorithms.errors import UsageError
from algorithms.events import BoundsUpdated, Event, kind
from algorithms.online.features import Example, FeatureMap, Key
from algorithms.online.inputs import importance_of, numeric_block
from algorithms.online.layout import MAX_TERMS, fits

FORMAT = "leaseboard-chacha-3"
"""The mark of a saved model; the number changes with what is saved."""

_UNFIT = (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError,
          ValueError)  # fmt: skip
"""What building a race from values that no race has can raise."""


class OnlineChaCha(ABC):
    """What the regressor and the classifier share.

    Parameters
    ----------
    namespaces : mapping of str to sequence of str, optional
        Which features belong to which namespace, for examples without namespaces of their own.
        By default the features of the first example are cut into up to ten groups.
    oracle : ConfigOracle, optional
        Proposes what to try next, in the place of that of the setting `tune`.
    seed : int
        Same seed, same examples: same predictions.
    **settings
        Those of `ChaCha`, such as ``preset="flaml"``, ``b=10``, ``engine="vw"``.

    Notes
    -----
    What is wrong is refused before anything is changed, so a failed call leaves the model as it
    was: an example that is not a mapping, or a value or label of another type (TypeError); a
    value, label or importance that is NaN or infinite, a third class, more interactions of new
    features than memory allows (ValueError). A missing feature, or one that is None, counts 0.
    What is learned with a feature or a namespace that is new gives it a place; a new namespace
    also makes new interactions for the oracle to propose.
    """

    _task: str

    def __init__(
        self,
        namespaces: Mapping[str, list[str]] | None = None,
        oracle: ConfigOracle | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        self.settings = configured(ChaCha, "ChaCha", settings)
        self.seed = seed
        self.history: list[Event] = []
        self._oracle = oracle
        self._features = FeatureMap(namespaces)
        self._contest: Contest | None = None
        _join_river(type(self))

    # The stream

    @property
    def examples(self) -> int:
        """How many examples have been learned."""
        return 0 if self._contest is None else self._contest.at

    def _forecast(self, x: Example) -> float:
        features, contest = self._features, self._contest
        row = features.example if features.read_quickly(x) else features.row(features.values(x))
        return 0.0 if contest is None else contest.predict(row)

    def _learn(self, x: Example, label: float, w: Any) -> None:
        importance = importance_of(w)
        features, contest = self._features, self._contest
        if contest is not None and features.read_quickly(x):
            row = features.example
        else:
            values = features.values(x)
            unknown = features.unknown(values)
            if unknown or contest is None:
                contest = self._make_room(unknown)
            row = self._features.row(values)
        if contest.learn_one(row, label, importance):
            self._record(contest.decide())

    def predict_many(self, X: ArrayLike) -> NDArray[np.float32]:
        """Forecasts for a block of examples, none of which is learned.

        Parameters
        ----------
        X : array-like or DataFrame of numbers, shape (n_examples, n_features)

        Returns
        -------
        ndarray of float32, shape (n_examples,)
            For classes, margins.

        Raises
        ------
        UsageError
            If a column holds no numbers, or one that was learned is not there.
        """
        keys, block = numeric_block(X)
        absent = self._features.absent(keys)
        if absent:
            raise UsageError(
                f"columns {', '.join(repr(name) for _, name in absent)} were learned and are not"
                " in the block: add them, or use predict_one, where an absent feature counts 0"
            )
        known = [i for i, key in enumerate(keys) if not self._features.unknown({key: 0.0})]
        rows = np.zeros((len(block), self._features.n_features), dtype=np.float32)
        rows[:, self._features.columns([keys[i] for i in known])] = block[:, known]
        if self._contest is None:
            return np.zeros(len(block), dtype=np.float32)
        return np.array([self._contest.predict(row) for row in rows], dtype=np.float32)

    def _learn_block(
        self, X: ArrayLike, labels: NDArray[np.float32], w: ArrayLike | None
    ) -> NDArray[np.float32]:
        keys, block = numeric_block(X)
        if len(labels) != len(block):
            raise ValueError(f"{len(labels)} labels for {len(block)} examples: give one each")
        importances = np.ones(len(block), np.float32)
        if w is not None:
            importances = np.asarray(w, dtype=np.float32)
            if (
                importances.shape != labels.shape
                or not (np.isfinite(importances) & (importances >= 0)).all()
            ):
                raise ValueError("importances must be one finite number >= 0 an example")
        if not len(block):
            return np.zeros(0, dtype=np.float32)
        unknown = self._features.unknown(dict.fromkeys(keys, 0.0))
        if unknown or self._contest is None:
            self._make_room(unknown)
        columns = self._features.columns(keys)
        if columns != list(range(self._features.n_features)):
            rows = np.zeros((len(block), self._features.n_features), dtype=np.float32)
            rows[:, columns] = block
            block = rows
        return self._advance(block, labels, importances)

    def _advance(
        self,
        examples: NDArray[np.float32],
        labels: NDArray[np.float32],
        importances: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        contest = self._contest
        assert contest is not None
        done = 0
        forecasts = np.empty(len(labels), dtype=np.float32)
        while done < len(labels):
            part = contest.learn(examples[done:], labels[done:], importances[done:])
            forecasts[done : done + len(part)] = part
            done += len(part)
            if contest.is_due():
                self._record(contest.decide())
        return forecasts

    def _make_room(self, unknown: list[Key]) -> Contest:
        """Start the race, or let it grow by features that were not known."""
        return self._adopt(self._features.extended(unknown))

    def _adopt(self, features: FeatureMap) -> Contest:
        """Go on with more columns; ValueError, and no change, if they are too many."""
        schema = features.schema()
        if self._contest is None:
            contest = self._new_contest(features)
            events = list(contest.start())
            self._features, self._contest = features, contest
            self._record(events)
            return contest
        for configuration in self._contest.configurations():
            if not fits(schema, configuration):
                raise ValueError(
                    f"{features.n_features} features give a live model's interactions more"
                    f" than {MAX_TERMS} terms: use fewer features a namespace"
                )
        new_namespaces = self._contest.grow(schema)
        self._features = features
        if new_namespaces:
            self._record(self._contest.widen())
        return self._contest

    def _new_contest(self, features: FeatureMap) -> Contest:
        schema, settings = features.schema(), self.settings
        if settings.preset is None:
            race = settings.safe().race(schema, self.seed, self._task, self._oracle)
            return SafeContest(race)
        return PublishedContest(settings.scheduler(schema, self.seed, self._task, self._oracle))

    def _record(self, events: Any) -> None:
        self.history.extend(e for e in events if not isinstance(e, BoundsUpdated))

    # Inspection and export

    @property
    def champion(self) -> dict[str, Any] | None:
        """The champion's hyperparameters; None before the first example."""
        return None if self._contest is None else self._contest.champion().parameters()

    @property
    def live(self) -> list[dict[str, Any]]:
        """The live models: hyperparameters, examples learned, lease, loss; bounds in a preset."""
        return [] if self._contest is None else self._contest.live()

    def export(self, path: str | Path) -> str:
        """Write the champion as a VW model file.

        Returns
        -------
        str
            The options with which ``vw`` trains such a model. With ``-t -i path`` alone it
            predicts as the champion does, from text with the same names.
        """
        learner = None if self._contest is None else self._contest.champion_learner()
        if learner is None:
            raise UsageError("nothing to export: no champion has learned an example yet")
        with _replacing(Path(path)) as partial:
            learner.save(partial)
        return learner.command_line()

    def save(self, path: str | Path) -> None:
        """Write the whole state as numbers and texts; `load` goes on from it exactly.

        Of an oracle of your own its attributes are written.

        Raises
        ------
        UsageError
            If the oracle or the classes hold other things than numbers, texts, arrays of
            numbers, and lists, tuples, sets and dicts of them, or the file cannot be written.
        """
        with _replacing(Path(path)) as partial:
            plain.write(partial, {"class": type(self).__name__, **self._state()}, FORMAT)

    @classmethod
    def load(cls, path: str | Path, oracle: ConfigOracle | str | None = None) -> Self:
        """The model that `save` wrote. Nothing that the file holds is executed.

        Parameters
        ----------
        path : str or Path
        oracle : ConfigOracle or str, optional
            Where the model had an oracle of your own, a fresh one, or ``path/to/file.py:Class``.

        Raises
        ------
        UsageError
            If the file is none that `save` wrote, or it needs the `oracle`.
        """
        unfit = (
            f"{str(path)!r} is no saved model of this version ({FORMAT}), or a damaged one:"
            " name a file that `save` wrote and nothing has changed since"
        )
        try:
            state = plain.read(Path(path), FORMAT)
            name, own = state["class"], state["oracle"]
        except OSError as error:
            raise UsageError(
                f"{str(path)!r} cannot be read ({error.strerror}): name a file that `save` wrote"
            ) from error
        except _UNFIT as error:
            raise UsageError(unfit) from error
        if name != cls.__name__:
            raise UsageError(f"{str(path)!r} holds a {name}: load it as such")
        if own is not None and oracle is None:
            raise UsageError(
                f"{str(path)!r} needs your oracle {own}, whose code is not in the file: hand it"
                " over, as in load(path, oracle='path/to/file.py:Class')"
            )
        if isinstance(oracle, str):
            oracle = load_oracle(oracle)
        try:
            model = cls(oracle=oracle, seed=state["seed"], **state["settings"])
            model._fill(state)
        except _UNFIT as error:
            raise UsageError(unfit) from error
        return model

    def _state(self) -> dict[str, Any]:
        """What `_fill` needs to make a fresh model this one."""
        own = None if self._oracle is None else type(self._oracle).__name__
        if ".py:" in (self.settings.tune or ""):
            own = self.settings.tune
        return {
            "settings": dataclasses.asdict(self.settings),
            "seed": self.seed,
            "oracle": own,
            "features": self._features.state(),
            "history": [
                (type(event).__name__, dataclasses.asdict(event)) for event in self.history
            ],
            "contest": None if self._contest is None else self._contest.state(),
        }

    def _fill(self, state: dict[str, Any]) -> None:
        """Go on from `state`, where nothing was learned so far."""
        self._features = FeatureMap.restored(state["features"])
        self.history = [kind(name)(**fields) for name, fields in state["history"]]
        if state["contest"] is not None:
            self._contest = self._new_contest(self._features)
            self._contest.fill(state["contest"])

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        _join_river(type(self))

    @property
    def _supervised(self) -> bool:
        """River's word for "learns from labels"."""
        return True

    @abstractmethod
    def predict_one(self, x: Example) -> Any:
        """The forecast for one example; nothing is learned."""

    @abstractmethod
    def learn_one(self, x: Example, y: Any, w: float = 1.0) -> None:
        """Learn one example."""


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A file to write that takes the place of `path` in one step; no half of it is ever seen."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.touch()
        yield partial
        partial.replace(path)
    except OSError as error:
        raise UsageError(
            f"{str(path)!r} cannot be written ({error.strerror}): name a file in a folder that"
            " exists and may be written"
        ) from error
    finally:
        if partial.is_file():
            partial.unlink()


def _join_river(cls: type[OnlineChaCha]) -> None:
    """Make River, where it is in use, take `cls` for its own kind of estimator."""
    base = sys.modules.get("river.base")
    if base is not None:
        kind = base.Regressor if cls._task == "regression" else base.Classifier
        kind.register(cls)
