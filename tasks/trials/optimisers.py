"""Hyperparameter optimisers that can be continued from a recorded history.

An optimiser is asked for trial n when it has been told the trials 0 to n - 1. What it suggests
depends on these and on its seed alone, so another process that has read the record continues
exactly where the first one stopped.
"""

from __future__ import annotations

import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from algorithms.errors import SkipError, UsageError
from algorithms.seeds import generator
from tasks.trials.parzen import ParzenHistory
from tasks.trials.spaces import Space

STARTUP = 5
"""Random trials before TPE starts. hyperopt's 20 would leave a short arm nothing else."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Which arm to try with which active hyperparameters, on which share of the rows."""

    arm: str
    parameters: Mapping[str, Any]
    fidelity: float = 1.0


class Optimiser(ABC):
    """Suggests trial after trial over the arms of a space; a space of one arm tunes that arm."""

    def __init__(self, space: Space, seed: int) -> None:
        self.space = space
        self.seed = seed
        self.names = list(space.arms)

    @abstractmethod
    def suggest(self, n: int) -> Suggestion:
        """Trial number `n`, from 0, after it was told all before."""

    @abstractmethod
    def tell(self, n: int, suggestion: Suggestion, reward: float) -> None:
        """Trial `n` and what it gave; a failed trial gave 0."""


class RandomSearch(Optimiser):
    """An arm drawn uniformly, then its hyperparameters."""

    def suggest(self, n: int) -> Suggestion:
        """A draw of its own generator, independent of all others."""
        return drawn(self.space, generator(self.seed, "random search", n))

    def tell(self, n: int, suggestion: Suggestion, reward: float) -> None:
        """Nothing is learned."""


class TreeParzen(Optimiser):
    """hyperopt's TPE, with `STARTUP` random trials; conditional hyperparameters stay so."""

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self._history = ParzenHistory()

    def suggest(self, n: int) -> Suggestion:
        """A draw of its own generator, from what the history makes likely."""
        rng = generator(self.seed, "tpe", n)
        if n < STARTUP:
            return drawn(self.space, rng)
        good = self._history.good()
        name = self.names[0]
        if len(self.names) > 1:
            name = self.names[self._history.category("arm", len(self.names), good, rng)]
        parameters: dict[str, Any] = {}
        specs = self.space.arms[name].hyperparameters
        for key, spec in sorted(specs.items(), key=lambda item: bool(item[1].when)):
            if not spec.active(parameters):
                continue
            label = f"{name}.{key}"
            if spec.choices is None:
                parameters[key] = self._history.number(label, spec, good, rng)
            else:
                place = self._history.category(label, len(spec.choices), good, rng)
                parameters[key] = spec.choices[place]
        return Suggestion(name, {key: parameters[key] for key in specs if key in parameters})

    def tell(self, n: int, suggestion: Suggestion, reward: float) -> None:
        """Enter a finished trial into the history."""
        name = suggestion.arm
        values: dict[str, Any] = {"arm": self.names.index(name)}
        for key, value in suggestion.parameters.items():
            choices = self.space.arms[name].hyperparameters[key].choices
            values[f"{name}.{key}"] = value if choices is None else _position(choices, value)
        self._history.add(values, 1.0 - reward)


def drawn(space: Space, rng: np.random.Generator) -> Suggestion:
    """An arm drawn uniformly, then its active hyperparameters."""
    name = list(space.arms)[int(rng.integers(len(space.arms)))]
    return Suggestion(name, space.arms[name].draw(rng))


def require(kind: str) -> None:
    """SkipError if the optimiser `kind` needs an extra that is not installed."""
    if kind in ("smac", "bohb") and importlib.util.find_spec("smac") is None:
        raise SkipError(
            f"{kind} needs smac, which is not installed:"
            " install the extra with pip install 'leaseboard[smac]'"
        )


def make(kind: str, space: Space, seed: int) -> Optimiser:
    """The optimiser called `kind`; SkipError if it needs an extra that is not installed.

    Where nothing can be tuned, there is nothing to optimise, and every kind is random search.
    """
    tunable = len(space.arms) > 1 or any(arm.tunable for arm in space.arms.values())
    if kind == "random" or not tunable:
        return RandomSearch(space, seed)
    if kind == "tpe":
        return TreeParzen(space, seed)
    if kind in ("smac", "bohb"):
        require(kind)
        from tasks.trials.smac import Smac

        return Smac(space, seed, multi_fidelity=kind == "bohb")
    raise UsageError(f"unknown optimiser {kind!r}: known are bohb, random, smac, tpe")


def _position(choices: list[Any], value: Any) -> int:
    """Where `value` stands, with True told from 1."""
    return next(
        place for place, choice in enumerate(choices)
        if choice == value and type(choice) is type(value)
    )  # fmt: skip
