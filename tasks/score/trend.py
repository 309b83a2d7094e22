"""Scores of a suite over the days on which its jobs ran again."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.score.frame import as_frame, to_frame
from leaseboard.tasks.score.table import Scale, score_table

MOST_DAYS = 120
"""The newest days that a trend shows."""

_PLACE = ["name", "data", "repetition"]
_SAME = [*_PLACE, "seed", "environment_seed"]


@dataclass(frozen=True)
class Trend:
    """Scores over days."""

    scores: pd.DataFrame
    """A row a day, a column an algorithm: on the leaderboard's scale, of one dataset the mean
    score itself; NaN while an algorithm had not run all its jobs."""
    ran: list[int]
    """Number of jobs that ran again on each day."""
    scale: str
    meaning: str
    """Name of the scale, and the meaning of a number on it."""
    only: str | None
    """The dataset whose mean scores they are."""


def trend(
    now: pd.DataFrame, earlier: Sequence[Result], scale: Scale | None = None
) -> Trend | None:
    """Return the results at the end of each day on which jobs ran.

    None for a single day, and where no algorithm has a score.

    - `now`: the results of the leaderboard, as `leaseboard.tasks.score.frame.as_frame` gives them.
    - `earlier`: those that they superseded; jobs that the leaderboard does not have do not count.
    - `scale`: the leaderboard's.
    """
    scale, table = scale or Scale(), score_table(now)
    # A skipped job never ran; one that failed at once has the moment of the last.
    now = now[(now["status"] != "skipped") | (now["started"] != "")]
    now = now.assign(started=now["started"].where(now["started"] != "", now["started"].max()))
    past = to_frame(earlier)
    if len(past):
        asked = now.set_index(_SAME).index
        past = past[pd.MultiIndex.from_frame(past[_SAME]).isin(asked)]
    both = pd.concat([past, now], ignore_index=True) if len(past) else now
    both = both[both["started"] != ""]
    both = both.assign(moment=pd.to_datetime(both["started"], utc=True, format="ISO8601"))
    both = both.sort_values("moment", kind="stable")
    day_of = both["moment"].dt.strftime("%Y-%m-%d")
    days = sorted(set(day_of))[-MOST_DAYS:]
    if len(days) < 2:
        return None
    only = None if table.only is None else table.problems[table.only]
    jobs = now["name"].value_counts()
    scores = pd.DataFrame(np.nan, days, list(table.labels))
    for day in days:
        there = as_frame(both[day_of <= day].drop_duplicates(_PLACE, keep="last"))
        found, complete = score_table(there), there["name"].value_counts()
        for label, value in zip(found.labels, scale.means(found, only), strict=True):
            if complete[label] == jobs[label]:
                scores.loc[day, label] = value
    if scores.isna().all(axis=None):
        return None
    name, meaning = scale.name, scale.meaning
    if only is not None:
        better = "less" if table.signs[table.problems.index(only)] < 0 else "more"
        name, meaning = f"mean score, {better} is better", ""
    return Trend(scores, [int((day_of == day).sum()) for day in days], name, meaning, only)
