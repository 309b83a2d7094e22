"""Policies over arms: their regret over time, and the shares of the trials that arms got."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.algorithms.events import Event, TrialFinished, of
from leaseboard.tasks.jobs.environments.kinds import choosing
from leaseboard.tasks.report.charts import wording
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import Section, Table
from leaseboard.tasks.score.regret import Where, regrets
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
    runs: dict[Where, dict[str, Floats]] = {}
    for row, progress in made.read[job_progress]:
        runs.setdefault((row.data, row.repetition), {})[row.name] = progress
    frames = {"regret-table": regrets(runs), "exploitation-table": shares_of(made.frame)}
    tables = [
        Table(name, frame=frame.reset_index(names="Algorithm"), **wording(name))
        for name, frame in frames.items()
        if not frame.empty
    ]
    return Section("policies", **wording("policies"), tables=tables) if tables else None


def shares_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the shares in percent of every algorithm's arms, means over its finished runs."""
    done = frame[frame["environment"].isin(choosing("arm")) & (frame["status"] == "ok")]
    shares = pd.DataFrame(done["metrics"].tolist(), done["name"]).filter(like=PREFIX)
    means = 100 * shares.groupby(level=0, sort=False).mean()
    means = means[means.mean().sort_values(ascending=False, kind="stable").index]
    return means.rename(columns=lambda name: name.removeprefix(PREFIX))
