"""Policies rank by validation: what the test says of the same jobs, and where the two disagree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from leaseboard.tasks.jobs.benches.kinds import choosing
from leaseboard.tasks.score.leaderboard import Board
from leaseboard.tasks.score.normalise import normalised, scaled
from leaseboard.tasks.score.table import ScoreTable, nanmean, score_table

METRIC = "test"
"""Of the results: the test score of what a policy chose by validation, which it never saw."""

BEYOND = 2.0
"""Standard errors of the mean paired difference, beyond which two algorithms differ on test."""


@dataclass(frozen=True)
class Tested:
    """The test's side of a board; who has no test score is in neither mapping."""

    scores: Mapping[str, float]
    """By algorithm: the mean on the board's own scale, of one data set the test score itself."""
    ranks: Mapping[str, float]
    """By algorithm: the mean rank over data sets; empty for one data set."""
    verdict: str
    """Whether the first by validation is the first by test, in a sentence."""


def on_test(
    frame: pd.DataFrame, board: Board, zero: str | None = None, one: str | None = None
) -> Tested | None:
    """What the test says; None where no job has chosen by a validation score and was tested.

    - `frame`: the results of `board`.
    - `zero`, `one`: of the board's scale.
    """
    table = score_table(frame, METRIC)
    if not frame["bench"].isin(choosing("arm")).any() or not np.isfinite(table.scores).any():
        return None
    if board.table.only is not None:
        place = board.table.only
        means, standing = table.means[:, place], -table.standings[:, place]
    else:
        on_scale = normalised(table, zero, one) if zero and one else scaled(table)
        means = nanmean(nanmean(on_scale, axis=2), axis=1)
        standing = nanmean(table.ranks(), axis=1)
    scores, places = (
        {
            label: float(value)
            for label, value in zip(table.labels, values, strict=True)
            if math.isfinite(value)
        }
        for values in (means, standing)
    )
    ranks = {} if board.one_set else places
    return Tested(scores, ranks, _verdict(board, table, places))


def _verdict(board: Board, table: ScoreTable, places: Mapping[str, float]) -> str:
    """`places`: less is better."""
    leaders = [row.label for row in board.rows if row.place == 1 and row.label in places]
    if not leaders or len(places) < 2:
        return ""
    first = min(leaders, key=places.__getitem__)
    ahead = sorted(
        (label for label, place in places.items() if place < places[first] - 1e-9),
        key=places.__getitem__,
    )
    if not ahead:
        return f"{first} {'has the best test score' if board.one_set else 'is 1st by test'} too."
    others, n = len(ahead), len(places)
    if board.one_set:
        said = (
            f"{first} has the best validation score, and {others} of {n - 1} others have a better"
            f" test score, {ahead[0]} the best"
        )
    else:
        said = (
            f"{first} is 1st by validation and {ordinal(others + 1)} of {n} by test, where"
            f" {ahead[0]} is 1st"
        )
    return f"Validation and test disagree: {said}; {_how_sure(table, first, ahead)}."


def _how_sure(table: ScoreTable, first: str, ahead: Sequence[str]) -> str:
    """Whether those ahead on test are so beyond chance."""
    errors = [standard_errors(table, label, first) for label in ahead]
    if not np.isfinite(errors).any():
        return "one run each has no standard error to judge by"
    apart = [label for label, size in zip(ahead, errors, strict=True) if size > BEYOND]
    if not apart:
        return "the differences on test are within two standard errors"
    named = ", ".join(apart[:-1]) + (" and " if apart[:-1] else "") + apart[-1]
    return f"{named} {'is' if len(apart) == 1 else 'are'} ahead by more than two standard errors"


def standard_errors(table: ScoreTable, one: str, other: str) -> float:
    """By how many standard errors `one` is better than `other`.

    Of the differences that are paired over data sets and repetitions; NaN for fewer than two
    pairs, infinite where all differences are alike and not 0.
    """
    sign = np.array([1.0 if direction == "max" else -1.0 for direction in table.directions])
    mine, theirs = (table.scores[table.labels.index(label)] for label in (one, other))
    differences = ((mine - theirs) * sign[:, None]).ravel()
    differences = differences[np.isfinite(differences)]
    if len(differences) < 2:
        return math.nan
    error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    mean = float(differences.mean())
    if error:
        return mean / error
    return math.copysign(math.inf, mean) if mean else 0.0


def ordinal(n: int) -> str:
    """A place in words.

    Examples
    --------
    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd']
    """
    ending = {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}th" if n % 100 in (11, 12, 13) else f"{n}{ending}"
