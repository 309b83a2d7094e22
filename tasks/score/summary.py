"""A run's results, compared: the leaderboard, the tests, and the answer in words.

Computed once, for the terminal, the page and MLflow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd

from leaseboard.algorithms.environments.arrival import IMMEDIATE
from leaseboard.algorithms.measures import DIRECTIONS, baseline_name
from leaseboard.tasks.jobs.environments.kinds import choosing
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.score.frame import (
    as_frame,
    by_measure,
    describe_scores,
    finished,
    metric_title,
    rows_cut,
)
from leaseboard.tasks.score.inference import (
    ALPHA,
    Comparison,
    Interval,
    compare_all,
)
from leaseboard.tasks.score.leaderboard import ONE_SET_RULE, Board, leaderboard
from leaseboard.tasks.score.numbers import fixed, short
from leaseboard.tasks.score.table import (
    OK,
    UNFINISHED,
    Scale,
    ScoreTable,
    nanmean,
    score_table,
    significant,
)

if TYPE_CHECKING:
    from leaseboard.tasks.jobs.suites.suite import Suite


NAMED = 5
"""Number of datasets that are named; the others are counted."""


def bracket(found: Interval, digits: int | None = None) -> str:
    """Return an interval as ``[lower, upper]``, three decimals or `digits` significant ones."""
    if not np.isfinite(found.lower):
        return ""
    low, high = (
        fixed(end) if digits is None else short(end, digits) for end in (found.lower, found.upper)
    )
    return f"[{low}, {high}]"


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence lists them."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def several(n: int, noun: str = "dataset") -> str:
    """Return a count with its noun."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def score_name(board: Board) -> str:
    """Return the name of the score column."""
    if board.one_set:
        better = "less" if board.less_is_better else "more"
        return f"{metric_title(board.metric)}, {better} is better"
    return board.scale


@dataclass(frozen=True, slots=True)
class Answer:
    """One sentence or two for each question that a reader of a leaderboard has."""

    metric: str = ""
    best: str = "No job finished, so there is nothing to rank."
    baselines: str = ""
    relative: str = ""
    by_how_much: str = ""
    meaning: str = ""
    how_sure: str = ""
    cost: str = ""
    missing: str = ""

    def lines(self) -> tuple[str, ...]:
        """Return all sentences, in order."""
        return tuple(filter(None, astuple(self)))


@dataclass(frozen=True)
class Compared:
    """A run's algorithms, compared."""

    title: str
    board: Board
    """By the suite's own scale."""
    tests: Comparison
    answer: Answer
    """Both in words."""
    tested: Tested | None = None
    """Side of the test, where the leaderboard ranks by validation."""


Results: TypeAlias = pd.DataFrame | Iterable[Result]


def compared(results: Results, suite: Suite | None = None) -> Compared:
    """Compare the algorithms of some results, by the scale and metric of their suite, if any.

    Raises UsageError if no job has the metric.
    """
    frame, metric = as_frame(results), suite.metric if suite is not None else None
    measured = by_measure(frame, metric) if metric else frame
    metrics = sorted(set(measured["metric"][finished(measured)]) - {""})
    scale = scale_of(suite, metrics[0] if len(metrics) == 1 else "score")
    names = {} if suite is None else {d.data: d.name for d in suite.data if d.name}
    missing = [_missing(score_table(measured)), copies(frame, names), rows_cut(frame, names),
               arrivals(frame)]  # fmt: skip
    frame, measured = distinct(frame), distinct(measured)
    board = leaderboard(measured, scale)
    tests = compare_all(board.table)
    title = suite.title if suite is not None else "Leaderboard"
    if metric:
        title += f", by {metric}"
    by_score = metric is None and board.metric not in DIRECTIONS  # race puts measures in its place
    tested = on_test(frame, board, scale) if by_score else None
    sentences = {
        "metric": describe_scores(measured, names),
        "baselines": " ".join(filter(None, (verdict(board, names), on_selected(frame, names)))),
        "missing": " ".join(filter(None, missing)),
    }
    if any(row.n_ok for row in board.rows):
        sentences |= summarise(board, tests)
        if "cost" in sentences:
            sentences["cost"] += _unit_costs(board, frame)
    return Compared(title, board, tests, Answer(**sentences), tested)


