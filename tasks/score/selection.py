"""Configuration selection held against Full-run: speed-up, loss, calibration, ranks, sweeps."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.algorithms.abc_selection.calibration import Calibration, calibrate, real_accuracies
from leaseboard.algorithms.events import (
    ChampionChanged,
    ConfigurationAdmitted,
    ConfigurationFailed,
    Eliminated,
    Event,
    Finished,
    ProbeFinished,
    Started,
    of,
)
from leaseboard.tasks.jobs.benches.kinds import choosing
from leaseboard.tasks.score.frame import finished

_ROUNDING = 1e-12
REFERENCE = "full-run"
"""The registered name of what trains every configuration in full."""


@dataclass(slots=True)
class Truth:
    """What full training of each configuration gave and cost, by its hyperparameters as text.

    Configurations are matched by what they are, not by number: a draw of 80 begins with the
    draw of 20, so one Full-run of 80 is the reference of both.
    """

    accuracy: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    rows: int = 0

    def add(self, events: Sequence[Event]) -> None:
        """Take in the log of a Full-run."""
        names = configurations(events)
        for index, accuracy in real_accuracies(events).items():
            self.accuracy[names[index]] = accuracy
        for probe in of(events, ProbeFinished):
            self.rows = max(self.rows, probe.rows)
            self.seconds[names[probe.configuration]] = probe.cpu_seconds

    def by_number(self, events: Sequence[Event]) -> dict[int, float]:
        """The real accuracies by the numbers that a log gives its configurations."""
        names = configurations(events)
        return {
            number: self.accuracy[name] for number, name in names.items() if name in self.accuracy
        }


@dataclass(frozen=True, slots=True)
class Selection:
    """One finished run on the samples bench beside Full-run over the same configurations."""

    key: str
    label: str
    data: str
    algorithm: str
    """The registered name."""
    settings: Mapping[str, Any]
    """All of the algorithm's."""
    configurations: int
    """How many were admitted."""
    speedup: float | None
    speedup_trained: float | None
    """Scenario (i): CPU seconds of Full-run over those of the selection; (ii): over those of the
    selection and one full training of its choice. None if Full-run trained fewer."""
    loss: float | None
    relative_loss: float | None
    """A_i* - A_i', also divided by A_i*."""
    epsilon: float | None
    """The loss that the algorithm was told to allow, None if it knows no such setting."""
    kept: bool | None
    """Whether the loss is within epsilon; None where nothing is promised, because the run was cut
    short with several configurations left, or has no epsilon."""
    probes: int
    largest_rows: int
    calibration: Calibration


def configurations(events: Sequence[Event]) -> dict[int, str]:
    """Every admitted configuration's hyperparameters as text, by number."""
    return {
        event.configuration: json.dumps(dict(event.parameters), sort_keys=True, default=str)
        for event in of(events, ConfigurationAdmitted)
    }


def compare(
    events: Sequence[Event],
    truth: Truth,
    *,
    key: str = "",
    label: str = "",
    data: str = "",
    algorithm: str = "",
) -> Selection | None:
    """One run's log beside the truth; None for an unfinished log or without any truth."""
    started = next(iter(of(events, Started)), None)
    finished = next(iter(of(events, Finished)), None)
    if started is None or finished is None or not truth.rows:
        return None
    names = set(configurations(events).values())
    seconds = sum(truth.seconds[name] for name in names if name in truth.seconds)
    complete = names <= truth.seconds.keys()
    spent = float(finished.metrics.get("selection_cpu_seconds", 0.0))
    trained = spent + float(finished.metrics.get("training_cpu_seconds", 0.0))
    real = truth.by_number(events)
    result = calibrate(events, real, truth.rows)
    loss = result.loss if complete else None
    epsilon = started.settings.get("epsilon")
    kept = None
    if epsilon is not None and loss is not None and decided(events, truth.rows):
        kept = loss <= float(epsilon) + _ROUNDING
    return Selection(
        key=key,
        label=label,
        data=data,
        algorithm=algorithm,
        settings=started.settings,
        configurations=len(configurations(events)),
        speedup=seconds / spent if complete and spent else None,
        speedup_trained=seconds / trained if complete and trained else None,
        loss=loss,
        relative_loss=None if loss is None else loss / max(real.values()),
        epsilon=None if epsilon is None else float(epsilon),
        kept=kept,
        probes=len(of(events, ProbeFinished)),
        largest_rows=max((probe.rows for probe in of(events, ProbeFinished)), default=0),
        calibration=result,
    )


