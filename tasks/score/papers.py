"""The papers' own comparisons: printed numbers, and selections next to Full-run."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.algorithms.events import (
    BoundsUpdated,
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
from leaseboard.tasks.jobs.environments import choosing
from leaseboard.tasks.jobs.suites.suite import Printed
from leaseboard.tasks.score.inference import Floats
from leaseboard.tasks.score.leaderboard import ROUNDING, Scale, normalised, score_table


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
    table, values = score_table(frame), dict[str, Floats]()
    rows = []
    for claim in claims:
        if claim.metric not in values:
            values[claim.metric] = score_table(frame, claim.metric).scores
            if claim.metric == "normalised_score" and scale and scale.zero:
                measured = normalised(table, scale.zero, scale.one)
                values[claim.metric] = np.where(np.isfinite(table.scores), measured, np.nan)
        mine = np.empty(0)
        if claim.algorithm in table.labels and claim.data in table.problems:
            place = table.labels.index(claim.algorithm), table.problems.index(claim.data)
            mine = values[claim.metric][place]
            mine = mine[np.isfinite(mine)]
        found: dict[str, object] = {"measured": np.nan, "measured_sd": np.nan, "agrees": None}
        if len(mine):
            mean, agrees = float(mine.mean()), None
            if claim.tolerance is not None:
                agrees = abs(mean - claim.value) - 1e-9 <= claim.tolerance
            elif claim.sd is not None:
                printed = round(mean, printed_decimals(claim.value, claim.sd))
                agrees = abs(printed - claim.value) - 1e-9 <= claim.sd
            sd = mine.std() if len(mine) > 1 else np.nan
            found = {"measured": mean, "measured_sd": sd, "agrees": agrees}
        rows.append({**claim.model_dump(), **found, "n": len(mine)})
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

    def by_number(self, events: Sequence[Event]) -> dict[int, float]:
        """Return the real accuracies by the numbers that a log gives its configurations."""
        names = configurations(events)
        return {
            number: self.accuracy[name] for number, name in names.items() if name in self.accuracy
        }


def configurations(events: Sequence[Event]) -> dict[int, str]:
    """Return every admitted configuration's hyperparameters as text, by number."""
    return {
        event.configuration: json.dumps(dict(event.parameters), sort_keys=True, default=str)
        for event in of(events, ConfigurationAdmitted)
    }


def compare(events: Sequence[Event], truth: Truth) -> dict[str, Any] | None:
    """Compare one run's log with the truth; None for an unfinished log or without any truth.

    Returns
    -------
    dict
        ``configurations``: how many were admitted. ``speedup``, ``speedup_trained``: scenario (i),
        CPU seconds of Full-run over those of the selection; (ii) over those of the selection and
        one full training of its choice; NaN if Full-run trained fewer. ``loss``,
        ``relative_loss``: A_i* - A_i', also divided by A_i*; NaN if an accuracy is unknown.
        ``epsilon``: the loss that the algorithm may allow, NaN if it has no such setting;
        ``kept``: whether the loss is within it, None where nothing is guaranteed, because the run
        was cut short with several configurations left, or has no epsilon. ``intervals``: those
        whose configuration's real accuracy is known, those at full size left out; ``above``: of
        them those whose lower bound is above it: exploitiveness broke, or by chance; ``below``:
        those whose upper bound is below it: fitness broke, or by chance. Of ``bounds="best"``
        those of the best configuration alone, as no other upper bound is guaranteed.
    """
    started, finished = of(events, Started), of(events, Finished)
    if not started or not finished or not truth.rows:
        return None
    metrics = finished[0].metrics
    considered = [*configurations(events).values()]
    complete = {*considered} <= truth.seconds.keys()
    seconds = sum(truth.seconds[each] for each in {*considered}) if complete else math.nan
    spent = float(metrics.get("selection_cpu_seconds", 0.0))
    trained = spent + float(metrics.get("training_cpu_seconds", 0.0))
    real = truth.by_number(events)
    known = [b for b in of(events, BoundsUpdated) if b.configuration in real]
    known = [b for b in known if b.units < truth.rows]
    best, settings = max(real.values(), default=math.nan), started[0].settings
    answer = [each.configuration for each in of(events, ChampionChanged)][-1:]
    loss = best - real[answer[0]] if complete and answer and answer[0] in real else math.nan
    every = settings.get("bounds") != "best"
    trusted = {number for number, accuracy in real.items() if every or accuracy == best}
    allowed = settings.get("epsilon")
    epsilon = math.nan if allowed is None else float(allowed)
    guaranteed = not math.isnan(epsilon + loss) and decided(events, truth.rows)
    return {
        "configurations": len(considered),
        "speedup": seconds / (spent or math.nan),
        "speedup_trained": seconds / (trained or math.nan),
        "loss": loss,
        "relative_loss": loss / best,
        "epsilon": epsilon,
        "kept": loss <= epsilon + ROUNDING if guaranteed else None,
        "intervals": len(known),
        "above": sum(b.lower > real[b.configuration] for b in known),
        "below": sum(b.upper < real[b.configuration] for b in known if b.configuration in trusted),
    }


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


def selects(row: Any) -> bool:
    """Return whether a job of the results has selected a configuration."""
    return row.status == "ok" and row.environment in choosing("configuration")


def selections(logs: Sequence[tuple[Any, Sequence[Event]]]) -> pd.DataFrame:
    """Return a row for each selection next to a Full-run, which is left out itself.

    - `logs`: jobs that have selected, each with its events.
    """
    real: dict[tuple[str, int], Truth] = {}
    for row, events in logs:
        if row.algorithm == REFERENCE:
            real.setdefault((row.data, row.repetition), Truth()).add(events)
    found = [
        {"key": str(row.key), "name": row.name, "data": row.data, **selection}
        for row, events in logs
        if row.algorithm != REFERENCE
        and (truth := real.get((row.data, row.repetition)))
        and (selection := compare(events, truth))
    ]
    return pd.DataFrame(found)


def with_metrics(frame: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the frame of results with what is known of `selections` as metrics.

    So published numbers and requirements can name them; they come before a job's own of the same
    name. `missed_intervals` are those that do not hold the accuracy of Full-run.
    """
    names = ["speedup", "speedup_trained", "loss", "relative_loss", "missed_intervals"]
    derived: dict[str, dict[str, float]] = {}
    if len(runs):
        missed = (runs["above"] + runs["below"]).where(runs["intervals"] > 0)
        shown = runs.assign(missed_intervals=missed).set_index("key")[names]
        derived = {key: row.dropna().to_dict() for key, row in shown.iterrows()}
    metrics = [
        {**own, **derived.get(key, {})}
        for key, own in zip(frame["key"], frame["metrics"], strict=True)
    ]
    return frame.assign(metrics=metrics)