def scale_of(suite: Suite | None, metric: str = "score") -> Scale:
    """Return the scale that a suite names, if any."""
    if suite is None:
        return Scale(metric=metric)
    ends, meaningless = suite.normalise, tuple(d.data for d in suite.data if not d.meaningful)
    zero, one = (ends.zero, ends.one) if ends else (None, None)
    return Scale(zero, one, meaningless, metric)


def summarise(board: Board, tests: Comparison) -> dict[str, str]:
    """Return the answers of a leaderboard with a finished job and of its tests, by field."""
    first = board.rows[0]
    sentences = _of_one_set(board) if board.one_set else _of_several(board, tests)
    if np.isfinite(first.relative.value):
        value = f"{fixed(first.relative.value)} {bracket(first.relative)}".rstrip()
        text = f"{first.name} has a relative loss of {value}"
        mean = "" if board.one_set else ", in the geometric mean over datasets"
        less = 1 - first.relative.value
        if abs(less) < 5e-4:
            text += f": its {board.loss} is that of the best naive baseline{mean}."
        else:
            share = f"{100 * less:.3g} % below" if less > 0 else f"{-100 * less:.3g} % above"
            text += f": its {board.loss} is {share} that of the best naive baseline{mean}."
        sentences["relative"] = text
    if np.isfinite(first.cpu_seconds):
        cost = first.relative_cost
        where = "" if board.one_set else " on each dataset (geometric mean)"
        times = f", {short(cost, 3)} times the cheapest{where}" if cost >= 1.005 else ""
        times = ", the cheapest of all" if cost < 1.005 else times
        sentences["cost"] = f"{first.name} took {short(first.cpu_seconds, 3)} CPU s a job{times}."
    return sentences


def _unit_costs(board: Board, frame: pd.DataFrame) -> str:
    """Return the CPU time of the first row for an example, where the budget counts examples."""
    first = board.rows[0].name
    done = frame[finished(frame) & (frame["name"] == first) & (frame["unit"] == "examples")]
    if not done["units"].sum():
        return ""
    each = 1e6 * done["cpu_seconds"].sum() / done["units"].sum()
    return f" That is {short(each, 3)} µs an example."


def _of_several(board: Board, tests: Comparison) -> dict[str, str]:
    """Return the best algorithm, by how much and how sure, on several datasets."""
    leaders = [row for row in board.rows if row.place == 1]
    first, lead = board.rows[0], board.lead
    verb = "ranks first" if len(leaders) == 1 else "share the first place"
    best = (
        f"{listed([row.name for row in leaders])} {verb}: mean rank"
        f" {fixed(leaders[0].rank.value, 2)} among {len(board.rows)} algorithms on"
        f" {several(max(row.n_ranked for row in leaders))}."
    )
    text = ""
    if np.isfinite(first.score.value):
        whose = "Its" if len(leaders) == 1 else f"{first.name}'s"
        value = f"{fixed(first.score.value)} {bracket(first.score)}".rstrip()
        text = f"{whose} {board.scale.partition(':')[0]} is {value}"
        ahead = first.score.value - board.rows[1].score.value if lead is not None else np.nan
        if np.isfinite(ahead):
            gap = f"{fixed(abs(ahead))} {'ahead of' if ahead > 0 else 'behind'}"
            gap = "level with" if abs(ahead) < 5e-4 else gap
            text += f", {gap} {board.rows[1].name}, the next by rank"
        text += "."
    sure = []
    if lead is not None:
        both = {first.name, board.rows[1].name}
        if _level(board):
            sure.append(f"Nothing separates {first.name} and {board.rows[1].name}.")
        elif np.isfinite(lead.lower):
            certain = "excludes zero" if lead.excludes_zero else "includes zero"
            sure.append(
                f"The 95 % interval of {first.name}'s lead over {board.rows[1].name} in the"
                f" {board.scale.partition(':')[0]} is {bracket(lead)}: it {certain}."
            )
        if tests.note:
            sure.append(tests.note)
        for pair in () if tests.note else tests.pairs:
            if {pair.first, pair.second} == both:
                differ = "differ" if pair.different else "do not differ significantly"
                sure.append(
                    f"Over {pair.n} datasets {first.name} and {board.rows[1].name} {differ}"
                    f" (Wilcoxon-Holm, p = {short(pair.p, 2)})."
                )
    meaning = board.meaning if np.isfinite(first.score.value) else ""
    return {"best": best, "by_how_much": text, "meaning": meaning, "how_sure": " ".join(sure)}


