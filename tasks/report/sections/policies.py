"""Policies over arms: how soon they matched the joint optimiser, and what each arm got."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from leaseboard.algorithms.events import (
    ConfigurationAdmitted,
    Eliminated,
    Event,
    TrialFinished,
    of,
)
from leaseboard.algorithms.policies.policy import RETIRED
from leaseboard.tasks.jobs.benches.kinds import choosing
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import Cell, Section, Table, data_cell, number, percent
from leaseboard.tasks.score.speed_up import progress_of, reference_of, speed_ups
from leaseboard.tasks.score.table import Floats

PREFIX = "exploitation."
"""Of the metrics in which the environment of pulls keeps an arm's share of the pulls."""

Retired = tuple[str, float, int, str]
"""An arm's name, when it was retired, after how many pulls, and why."""


def job_progress(row: Any, events: Sequence[Event]) -> Floats | None:
    """Return how a finished job of trials got on."""
    return progress_of(events) if row.status == "ok" and row.bench in choosing("arm") else None


def speed_up(made: Material) -> Section | None:
    """Return the speed-ups; None where no reference ran or nothing stands beside it."""
    runs: dict[tuple[str, int], dict[str, Floats]] = {}
    for row, progress in made.by(job_progress):
        runs.setdefault((row.data, row.repetition), {})[row.label] = progress
    reference = reference_of(label for by_label in runs.values() for label in by_label)
    if reference is None or (found := speed_ups(runs, reference)).empty:
        return None
    unit = " or ".join(sorted({row.unit for row, _ in made.by(job_progress)}))
    rows = [
        {
            "Data": data_cell(one.data, made.names) if one.data else Cell("All data sets"),
            "Algorithm": one.label,
            "Runs": one.runs,
            "Reached": one.reached,
            unit.capitalize(): _or_never(one.units),
            "CPU s": _or_never(one.cpu_seconds),
            f"Times fewer {unit}": number(one.times_units, 3),
            "Times less CPU": number(one.times_cpu, 3),
        }
        for one in found.itertuples()
    ]
    table = Table(
        "speed-up-table",
        f"Until the final validation score of {reference} was matched",
        pd.DataFrame(rows),
        filters="speed-ups",
        key=1,
    )
    over_all = "" if found["data"].iloc[0] else ", and first over all data sets and repetitions"
    text = (
        "What each algorithm needed until its best validation score was at least the one with"
        f" which {reference} ended on the same data and repetition. Medians over"
        f" repetitions{over_all}; a repetition that never got there counts as infinitely long, and"
        f" its speed-up as 0. The speed-up is what {reference} needed to reach that score itself,"
        " over what the algorithm needed; the seconds are those recorded when the trials were run."
    )
    title = "Speed-up to the same validation score"
    return Section("speed-up", title, nav="Speed-up", text=[text], tables=[table])


def _or_never(value: float) -> Cell:
    return number(value) if math.isfinite(value) else Cell("never")


def exploitation(made: Material) -> Section | None:
    """Return the share of its pulls that a policy gave each arm; None where none were pulled."""
    table = shares_of(made.frame, made.labels)
    if table is None:
        return None
    text = (
        "The share of its trials that an algorithm gave each arm, means over data sets and"
        " repetitions. The best arm is the one whose trial won on the same data and repetition,"
        " whichever algorithm pulled it; on a tie, all that won."
    )
    return Section("exploitation", "Exploitation rates", text=[text], tables=[table])


def shares_of(frame: pd.DataFrame, labels: Sequence[str]) -> Table | None:
    """Return the shares of every algorithm, means over its finished runs; None without arms.

    `labels`: the algorithms in the order of the board.
    """
    done = frame[frame["bench"].isin(choosing("arm")) & (frame["status"] == "ok")]
    if not len(done):
        return None
    shares = pd.DataFrame(
        [{name.removeprefix(PREFIX): share for name, share in metrics.items()
          if name.startswith(PREFIX)} for metrics in done["metrics"]],
        index=done.index,
    )  # fmt: skip
    arms = shares.groupby(done["label"]).mean()
    arms = arms[sorted(arms, key=lambda arm: (-arms[arm].mean(), arm))]
    best = _on_the_best(done, shares).groupby(done["label"]).mean()
    runs = done["label"].value_counts()
    rows = [
        [label, runs[label], percent(best[label]), *map(percent, arms.loc[label])]
        for label in labels
        if label in arms.index
    ]
    columns = ["Algorithm", "Runs", "Best arm", *arms]
    frame = pd.DataFrame(rows, columns=columns, dtype=object)
    return Table("exploitation-table", "Shares of the trials", frame)


def _on_the_best(done: pd.DataFrame, shares: pd.DataFrame) -> pd.Series:
    """Return the share of each run on the arms with which any run of its repetition won.

    Runs of a single arm, as those of a peer, have no choice and name no winner.
    """
    chose = shares.notna().sum(axis=1) > 1
    found = pd.Series(math.nan, index=done.index)
    for _, runs in done[chose].groupby(["data", "repetition"]):
        top = runs["score"].max() if runs["direction"].iloc[0] == "max" else runs["score"].min()
        winners = {champion["arm"] for champion in runs.loc[runs["score"] == top, "champion"]}
        found[runs.index] = shares.loc[runs.index, sorted(winners)].sum(axis=1)
    return found


def job_retired(row: Any, events: Sequence[Event]) -> list[Retired] | None:
    """Return the arms that a job retired; None if there are none."""
    if row.bench not in choosing("arm"):
        return None
    gone = [event for event in of(events, Eliminated) if event.reason.startswith(RETIRED)]
    arms = {e.configuration: e.parameters["arm"] for e in of(events, ConfigurationAdmitted)}
    pulls = [trial.arm for trial in of(events, TrialFinished)]
    found = [(arms[e.configuration], e.at, pulls.count(e.configuration), e.reason) for e in gone]
    return found or None


def retired(made: Material) -> Section | None:
    """Return every arm that was retired, with its reason; None where no arm was."""
    rows = [
        {
            "Algorithm": row.label,
            "Data": data_cell(row.data, made.names),
            "Arm": arm,
            "Why": reason,
            "Repetition": row.repetition,
            "Retired at": number(at),
            "Trials": pulls,
        }
        for row, arms in made.by(job_retired)
        for arm, at, pulls, reason in arms
    ]
    if not rows:
        return None
    caption = "Arms that were retired"
    table = Table("retired-table", caption, pd.DataFrame(rows), filters="retired arms")
    text = (
        "An arm whose trials fail alike so many times in a row gets no further trial; what it"
        " would have got goes to the others. “Retired at” is in the budget’s unit."
    )
    return Section("retired", "Retired arms", nav="Retired arms", text=[text], tables=[table])
