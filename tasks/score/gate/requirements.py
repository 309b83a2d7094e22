"""Requirements: the quantity of each, measured in every repetition, and the verdict on it."""

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.jobs.job import FAILURES
from leaseboard.tasks.jobs.suites.requirement import Requirement


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
    labels = list(filter(None, (requirement.algorithm, requirement.over)))
    mine = frame[frame["name"].isin(labels) & (frame["data"] == requirement.data)]
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
        values = tuple(_value(requirement.metric, row, others.get(at)) for at, row in rows.items())
    except LeaseboardError as error:
        return Quantity(requirement, problem=str(error))
    return Quantity(requirement, values)


def _value(metric: str, row: Any, other: Any | None) -> float:
    value = _of_job(metric, row)
    return value if other is None else _ratio(value, _of_job(metric, other))


def _of_job(metric: str, row: Any) -> float:
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


def _ratio(value: float, other: float) -> float:
    """Return the ratio; equal values, two zeros among them, give 1."""
    if value == other:
        return 1.0
    return value / other if other else math.copysign(math.inf, value)
