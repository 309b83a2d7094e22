"""Policies over arms: regret, and what each arm got."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.algorithms.events import (
    Event,
    TrialFinished,
    of,
)
from leaseboard.tasks.jobs.environments.kinds import choosing
from leaseboard.tasks.report.charts import wording
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import (
    Cell,
    Section,
    Table,
    percent,
    rounded,
)
from leaseboard.tasks.score.inference import Interval
from leaseboard.tasks.score.regret import SHARES, Where, regrets
from leaseboard.tasks.score.table import Floats

PREFIX = "exploitation."
"""Prefix of the metrics with an arm's share of the pulls."""


def job_progress(row: Any, events: Sequence[Event]) -> Floats | None:
    """Return the best reward after each trial of a finished job of trials."""
    trials = of(events, TrialFinished)
    if row.status != "ok" or row.unit != "trials" or not trials:
        return None
    return np.maximum.accumulate([max(trial.reward, 0.0) for trial in trials])


def policies(made: Material) -> Section | None:
    """Return regret and shares of the arms; None where no arm was pulled."""
    tables = (regret(made), shares_of(made.frame, made.labels))
    found = [table for table in tables if table is not None]
    return Section("policies", **wording("policies"), tables=found) if found else None


def regret(made: Material) -> Table | None:
    """Return the regret over time; None where no two algorithms have trials of one repetition."""
    runs: dict[Where, dict[str, Floats]] = {}
    for row, progress in made.by(job_progress):
        runs.setdefault((row.data, row.repetition), {})[row.name] = progress
    if (found := regrets(runs)).empty:
        return None
    rows = [
        {
            "Algorithm": label,
            "Runs": one["runs"],
            "Mean regret": _with_ends(one["regret"].times(100), 3),
            "Times the first": rounded(one["times"], 2),
            "Mean rank": _with_ends(one["rank"], 2),
            "Ranks behind the first": _with_ends(one["behind"], 2),
            **{
                f"Regret after {100 * share:g} %": rounded(100 * one[f"after {share}"], 3)
                for share in SHARES
            },
        }
        for label, one in found.iterrows()
    ]
    return Table("regret-table", frame=pd.DataFrame(rows), **wording("regret-table"))


def _with_ends(value: Interval, decimals: int) -> Cell:
    ends = f" [{value.lower:.{decimals}f}, {value.upper:.{decimals}f}]"
    text = f"{value.value:.{decimals}f}" + (ends if math.isfinite(value.lower) else "")
    return Cell(text, value.value)


def shares_of(frame: pd.DataFrame, labels: Sequence[str]) -> Table | None:
    """Return the shares of every algorithm, means over its finished runs; None without arms.

    `labels`: the algorithms in the order of the leaderboard.
    """
    done = frame[frame["environment"].isin(choosing("arm")) & (frame["status"] == "ok")]
    if not len(done):
        return None
    shares = pd.DataFrame(
        [{name.removeprefix(PREFIX): share for name, share in metrics.items()
          if name.startswith(PREFIX)} for metrics in done["metrics"]],
        index=done.index,
    )  # fmt: skip
    arms = shares.groupby(done["name"]).mean()
    arms = arms[sorted(arms, key=lambda arm: (-arms[arm].mean(), arm))]
    best = _on_the_best(done, shares).groupby(done["name"]).mean()
    runs = done["name"].value_counts()
    rows = [
        [label, runs[label], percent(best[label]), *map(percent, arms.loc[label])]
        for label in labels
        if label in arms.index
    ]
    columns = ["Algorithm", "Runs", "Best arm", *arms]
    frame = pd.DataFrame(rows, columns=columns, dtype=object)
    return Table("exploitation-table", frame=frame, **wording("exploitation-table"))


def _on_the_best(done: pd.DataFrame, shares: pd.DataFrame) -> pd.Series:
    """Return the share of each run on the arms with which any run of its repetition won.

    Runs of a single arm, as those of a framework, have no choice and name no winner.
    """
    chose = shares.notna().sum(axis=1) > 1
    found = pd.Series(math.nan, index=done.index)
    for _, runs in done[chose].groupby(["data", "repetition"]):
        top = runs["score"].max() if runs["direction"].iloc[0] == "max" else runs["score"].min()
        winners = {champion["arm"] for champion in runs.loc[runs["score"] == top, "champion"]}
        found[runs.index] = shares.loc[runs.index, sorted(winners)].sum(axis=1)
    return found
