"""An open-ended race that takes examples as they come, whichever rules it follows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.chacha.memory import State
from algorithms.chacha.published import saved as published
from algorithms.chacha.published import state
from algorithms.chacha.published.scheduler import Scheduler
from algorithms.chacha.safe import saved as safe
from algorithms.chacha.safe.race import EMPTY, SafeRace
from algorithms.events import Event
from algorithms.online.configuration import Configuration
from algorithms.online.learner import Learner
from algorithms.online.schema import Schema
from algorithms.plain import fill

Floats = NDArray[np.float32]


class Contest(ABC):
    """What a class for streams needs of a race.

    Attributes
    ----------
    at : int
        Examples learned.
    """

    at: int

    @abstractmethod
    def start(self) -> Iterator[Event]:
        """Admit the initial configuration and its challengers."""

    @abstractmethod
    def grow(self, schema: Schema) -> bool:
        """Go on with a schema of more columns; say whether it has more namespaces too."""

    @abstractmethod
    def widen(self) -> Iterator[Event]:
        """Ask the oracle what new namespaces make possible."""

    @abstractmethod
    def predict(self, example: Floats) -> float:
        """The forecast for one example of shape (n_features,)."""

    @abstractmethod
    def learn(self, examples: Floats, labels: Floats, importances: Floats) -> Floats:
        """Learn until a decision is due; return the progressive forecasts of what was learned."""

    @abstractmethod
    def learn_one(self, example: Floats, label: float, importance: float) -> bool:
        """Learn one example of shape (n_features,); say whether a decision is due."""

    @abstractmethod
    def is_due(self) -> bool:
        """Whether what was learned calls for a decision."""

    @abstractmethod
    def decide(self) -> Iterator[Event]:
        """Take the decisions that are due."""

    @abstractmethod
    def live(self) -> list[dict[str, Any]]:
        """The live models by slot, with their losses and bounds."""

    @abstractmethod
    def configurations(self) -> list[Configuration]:
        """The configurations of live models."""

    @abstractmethod
    def champion(self) -> Configuration:
        """The champion's configuration."""

    @abstractmethod
    def champion_learner(self) -> Learner | None:
        """The champion's model; None while it is paused, which only an ablation allows."""

    @abstractmethod
    def state(self) -> State:
        """Everything that a fresh contest needs to go on as this one does."""

    @abstractmethod
    def fill(self, state: State) -> None:
        """Go on from `state`, where nothing was seen so far; ValueError if that cannot be."""


class PublishedContest(Contest):
    """A race by the paper's rules or its authors'."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.at = 0

    def start(self) -> Iterator[Event]:
        """Admit the initial configuration and its challengers."""
        return self.scheduler.open(Configuration())

    def grow(self, schema: Schema) -> bool:
        """Go on with a schema of more columns; say whether it has more namespaces too."""
        return self.scheduler.grow(schema)

    def widen(self) -> Iterator[Event]:
        """Ask the oracle what new namespaces make possible."""
        return self.scheduler.widen(self.at)

    def predict(self, example: Floats) -> float:
        """What the model that the selection names predicts."""
        scheduler = self.scheduler
        return scheduler.engine.forecast(example, scheduler.slots, scheduler.control)

    def learn(self, examples: Floats, labels: Floats, importances: Floats) -> Floats:
        """Learn until a test is positive or a lease ends."""
        predictions = np.empty(len(labels), dtype=np.float32)
        scheduler = self.scheduler
        learned = scheduler.engine.advance(
            examples, labels, importances, predictions, scheduler.slots, scheduler.control
        )
        self.at += learned
        return predictions if learned == len(predictions) else predictions[:learned]

    def learn_one(self, example: Floats, label: float, importance: float) -> bool:
        """Learn one example; say whether a decision is due."""
        self.at += 1
        scheduler = self.scheduler
        return scheduler.engine.advance_one(
            example, label, importance, scheduler.slots, scheduler.control
        )

    def is_due(self) -> bool:
        """Whether a test is positive or a lease has ended."""
        return bool(self.scheduler.control[state.DUE])

    def decide(self) -> Iterator[Event]:
        """Algorithm 1 after line 10, and Schedule."""
        return self.scheduler.decide(self.at)

    def live(self) -> list[dict[str, Any]]:
        """The live models by slot, with progressive loss and bounds."""
        scheduler = self.scheduler
        return [
            {
                **scheduler.candidates[number].configuration.parameters(),
                "champion": number == scheduler.champion,
                "examples": int(row[state.N]),
                "lease": float(row[state.LEASE]),
                "loss": float(row[state.LOSS]),
                "lower": float(row[state.LOWER]),
                "upper": float(row[state.UPPER]),
            }
            for number, row in ((n, scheduler.row(n)) for n in scheduler.live())
        ]

    def configurations(self) -> list[Configuration]:
        """The configurations of live models."""
        scheduler = self.scheduler
        return [scheduler.candidates[number].configuration for number in scheduler.live()]

    def champion(self) -> Configuration:
        """The champion's configuration."""
        return self.scheduler.candidates[self.scheduler.champion].configuration

    def champion_learner(self) -> Learner | None:
        """The champion's model; None where an ablation has paused it."""
        return self.scheduler.champion_learner()

    def state(self) -> State:
        """The scheduler's, and how many examples it has seen."""
        return {"at": self.at, **published.state_of(self.scheduler)}

    def fill(self, state: State) -> None:
        """Go on from `state`; ValueError if that cannot be."""
        fill(self, state, ["at"])
        published.fill_scheduler(self.scheduler, state)


