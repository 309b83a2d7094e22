"""What a board says of a run's results, computed once for the terminal, the page and MLflow."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, TypedDict

import numpy as np
import pandas as pd

from leaseboard.algorithms.benches.measures import baseline_name
from leaseboard.tasks.jobs.benches.kinds import choosing
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.score.frame import as_frame, by_measure, described, finished, rows_cut
from leaseboard.tasks.score.inference import Comparison, compare_all
from leaseboard.tasks.score.leaderboard import Board, leaderboard
from leaseboard.tasks.score.summary import Answer, short, summarise
from leaseboard.tasks.score.table import (
    ScoreTable,
    nanmean,
    normalised,
    scaled,
    score_table,
    significant,
)

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
    scale = scale_of(suite)
    frame, metric = as_frame(results), suite.metric if suite is not None else None
    measured = by_measure(frame, metric) if metric else frame
    metrics = sorted(set(measured["metric"][finished(measured)]) - {""})
    board = leaderboard(measured, **scale, metric=metrics[0] if len(metrics) == 1 else "score")
    tests = compare_all(board.table)
    names = {} if suite is None else {d.data: d.name for d in suite.data if d.name}
    first_tries = " ".join(filter(None, (verdict(board, names), on_selected(frame, names))))
    title = suite.title if suite is not None else "Leaderboard"
    if metric:
        title += f", by {metric}"
    tested = None if metric else on_test(frame, board, scale["zero"], scale["one"])
    answer = summarise(board, tests, first_tries, tested.verdict if tested else "")
    missing = " ".join(filter(None, (answer.missing, rows_cut(frame, names))))
    answer = replace(answer, metric=described(measured, names), missing=missing)
    return Compared(title, board, tests, answer, tested)


class Scale(TypedDict):
    """The common scale: whose scores are 0 and 1 on it, and where it has no meaning."""

    zero: str | None
    one: str | None
    meaningless: tuple[str, ...]


def scale_of(suite: Suite | None) -> Scale:
    """Return the scale that a suite names, if any."""
    ends = suite.normalise if suite is not None else None
    meaningless = () if suite is None else tuple(d.data for d in suite.data if not d.meaningful)
    zero, one = (ends.zero, ends.one) if ends else (None, None)
    return {"zero": zero, "one": one, "meaningless": meaningless}


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
    """Return a sentence on the best row that is no baseline; empty if nothing can be compared.

    Who declares hindsight competes with nobody. A tie beats nothing.

    `names`: what data sets are called, in the place of their references.
    """
    competing = (row for row in board.rows if row.n_ok and not (row.baseline or row.hindsight))
    first = next(competing, None)
    baselines = [row.label for row in board.rows if row.baseline and row.n_ok]
    if first is None or not baselines:
        return ""
    table = board.table
    # Means are those that ranks compare; minus infinity for a failure, NaN for a skipped job.
    gains = significant(table.standings)
    rows = [table.labels.index(label) for label in baselines]
    best, me = np.fmax.reduce(gains[rows], axis=0), table.labels.index(first.label)
    both = np.flatnonzero(np.isfinite(best) & ~np.isnan(gains[me]))
    if not len(both):
        return ""
    lost = [p for p in both if gains[me, p] <= best[p]]
    sets = f"{len(both)} data set{'' if len(both) == 1 else 's'}"
    if not lost:
        return (
            f"{first.label} beats every baseline ({', '.join(baselines)}) on"
            f" {'all ' * (len(both) > 1)}{sets}."
        )
    named = []
    for p in lost[:NAMED]:
        who = rows[int(np.nanargmax(gains[rows, p]))]
        scores = ", ".join(f"{table.labels[i]} {short(table.means[i, p])}" for i in (who, me))
        named.append(f"{(names or {}).get(table.problems[p], table.problems[p])} ({scores})")
    more = f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
    return (
        f"{first.label} does not beat every baseline on {len(lost)} of {sets}:"
        f" {', '.join(named)}{more}."
    )


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
    """Return what the test says; None where no job chose by a validation score and was tested.

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
        pd.Series(values, table.labels)[np.isfinite(values)].to_dict()
        for values in (means, standing)
    )
    ranks = {} if board.one_set else places
    return Tested(scores, ranks, _verdict(board, table, places))


def _verdict(board: Board, table: ScoreTable, places: Mapping[str, float]) -> str:
    """Return whether both agree; of `places` less is better."""
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
    """Return whether those ahead on test are so beyond chance."""
    errors = [standard_errors(table, label, first) for label in ahead]
    if not np.isfinite(errors).any():
        return "one run each has no standard error to judge by"
    apart = [label for label, size in zip(ahead, errors, strict=True) if size > BEYOND]
    if not apart:
        return "the differences on test are within two standard errors"
    named = ", ".join(apart[:-1]) + (" and " if apart[:-1] else "") + apart[-1]
    return f"{named} {'is' if len(apart) == 1 else 'are'} ahead by more than two standard errors"


def standard_errors(table: ScoreTable, one: str, other: str) -> float:
    """Return by how many standard errors `one` is better than `other`.

    Of the differences that are paired over data sets and repetitions; NaN for fewer than two
    pairs, infinite where all differences are alike and not 0.
    """
    over = table.less(other).scores[table.labels.index(one)]
    differences = (over * table.signs[:, None]).ravel()
    differences = differences[np.isfinite(differences)]
    if len(differences) < 2:
        return math.nan
    error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    mean = float(differences.mean())
    if error:
        return mean / error
    return math.copysign(math.inf, mean) if mean else 0.0


def ordinal(n: int) -> str:
    """Return a place in words.

    Examples
    --------
    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd']
    """
    ending = {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}th" if n % 100 in (11, 12, 13) else f"{n}{ending}"
