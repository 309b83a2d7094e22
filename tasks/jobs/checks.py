"""Checks in addition to scores: requirements of a suite, and numbered diagnostics of its run.

A score may improve when a guarantee breaks: a guard that is too wide permits bolder predictions,
intervals that are too narrow save time. So the gate checks requirements, too.

``diagnostics.yaml`` has the title, the advice and the sentences of each code. A pure function of
`leaseboard.tasks.score.diagnostics` finds it. On an alarm a person should act before the result is
used; a note is for information.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

import yaml
from pydantic import AfterValidator, Field, FiniteFloat, model_validator

from leaseboard.algorithms.errors import unknown
from leaseboard.tasks.jobs.job import plain_value
from leaseboard.tasks.machine.yaml_files import Strict

ROUNDING = 1e-9
"""Tolerance relative to the bound, at least 1: two builds of a numerical library may differ."""


class Requirement(Strict):
    """Requirement of an algorithm on a dataset, in every repetition."""

    algorithm: str
    """Label of the algorithm in the suite."""
    data: str = ""
    """Dataset of the suite, by reference or name; empty for all."""
    metric: str
    """``score``, ``units``, or another metric of the job, such as ``loss``."""
    at_least: FiniteFloat | None = None
    """The least value."""
    at_most: FiniteFloat | None = None
    """The greatest value."""
    equals: FiniteFloat | None = None
    """Exact value, in place of bounds."""
    within: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """How far from `equals` is still equal."""
    failure_probability: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Probability that a repetition breaks the requirement, such as δ: as many may as chance
    explains."""
    reason: Annotated[str, Field(min_length=1)]
    """Why it must hold: a theorem, or a formula."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        bounds = (self.at_least, self.at_most)
        if (self.equals is None) == (bounds == (None, None)):
            raise ValueError("a requirement has one bound: give equals, or at_most and at_least")
        if self.within and self.equals is None:
            raise ValueError("within belongs to equals: give that, or remove it")
        if self.ends[0] > self.ends[1]:
            raise ValueError(f"at_least {self.at_least:g} is above at_most {self.at_most:g}")
        return self

    @property
    def name(self) -> str:
        """Name in reports."""
        return f"{self.metric} of {self.algorithm} on {self.data}"

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest value that are allowed."""
        if self.equals is not None:
            return self.equals - self.within, self.equals + self.within
        least = -math.inf if self.at_least is None else self.at_least
        return least, math.inf if self.at_most is None else self.at_most

    @property
    def bound(self) -> str:
        """The bound in words."""
        words = {
            "= {:.10g}": self.equals,
            "± {:g}": self.within or None,
            "≥ {:.10g}": self.at_least,
            "≤ {:.10g}": self.at_most,
            "except with probability {:g}": self.failure_probability or None,
        }
        return " ".join(form.format(n) for form, n in words.items() if n is not None)

    def excess(self, value: float) -> float:
        """Return how far `value` is beyond the bound, negative within it; infinite for NaN."""
        if not math.isfinite(value):
            return math.inf
        lower, upper = self.ends
        return max(lower - _rounded(lower) - value, value - upper - _rounded(upper))

    def allowed(self, repetitions: int) -> int:
        """Return how many of the repetitions may break it: two standard deviations."""
        expected = repetitions * self.failure_probability
        return math.floor(expected + 2 * math.sqrt(expected * (1 - self.failure_probability)))


def _rounded(bound: float) -> float:
    return ROUNDING * max(1.0, abs(bound)) if math.isfinite(bound) else 0.0


ALARM, NOTE = "alarm", "note"
"""Severities."""
CODES: Mapping[str, Mapping[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("diagnostics.yaml").read_text(encoding="utf-8")
)


class Diagnostic(NamedTuple):
    """Finding of a code: its severity, the name of its sentence, and what that is filled with."""

    code: str
    severity: str
    sentence: str
    facts: Mapping[str, Any]

    def __str__(self) -> str:
        text: str = CODES[self.code]["says"][self.sentence]
        return text.format(**self.facts)

    @property
    def meaning(self) -> Mapping[str, str]:
        """Title and advice of the code."""
        return {name: CODES[self.code][name] for name in ("title", "advice")}

    def as_row(self) -> dict[str, Any]:
        """Return what programs read: with the sentence and the meaning."""
        fields = self._asdict() | {"what": str(self)} | self.meaning
        return plain_value(fields | {"facts": dict(self.facts)})


def check_codes(codes: Sequence[str]) -> Sequence[str]:
    """Return the codes; UsageError with near ones for an unknown one."""
    for code in codes:
        if code not in CODES:
            raise unknown("code", code, CODES)
    return codes


Codes = Annotated[list[str], AfterValidator(check_codes)]
"""Codes in a YAML file."""


def lines_of(found: Iterable[Diagnostic]) -> list[str]:
    """Return a line for each code and severity: the first finding, and how many more there are.

    That of an alarm ends with what to do.
    """
    groups: dict[tuple[str, str], list[Diagnostic]] = {}
    for each in found:
        groups.setdefault((each.code, each.severity), []).append(each)
    return [
        f"{code} {severity}: {mine[0]}"
        + f" (and {len(mine) - 1} more)" * (len(mine) > 1)
        + f". {mine[0].meaning['advice']}" * (severity == ALARM)
        for (code, severity), mine in groups.items()
    ]
