"""A promise: a quantity of a job with a proven bound or an exact value, whatever the score is.

A score may change for the better when a guarantee breaks: a guard that is too wide lets forecasts
be bolder, intervals that are too narrow save time. So the gate checks promises beside scores.
"""

from __future__ import annotations

import math
from typing import Annotated, Self

from pydantic import Field, model_validator

from leaseboard.tasks.machine.yaml_files import Strict

ROUNDING = 1e-9
"""Relative to the bound, at least 1; what two builds of one numerical library may differ by."""

Number = Annotated[float, Field(allow_inf_nan=False)]


class Promise(Strict):
    """What a suite promises of an algorithm on a data set, in every repetition."""

    algorithm: str
    """Its label in the suite."""
    data: str = ""
    """A data set of the suite, by reference or name; empty for all."""
    metric: str
    """``score``, ``units``, any other metric of the job, or one of
    `leaseboard.tasks.score.gate.promises.DERIVED`."""
    over: str | None = None
    """The label of another algorithm by whose same metric it is divided, repetition by
    repetition."""
    at_least: Number | None = None
    at_most: Number | None = None
    equals: Number | None = None
    """The exact value, in place of bounds."""
    within: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """How far from `equals` is still equal."""
    chance: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """The probability with which a repetition may break the promise, such as δ: then as many may
    as chance explains."""
    reason: Annotated[str, Field(min_length=1)]
    """Why it must hold: a theorem, a formula worked out by hand."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        bounds = (self.at_least, self.at_most)
        if self.equals is None and bounds == (None, None):
            raise ValueError("a promise without a bound: give at_most, at_least or equals")
        if self.equals is not None and bounds != (None, None):
            raise ValueError("equals excludes at_least and at_most: give one or the others")
        if self.within and self.equals is None:
            raise ValueError("within belongs to equals: give that, or remove it")
        if None not in bounds and self.lower > self.upper:
            raise ValueError(f"at_least {self.at_least:g} is above at_most {self.at_most:g}")
        if self.over == self.algorithm:
            raise ValueError(f"{self.algorithm!r} over itself is always 1: name another algorithm")
        return self

    @property
    def identity(self) -> tuple[str, str, str, str | None]:
        """What is promised of, whatever the bound: a suite says it once."""
        return self.algorithm, self.data, self.metric, self.over

    @property
    def rule(self) -> dict[str, object]:
        """The bound; another one is another promise."""
        return self.model_dump(exclude={"reason"})

    @property
    def name(self) -> str:
        """What reports call it."""
        over = f" over {self.over}'s" if self.over else ""
        return f"{self.metric} of {self.algorithm}{over} on {self.data}"

    @property
    def lower(self) -> float:
        """The least value that is allowed."""
        if self.equals is not None:
            return self.equals - self.within
        return -math.inf if self.at_least is None else self.at_least

    @property
    def upper(self) -> float:
        """The greatest value that is allowed."""
        if self.equals is not None:
            return self.equals + self.within
        return math.inf if self.at_most is None else self.at_most

    @property
    def bound(self) -> str:
        """The bound in words."""
        words = []
        if self.equals is not None:
            words.append(f"= {self.equals:.10g}")
        if self.within:
            words.append(f"± {self.within:g}")
        if self.at_least is not None:
            words.append(f"≥ {self.at_least:.10g}")
        if self.at_most is not None:
            words.append(f"≤ {self.at_most:.10g}")
        if self.chance:
            words.append(f"but for chance {self.chance:g}")
        return " ".join(words)

    def excess(self, value: float) -> float:
        """How far `value` is beyond the bound, negative within it; infinite for no number."""
        if not math.isfinite(value):
            return math.inf
        return max(
            self.lower - _rounded(self.lower) - value, value - self.upper - _rounded(self.upper)
        )

    def allowed(self, repetitions: int) -> int:
        """Of so many repetitions, how many may break it: two standard deviations of chance."""
        expected = repetitions * self.chance
        return math.floor(expected + 2 * math.sqrt(expected * (1 - self.chance)))


def _rounded(bound: float) -> float:
    return ROUNDING * max(1.0, abs(bound)) if math.isfinite(bound) else 0.0
