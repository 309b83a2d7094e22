"""How to repeat the board: the commands, the data with their digests, the versions."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd
import yaml

from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.report.section import Material, Names, Section, named
from leaseboard.tasks.report.shell import packages


@dataclass(frozen=True, kw_only=True)
class Repeat(Section):
    """What to type, on which data, with which packages."""

    template: ClassVar[str] = "sections/repeat.html"

    suite: str
    command: str
    stands_for: Sequence[str]
    data_sets: Sequence[Mapping[str, str]]
    packages: Mapping[str, str]


def section(made: Material) -> Section:
    """All that it takes to get the same numbers."""
    first = next(made.frame.itertuples(), None)
    return Repeat(
        "repeat",
        "How to repeat it",
        nav="Repeat it",
        suite=(made.suite.name if made.suite else "") or made.folder,
        command=command_of(first, commands_of(made.suite)) if first is not None else "",
        stands_for=made.suite.stands_for() if made.suite else [],
        data_sets=data_sets(made.frame, made.names),
        packages=packages(),
    )


def data_sets(frame: pd.DataFrame, names: Names) -> list[dict[str, str]]:
    """Every data set with its digest, source and licence as the results record them."""
    found = []
    for data, rows in frame.groupby("data", sort=False):
        digests = sorted(set(rows["digest"]) - {""})
        found.append(
            {
                "name": named(str(data), names),
                "reference": str(data),
                "digest": ", ".join(digests) or "not read",
                "source": _first(rows, "source"),
                "licence": _first(rows, "licence"),
            }
        )
    return found


def _first(rows: pd.DataFrame, column: str) -> str:
    if column not in rows.columns:
        return ""
    return next((str(value) for value in rows[column] if value), "")


def race_command(job: Job) -> str:
    """The `leaseboard race` that does the same work as a suite's `job`."""
    words = ["leaseboard", "race", job.algorithm, job.data, "--seed", str(job.seed)]
    if job.environment_seed != job.seed:
        words += ["--environment-seed", str(job.environment_seed)]
    if job.budget is not None:
        words += ["--budget", f"{job.budget:g}"]
    for key, value in {**job.settings, **job.bench}.items():
        words += ["--set", f"{key}={_value(value)}"]
    return shlex.join(words)


def commands_of(suite: Suite | None) -> Mapping[tuple[str, str, int], str]:
    """``{(label, data, repetition): command}`` of every job of a suite."""
    if suite is None:
        return {}
    return {
        (job.label or job.algorithm, job.data, job.repetition): race_command(job)
        for job in suite.jobs()
    }


def command_of(row: Any, commands: Mapping[tuple[str, str, int], str]) -> str:
    """The command of the job whose results are `row`: its suite's, else one with its seed."""
    return commands.get((row.label, row.data, row.repetition)) or shlex.join(
        ["leaseboard", "race", row.algorithm, row.data, "--seed", str(row.seed)]
    )


def _value(value: Any) -> str:
    if isinstance(value, str):
        return value
    dumped: str = yaml.safe_dump(value, default_flow_style=True, width=10**6)
    return dumped.removesuffix("...\n").strip()