def decided(events: Iterable[Event], full: int) -> bool:
    """Whether all configurations but one left, unless they were trained on all `full` rows.

    A run that a time limit or a budget ended before that has guessed.
    """
    log = list(events)
    left = {event.configuration for event in of(log, Eliminated)}
    left |= {event.configuration for event in of(log, ConfigurationFailed)}
    left |= {probe.configuration for probe in of(log, ProbeFinished) if probe.rows == full}
    admitted = {event.configuration for event in of(log, ConfigurationAdmitted)}
    return len(admitted - left) <= 1


def with_metrics(frame: pd.DataFrame, found: Iterable[Selection]) -> pd.DataFrame:
    """The frame with ``speedup``, ``speedup_trained``, ``loss`` and ``relative_loss`` as metrics.

    So a suite's published numbers can name them.
    """
    derived = {
        selection.key: {
            name: value
            for name in ("speedup", "speedup_trained", "loss", "relative_loss")
            if (value := getattr(selection, name)) is not None
        }
        for selection in found
    }
    metrics = [
        {**(own or {}), **derived.get(key, {})}
        for key, own in zip(frame["key"], frame["metrics"], strict=True)
    ]
    return frame.assign(metrics=pd.Series(metrics, index=frame.index, dtype=object))


def champion_of(events: Sequence[Event]) -> int | None:
    """The last champion of a log."""
    changes = of(events, ChampionChanged)
    return changes[-1].configuration if changes else None


TOLERATED = 0.01, 0.05
"""Accuracies that may be lost: at each of them everybody is ranked."""

RULE = (
    "On a data set those come first who lost at most epsilon in every repetition, whoever took the"
    " fewest CPU seconds before the others; then those who lost more, by their mean loss; then"
    " those who failed in a repetition. Who was skipped on a data set has no rank there."
)


@dataclass(frozen=True, slots=True)
class Standing:
    """One algorithm over all data sets; NaN where it has no rank or no finished run.

    Attributes
    ----------
    ranks : tuple of float
        The mean rank by `RULE`, for each of `TOLERATED`.
    by_loss, by_seconds : float
        The mean ranks by mean loss alone and by mean CPU seconds alone.
    loss, worst : float
        The accuracy of Full-run's choice less that of its own, both trained in full: the mean and
        the largest.
    above : tuple of int
        How many runs lost more, for each of `TOLERATED`.
    cpu_seconds, wall_seconds : float
        Of the selection alone, the mean.
    speedup : float
        Full-run's CPU seconds over its own, the geometric mean; infinite if it takes none.
    """

    label: str
    ranks: tuple[float, ...]
    by_loss: float
    by_seconds: float
    loss: float
    worst: float
    above: tuple[int, ...]
    cpu_seconds: float
    wall_seconds: float
    speedup: float
    finished: int
    failed: int
    skipped: int


def standings(frame: pd.DataFrame) -> list[Standing]:
    """Every algorithm of a run of selections, best first by the first of `TOLERATED`.

    There are none unless all chose among equally many configurations, and Full-run is there to
    tell what was lost.

    - `frame`: as `leaseboard.tasks.score.frame.as_frame` gives it.
    """
    runs = _runs(frame)
    if runs is None or runs["label"].nunique() < 2:
        return []
    ranks = _ranks(runs)
    found = []
    for label, mine in runs.groupby("label", sort=False):
        ok = mine[mine["fine"]]
        at = ranks.loc[label] if label in ranks.index else pd.Series(np.nan, ranks.columns)
        found.append(
            Standing(
                label=str(label),
                ranks=tuple(float(at[each]) for each in TOLERATED),
                by_loss=float(at["loss"]),
                by_seconds=float(at["seconds"]),
                loss=float(ok["loss"].mean()),
                worst=float(ok["loss"].max()),
                above=tuple(int((ok["loss"] > each).sum()) for each in TOLERATED),
                cpu_seconds=float(ok["seconds"].mean()),
                wall_seconds=float(ok["wall"].mean()),
                speedup=_speedup(ok),
                finished=len(ok),
                failed=int(mine["failed"].sum()),
                skipped=int((mine["status"] == "skipped").sum()),
            )
        )
    return sorted(found, key=lambda each: tuple(np.nan_to_num(each.ranks, nan=np.inf)))


def _runs(frame: pd.DataFrame) -> pd.DataFrame | None:
    """The jobs beside Full-run's; None where they are no selections of one size beside it."""
    fine = finished(frame)
    done = frame[fine]
    if not len(done) or not done["bench"].isin(choosing("configuration")).all():
        return None
    if len({metrics.get("configurations") for metrics in done["metrics"]}) > 1:
        return None
    measured = [each or {} for each in frame["metrics"]]
    runs = frame[["label", "data", "repetition", "status", "score"]].assign(
        fine=fine,
        failed=~fine & (frame["status"] != "skipped"),
        seconds=[each.get("selection_cpu_seconds", np.nan) for each in measured],
        wall=[each.get("selection_wall_seconds", np.nan) for each in measured],
    )
    full = runs[fine & (frame["algorithm"] == REFERENCE)].drop_duplicates(["data", "repetition"])
    if not len(full):
        return None
    runs = runs.merge(
        full[["data", "repetition", "score", "seconds"]],
        on=["data", "repetition"],
        suffixes=("", "_of_full_run"),
    )
    loss = runs["score_of_full_run"].astype(float) - runs["score"].astype(float)
    return runs.assign(loss=loss.round(12))


