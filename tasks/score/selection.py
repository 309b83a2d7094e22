"""Configuration selection compared with Full-run: speed-up, loss, calibration, ranks."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.algorithms.abc_selection.calibration import Calibration, calibrate, real_accuracies
from leaseboard.algorithms.events import (
    ConfigurationAdmitted,
    ConfigurationFailed,
    Eliminated,
    Event,
    Finished,
    ProbeFinished,
    Started,
    of,
)
from leaseboard.tasks.jobs.environments.kinds import choosing
from leaseboard.tasks.score.frame import finished
from leaseboard.tasks.score.table import ROUNDING

REFERENCE = "full-run"
"""The registered name of what trains every configuration in full."""


@dataclass(slots=True)
class Truth:
    """Accuracy and cost of full training of each configuration, by its hyperparameters as text.

    Configurations are matched by what they are, not by number: a draw of 80 begins with the
    draw of 20, so one Full-run of 80 is the reference of both.
    """

    accuracy: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    rows: int = 0

    def add(self, events: Sequence[Event]) -> None:
        """Add the log of a Full-run."""
        names = configurations(events)
        for index, accuracy in real_accuracies(events).items():
            self.accuracy[names[index]] = accuracy
        for probe in of(events, ProbeFinished):
            self.rows = max(self.rows, probe.rows)
            self.seconds[names[probe.configuration]] = probe.cpu_seconds

    def by_number(self, events: Sequence[Event]) -> dict[int, float]:
        """Return the real accuracies by the numbers that a log gives its configurations."""
        names = configurations(events)
        return {
            number: self.accuracy[name] for number, name in names.items() if name in self.accuracy
        }


@dataclass(frozen=True, slots=True)
class Selection:
    """One finished selection, compared with Full-run over the same configurations."""

    key: str
    name: str
    data: str
    algorithm: str
    """The registered name."""
    settings: Mapping[str, Any]
    """All of the algorithm's."""
    configurations: int
    """Number of admitted configurations."""
    speedup: float | None
    speedup_trained: float | None
    """Scenario (i): CPU seconds of Full-run over those of the selection; (ii): over those of the
    selection and one full training of its choice. None if Full-run trained fewer."""
    loss: float | None
    relative_loss: float | None
    """A_i* - A_i', also divided by A_i*."""
    epsilon: float | None
    """The loss that the algorithm may allow, None if it has no such setting."""
    kept: bool | None
    """True if the loss is within epsilon; None where nothing is guaranteed, because the run was
    cut short with several configurations left, or has no epsilon."""
    probes: int
    largest_rows: int
    calibration: Calibration


def configurations(events: Sequence[Event]) -> dict[int, str]:
    """Return every admitted configuration's hyperparameters as text, by number."""
    return {
        event.configuration: json.dumps(dict(event.parameters), sort_keys=True, default=str)
        for event in of(events, ConfigurationAdmitted)
    }


def compare(
    events: Sequence[Event],
    truth: Truth,
    *,
    key: str = "",
    name: str = "",
    data: str = "",
    algorithm: str = "",
) -> Selection | None:
    """Compare one run's log with the truth; None for an unfinished log or without any truth."""
    started, finished = of(events, Started), of(events, Finished)
    if not started or not finished or not truth.rows:
        return None
    settings, metrics, probes = started[0].settings, finished[0].metrics, of(events, ProbeFinished)
    considered = set(configurations(events).values())
    complete = considered <= truth.seconds.keys()
    seconds = sum(truth.seconds[each] for each in considered) if complete else 0.0
    spent = float(metrics.get("selection_cpu_seconds", 0.0))
    trained = spent + float(metrics.get("training_cpu_seconds", 0.0))
    real = truth.by_number(events)
    result = calibrate(events, real, truth.rows)
    loss = result.loss if complete else None
    epsilon = settings.get("epsilon")
    epsilon = None if epsilon is None else float(epsilon)
    kept = None
    if epsilon is not None and loss is not None and decided(events, truth.rows):
        kept = loss <= epsilon + ROUNDING
    return Selection(
        key=key,
        name=name,
        data=data,
        algorithm=algorithm,
        settings=settings,
        configurations=len(configurations(events)),
        speedup=seconds / spent if complete and spent else None,
        speedup_trained=seconds / trained if complete and trained else None,
        loss=loss,
        relative_loss=None if loss is None else loss / max(real.values()),
        epsilon=epsilon,
        kept=kept,
        probes=len(probes),
        largest_rows=max((probe.rows for probe in probes), default=0),
        calibration=result,
    )