class SafeContest(Contest):
    """A race by the rules of our default."""

    def __init__(self, safe_race: SafeRace) -> None:
        self.race = safe_race
        self._label = np.zeros(1, dtype=np.float32)
        self._importance = np.zeros(1, dtype=np.float32)

    @property
    def at(self) -> int:  # type: ignore[override]
        """Examples learned."""
        return self.race.at

    def start(self) -> Iterator[Event]:
        """Admit the initial configuration and its challengers."""
        return self.race.start()

    def grow(self, schema: Schema) -> bool:
        """Go on with a schema of more columns; say whether it has more namespaces too."""
        return self.race.grow(schema)

    def widen(self) -> Iterator[Event]:
        """Ask the oracle what new namespaces make possible."""
        return self.race.widen()

    def predict(self, example: Floats) -> float:
        """The guarded mixture's forecast."""
        return float(self.race.predict(example))

    def learn(self, examples: Floats, labels: Floats, importances: Floats) -> Floats:
        """Learn until the end of a round."""
        block = slice(min(self.race.until_decision(), len(labels)))
        return self.race.learn(examples[block], labels[block], importances[block])

    def learn_one(self, example: Floats, label: float, importance: float) -> bool:
        """Learn one example; say whether a round has ended."""
        self._label[0], self._importance[0] = label, importance
        self.race.learn(example[None], self._label, self._importance)
        return self.is_due()

    def is_due(self) -> bool:
        """Whether a round has ended."""
        return self.race.at % self.race.round_length == 0

    def decide(self) -> Iterator[Event]:
        """The decisions at the end of a round."""
        return self.race.decide()

    def live(self) -> list[dict[str, Any]]:
        """The live models by slot, with the discounted loss that weighs them."""
        race = self.race
        return [
            {
                **race.configurations[race.holders[slot]].parameters(),
                "champion": slot == race.champion_slot,
                "examples": race.at - int(race.fresh_at[slot]),
                "lease": float(race.lease_of[slot]),
                "loss": float(race.losses[slot] / max(race.totals[0], 1.0)),
            }
            for slot in np.flatnonzero(race.holders != EMPTY).tolist()
        ]

    def configurations(self) -> list[Configuration]:
        """The configurations of live models."""
        race = self.race
        return [race.configurations[race.holders[slot]] for slot in race.live.tolist()]

    def champion(self) -> Configuration:
        """The champion's configuration."""
        return self.race.configurations[self.race.champion]

    def champion_learner(self) -> Learner | None:
        """The champion's model."""
        return self.race.models.learner(self.race.champion_slot)

    def state(self) -> State:
        """The race's."""
        return safe.state_of(self.race)

    def fill(self, state: State) -> None:
        """Go on from `state`; ValueError if that cannot be."""
        safe.fill_race(self.race, state)
