"""Promises: what each speaks of, measured in every repetition, and the verdict on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.algorithms.events import BoundsUpdated, Event, LeaseGranted, Measured, of
from leaseboard.tasks.jobs.job import FAILURES
from leaseboard.tasks.jobs.suites.promise import Promise
from leaseboard.tasks.score.selection import REFERENCE, Truth, compare

DERIVED = {
    "curve": "with over: the anytime score over the other's, at its worst moment",
    "loss": "accuracy lost against full-run on the same split (bench samples)",
    "missed_intervals": "intervals without the accuracy of full-run on the same split",
    "recorded.lease": "share of leased configurations whose MLflow run has a lease of the log",
    "recorded.value": "share of bounded ones whose run has a loss or reward of the log",
    "recorded.bounds": "share of bounded ones whose run has a pair of bounds of the log",
}
"""Metrics that are worked out for promises; they come before a job's own of the same name."""

Logged = Mapping[int, Mapping[str, float]]
"""The metrics of configurations' MLflow runs, by number."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a run of one suite left behind."""

    frame: pd.DataFrame
    events: Callable[[str], Sequence[Event]]
    """The event log of a job, by key."""
    logged: Callable[[str], Logged]
    """What MLflow has of a job's configurations, by key."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A promise with its values, one for each repetition, or why there is none.

    `failed` says that a job did not end ok: then the run failed, not the promise alone.
    """

    promise: Promise
    values: tuple[float, ...] = ()
    problem: str = ""
    failed: bool = False


def measure(promise: Promise, run: Evidence) -> Quantity:
    """Return the values of a promise in a run, in the order of the repetitions."""
    rows = _rows(run.frame, promise.algorithm, promise.data)
    others = _rows(run.frame, promise.over, promise.data) if promise.over else {}
    labels = [promise.algorithm, *([promise.over] if promise.over else [])]
    mine = run.frame[run.frame["label"].isin(labels) & (run.frame["data"] == promise.data)]
    for row in mine.itertuples():
        if row.status != "ok":
            reason = f"{row.label}, seed {row.seed}: {row.status}: {row.reason}"
            return Quantity(promise, problem=reason, failed=row.status in FAILURES)
    if not rows:
        return Quantity(promise, problem="no job of it ran")
    if promise.over and rows.keys() - others.keys():
        return Quantity(promise, problem=f"a repetition has no result of {promise.over}")
    try:
        values = tuple(_value(promise, row, others.get(at), run) for at, row in rows.items())
    except LeaseboardError as error:
        return Quantity(promise, problem=str(error))
    return Quantity(promise, values)


def _rows(frame: pd.DataFrame, label: str, data: str) -> dict[int, Any]:
    mine = frame[(frame["label"] == label) & (frame["data"] == data)].sort_values("repetition")
    return {int(row.repetition): row for row in mine.itertuples()}


def _value(promise: Promise, row: Any, other: Any | None, run: Evidence) -> float:
    if promise.metric == "curve":
        if other is None:
            raise LeaseboardError("metric curve needs over: name the algorithm to compare with")
        return _worst_ratio(run.events(row.key), run.events(other.key), row.direction)
    value = _of_job(promise.metric, row, run)
    return value if other is None else _ratio(value, _of_job(promise.metric, other, run))


def _of_job(metric: str, row: Any, run: Evidence) -> float:
    if metric in ("loss", "missed_intervals"):
        return _selected(metric, row, run)
    if metric in DERIVED:
        return _recorded(metric, run.events(row.key), run.logged(row.key))
    if metric in ("score", "units"):
        return float(getattr(row, metric))
    if metric not in row.metrics:
        known = ", ".join(["score", "units", *sorted(row.metrics), *DERIVED])
        raise LeaseboardError(f"no metric {metric!r} in its results: there are {known}")
    value = row.metrics[metric]
    return math.nan if value is None else float(value)


def _worst_ratio(events: Sequence[Event], others: Sequence[Event], direction: str) -> float:
    """Return the greatest ratio of two losses, or the least of two rewards, at any moment."""
    curve, other = ({e.at: e.value for e in of(log, Measured)} for log in (events, others))
    ratios = [_ratio(curve[at], other[at]) for at in curve.keys() & other.keys()]
    if not ratios:
        raise LeaseboardError("the two anytime curves have no moment in common")
    if any(math.isnan(ratio) for ratio in ratios):
        return math.nan
    return max(ratios) if direction == "min" else min(ratios)


def _ratio(value: float, other: float) -> float:
    """Return the ratio; equal values, two zeros among them, give 1."""
    if value == other:
        return 1.0
    return value / other if other else math.copysign(math.inf, value)