def decided(events: Iterable[Event], full: int) -> bool:
    """Test whether all configurations but one left, unless they were trained on all `full` rows.

    A run that a time limit or a budget ended before that has guessed.
    """
    log = list(events)
    admitted = {event.configuration for event in of(log, ConfigurationAdmitted)}
    left = {event.configuration for event in of(log, ProbeFinished) if event.rows == full}
    left |= {event.configuration for event in of(log, Eliminated)}
    left |= {event.configuration for event in of(log, ConfigurationFailed)}
    return len(admitted - left) <= 1


def with_metrics(frame: pd.DataFrame, found: Iterable[Selection]) -> pd.DataFrame:
    """Return the frame with speed-ups and losses of selections as metrics.

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


TOLERATED = 0.01, 0.05
"""Accuracies that may be lost: each of them gives a ranking."""

RULE = (
    "On a dataset those come first that lost at most epsilon in every repetition, by their CPU"
    " seconds; then those that lost more, by their mean loss; then those that failed in a"
    " repetition. An algorithm that was skipped on a dataset has no rank there."
)


def standings(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each algorithm of a run of selections, best first by `RULE`.

    The frame is empty unless all chose among equally many configurations, and Full-run is there to
    say what was lost.

    - `frame`: as `leaseboard.tasks.score.frame.as_frame` gives it.

    Returns
    -------
    DataFrame
        Indexed by label: ``rank at <epsilon>``, the mean rank by `RULE` for each of `TOLERATED`;
        ``rank by loss`` and ``rank by seconds``, alone; ``loss`` and ``worst``, the accuracy of
        Full-run's choice less that of its own; ``above <epsilon>``, how many runs lost more;
        ``cpu_seconds`` and ``wall_seconds``, means of the selection alone; ``speedup`` over
        Full-run, the geometric mean; ``finished``, ``failed``, ``skipped``. NaN where it has no
        rank or no finished run.
    """
    runs = _runs(frame)
    if runs is None or runs["name"].nunique() < 2:
        return pd.DataFrame()
    ranks, fine = _ranks(runs), runs[runs["fine"]].astype({"seconds": float})
    by, of_all = fine.groupby("name"), runs.groupby("name")
    with np.errstate(divide="ignore"):
        times = np.log(fine["seconds_of_full_run"].astype(float) / fine["seconds"])
    counts = {f"above {each}": (fine["loss"] > each).groupby(fine["name"]).sum()
              for each in TOLERATED} | {
        "finished": by.size(),
        "failed": of_all["failed"].sum(),
        "skipped": (runs["status"] == "skipped").groupby(runs["name"]).sum(),
    }  # fmt: skip
    found = pd.DataFrame(
        {
            **{f"rank at {each}": ranks[each] for each in TOLERATED},
            "rank by loss": ranks["loss"],
            "rank by seconds": ranks["seconds"],
            "loss": by["loss"].mean(),
            "worst": by["loss"].max(),
            "cpu_seconds": by["seconds"].mean(),
            "wall_seconds": by["wall"].mean(),
            "speedup": np.exp(times.groupby(fine["name"]).mean()),
            **counts,
        },
        index=runs["name"].unique(),
    )
    found = found.fillna(dict.fromkeys(counts, 0)).astype(dict.fromkeys(counts, int))
    return found.sort_values([f"rank at {each}" for each in TOLERATED], kind="stable")


def _runs(frame: pd.DataFrame) -> pd.DataFrame | None:
    """Return the jobs with Full-run's; None if they are not selections of one size."""
    fine = finished(frame)
    done = frame[fine]
    if not len(done) or not done["environment"].isin(choosing("configuration")).all():
        return None
    if len({metrics.get("configurations") for metrics in done["metrics"]}) > 1:
        return None
    measured = [each or {} for each in frame["metrics"]]
    runs = frame[["name", "data", "repetition", "status", "score"]].assign(
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
    """Return the mean ranks of each label by each of `TOLERATED`, ``loss`` and ``seconds``."""
    cells = (
        runs.groupby(["name", "data"], sort=False)
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
    ranks: dict[Any, pd.Series] = {
        name: _rank(cells, failed, cells[name]) for name in ("loss", "seconds")
    }
    for epsilon in TOLERATED:
        over = (cells["worst"] > epsilon) | cells["failed"]
        value = cells["seconds"].where(~over, cells["loss"])
        ranks[epsilon] = _rank(cells, over.astype(int) + failed, value)
    return pd.DataFrame(ranks).groupby(cells["name"]).mean()


def _rank(cells: pd.DataFrame, first: pd.Series, then: pd.Series) -> pd.Series:
    """Return ranks on each dataset by `first`, then by `then`, missing last; ties shared."""
    order = pd.DataFrame({"first": first, "then": then.astype(float).fillna(np.inf)})
    places = order.groupby(["first", "then"]).ngroup()
    return places.groupby(cells["data"]).rank()
