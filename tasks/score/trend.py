"""How the scores of a suite went over the days on which its jobs ran anew."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.score.frame import as_frame, to_frame
from leaseboard.tasks.score.table import Floats, ScoreTable, nanmean, on_scale, score_table

MOST_DAYS = 120
"""The newest days that a trend tells."""

_PLACE = ["label", "data", "repetition"]
_SAME = [*_PLACE, "seed", "environment_seed"]


@dataclass(frozen=True)
class Trend:
    """Scores over days, one row an algorithm."""

    days: tuple[str, ...]
    labels: tuple[str, ...]
    scores: Floats
    """Shape (n_labels, n_days): on the board's scale, of one data set the mean score itself; NaN
    while an algorithm had not run all its jobs."""
    ran: tuple[int, ...]
    """How many jobs ran anew on each day."""
    scale: str
    meaning: str
    """What the scores are, and what a number on their scale says."""
    only: str | None
    """The data set whose mean scores they are."""


def trend(
    now: pd.DataFrame,
    earlier: Sequence[Result],
    *,
    zero: str | None = None,
    one: str | None = None,
    meaningless: Collection[str] = (),
) -> Trend | None:
    """Return the results as they stood at the end of each day on which jobs ran.

    None for a single day, and where no algorithm has a score.

    - `now`: the results of the board, as `leaseboard.tasks.score.frame.as_frame` gives them.
    - `earlier`: those that they superseded; of jobs that the board does not have none count.
    - `zero`, `one`, `meaningless`: of the board's scale.
    """
    standing = score_table(now)
    now = _dated(now)
    asked = now.set_index(_SAME).index
    past = to_frame(earlier)
    past = past[pd.MultiIndex.from_frame(past[_SAME]).isin(asked)] if len(past) else past
    both = pd.concat([past, now], ignore_index=True) if len(past) else now
    both = both[both["started"] != ""]
    both = both.assign(moment=pd.to_datetime(both["started"], utc=True, format="ISO8601"))
    both = both.sort_values("moment", kind="stable")
    day_of = both["moment"].dt.strftime("%Y-%m-%d")
    days = sorted(set(day_of))[-MOST_DAYS:]
    if len(days) < 2:
        return None
    only = None if standing.only is None else standing.problems[standing.only]
    scale, meaning = on_scale(standing, zero, one)[1:]
    if standing.only is not None:
        better = "less" if standing.directions[standing.only] == "min" else "more"
        scale, meaning = f"mean score, {better} is better", ""
    labels = standing.labels
    jobs = now["label"].value_counts()
    scores = np.full((len(labels), len(days)), np.nan)
    for at, day in enumerate(days):
        there = as_frame(both[day_of <= day].drop_duplicates(_PLACE, keep="last"))
        found = score_table(there)
        values = _values(found, zero, one, meaningless, only)
        complete = there["label"].value_counts()
        for label, value in zip(found.labels, values.tolist(), strict=True):
            if complete[label] == jobs[label]:
                scores[labels.index(label), at] = value
    if not np.isfinite(scores).any():
        return None
    ran = tuple(int((day_of == day).sum()) for day in days)
    return Trend(tuple(days), labels, scores, ran, scale, meaning, only)


def _dated(now: pd.DataFrame) -> pd.DataFrame:
    """Return the jobs that ran, each with its moment: the last one if it failed at once.

    What was skipped never ran, and stands nowhere.
    """
    ran = now[(now["status"] != "skipped") | (now["started"] != "")]
    return ran.assign(started=ran["started"].where(ran["started"] != "", ran["started"].max()))


def _values(
    table: ScoreTable,
    zero: str | None,
    one: str | None,
    meaningless: Collection[str],
    only: str | None,
) -> Floats:
    """Return the score of each label over all data sets that count."""
    if only is not None:
        if only not in table.problems:
            return np.full(len(table.labels), np.nan)
        return np.asarray(table.means[:, table.problems.index(only)])
    values, _, _ = on_scale(table, zero, one, meaningless)
    return np.asarray(nanmean(nanmean(values, axis=2), axis=1))
