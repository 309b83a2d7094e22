"""A run as leaderboards by task: ranks, CPU seconds, failures, and the scores of every dataset.

``python -m benchmarks.task_board runs/frameworks-streams`` prints tables in Markdown. Regressions
and classifications are ranked apart, by the score of each. A repetition of a dataset in which
jobs are missing is left out, and said.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from leaseboard.tasks.folder.results import read_results
from leaseboard.tasks.report.build import suite_of
from leaseboard.tasks.score.frame import as_frame, finished
from leaseboard.tasks.score.leaderboard import Row, leaderboard
from leaseboard.tasks.score.numbers import fixed, short

MEASURED = {
    "progressive_mse": ("mean squared error, 1 is that of `{zero}`", 3),
    "progressive_error": ("error rate", 3),
    "test_accuracy": ("accuracy", 4),
    "test_r2": ("R²", 4),
}
"""What the table of scores holds, and with how many digits, by the metric."""


def whole(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return the repetitions in which all have a job, and the names of those that are left out."""
    everyone = frame["name"].nunique()
    there = frame.groupby(["data", "repetition"])["name"].transform("nunique") == everyone
    left = frame[~there].drop_duplicates(["data", "repetition"])
    names = [f"{row.data}, repetition {row.repetition + 1}" for row in left.itertuples()]
    return frame[there].reset_index(drop=True), names


def ranks(frame: pd.DataFrame, reference: str) -> Iterator[str]:
    """Yield the lines of a table of ranks, best first."""
    yield (
        "| algorithm | mean rank | wins/ties/losses | CPU s a job"
        f" | times that of `{reference}` | finished | failed |"
    )
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    seconds = frame[finished(frame)].groupby(["name", "data"])["cpu_seconds"].mean().unstack()
    logs = np.log(seconds.where(seconds > 0))
    times = np.exp((logs - logs.loc[reference]).mean(axis=1))
    for row in _there(leaderboard(frame).rows):
        cells = (
            f"`{row.name}`",
            fixed(row.rank.value, 2),
            f"{row.wins}/{row.ties}/{row.losses}",
            short(row.cpu_seconds, 2),
            short(float(times.get(row.name, np.nan)), 2),
            str(row.n_ok),
            str(row.n_failed),
        )
        yield f"| {' | '.join(cells)} |"


def scores(
    frame: pd.DataFrame, zero: str | None, names: dict[str, str], digits: int
) -> Iterator[str]:
    """Yield the lines of a table of mean scores of finished jobs, a column a dataset.

    `zero`: whose scores are 1; None for raw scores.
    """
    found = frame[finished(frame)].groupby(["name", "data"])["score"].mean().unstack()
    sets = list(dict.fromkeys(frame["data"]))
    if zero is not None:
        found = found / found.loc[zero]
    yield f"| algorithm | {' | '.join(names.get(each, each) for each in sets)} |"
    yield f"| --- |{' ---: |' * len(sets)}"
    for row in _there(leaderboard(frame).rows):
        if row.name in found.index:
            mine = found.loc[row.name, sets]
            yield f"| `{row.name}` | {' | '.join(short(float(each), digits) for each in mine)} |"


def _there(rows: Sequence[Row]) -> list[Row]:
    """Return those who did anything but skip."""
    return [row for row in rows if row.n_ok or row.n_failed]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the leaderboards; return 1 if the run has none of these scores."""
    parser = argparse.ArgumentParser(description="leaderboards of a run, task by task")
    parser.add_argument("run", type=Path, help="the folder of a run, which may be unfinished")
    parser.add_argument("--reference", default="", help="whose CPU seconds are 1; the first's")
    parser.add_argument("--zero", default="running-mean", help="whose squared error is 1")
    given = parser.parse_args(arguments)
    frame = as_frame(list(read_results(given.run)))
    frame, left = whole(frame)
    suite = suite_of(given.run)
    names = {each.data: each.name or each.data for each in suite.data} if suite else {}
    scored = frame.groupby("data")["metric"].transform(lambda each: each[each != ""].iloc[0])
    printed = 0
    for metric, (meaning, digits) in MEASURED.items():
        mine = frame[scored == metric].reset_index(drop=True)
        if not len(mine):
            continue
        n = mine["data"].nunique()
        print(f"\n{n} datasets by {metric}\n")
        reference = given.reference or _there(leaderboard(mine).rows)[0].name
        print("\n".join(ranks(mine, reference)))
        print(f"\n{meaning.format(zero=given.zero)}:\n")
        zero = given.zero if metric == "progressive_mse" else None
        print("\n".join(scores(mine, zero, names, digits)))
        printed += 1
    for each in left:
        print(f"\nleft out, for jobs are missing: {each}")
    return 0 if printed else 1


if __name__ == "__main__":
    raise SystemExit(main())
