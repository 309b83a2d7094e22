"""A run's results, compared: the leaderboard, its tests and the answer in words, as text.

Computed once, for the terminal, Markdown, the page and MLflow.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill

import numpy as np
import pandas as pd

from leaseboard.algorithms.environments.arrival import IMMEDIATE
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.measures import DIRECTIONS, MEANS, of_logarithm
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.score.frame import as_frame, finished, fixed, metric_title, rows_cut, short
from leaseboard.tasks.score.inference import ALPHA, pairwise, wilcoxon
from leaseboard.tasks.score.leaderboard import (
    OK,
    UNFINISHED,
    Board,
    Scale,
    ScoreTable,
    leaderboard,
    score_table,
)

MISSING_RULE = (
    "A repetition that failed (timeout, memout, crash, diverged), or ended early, before it had"
    " consumed its budget, counts as the worst score that any algorithm reached on that dataset;"
    " an algorithm without any score there ranks last."
    " A job that was skipped or is not done is left out, for that algorithm on that dataset only."
    " Means and spreads of raw scores are of finished repetitions alone."
)
"""The rule that every table of the leaderboard states."""
ONE_SET_RULE = (
    "One dataset gives no ranks: algorithms are in the order of their mean scores, and other data"
    " may order them differently."
)
"""Statement of a leaderboard of one dataset, in place of places, mean ranks and tests."""


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence lists them."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def several(n: int, noun: str = "dataset") -> str:
    """Return a count with its noun."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


@dataclass(frozen=True)
class Compared:
    """A run's algorithms, compared."""

    title: str
    board: Board
    """By the suite's own scale."""
    answer: dict[str, str]
    """The leaderboard and its tests in words: a sentence or two for each question that a reader
    has, by the question's name in the wording of pages."""


def compared(results: pd.DataFrame | Iterable[Result], suite: Suite | None = None) -> Compared:
    """Compare the algorithms of some results, by the scale and metric of their suite, if any.

    Raises UsageError if no job has the metric.
    """
    frame, metric = as_frame(results), suite.metric if suite is not None else None
    measured = by_measure(frame, metric) if metric else frame
    metrics = sorted(set(measured["metric"][finished(measured)]) - {""})
    scale = scale_of(suite, metrics[0] if len(metrics) == 1 else "score")
    names = {} if suite is None else suite.data_names
    missing = [_missing(score_table(measured)), rows_cut(frame, names)]
    labels = {str(each.get("labels", IMMEDIATE)) for each in frame["environment_options"]}
    if labels - {IMMEDIATE}:
        missing.append(f"Labels arrive {', '.join(sorted(labels))}.")
    board = leaderboard(measured, scale)
    first = {"best": "No job finished, so there is nothing to rank."}
    if board.frame["ok"].any():
        first = _of_one_set(board) if board.one_set else _of_several(board)
    sentences = {
        "metric": describe_scores(measured, names),
        "relative": _relative(board),
        **first,
        "missing": " ".join(filter(None, missing)),
    }
    title = suite.title if suite is not None else "Leaderboard"
    answer = {name: said for name, said in sentences.items() if said}
    return Compared(f"{title}, by {metric}" if metric else title, board, answer)


