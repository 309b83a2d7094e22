"""Whether the best algorithm beats what a person would try first, data set by data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tasks.score.leaderboard import Board
from tasks.score.summary import short
from tasks.score.table import ScoreTable, significant

NAMED = 5
"""So many data sets are named, the others counted."""


def verdict(board: Board, names: Mapping[str, str] | None = None) -> str:
    """One sentence on the best row that is no baseline; empty where nothing can be compared.

    Who declares hindsight competes with nobody. A tie beats nothing.

    `names`: what data sets are called, in the place of their references.
    """
    competing = (row for row in board.rows if row.n_ok and not (row.baseline or row.hindsight))
    first = next(competing, None)
    baselines = [row.label for row in board.rows if row.baseline and row.n_ok]
    if first is None or not baselines:
        return ""
    table = board.table
    best = dict(best_of(table, baselines))
    mine = dict(best_of(table, [first.label]))
    both = [problem for problem in best if problem in mine and np.isfinite(best[problem][0])]
    if not both:
        return ""
    lost = [problem for problem in both if mine[problem][0] <= best[problem][0]]
    sets = f"{len(both)} data set{'' if len(both) == 1 else 's'}"
    if not lost:
        return (
            f"{first.label} beats every baseline ({', '.join(baselines)}) on"
            f" {'all ' * (len(both) > 1)}{sets}."
        )
    named = [
        f"{(names or {}).get(problem, problem)} ({_scores(table, problem, best, first.label)})"
        for problem in lost[:NAMED]
    ]
    more = f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
    return (
        f"{first.label} does not beat every baseline on {len(lost)} of {sets}:"
        f" {', '.join(named)}{more}."
    )


def best_of(table: ScoreTable, labels: list[str]) -> Iterator[tuple[str, tuple[float, str]]]:
    """For each data set where one of `labels` was run: the best mean gain, and whose it is.

    Means are those that ranks compare, see `ScoreTable.standings`; minus infinity for a failure.
    """
    rows = [table.labels.index(label) for label in labels]
    gains = significant(table.standings[rows])
    for p, problem in enumerate(table.problems):
        if not np.isnan(gains[:, p]).all():
            best = int(np.nanargmax(gains[:, p]))
            yield problem, (float(gains[best, p]), labels[best])


def _scores(
    table: ScoreTable, problem: str, best: Mapping[str, tuple[float, str]], label: str
) -> str:
    p = table.problems.index(problem)
    theirs = best[problem][1]
    told = (f"{who} {short(table.means[table.labels.index(who), p])}" for who in (theirs, label))
    return ", ".join(told)
