"""Configuration selection held against Full-run: speed-up, loss, and calibration of intervals."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
