"""What a board says of a run's results, computed once for the terminal, the page and MLflow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pandas as pd

from tasks.jobs.job import Result
from tasks.score.first_tries import verdict
from tasks.score.frame import as_frame
from tasks.score.leaderboard import Board, leaderboard
from tasks.score.significance import Comparison, compare_all
from tasks.score.summary import Answer, summarise

if TYPE_CHECKING:
    from tasks.suites.suite import Suite

Results: TypeAlias = pd.DataFrame | Iterable[Result]


@dataclass(frozen=True)
class Compared:
    """A run's algorithms, compared.

    Attributes
    ----------
    title : str
        Of the suite.
    board : Board
        By the suite's own scale.
    tests : Comparison
    answer : Answer
        What both say in words.
    """

    title: str
    board: Board
    tests: Comparison
    answer: Answer


def compared(results: Results, suite: Suite | None = None) -> Compared:
    """Compare the algorithms of some results, by the scale of their suite if there is one."""
    scale = suite.normalise if suite is not None else None
    meaningless = () if suite is None else tuple(d.data for d in suite.data if not d.meaningful)
    board = leaderboard(
        as_frame(results),
        zero=scale.zero if scale else None,
        one=scale.one if scale else None,
        meaningless=meaningless,
    )
    tests = compare_all(board.table)
    names = {} if suite is None else {d.data: d.name for d in suite.data if d.name}
    first_tries = verdict(board, names)
    title = suite.title if suite is not None else "Leaderboard"
    return Compared(title, board, tests, summarise(board, tests, first_tries))
