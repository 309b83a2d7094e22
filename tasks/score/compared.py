"""What a board says of a run's results, computed once for the terminal, the page and MLflow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import pandas as pd

from tasks.jobs.job import Result
from tasks.score.first_tries import verdict
from tasks.score.frame import as_frame, finished, rows_cut
from tasks.score.leaderboard import Board, leaderboard
from tasks.score.measured import by_measure, described
from tasks.score.significance import Comparison, compare_all
from tasks.score.summary import Answer, summarise
from tasks.score.tested import Tested, on_test

if TYPE_CHECKING:
    from tasks.jobs.suites.suite import Suite

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
    first_tries = verdict(board, names)
    title = suite.title if suite is not None else "Leaderboard"
    if metric:
        title += f", by {metric}"
    ends = (scale.zero, scale.one) if scale else ()
    tested = None if metric else on_test(frame, board, *ends)
    answer = summarise(board, tests, first_tries, tested.verdict if tested else "")
    missing = " ".join(filter(None, (answer.missing, rows_cut(frame, names))))
    answer = replace(answer, metric=described(measured, names), missing=missing)
    return Compared(title, board, tests, answer, tested)
