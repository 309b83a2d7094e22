"""A search space in YAML: arms, their hyperparameters, ranges and conditions."""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import BaseModel, Field, model_validator

from leaseboard.algorithms.errors import unknown
from leaseboard.tasks.machine.environment import conf_files
from leaseboard.tasks.machine.yaml_files import Strict, load_yaml

SUITED = {task: f"tables-{task}" for task in ("classification", "regression")}
"""Default space of each task."""
Choice = bool | int | float | str | None


class Hyperparameter(Strict):
    """Hyperparameter: a range of numbers, or choices."""

    type: Literal["int", "float", "choice"]
    low: float | int = 0
    high: float | int = 0
    """The closed range of a number."""
    log: bool = False
    """Uniform on a logarithmic scale."""
    choices: list[Choice] = Field(default_factory=list)
    """The values of a choice."""
    default: Choice = None
    """The library's own default."""
    when: dict[str, list[Choice]] = Field(default_factory=dict)
    """Active only if the named choice of the arm has one of the listed values."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.type == "choice" and len(self.choices) < 2:
            raise ValueError("a choice needs at least two choices")
        if self.type != "choice" and not self.low < self.high:
            raise ValueError(f"a range needs low < high, not {self.low} and {self.high}")
        if self.log and self.low <= 0:
            raise ValueError(f"a logarithmic range must be positive, not from {self.low}")
        if not self.allows(self.default):
            raise ValueError(f"default {self.default!r} is outside its range or choices")
        return self

    def active(self, values: Mapping[str, Any]) -> bool:
        """Return whether its conditions hold, given the values of the choices it depends on."""
        return all(values.get(parent) in wanted for parent, wanted in self.when.items())

    def allows(self, value: Choice) -> bool:
        """Return whether `value` is one of its choices, or a number in its range."""
        if self.type == "choice":
            return value in self.choices
        return isinstance(value, (int, float)) and self.low <= value <= self.high

    def draw(self, rng: np.random.Generator) -> Choice:
        """Return a value drawn uniformly, on a logarithmic scale if `log`."""
        if self.type == "choice":
            return self.choices[int(rng.integers(len(self.choices)))]
        if self.log:
            return self.clipped(math.exp(rng.uniform(math.log(self.low), math.log(self.high))))
        if self.type == "int":
            return int(rng.integers(int(self.low), int(self.high) + 1))
        return self.clipped(rng.uniform(self.low, self.high))

    def place(self, value: Choice) -> int:
        """Return the number of `value` among the choices, where True is not 1."""
        return [(type(each), each) for each in self.choices].index((type(value), value))

    def clipped(self, value: float) -> int | float:
        """Return `value` inside the range, rounded if the hyperparameter is whole."""
        inside = float(min(max(value, self.low), self.high))
        return round(inside) if self.type == "int" else inside


class Arm(Strict):
    """Learning algorithm and its hyperparameters."""

    estimator: str
    """A recipe of `leaseboard.tasks.evaluate.trials.recipes`, or ``package.module:Class``."""
    hyperparameters: dict[str, Hyperparameter] = Field(default_factory=dict)
    constants: dict[str, Choice] = Field(default_factory=dict)
    """Passed on unchanged."""
    first: list[dict[str, Choice]] = Field(default_factory=list)
    """Configurations that are known to be good, in the order in which the optimiser ``guided``
    tries them after the defaults; other hyperparameters have their defaults."""
    codes: bool = False
    """Of nominal columns it gets the codes and not an indicator for each category, if there are
    both, as in the estimators."""
    rows_at_first: int = 4_000
    """Rows of a trial's first fit, at least, where the optimiser ``guided`` begins on a share."""
    most_rows: int | None = None
    """Rows beyond which the arm, whose cost grows faster than they do, is left out."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        tuned = self.hyperparameters
        for name, spec in tuned.items():
            for parent, values in spec.when.items():
                other = tuned.get(parent)
                if len(spec.when) > 1 or other is None or other.when:
                    raise ValueError(
                        f"{name} depends on {parent!r}: one choice of the same arm, which depends"
                        " on no other, may be a condition"
                    )
                if not all(value in other.choices for value in values):
                    raise ValueError(f"{name} depends on {parent}={values}, no choices of it")
        for name, value in (pair for given in self.first for pair in given.items()):
            if name not in tuned or not tuned[name].allows(value):
                raise ValueError(f"first has {name}={value!r}, outside its range or choices")
        return self

    @property
    def tunable(self) -> bool:
        """The arm has hyperparameters."""
        return bool(self.hyperparameters)

    def active(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of `values` whose conditions hold."""
        specs = self.hyperparameters.items()
        return {name: values[name] for name, spec in specs if spec.active(values)}

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return active hyperparameters, drawn uniformly."""
        return self.active({name: spec.draw(rng) for name, spec in self.hyperparameters.items()})

    def defaults(self) -> dict[str, Any]:
        """Return the active defaults."""
        return self.leads()[0]

    def leads(self) -> list[dict[str, Any]]:
        """Return the defaults and the configurations of `first`, with what is active of each."""
        every = {name: spec.default for name, spec in self.hyperparameters.items()}
        return [self.active({**every, **given}) for given in ({}, *self.first)]

    def decoded(self, values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
        """Return hyperparameters whose numbers, or places among the choices, are in `values`."""
        found = {}
        for name, spec in self.hyperparameters.items():
            if (value := values.get(prefix + name)) is not None:
                choice = spec.type == "choice"
                found[name] = spec.choices[int(value)] if choice else spec.clipped(value)
        return found


class Space(Strict):
    """Search space over arms."""

    title: str
    source: str
    task: Literal["classification", "regression"] = "classification"
    arms: dict[str, Arm] = Field(min_length=1)

    def restricted(self, names: list[str]) -> Space:
        """Return the space of the arms `names`, in that order; UsageError for an unknown one."""
        for name in names:
            if name not in self.arms:
                raise unknown("arm", name, self.arms)
        return self.model_copy(update={"arms": {name: self.arms[name] for name in names}})


def digest(value: BaseModel) -> str:
    """Return a hash of a space or an arm: equal for equal content."""
    canonical = json.dumps(value.model_dump(), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def load_space(name: str, conf: Path | None = None) -> Space:
    """Return the space called `name`, or the one in the YAML file of that path.

    A space of the configuration folder wins over one of the same name that Leaseboard ships.
    """
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        files = conf_files("spaces", conf)
        if name not in files:
            raise unknown("space", name, files)
        path = files[name]
    return _read(path, path.read_bytes() if path.is_file() else b"")


@functools.lru_cache(maxsize=32)
def _read(path: Path, content: bytes) -> Space:
    """Return the space in a file; parsing it costs as much as replaying two hundred trials."""
    return load_yaml(path, Space)


def searched(name: str, arms: list[str] | None) -> list[Space]:
    """Return the spaces of `arms` that a search may be over before the task of its data is known.

    That is the one called `name`, or, without a name, those of `SUITED` that have all the arms.

    Raises UsageError for an arm that none has.
    """
    found = [load_space(each) for each in ([name] if name else SUITED.values())]
    if arms is None:
        return found
    able = [space for space in found if space.arms.keys() >= set(arms)]
    if not able:
        known = {arm: None for space in found for arm in space.arms}
        raise unknown("arm", next((arm for arm in arms if arm not in known), arms[0]), known)
    return [space.restricted(arms) for space in able]
