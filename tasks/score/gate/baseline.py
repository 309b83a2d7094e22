"""What was accepted: the scores of every scenario and the promises, in one file a suite."""

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

from leaseboard.algorithms.errors import UsageError, naming
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
from leaseboard.tasks.jobs.suites.promise import Promise
from leaseboard.tasks.score.frame import scoreless
from leaseboard.tasks.score.gate.promises import Quantity, check_promises


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
    """What was accepted of one algorithm on one data set.

    Raises pydantic.ValidationError if a value is of another type or beyond its range.
    """

    label: Title
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
    bench: Finite
    """Of the algorithm, defaults included, and of its bench."""
    tolerance: Tolerance | None = None
    """Overrides the gate's, of an exact scenario too; written by hand, kept by `accept`."""
    cpu_seconds: Annotated[float, Field(ge=0)] | None = None
    """Median of the algorithm's work; for information."""

    @property
    def name(self) -> str:
        """What reports call the scenario."""
        return f"{self.label} on {self.data}"


@pydantic.dataclasses.dataclass(frozen=True, config=_STRICT)
class Baseline:
    """An accepted run: ``conf/baselines/<suite>.json``.

    It holds a scenario at least: promises that are kept would pass alone.

    Raises pydantic.ValidationError if a value is of another type or beyond its range, or a
    scenario or promise stands twice.
    """

    suite: Name
    date: Annotated[str, AfterValidator(_day)]
    versions: dict[Name, Name]
    scenarios: Annotated[tuple[Scenario, ...], Field(min_length=1)]
    promises: tuple[Promise, ...] = field(default=())

    def __post_init__(self) -> None:
        seen = set()
        for one in (*self.scenarios, *self.promises):
            same = one.identity if isinstance(one, Promise) else (one.label, one.data)
            if same in seen:
                raise ValueError(f"{one.name} stands twice")
            seen.add(same)

    def to_json(self) -> str:
        """Return the file's text; equal baselines give equal bytes."""
        payload = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        payload["scenarios"] = [dataclasses.asdict(scenario) for scenario in self.scenarios]
        payload["promises"] = [one.model_dump(exclude_defaults=True) for one in self.promises]
        return json.dumps(payload, indent=1, sort_keys=True, allow_nan=False) + "\n"

    def lacking(self, jobs: Iterable[Job]) -> list[str]:
        """Return what is to be compared of `jobs` and was not accepted with their seeds."""
        accepted = {(one.label, one.data): one for one in self.scenarios}
        wanted: dict[tuple[str, str], list[Job]] = {}
        for job in jobs:
            wanted.setdefault((job.label, job.data), []).append(job)
        return [
            f"{accepted[place].name} was accepted with {len(accepted[place].scores)} repetitions,"
            f" not with seed {next(iter(others))} of the {len(mine)} that the suite asks for"
            for place, mine in wanted.items()
            if place in accepted
            and (others := {job.seed for job in mine} - set(map(int, accepted[place].scores)))
        ]

    @classmethod
    def from_json(cls, text: str | bytes, where: str = "baseline") -> Baseline:
        """Return the baseline that `to_json` wrote; UsageError if it is not one."""
        try:
            return TypeAdapter(cls).validate_json(text)
        except ValidationError as error:
            raise UsageError(
                f"{where} is no accepted baseline ({first_fault(error)}): move it away and write"
                " it with `leaseboard accept`"
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

    Raises UsageError if a job failed or ended early, if no job is ok, or if a promise is broken or
    cannot be measured: none of them can be a standard for others.

    - `date`: when it is accepted, ISO 8601.
    - `versions`: of the project and of the libraries that scores depend on.
    - `before`: what was accepted so far: scenarios with a tolerance of their own keep it.
    - `quantities`: the suite's promises, measured.
    """
    failed = frame[scoreless(frame)]
    if len(failed):
        row = failed.iloc[0]
        raise UsageError(
            f"{len(failed)} of {len(frame)} jobs failed or ended early (first: {row['label']} on"
            f" {row['data']}, {row['status']}: {row['reason']}): mend them or take them out of the"
            " suite before accepting"
        )
    done = frame[frame["status"] == "ok"]
    if not len(done):
        raise UsageError(f"no job of {suite!r} is ok: there is nothing to accept")
    for kept in check_promises(quantities, ()):
        if kept.fails:
            raise UsageError(
                f"promise {kept.promise.name} {kept.promise.bound}: {kept.explanation}"
                f" (measured {kept.measured:g}): mend it or take it out of the suite before"
                " accepting"
            )
    old = before.scenarios if before else ()
    tolerances = {(scenario.label, scenario.data): scenario.tolerance for scenario in old}
    scenarios = []
    for (label, data), rows in done.groupby(["label", "data"], sort=True):
        first = rows.iloc[0]
        scores = {str(row.seed): float(row.score) for row in rows.itertuples()}
        scenarios.append(
            Scenario(
                label=label,
                data=data,
                metric=first["metric"],
                direction=first["direction"],
                digest=first["digest"],
                version=first["version"],
                scores=scores,
                algorithm=first["algorithm"],
                settings=plain_value(first["settings"]),
                bench=plain_value(first["bench_options"]),
                tolerance=tolerances.get((label, data)),
                cpu_seconds=float(rows["cpu_seconds"].median().round(3)),
            )
        )
    promises = tuple(one.promise for one in quantities)
    return Baseline(suite, date, dict(versions), tuple(scenarios), promises)


def dropped(before: Baseline | None, after: Baseline) -> list[str]:
    """Return what was accepted `before` and is not any more: scenarios, then promises."""
    if before is None:
        return []
    scores = {scenario.name for scenario in after.scenarios}
    promises = {promise.identity for promise in after.promises}
    return [
        *(scenario.name for scenario in before.scenarios if scenario.name not in scores),
        *(one.name for one in before.promises if one.identity not in promises),
    ]


def read_baseline(path: Path) -> Baseline | None:
    """Return the accepted baseline at `path`, None if there is none."""
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
