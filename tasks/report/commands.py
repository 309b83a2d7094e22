"""How to repeat a number: the command that runs the same job again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import yaml

from tasks.jobs.job import Job
from tasks.jobs.suites.suite import Suite


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
