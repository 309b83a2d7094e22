"""What a board says of a run's results, computed once for the terminal, the page and MLflow.

It says too whether the best beats what a person would try first, data set by data set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd

from leaseboard.algorithms.benches.measures import baseline_name
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.score.frame import as_frame, finished, rows_cut
from leaseboard.tasks.score.leaderboard import Board, leaderboard
from leaseboard.tasks.score.measured import by_measure, described
from leaseboard.tasks.score.significance import Comparison, compare_all
from leaseboard.tasks.score.summary import Answer, short, summarise
from leaseboard.tasks.score.table import ScoreTable, significant
from leaseboard.tasks.score.tested import Tested, on_test

if TYPE_CHECKING:
    from leaseboard.tasks.jobs.suites.suite import Suite


Results: TypeAlias = pd.DataFrame | Iterable[Result]


@dataclass(frozen=True)
class Compared:
    """A run's algorithms, compared."""

    title: str
    board: Board
    """By the suite's own scale."""
    tests: Comparison
    answer: Answer
    """What both say in words."""
    tested: Tested | None = None
    """What the test says, where the board ranks by validation."""


def compared(results: Results, suite: Suite | None = None) -> Compared:
    """Compare the algorithms of some results, by the scale and metric of their suite, if any.

    Raises UsageError if no job has the metric.
    """
    scale = suite.normalise if suite is not None else None
    meaningless = () if suite is None else tuple(d.data for d in suite.data if not d.meaningful)
    frame, metric = as_frame(results), suite.metric if suite is not None else None
    measured = by_measure(frame, metric) if metric else frame
    metrics = sorted(set(measured["metric"][finished(measured)]) - {""})
    board = leaderboard(
        measured,
        zero=scale.zero if scale else None,
        one=scale.one if scale else None,
        meaningless=meaningless,
        metric=metrics[0] if len(metrics) == 1 else "score",
    )
    tests = compare_all(board.table)
    names = {} if suite is None else {d.data: d.name for d in suite.data if d.name}
    first_tries = " ".join(filter(None, (verdict(board, names), on_selected(frame, names))))
    title = suite.title if suite is not None else "Leaderboard"
    if metric:
        title += f", by {metric}"
    ends = (scale.zero, scale.one) if scale else ()
    tested = None if metric else on_test(frame, board, *ends)
    answer = summarise(board, tests, first_tries, tested.verdict if tested else "")
    missing = " ".join(filter(None, (answer.missing, rows_cut(frame, names))))
    answer = replace(answer, metric=described(measured, names), missing=missing)
    return Compared(title, board, tests, answer, tested)


def on_selected(frame: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Return on which datasets baselines are on selected features; empty where none is."""
    done = frame[finished(frame) & frame["baseline"]]
    said: dict[str, list[str]] = {}
    for row in done.itertuples():
        if (shown := baseline_name(row.label, row.metrics)) != row.label:
            said.setdefault(shown, []).append(names.get(row.data, row.data))
    return " ".join(
        f"On {', '.join(dict.fromkeys(sets))} one of the baselines is {shown}."
        for shown, sets in said.items()
    )


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