def _ranks(runs: pd.DataFrame) -> pd.DataFrame:
    """The mean ranks of each label, a column for each of `TOLERATED`, ``loss`` and ``seconds``."""
    cells = (
        runs.groupby(["label", "data"], sort=False)
        .agg(
            skipped=("status", lambda each: (each == "skipped").any()),
            failed=("failed", "any"),
            loss=("loss", "mean"),
            worst=("loss", "max"),
            seconds=("seconds", "mean"),
        )
        .reset_index()
    )
    cells = cells[~cells["skipped"]]
    failed = cells["failed"].astype(int)
    ranks = {
        "loss": _rank(cells, failed, cells["loss"]),
        "seconds": _rank(cells, failed, cells["seconds"]),
    }
    for epsilon in TOLERATED:
        over = (cells["worst"] > epsilon) | cells["failed"]
        value = cells["seconds"].where(~over, cells["loss"])
        ranks[epsilon] = _rank(cells, over.astype(int) + failed, value)
    return pd.DataFrame(ranks).groupby(cells["label"]).mean()


def _rank(cells: pd.DataFrame, first: pd.Series, then: pd.Series) -> pd.Series:
    """On each data set by `first`, equals by `then`, of which none is the last; ties shared."""
    order = pd.DataFrame({"first": first, "then": then.astype(float).fillna(np.inf)})
    places = order.groupby(["first", "then"]).ngroup()
    return places.groupby(cells["data"]).rank()


def _speedup(ok: pd.DataFrame) -> float:
    with np.errstate(divide="ignore"):
        times = ok["seconds_of_full_run"].to_numpy(float) / ok["seconds"].to_numpy(float)
        return float(np.exp(np.log(times).mean())) if len(times) else np.nan


COUNT = "configurations"
"""The one setting that is the bench's: how many configurations there were to choose from."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """Runs of one algorithm, all settings alike but one."""

    name: str
    """The algorithm, with what sets its settings apart from those of its other sweeps."""
    points: dict[str, dict[Any, list[Selection]]]
    """By data set, the runs (its repetitions) at every value of the setting, in rising order."""

    @property
    def runs(self) -> list[Selection]:
        """All of them."""
        return [run for values in self.points.values() for runs in values.values() for run in runs]


def sweeps(found: Sequence[Selection], setting: str) -> list[Sweep]:
    """Every group of runs in which `setting` alone takes two values or more.

    `setting`: an algorithm's setting, or ``configurations``.
    """
    groups: dict[str, list[Selection]] = {}
    for run in found:
        known = _identity(run)
        if setting in known:
            rest = {name: value for name, value in known.items() if name != setting}
            groups.setdefault(json.dumps(rest, sort_keys=True, default=str), []).append(run)
    swept = {
        key: runs
        for key, runs in groups.items()
        if len({_identity(run)[setting] for run in runs}) > 1
    }
    names = _names({key: _identity(runs[0]) for key, runs in swept.items()}, setting)
    return [Sweep(names[key], _points(runs, setting)) for key, runs in swept.items()]


def _identity(run: Selection) -> dict[str, Any]:
    return {**run.settings, "algorithm": run.algorithm, COUNT: run.configurations}


def _points(runs: Sequence[Selection], setting: str) -> dict[str, dict[Any, list[Selection]]]:
    points: dict[str, dict[Any, list[Selection]]] = {}
    # A setting that is None is the bench's own value; it is told first.
    for run in sorted(runs, key=lambda run: _order(_identity(run)[setting])):
        values = points.setdefault(run.data, {})
        values.setdefault(_identity(run)[setting], []).append(run)
    return points


def _order(value: Any) -> tuple[bool, float, str]:
    number = isinstance(value, (int, float))
    return number, float(value) if number else 0.0, str(value)


def _names(groups: dict[str, dict[str, Any]], setting: str) -> dict[str, str]:
    names = {}
    for key, own in groups.items():
        rivals = [other for other in groups.values() if other["algorithm"] == own["algorithm"]]
        apart = [
            f"{name} {value}"
            for name, value in own.items()
            if name != setting and any(other.get(name) != value for other in rivals)
        ]
        names[key] = own["algorithm"] + (f" ({', '.join(apart)})" if apart else "")
    return names
