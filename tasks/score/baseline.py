"""Accepted scores of every scenario, in one file a suite."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pandas as pd
from pydantic import Field, FiniteFloat, ValidationError, model_validator

from leaseboard.algorithms.errors import LeaseboardError, SkipError, UsageError
from leaseboard.tasks.folder.results import write_atomically
from leaseboard.tasks.jobs.checks import Requirement
from leaseboard.tasks.jobs.job import FAILURES, first_fault, plain_value
from leaseboard.tasks.machine.yaml_files import Strict
from leaseboard.tasks.score.frame import scoreless


class Scenario(Strict):
    """Accepted scores of one algorithm on one dataset."""

    name: str
    data: str
    metric: str
    direction: Literal["min", "max"]
    digest: str
    scores: Annotated[dict[str, FiniteFloat], Field(min_length=1)]
    """``{seed: score}``, the seeds as text."""
    algorithm: str
    """The registered name behind the label."""
    settings: dict[str, Any]
    environment: dict[str, Any]
    """Of the algorithm, defaults included, and of its environment."""
    tolerance: Annotated[float, Field(ge=0, lt=1)] | None = None
    """Overrides the tolerance of the gate; written by hand, kept when scores are accepted. At 1
    the scores may double: a gate that compares nothing."""


class Baseline(Strict):
    """Accepted run: ``conf/baselines/<suite>.json``."""

    suite: str
    date: str
    versions: dict[str, str]
    scenarios: Annotated[tuple[Scenario, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        places = [(one.name, one.data) for one in self.scenarios]
        if len(set(places)) < len(places):
            raise ValueError("a scenario occurs twice")
        return self

    def to_json(self) -> str:
        """Return the file's text; equal baselines give equal bytes."""
        return json.dumps(self.model_dump(), indent=1, sort_keys=True, allow_nan=False) + "\n"


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
    for one in quantities:
        broken = sum(one.requirement.excess(value) > 0 for value in one.values)
        if not one.values or broken > one.requirement.allowed(len(one.values)):
            raise LeaseboardError(
                f"requirement {one.requirement.name} {one.requirement.bound} is not met"
                f" ({one.problem or [*one.values]}): fix it or take it out of the suite before"
                " accepting"
            )
    old = before.scenarios if before else ()
    tolerances = {(scenario.name, scenario.data): scenario.tolerance for scenario in old}
    scenarios = []
    for (label, data), rows in done.groupby(["name", "data"], sort=True):
        first = rows.iloc[0]
        scenarios.append(
            Scenario(
                **first[["metric", "direction", "digest", "algorithm"]],
                name=label,
                data=data,
                scores={str(row.seed): float(row.score) for row in rows.itertuples()},
                settings=plain_value(first["settings"]),
                environment=plain_value(first["environment_options"]),
                tolerance=tolerances.get((label, data)),
            )
        )
    return Baseline(suite=suite, date=date, versions=dict(versions), scenarios=tuple(scenarios))


def read_baseline(path: Path) -> Baseline | None:
    """Return the accepted baseline at `path`, None if the file is missing.

    Raises UsageError if the file is not one.
    """
    if not path.is_file():
        return None
    try:
        return Baseline.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise UsageError(
            f"{path} is not an accepted baseline ({first_fault(error)}): move it away and"
            " write it with `leaseboard gate --update-baseline`"
        ) from error


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write `baseline`; the file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, baseline.to_json())


@dataclass(frozen=True, slots=True)
class Quantity:
    """A requirement with its values, one for each repetition, or why they are missing.

    `failed` says that a job did not end ok: then the run failed, not the requirement alone.
    """

    requirement: Requirement
    values: tuple[float, ...] = ()
    problem: str = ""
    failed: bool = False


def measure(requirement: Requirement, frame: pd.DataFrame) -> Quantity:
    """Return the values of a requirement in results, in the order of the repetitions."""
    own = (frame["name"] == requirement.algorithm) & (frame["data"] == requirement.data)
    rows = list(frame[own].sort_values("repetition", kind="stable").itertuples())
    for row in rows:
        if row.status != "ok":
            reason = f"{row.name}, seed {row.seed}: {row.status}: {row.reason}"
            return Quantity(requirement, problem=reason, failed=row.status in FAILURES)
    if not rows:
        return Quantity(requirement, problem="no job of it ran")
    try:
        values = tuple(_value(requirement.metric, row) for row in rows)
    except LeaseboardError as error:
        return Quantity(requirement, problem=str(error))
    return Quantity(requirement, values)


def _value(metric: str, row: Any) -> float:
    if metric in ("score", "units"):
        return float(getattr(row, metric))
    if metric not in row.metrics:
        known = ", ".join(["score", "units", *sorted(row.metrics)])
        raise LeaseboardError(
            f"no metric {metric!r} in its results: there are {known}; those of selections need"
            " full-run on the same data"
        )
    value = row.metrics[metric]
    return math.nan if value is None else float(value)
