"""Selections of configurations next to Full-run: what they lost, and intervals that missed."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from leaseboard.algorithms.events import (
    BoundsUpdated,
    ChampionChanged,
    ConfigurationAdmitted,
    Event,
    Finished,
    ProbeFinished,
    Started,
    of,
)
from leaseboard.tasks.jobs.environments import KINDS

REFERENCE = "full-run"
"""The registered name of what trains every configuration in full."""


@dataclass(slots=True)
class Truth:
    """Accuracy of full training of each configuration, by its hyperparameters as text.

    Configurations are matched by what they are, not by number: a draw of 80 begins with the
    draw of 20, so one Full-run of 80 is the reference of both.
    """

    accuracy: dict[str, float] = field(default_factory=dict)
    trained: set[str] = field(default_factory=set)
    """Those that failed included."""
    rows: int = 0

    def add(self, events: Sequence[Event]) -> None:
        """Add the log of a Full-run."""
        names, probes = configurations(events), of(events, ProbeFinished)
        full = max((probe.rows for probe in probes if probe.status == "ok"), default=0)
        for probe in probes:
            self.rows = max(self.rows, probe.rows)
            self.trained.add(names[probe.configuration])
            if probe.status == "ok" and probe.rows == full:
                self.accuracy[names[probe.configuration]] = probe.test_accuracy


def configurations(events: Sequence[Event]) -> dict[int, str]:
    """Return every admitted configuration's hyperparameters as text, by number."""
    return {
        event.configuration: json.dumps(dict(event.parameters), sort_keys=True, default=str)
        for event in of(events, ConfigurationAdmitted)
    }


def compare(events: Sequence[Event], truth: Truth) -> dict[str, float]:
    """Compare one run's log with the truth; empty for an unfinished log or without any truth.

    Returns
    -------
    dict
        What is known of: ``loss``, A_i* - A_i'; ``missed_intervals``, how many do not hold the
        real accuracy, those at full size left out. Of ``bounds="best"`` those of the best
        configuration alone have to hold from above, as no other upper bound is guaranteed.
    """
    started, names = of(events, Started), configurations(events)
    if not started or not of(events, Finished) or not truth.rows:
        return {}
    considered, real = {*names.values()}, truth.accuracy
    best = max((real[each] for each in considered & real.keys()), default=math.nan)
    answer = [names[each.configuration] for each in of(events, ChampionChanged)][-1:]
    is_known = considered <= truth.trained and answer and answer[0] in real
    every = started[0].settings.get("bounds") != "best"
    missed = [
        bounds.lower > accuracy or (bounds.upper < accuracy and (every or accuracy == best))
        for bounds in of(events, BoundsUpdated)
        if bounds.units < truth.rows
        and (accuracy := real.get(names.get(bounds.configuration, ""))) is not None
    ]
    found = {"loss": best - real[answer[0]]} if is_known else {}
    return found | ({"missed_intervals": float(sum(missed))} if missed else {})


def selects(row: Any) -> bool:
    """Return whether a job of the results has selected a configuration."""
    return row.status == "ok" and KINDS.get(row.environment) == "configuration"


def with_selections(
    frame: pd.DataFrame, logs: Sequence[tuple[Any, Sequence[Event]]]
) -> pd.DataFrame:
    """Return the frame of results with what `compare` returns of selections as metrics.

    So requirements can name them; they come before a job's own of the same
    name. A selection is compared with the Full-run of the same data and repetition.

    - `logs`: jobs that have selected, each with its events.
    """
    real: dict[tuple[str, int], Truth] = {}
    for row, events in logs:
        if row.algorithm == REFERENCE:
            real.setdefault((row.data, row.repetition), Truth()).add(events)
    derived = {
        row.key: compare(events, real.get((row.data, row.repetition), Truth()))
        for row, events in logs
        if row.algorithm != REFERENCE
    }
    metrics = [
        {**own, **derived.get(key, {})}
        for key, own in zip(frame["key"], frame["metrics"], strict=True)
    ]
    return frame.assign(metrics=metrics)