def by_measure(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the frame of results with a measure in the place of the score.

    Datasets where no job has the measure, such as those of classes by ``rmse``, are left out.

    Raises UsageError if no job has it.
    """
    values = [each.get(name, math.nan) for each in frame["metrics"]]
    found = frame.assign(score=values, metric=name, direction=DIRECTIONS[name])
    measured = set(found.loc[found["score"].notna(), "data"])
    if not measured:
        raise UsageError(f"no job has the metric {name!r}: take another, or rank by the score")
    return found[found["data"].isin(measured)].reset_index(drop=True)


def describe_scores(frame: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Describe what the scores of some results measure, in which unit, on which datasets."""
    done = frame[finished(frame) & (frame["metric"] != "")]
    parts = []
    for (metric, direction), mine in done.groupby(["metric", "direction"], sort=False):
        text = metric_title(metric)
        text = text[:1].upper() + text[1:]
        if metric.endswith("_mse"):
            text += ", in squared units of the target"
        differs = np.array([of_logarithm(*each) for each in mine[["score", "metrics"]].values])
        if metric == "progressive_mse" and differs.any():
            logs = ", ".join(dict.fromkeys(names.get(d, d) for d in mine["data"][differs]))
            text += f" ({logs}: of its logarithm)"
        text += "".join(MEANS.get(metric, "").partition(": ")[1:])
        parts.append(f"{text}. {'Less' if direction == 'min' else 'More'} is better.")
    for split, mine in done.groupby(done["data_facts"].map(lambda facts: facts.get("split"))):
        on = ", ".join(dict.fromkeys(names.get(data, data) for data in mine["data"]))
        parts.append(f"{on}: {split}.")
    return " ".join(parts)


def scale_of(suite: Suite | None, metric: str = "score") -> Scale:
    """Return the scale that a suite names, if any."""
    if suite is None:
        return Scale(metric=metric)
    ends, meaningless = suite.normalise, tuple(d.data for d in suite.data if not d.meaningful)
    zero, one = (ends.zero, ends.one) if ends else (None, None)
    return Scale(zero, one, meaningless, metric)


def _relative(board: Board) -> str:
    """Return the relative loss of the first row, empty without a baseline's loss."""
    first = board.frame.index[0]
    span = board.span(first, "relative_loss")
    if not np.isfinite(span.value):
        return ""
    loss = "loss" if board.scale.metric == "score" else metric_title(board.scale.metric)
    mean = "" if board.one_set else ", in the geometric mean over datasets"
    share = f"{100 * abs(1 - span.value):.3g} % {'below' if span.value < 1 else 'above'} "
    share = "" if abs(1 - span.value) < 5e-4 else share
    value = f"{fixed(span.value)} {span.ends()}".rstrip()
    return (
        f"{first} has a relative loss of {value}: its {loss} is {share}that of the best naive"
        f" baseline{mean}."
    )


def _of_several(board: Board) -> dict[str, str]:
    """Return the best algorithm, and how sure that is, on several datasets."""
    frame = board.frame
    leaders = frame[frame["place"] == 1]
    verb = "ranks first" if len(leaders) == 1 else "share the first place"
    best = (
        f"{listed(leaders.index)} {verb}: mean rank {fixed(leaders['rank'].iloc[0], 2)} among"
        f" {len(frame)} algorithms on {several(leaders['ranked'].max())}."
    )
    return {"best": best, "how_sure": _tests(board, *frame.index[:2]) if len(frame) > 1 else ""}


def _tests(board: Board, first: str, second: str) -> str:
    """Return what the test over datasets shows of two algorithms, or why it cannot show it."""
    tests, n = pairwise(board.table)
    if not tests:
        return "Nothing to compare: two algorithms with scores on the same dataset are needed."
    p = tests.get(frozenset((first, second)))
    if p is None:
        return ""
    differ = "differ" if p <= ALPHA else "do not differ significantly"
    return f"Over {n} datasets {first} and {second} {differ} (Wilcoxon-Holm, p = {short(p, 2)})."


def _of_one_set(board: Board) -> dict[str, str]:
    """Return the best mean score of one dataset, the next one, and how sure their order is."""
    frame, table = board.frame, board.table
    leaders = frame.index[frame["place"] == 1]
    span = board.span(leaders[0], "score")
    verb = "has" if len(leaders) == 1 else "share"
    value = f"{short(span.value)} {span.ends(4)}".rstrip()
    text = f"{listed(leaders)} {verb} the best {metric_title(board.scale.metric)}, {value}"
    behind = frame["score"].iloc[len(leaders) :].dropna()
    text += f"; {behind.index[0]} has {short(behind.iloc[0])}." if len(behind) else "."
    sure = ""
    if len(frame) > 1 and frame["ok"].iloc[:2].all():
        # Copies of a result count once.
        pairs = np.unique(table.gains[table.only].loc[frame.index[:2]], axis=1)
        p = wilcoxon(*pairs[:, np.isfinite(pairs).all(axis=0)])
        sure = (
            f"Repetitions {'exclude' if p <= ALPHA else 'do not exclude'} that"
            f" {' and '.join(frame.index[:2])} are equally good here (exact paired test, copies"
            f" counted once, p = {short(p, 2)})."
        )
    return {"best": text, "how_sure": f"{sure} {ONE_SET_RULE}".lstrip()}


def _missing(table: ScoreTable) -> str:
    total, states = table.states.size, table.states.to_numpy()
    ok = int((states == OK).sum())
    if ok == total:
        return f"All {total} jobs finished."
    lost = ", ".join(f"{n} {how}" for how in UNFINISHED if (n := (states == how).sum()))
    return f"{ok} of {total} jobs finished ({lost})."


LEGEND = "CPU s: mean over jobs. × cost: times the cheapest. Jobs: finished of all."
RANKED = "Rank: mean over datasets."
RELATIVE = "Relative loss: the loss over the best naive baseline's, less is better."
LEFT_OUT = "Relative losses leave out datasets whose best baseline has loss 0:"
FEWER = "Rank (n/N): over n of N datasets only, so compare it with care."
TESTED = "Test: the same for the test score, which no algorithm saw."
WIDTH = 80
"""Signs of a line of words."""
_LEFT = ("algorithm", "jobs")
"""The columns that hold no numbers."""


def texts(found: Compared) -> pd.DataFrame:
    """Return the leaderboard as text, best first.

    On a leaderboard of one dataset the score is the mean score itself, and nothing is ranked.
    """
    board, frame, one_set = found.board, found.board.frame, found.board.one_set
    number = short if one_set else fixed
    everywhere, early = frame["ranked"].max(), frame["ended early"]
    fewer = [f" ({n}/{everywhere})" if 0 < n < everywhere else "" for n in frame["ranked"]]
    columns = {
        "#": frame["place"].astype(str),
        "algorithm": pd.Series(frame.index, frame.index),
        "relative loss": frame["relative_loss"].map(fixed),
        "rank": frame["rank"].map(lambda rank: fixed(rank, 2)) + fewer,
        "test rank": frame["test_rank"].map(lambda rank: fixed(rank, 2)),
        board.scale.metric if one_set else "score": frame["score"].map(number),
        "95 % interval": [
            board.span(row, "score").ends(4 if one_set else None) or "–" for row in frame.index
        ],
        "test": frame["test"].map(number),
        "CPU s": frame["cpu_seconds"].map(lambda seconds: short(seconds, 2)),
        "× cost": frame["relative_cost"].map(lambda cost: short(cost, 3)),
        "jobs": frame["ok"].astype(str)
        + "/" + frame["jobs"].astype(str)
        + (", " + early.astype(str) + " ended early").where(early > 0, ""),
    }  # fmt: skip
    shown = pd.DataFrame(columns, frame.index)
    left_out = set() if board.has_baselines else {"relative loss"}
    left_out |= set() if board.has_tests else {"test", "test rank"}
    if one_set:
        left_out |= {"#", "rank", "test rank"}
    elif board.has_baselines:
        left_out |= {"95 % interval", "test"}
    return shown.drop(columns=list(left_out))


def standings(found: Compared) -> dict[str, float]:
    """Return score, rank, relative loss and CPU seconds of each algorithm, as MEASURE/NAME."""
    board = found.board
    frame = board.frame.assign(rank=board.frame["place" if board.one_set else "rank"])
    return {f"{measure}/{name.replace('/', '_')}": value
            for measure in ("score", "rank", "relative_loss", "cpu_seconds")
            for name, value in frame[measure].items()}  # fmt: skip


def notes(found: Compared) -> list[str]:
    """Return the meaning of the columns, and the rules that apply to this leaderboard."""
    board, frame = found.board, found.board.frame
    fewer = frame["ranked"].between(1, frame["ranked"].max() - 1).any()
    legend = {
        RANKED: not board.one_set,
        FEWER: not board.one_set and fewer,
        RELATIVE: board.has_baselines,
        LEGEND: True,
        f"Score: {board.score_name}.": True,
        TESTED: board.has_tests,
    }
    rules = {
        " ".join(text for text, counts in legend.items() if counts): True,
        MISSING_RULE: (frame["ok"] < frame["jobs"]).any(),
        f"{LEFT_OUT} {', '.join(board.without_relative)}.": board.without_relative,
    }
    return [text for text, counts in rules.items() if counts]


def plain(found: Compared) -> str:
    """Return the leaderboard as text: its table, the answer in words, and the notes."""
    shown, by = texts(found), f", by {found.board.scale.metric}"
    padded = []
    for name in shown:
        cells = [name, *shown[name]]
        align, width = str.ljust if name == "algorithm" else str.rjust, max(map(len, cells))
        padded.append([align(cell, width) for cell in cells])
    said = [fill(each, WIDTH) for each in (*found.answer.values(), *notes(found))]
    rows = [" ".join(row).rstrip() for row in zip(*padded, strict=True)]
    return "\n".join([found.title.removesuffix(by) + by, *rows, "", *said])


def markdown(found: Compared) -> str:
    """Return the board for a description or a comment; names are escaped."""
    shown = texts(found).map(literal)
    lines = [" ".join(map(literal, found.answer.values())), ""]
    lines += markdown_table(shown, [name for name in shown if name not in _LEFT])
    for note in notes(found):
        lines += ["", literal(note)]
    return "\n".join(lines) + "\n"


def markdown_table(rows: pd.DataFrame, numbers: Collection[str] = ()) -> list[str]:
    """Return the lines of a table.

    - `rows`: cells in Markdown.
    - `numbers`: the columns that are aligned to the right.
    """
    line = ["---:" if name in numbers else "---" for name in rows]
    return [f"| {' | '.join(each)} |" for each in (map(literal, rows), line, *rows.values)]


def literal(text: str) -> str:
    r"""Return `text` as markdown shows it in one line, not as markup.

    Examples
    --------
    >>> print(literal("![a](b) _c_")), print(literal("- d"))
    \!\[a\](b) \_c\_
    \- d
    (None, None)
    """

    def escaped(sign: re.Match[str]) -> str:
        # As an entity: two backslashes before a bar would end the cell of a table.
        return f"&#{ord(sign[0])};" if sign[0] in "&<\\`" else f"\\{sign[0]}"

    line = re.sub(r"[&<\\`*_~\[\]#!|]", escaped, " ".join(text.splitlines()))
    return re.sub(r"^(\d*)([-+.)])(?= |$)", r"\1\\\2", line)
