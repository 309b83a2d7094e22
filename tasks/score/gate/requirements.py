"""Requirements: the quantity of each, measured in every repetition, and the verdict on it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.algorithms.events import Event
from leaseboard.tasks.jobs.job import FAILURES
from leaseboard.tasks.jobs.suites.requirement import Requirement
from leaseboard.tasks.score.papers import REFERENCE, Truth, compare

DERIVED = {
    "loss": "accuracy lost against full-run on the same split (environment samples)",
    "missed_intervals": "intervals without the accuracy of full-run on the same split",
}
"""Metrics that are derived for requirements; they come before a job's own of the same name."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Results and event logs of one suite's run."""

    frame: pd.DataFrame
    events: Callable[[str], Sequence[Event]]
    """The event log of a job, by key."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A requirement with its values, one for each repetition, or why they are missing.

    `failed` says that a job did not end ok: then the run failed, not the requirement alone.
    """

    requirement: Requirement
    values: tuple[float, ...] = ()
    problem: str = ""
    failed: bool = False


def measure(requirement: Requirement, run: Evidence) -> Quantity:
    """Return the values of a requirement in a run, in the order of the repetitions."""
    labels = list(filter(None, (requirement.algorithm, requirement.over)))
    mine = run.frame[run.frame["name"].isin(labels) & (run.frame["data"] == requirement.data)]
    of_label: dict[str | None, dict[int, Any]] = {label: {} for label in labels}
    for row in mine.sort_values("repetition", kind="stable").itertuples():
        if row.status != "ok":
            reason = f"{row.name}, seed {row.seed}: {row.status}: {row.reason}"
            return Quantity(requirement, problem=reason, failed=row.status in FAILURES)
        of_label[row.name][int(row.repetition)] = row
    rows, others = of_label[requirement.algorithm], of_label.get(requirement.over, {})
    if not rows:
        return Quantity(requirement, problem="no job of it ran")
    if requirement.over and rows.keys() - others.keys():
        return Quantity(requirement, problem=f"a repetition has no result of {requirement.over}")
    try:
        values = tuple(_value(requirement, row, others.get(at), run) for at, row in rows.items())
    except LeaseboardError as error:
        return Quantity(requirement, problem=str(error))
    return Quantity(requirement, values)


def _value(requirement: Requirement, row: Any, other: Any | None, run: Evidence) -> float:
    value = _of_job(requirement.metric, row, run)
    return value if other is None else _ratio(value, _of_job(requirement.metric, other, run))


def _of_job(metric: str, row: Any, run: Evidence) -> float:
    if metric in ("loss", "missed_intervals"):
        return _selected(metric, row, run)
    if metric in ("score", "units"):
        return float(getattr(row, metric))
    if metric not in row.metrics:
        known = ", ".join(["score", "units", *sorted(row.metrics), *DERIVED])
        raise LeaseboardError(f"no metric {metric!r} in its results: there are {known}")
    value = row.metrics[metric]
    return math.nan if value is None else float(value)


def _ratio(value: float, other: float) -> float:
    """Return the ratio; equal values, two zeros among them, give 1."""
    if value == other:
        return 1.0
    return value / other if other else math.copysign(math.inf, value)


def _selected(metric: str, row: Any, run: Evidence) -> float:
    """Return a metric against Full-run on the same data, split and configurations."""
    frame, truth = run.frame, Truth()
    same = (frame["data"] == row.data) & (frame["environment_seed"] == row.environment_seed)
    for full in frame[same & (frame["algorithm"] == REFERENCE)].itertuples():
        truth.add(run.events(str(full.key)))
    found = compare(run.events(row.key), truth)
    if found is None or math.isnan(found.loss):
        raise LeaseboardError(f"{metric} needs {REFERENCE} on the same data: add it to the suite")
    if metric == "loss":
        return found.loss
    if not found.intervals:
        raise LeaseboardError("its log holds no interval")
    return float(found.above + found.below)
