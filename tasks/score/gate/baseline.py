"""Accepted scores of every scenario and requirements, in one file a suite."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import date
from pathlib import Path
from typing import Annotated

import pandas as pd
import pydantic.dataclasses
from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError

from leaseboard.algorithms.errors import LeaseboardError, SkipError, UsageError, naming
from leaseboard.tasks.jobs.job import (
    Direction,
    Job,
    Name,
    Score,
    Settings,
    Title,
    first_fault,
    plain_value,
)
from leaseboard.tasks.jobs.suites.requirement import Requirement
from leaseboard.tasks.score.frame import scoreless
from leaseboard.tasks.score.gate.requirements import Quantity, check_requirements


def _day(text: str) -> str:
    if text:
        date.fromisoformat(text)
    return text


def _finite(settings: Settings) -> Settings:
    json.dumps(settings, allow_nan=False)
    return settings


_STRICT = ConfigDict(strict=True, extra="forbid")
SeedText = Annotated[str, Field(pattern=r"\A(0|[1-9][0-9]{0,9})\z")]
Tolerance = Annotated[float, Field(ge=0, lt=1)]
"""At 1 the scores may double: a gate that compares nothing."""
Finite = Annotated[Settings, AfterValidator(_finite)]


@pydantic.dataclasses.dataclass(frozen=True, slots=True, config=_STRICT)
class Scenario:
    """Accepted scores of one algorithm on one dataset.

    Raises pydantic.ValidationError if a value is of another type or beyond its range.
    """

    name: Title
    data: Title
    metric: Name
    direction: Direction
    digest: Name
    version: Name
    """Of the algorithm's code when it was accepted; for information."""
    scores: Annotated[dict[SeedText, Score], Field(min_length=1)]
    """``{seed: score}``, the seeds as text."""
    algorithm: Title
    """The registered name behind the label."""
    settings: Finite
    environment: Finite
    """Of the algorithm, defaults included, and of its environment."""
    tolerance: Tolerance | None = None
    """Overrides the tolerance of the gate; written by hand, kept when scores are accepted."""
    cpu_seconds: Annotated[float, Field(ge=0)] | None = None
    """Median of the algorithm's work; for information."""

    @property
    def title(self) -> str:
        """Name of the scenario in reports."""
        return f"{self.name} on {self.data}"


@pydantic.dataclasses.dataclass(frozen=True, config=_STRICT)
class Baseline:
    """Accepted run: ``conf/baselines/<suite>.json``.

    It holds a scenario at least: requirements that are met would pass alone.

    Raises pydantic.ValidationError if a value is of another type or beyond its range, or a
    scenario or requirement occurs twice.
    """

    suite: Name
    date: Annotated[str, AfterValidator(_day)]
    versions: dict[Name, Name]
    scenarios: Annotated[tuple[Scenario, ...], Field(min_length=1)]
    requirements: tuple[Requirement, ...] = field(default=())

    def __post_init__(self) -> None:
        scenarios = [((one.name, one.data), one.title) for one in self.scenarios]
        requirements = [(one.identity, one.name) for one in self.requirements]
        for found in (scenarios, requirements):
            for identity, name in found:
                if [other for other, _ in found].count(identity) > 1:
                    raise ValueError(f"{name} occurs twice")

    def to_json(self) -> str:
        """Return the file's text; equal baselines give equal bytes."""
        payload = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        payload["scenarios"] = [dataclasses.asdict(scenario) for scenario in self.scenarios]
        payload["requirements"] = [
            one.model_dump(exclude_defaults=True) for one in self.requirements
        ]
        return json.dumps(payload, indent=1, sort_keys=True, allow_nan=False) + "\n"

    def not_accepted(self, jobs: Iterable[Job]) -> list[str]:
        """Return what is to be compared of `jobs` and was not accepted with their seeds."""
        wanted: dict[tuple[str, str], list[int]] = {}
        for job in jobs:
            wanted.setdefault((job.name, job.data), []).append(job.seed)
        return [
            f"{one.title} was accepted with {len(one.scores)} repetitions,"
            f" not with seed {others[0]} of the {len(seeds)} that the suite asks for"
            for one in self.scenarios
            if (seeds := wanted.get((one.name, one.data), []))
            and (others := [seed for seed in seeds if str(seed) not in one.scores])
        ]

    @classmethod
    def from_json(cls, text: str | bytes, where: str = "baseline") -> Baseline:
        """Return the baseline that `to_json` wrote; UsageError if it is not one."""
        try:
            return TypeAdapter(cls).validate_json(text)
        except ValidationError as error:
            raise UsageError(
                f"{where} is not an accepted baseline ({first_fault(error)}): move it away and"
                " write it with `leaseboard gate --update-baseline`"
            ) from error


def accept(
    frame: pd.DataFrame,
    suite: str,
    *,
    date: str,
    versions: Mapping[str, str],
    before: Baseline | None = None,
    quantities: Sequence[Quantity] = (),
) -> Baseline:
    """Return the baseline of a frame of results (see `leaseboard.tasks.score.frame.as_frame`).

    Raises LeaseboardError if a job failed or ended early, or if a requirement is broken or cannot
    be measured, and SkipError if no job is ok: none of them can be a standard for others.

    - `date`: when it is accepted, ISO 8601.
    - `versions`: of the project and of the libraries that scores depend on.
    - `before`: what was accepted so far; scenarios retain a tolerance of their own.
    - `quantities`: the suite's requirements, measured.
    """
    failed = frame[scoreless(frame)]
    if len(failed):
        row = failed.iloc[0]
        raise LeaseboardError(
            f"{len(failed)} of {len(frame)} jobs failed or ended early (first: {row['name']} on"
            f" {row['data']}, {row['status']}: {row['reason']}): fix them or take them out of the"
            " suite before accepting"
        )
    done = frame[frame["status"] == "ok"]
    if not len(done):
        raise SkipError(f"no job of {suite!r} is ok: there is nothing to accept")
    for each in check_requirements(quantities, ()):
        if each.fails:
            raise LeaseboardError(
                f"requirement {each.requirement.name} {each.requirement.bound}: {each.explanation}"
                f" (measured {each.measured:g}): fix it or take it out of the suite before"
                " accepting"
            )
    old = before.scenarios if before else ()
    tolerances = {(scenario.name, scenario.data): scenario.tolerance for scenario in old}
    scenarios = []
    for (label, data), rows in done.groupby(["name", "data"], sort=True):
        first = rows.iloc[0]
        scores = {str(row.seed): float(row.score) for row in rows.itertuples()}
        scenarios.append(
            Scenario(
                name=label,
                data=data,
                metric=first["metric"],
                direction=first["direction"],
                digest=first["digest"],
                version=first["version"],
                scores=scores,
                algorithm=first["algorithm"],
                settings=plain_value(first["settings"]),
                environment=plain_value(first["environment_options"]),
                tolerance=tolerances.get((label, data)),
                cpu_seconds=float(rows["cpu_seconds"].median().round(3)),
            )
        )
    requirements = tuple(one.requirement for one in quantities)
    return Baseline(suite, date, dict(versions), tuple(scenarios), requirements)


def read_baseline(path: Path) -> Baseline | None:
    """Return the accepted baseline at `path`, None if the file is missing."""
    if not path.is_file():
        return None
    return Baseline.from_json(path.read_bytes(), str(path))


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write `baseline`; the file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with naming(path):
        part.write_text(baseline.to_json(), encoding="utf-8")
        part.replace(path)