def _of_one_set(board: Board) -> dict[str, str]:
    """Return the best mean score of one dataset, the next one, and how sure their order is."""
    leaders = [row.name for row in board.rows if row.place == 1]
    first, lead = board.rows[0], board.lead
    verb = "has" if len(leaders) == 1 else "share"
    value = f"{short(first.raw.value)} {bracket(first.raw, 4)}".rstrip()
    text = f"{listed(leaders)} {verb} the best {metric_title(board.metric)}, {value}"
    behind = [row for row in board.rows[len(leaders) :] if np.isfinite(row.raw.value)]
    text += f"; {behind[0].name} has {short(behind[0].raw.value)}." if behind else "."
    sure = ""
    if lead is not None and np.isfinite(lead.value) and board.rows[1].n_ok:
        both = f"{first.name} and {board.rows[1].name}"
        certain = "exclude" if board.lead_p <= ALPHA else "do not exclude"
        sure = (
            f"Repetitions {certain} that {both} are equally good here (exact paired test, copies"
            f" counted once, p = {short(board.lead_p, 2)})."
        )
        if _level(board):
            sure = f"{both} have the same score in every repetition."
    return {"best": text, "how_sure": f"{sure} {ONE_SET_RULE}".lstrip()}


def _level(board: Board) -> bool:
    """Return whether the first two rows have equal scores in every repetition."""
    first, second = (board.values[board.table.labels.index(row.name)] for row in board.rows[:2])
    return bool(np.array_equal(first, second, equal_nan=True) and np.isfinite(first).any())


def _missing(table: ScoreTable) -> str:
    total, ok = table.states.size, int((table.states == OK).sum())
    if ok == total:
        return f"All {total} jobs finished."
    counts = {how: int((table.states == state).sum()) for state, how in UNFINISHED.items()}
    lost = ", ".join(f"{n} {how}" for how, n in counts.items() if n)
    return f"{ok} of {total} jobs finished ({lost})."


def arrivals(frame: pd.DataFrame) -> str:
    """Return when labels of streams come, unless all come at once."""
    found = {str(each.get("labels", IMMEDIATE)) for each in frame["environment_options"]}
    return f"Labels arrive {', '.join(sorted(found))}." if found - {IMMEDIATE} else ""