def _selected(metric: str, row: Any, run: Evidence) -> float:
    """Return a metric against Full-run on the same data, split and configurations."""
    frame = run.frame
    same = (frame["data"] == row.data) & (frame["environment_seed"] == row.environment_seed)
    truth = Truth()
    for full in frame[same & (frame["algorithm"] == REFERENCE)].itertuples():
        truth.add(run.events(str(full.key)))
    found = compare(run.events(row.key), truth)
    if found is None or found.loss is None:
        raise LeaseboardError(f"{metric} needs {REFERENCE} on the same data: add it to the suite")
    if metric == "loss":
        return found.loss
    if not found.calibration.intervals:
        raise LeaseboardError("its log holds no interval")
    return float(found.calibration.above + found.calibration.below)


def _recorded(metric: str, events: Sequence[Event], logged: Logged) -> float:
    """Return the share of configurations of which MLflow has what the log says."""
    said: dict[int, set[tuple[float, ...]]] = {}
    if metric == "recorded.lease":
        for lease in of(events, LeaseGranted):
            said.setdefault(lease.configuration, set()).add((lease.amount,))
    else:
        bounds = metric == "recorded.bounds"
        for seen in of(events, BoundsUpdated):
            values = (seen.lower, seen.upper) if bounds else (seen.value,)
            said.setdefault(seen.configuration, set()).add(values)
    if not said:
        raise LeaseboardError(f"its log says nothing of {metric.removeprefix('recorded.')}")
    kept = sum(_read(metric, logged.get(number, {})) in told for number, told in said.items())
    return kept / len(said)


def _read(metric: str, of_run: Mapping[str, float]) -> tuple[float | None, ...]:
    match metric:
        case "recorded.lease":
            return (of_run.get("lease"),)
        case "recorded.value":
            return (of_run.get("loss", of_run.get("reward")),)
        case _:
            return of_run.get("bound.lower"), of_run.get("bound.upper")


FAILING = ("broken", "missing", "changed", "failed")


@dataclass(frozen=True, slots=True)
class PromiseVerdict:
    """The verdict on one promise."""

    promise: Promise
    verdict: str
    """``kept``, ``new`` (kept, and not accepted yet), ``broken``, ``missing`` (not measured),
    ``changed`` (the accepted bound is another one) or ``failed`` (a job did not end ok)."""
    explanation: str
    measured: float = math.nan
    """The value that is nearest to the bound or farthest beyond it; NaN if there is none."""
    n: int = 0
    n_broken: int = 0
    n_allowed: int = 0
    """Repetitions, those that break it, and how many of them chance explains."""

    @property
    def fails(self) -> bool:
        """Whether the verdict alone fails the gate."""
        return self.verdict in FAILING


def check_promises(
    quantities: Sequence[Quantity], accepted: Iterable[Promise]
) -> tuple[PromiseVerdict, ...]:
    """Judge what was measured, and find what was accepted and is not measured any more."""
    rules = {promise.identity: promise for promise in accepted}
    found = [_judged(one, rules.pop(one.promise.identity, None)) for one in quantities]
    gone = "accepted, and no promise of the suite any more: take it back, or accept anew"
    found += [PromiseVerdict(promise, "missing", gone) for promise in rules.values()]
    return tuple(found)


def _judged(quantity: Quantity, accepted: Promise | None) -> PromiseVerdict:
    promise = quantity.promise
    if not quantity.values:
        verdict = "failed" if quantity.failed else "missing"
        return PromiseVerdict(promise, verdict, quantity.problem or "not measured")
    excesses = [promise.excess(value) for value in quantity.values]
    n, n_broken = len(excesses), sum(excess > 0 for excess in excesses)
    n_allowed = promise.allowed(n)
    worst = quantity.values[max(range(n), key=lambda i: excesses[i])]
    if n_broken > n_allowed:
        verdict = "broken"
        allowed = f", chance explains {n_allowed}" if promise.chance else ""
        text = f"broken in {n_broken} of {n} repetitions{allowed}"
    elif accepted is not None and accepted.rule != promise.rule:
        verdict, text = "changed", f"accepted was {accepted.bound}: accept anew"
    elif accepted is None:
        verdict, text = "new", "not accepted yet: accept it to watch it"
    else:
        verdict, text = "kept", "kept in every repetition"
        if n_broken:
            text = f"kept but in {n_broken} of {n} repetitions, as chance explains"
    return PromiseVerdict(promise, verdict, text, worst, n, n_broken, n_allowed)
