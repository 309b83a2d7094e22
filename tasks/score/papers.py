"""The papers' own comparisons: printed numbers, and selections next to Full-run."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
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
from leaseboard.tasks.jobs.environments import choosing
from leaseboard.tasks.jobs.suites.suite import Printed
from leaseboard.tasks.score.leaderboard import Scale, normalised, score_table


def published_against_measured(
    frame: pd.DataFrame, claims: Sequence[Printed], scale: Scale | None = None
) -> pd.DataFrame:
    """Return each claim with its measurement, in order.

    - `claims`: a metric is ``score``, ``normalised_score`` (needs a `scale` with its two ends),
      ``cpu_seconds`` or a name in the results' `metrics`.

    Returns
    -------
    DataFrame
        The fields of the claims, and ``measured`` with its standard deviation ``measured_sd`` over
        the ``n`` finished repetitions; it divides by n: so do the papers' (ChaCha's Table 1 comes
        out to the digit). ``agrees`` is whether the difference is at most the suite's tolerance
        where it has one, else, rounded to the digits that the paper prints, at most the paper's
        own standard deviation; None without both, and where nothing was measured.
    """
    table, rows = score_table(frame), []
    for claim in claims:
        values = score_table(frame, claim.metric).scores
        if claim.metric == "normalised_score" and scale and scale.zero:
            values = normalised(table, scale.zero, scale.one)
            values[~np.isfinite(table.scores)] = np.nan
        mine = np.empty(0)
        if claim.algorithm in table.labels and claim.data in table.problems:
            place = table.labels.index(claim.algorithm), table.problems.index(claim.data)
            mine = values[place][np.isfinite(values[place])]
        n, mean, agrees = len(mine), float(mine.mean()) if len(mine) else np.nan, None
        if n and claim.tolerance is not None:
            agrees = abs(mean - claim.value) - 1e-9 <= claim.tolerance
        elif n and claim.sd is not None:
            printed = round(mean, printed_decimals(claim.value, claim.sd))
            agrees = abs(printed - claim.value) - 1e-9 <= claim.sd
        found = {"measured": mean, "measured_sd": mine.std() if n > 1 else np.nan, "n": n}
        rows.append({**claim.model_dump(), **found, "agrees": agrees})
    return pd.DataFrame(rows).astype({"agrees": object})


def printed_decimals(value: float, sd: float | None) -> int:
    """Return with how many decimals the paper prints a number and its spread, at least two.

    YAML keeps no trailing zeros: a 0.1 was most likely printed as 0.10.
    """
    texts = [repr(float(number)) for number in (value, sd or 0.0)]
    return max([2, *(len(text.partition(".")[2].removesuffix("0"))
                     for text in texts if "e" not in text)])  # fmt: skip


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
        names, probes = configurations(events), of(events, ProbeFinished)
        full = max((probe.rows for probe in probes if probe.status == "ok"), default=0)
        for probe in probes:
            self.rows = max(self.rows, probe.rows)
            self.seconds[names[probe.configuration]] = probe.cpu_seconds
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
        What is known of: ``speedup``, ``speedup_trained``: scenario (i), CPU seconds of Full-run
        over those of the selection; (ii) over those of the selection and one full training of its
        choice. ``loss``, ``relative_loss``: A_i* - A_i', also divided by A_i*.
        ``missed_intervals``: how many do not hold the real accuracy, those at full size left out.
        Of ``bounds="best"`` those of the best configuration alone have to hold from above, as no
        other upper bound is guaranteed.
    """
    started, finished = of(events, Started), of(events, Finished)
    if not started or not finished or not truth.rows:
        return {}
    metrics, names = finished[0].metrics, configurations(events)
    considered, real = {*names.values()}, truth.accuracy
    complete = considered <= truth.seconds.keys()
    seconds = sum(truth.seconds[each] for each in considered) if complete else math.nan
    spent = float(metrics.get("selection_cpu_seconds", 0.0))
    trained = spent + float(metrics.get("training_cpu_seconds", 0.0))
    best = max((real[each] for each in considered & real.keys()), default=math.nan)
    answer = [names[each.configuration] for each in of(events, ChampionChanged)][-1:]
    loss = best - real[answer[0]] if complete and answer and answer[0] in real else math.nan
    every = started[0].settings.get("bounds") != "best"
    missed = [
        bounds.lower > accuracy or (bounds.upper < accuracy and (every or accuracy == best))
        for bounds in of(events, BoundsUpdated)
        if bounds.units < truth.rows
        and (accuracy := real.get(names.get(bounds.configuration, ""))) is not None
    ]
    found = {
        "speedup": seconds / (spent or math.nan),
        "speedup_trained": seconds / (trained or math.nan),
        "loss": loss,
        "relative_loss": loss / best,
        "missed_intervals": float(sum(missed)) if missed else math.nan,
    }
    return {name: value for name, value in found.items() if not math.isnan(value)}


def selects(row: Any) -> bool:
    """Return whether a job of the results has selected a configuration."""
    return row.status == "ok" and row.environment in choosing("configuration")


def with_selections(
    frame: pd.DataFrame, logs: Sequence[tuple[Any, Sequence[Event]]]
) -> pd.DataFrame:
    """Return the frame of results with what `compare` returns of selections as metrics.

    So published numbers and requirements can name them; they come before a job's own of the same
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