def distinct(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the results with those on copies of a dataset under the first one's name, once."""
    known = frame[frame["digest"].fillna("") != ""].drop_duplicates("data")
    first = dict(
        zip(known["data"], known.groupby("digest")["data"].transform("first"), strict=True)
    )
    data = [first.get(each, each) for each in frame["data"]]
    return frame.assign(data=data).drop_duplicates(["name", "data", "repetition"])


def copies(frame: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Return which datasets repeat another, and which algorithms a result; empty without any.

    `names`: what datasets are called, in the place of their references.
    """
    text, found = "", dict[str, int]()
    same_rows = set(frame["data"]) - set(distinct(frame)["data"])
    if same_rows:
        shown = [names.get(data, data) for data in frame["data"].unique() if data in same_rows]
        more = f" and {len(shown) - NAMED} more" if len(shown) > NAMED else ""
        text = (
            f"{several(len(shown))} repeated another exactly ({', '.join(shown[:NAMED])}{more}):"
            " they count once in means, ranks, intervals and tests."
        )
    for (name, _), rows in distinct(frame[finished(frame)]).groupby(["name", "data"], sort=False):
        same = [
            (row.digest, row.score, {k: v for k, v in row.metrics.items() if "seconds" not in k})
            for row in rows.itertuples()
        ]
        if len(same) > 1 and all(each == same[0] for each in same):
            found[name] = found.get(name, 0) + len(same) - 1
    if not found:
        return text
    named = [f"{name} {n}" for name, n in found.items()]
    return (
        f"{text} {several(sum(found.values()), 'repetition')} repeated another result exactly, as"
        f" without a seed on the same rows ({', '.join(named)}): they count once in intervals and"
        " tests."
    ).lstrip()


def on_selected(frame: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Return on which datasets baselines use selected features; empty where none does."""
    done = frame[finished(frame) & frame["baseline"]]
    places: dict[str, list[str]] = {}
    for row in done.itertuples():
        if (shown := baseline_name(row.name, row.metrics)) != row.name:
            places.setdefault(shown, []).append(names.get(row.data, row.data))
    return " ".join(
        f"On {', '.join(dict.fromkeys(sets))} one of the baselines is {shown}."
        for shown, sets in places.items()
    )


def verdict(board: Board, names: Mapping[str, str] | None = None) -> str:
    """Return a sentence on the best row that is not a baseline; empty if nothing is comparable.

    An oracle baseline does not compete. A tie beats nothing.

    `names`: what datasets are called, in the place of their references.
    """
    table, finishers = board.table, [row for row in board.rows if row.n_ok]
    competing = [row.name for row in finishers if not (row.baseline or row.oracle_baseline)]
    baselines = [row.name for row in finishers if row.baseline]
    if not competing or not baselines:
        return ""
    first, me = competing[0], table.labels.index(competing[0])
    # Means are those that ranks compare; minus infinity for a failure, NaN for a skipped job.
    gains = significant(table.standings)
    rows = [table.labels.index(label) for label in baselines]
    best = np.fmax.reduce(gains[rows], axis=0)
    both = np.flatnonzero(np.isfinite(best) & ~np.isnan(gains[me]))
    if not len(both):
        return ""
    lost = [p for p in both if gains[me, p] <= best[p]]
    if not lost:
        places = f"{'all ' if len(both) > 1 else ''}{several(len(both))}"
        return f"{first} beats every baseline ({', '.join(baselines)}) on {places}."
    named = []
    for p in lost[:NAMED]:
        who = rows[int(np.nanargmax(gains[rows, p]))]
        scores = ", ".join(f"{table.labels[i]} {short(table.means[i, p])}" for i in (who, me))
        named.append(f"{(names or {}).get(table.problems[p], table.problems[p])} ({scores})")
    more = f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
    return (
        f"On {len(lost)} of {several(len(both))} a baseline is at least as good as {first}:"
        f" {', '.join(named)}{more}."
    )


METRIC = "test"
"""Metric of the results: the test score of a policy's choice by validation."""


@dataclass(frozen=True)
class Tested:
    """Test's side of a leaderboard; an algorithm without a test score is in neither mapping."""

    scores: Mapping[str, float]
    """By algorithm: the mean on the leaderboard's scale, of one dataset the test score itself."""
    ranks: Mapping[str, float]
    """By algorithm: the mean rank over datasets; empty for one dataset."""


def on_test(frame: pd.DataFrame, board: Board, scale: Scale) -> Tested | None:
    """Return the side of the test; None where no job chose by a validation score and was tested.

    - `frame`: the results of `board`.
    - `scale`: the leaderboard's.
    """
    table, only = score_table(frame, METRIC), board.table.only
    if not frame["environment"].isin(choosing("arm")).any() or not np.isfinite(table.scores).any():
        return None
    if only is None:  # datasets without a meaning on the common scale count here
        means = Scale(scale.zero, scale.one).means(table)
        standing = nanmean(table.ranks(), axis=1)
    else:
        means, standing = table.means[:, only], -table.standings[:, only]
    scores, places = (
        pd.Series(values, table.labels)[np.isfinite(values)].to_dict()
        for values in (means, standing)
    )
    return Tested(scores, {} if board.one_set else places)
