"""The answer in words: which is best, by how much, how sure, at what cost, what is missing."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np

from leaseboard.tasks.score.inference import Comparison, Interval
from leaseboard.tasks.score.leaderboard import ONE_SET_RULE, Board, Row
from leaseboard.tasks.score.table import UNFINISHED


@dataclass(frozen=True, slots=True)
class Answer:
    """One sentence or two for each question that a reader of a board has."""

    metric: str = ""
    best: str = "No job finished, so there is nothing to rank."
    on_test: str = ""
    first_tries: str = ""
    relative: str = ""
    by_how_much: str = ""
    meaning: str = ""
    how_sure: str = ""
    cost: str = ""
    missing: str = ""

    def lines(self) -> tuple[str, ...]:
        """Return all that there is to say, in order."""
        return tuple(filter(None, astuple(self)))


def summarise(board: Board, tests: Comparison, first_tries: str = "", on_test: str = "") -> Answer:
    """Return the answer that a board and its tests give.

    `first_tries`, `on_test`: what `leaseboard.tasks.score.compared` says of them.
    """
    missing = _missing(board.rows)
    if not any(row.n_ok for row in board.rows):
        return Answer(missing=missing)
    leaders = [row for row in board.rows if row.place == 1]
    return Answer(
        best=ONE_SET_RULE if board.one_set else _best(leaders, board),
        on_test=on_test,
        first_tries=first_tries,
        relative=_relative(board),
        by_how_much=_best_score(board) if board.one_set else _by_how_much(board),
        # A mean score of one data set says itself what it is.
        meaning=""
        if board.one_set or not np.isfinite(board.rows[0].score.value)
        else board.meaning,
        how_sure=_how_sure_of_one(board) if board.one_set else _how_sure(board, tests),
        cost=_cost(leaders[0]),
        missing=missing,
    )


def short(value: float, digits: int = 4) -> str:
    """Return a number for a table: `digits` significant digits, a dash for none."""
    if not np.isfinite(value):
        return "–"
    text = f"{value:.{digits}g}"
    if "e" in text and 1e-4 <= abs(value) < 1e9:
        text = f"{value:.0f}"
    return text.replace("-", "−")


def fixed(value: float, decimals: int = 3) -> str:
    """Return a number on the common scale or a rank: with `decimals` decimals, a dash for none."""
    if not np.isfinite(value):
        return "–"
    if abs(value) >= 1000:
        return short(value, 4)
    return f"{round(value, decimals) + 0.0:.{decimals}f}".replace("-", "−")


def bracket(found: Interval, digits: int | None = None) -> str:
    """Return an interval as ``[lower, upper]``, three decimals or `digits` significant ones."""
    if not np.isfinite(found.lower):
        return ""
    low, high = (
        fixed(end) if digits is None else short(end, digits) for end in (found.lower, found.upper)
    )
    return f"[{low}, {high}]"


def _best(leaders: list[Row], board: Board) -> str:
    names = _listed([row.label for row in leaders])
    ranked = max(row.n_ranked for row in leaders)
    sets = "1 data set" if ranked == 1 else f"{ranked} data sets"
    verb = "ranks first" if len(leaders) == 1 else "share the first place"
    rank = fixed(leaders[0].rank.value, 2)
    return f"{names} {verb}: mean rank {rank} among {len(board.rows)} algorithms on {sets}."


def _relative(board: Board) -> str:
    """Return the relative loss of the first row, and what it is."""
    first = board.rows[0]
    if not np.isfinite(first.relative.value):
        return ""
    text = f"{first.label}'s relative loss is {fixed(first.relative.value)}"
    mean = "" if board.one_set else ", the geometric mean over data sets"
    return (
        f"{text} {bracket(first.relative)}".rstrip()
        + f": its {board.metric} over that of the best baseline{mean}; below 1 is better."
    )


def _by_how_much(board: Board) -> str:
    first = board.rows[0]
    text = ""
    if np.isfinite(first.score.value):
        text = f"{_whose(board)} {board.scale.partition(':')[0]} is {fixed(first.score.value)}"
        text += f" {bracket(first.score)}".rstrip()
        if board.lead is not None and np.isfinite(board.lead.value):
            lead = board.lead.value
            gap = f"{fixed(abs(lead))} {'ahead of' if lead > 0 else 'behind'}"
            gap = "level with" if abs(lead) < 5e-4 else gap
            text += f", {gap} {board.rows[1].label}, the next by rank"
        text += "."
    return text


def _best_score(board: Board) -> str:
    """Return the best mean score of one data set, and the next."""
    leaders = [row for row in board.rows if row.place == 1]
    first, behind = board.rows[0], board.rows[len(leaders) :]
    verb = "has" if len(leaders) == 1 else "share"
    text = f"{_listed([row.label for row in leaders])} {verb} the best mean {board.metric},"
    text += f" {short(first.raw.value)} {bracket(first.raw, 4)}".rstrip()
    following = next((row for row in behind if np.isfinite(row.raw.value)), None)
    return text + (f"; {following.label} has {short(following.raw.value)}." if following else ".")


def _how_sure_of_one(board: Board) -> str:
    """Return whether repetitions of one data set tell the first two apart."""
    if board.lead is None or not np.isfinite(board.lead.value):
        return ""
    first, second = board.rows[:2]
    if not second.n_ok:
        return ""
    if not np.isfinite(board.lead.lower):
        return "A single repetition has no interval: it cannot say how sure that is."
    certain = "exclude" if board.lead.excludes_zero else "do not exclude"
    return (
        f"Repetitions {certain} that {first.label} and {second.label} are level here (95 %"
        " bootstrap interval of their difference)."
    )


def _whose(board: Board) -> str:
    """Return whose numbers are told: the first row's, by name where it shares the first place."""
    alone = sum(row.place == 1 for row in board.rows) == 1
    return "Its" if alone else f"{board.rows[0].label}'s"


def _how_sure(board: Board, tests: Comparison) -> str:
    if len(board.rows) < 2:
        return ""
    first, second = board.rows[0].label, board.rows[1].label
    parts = []
    lead = board.lead
    if lead is not None and lead.lower == lead.upper == lead.value == 0:
        parts.append(f"Nothing separates {first} and {second} in any sample.")
    elif lead is not None and np.isfinite(lead.lower):
        certain = "excludes zero" if lead.excludes_zero else "includes zero"
        parts.append(f"The 95 % interval of that lead is {bracket(lead)}: it {certain}.")
    if tests.note:
        parts.append(tests.note)
    else:
        pair = next((p for p in tests.pairs if {p.first, p.second} == {first, second}), None)
        if pair is not None:
            verdict = "differ" if pair.different else "do not differ significantly"
            parts.append(
                f"Over {pair.n} data sets {first} and {second} {verdict}"
                f" (Wilcoxon-Holm, p = {short(pair.p, 2)})."
            )
    return " ".join(parts)


def _cost(first: Row) -> str:
    if not np.isfinite(first.cpu_seconds):
        return ""
    text = f"{first.label} took {short(first.cpu_seconds, 3)} CPU s a job"
    if not np.isfinite(first.relative_cost):
        return f"{text}."
    if first.relative_cost < 1.005:
        return f"{text}, the cheapest of all."
    return f"{text}, {short(first.relative_cost, 3)} times the cheapest algorithm."


def _missing(rows: tuple[Row, ...]) -> str:
    ok, total = sum(row.n_ok for row in rows), sum(row.n_jobs for row in rows)
    if ok == total:
        return f"All {total} jobs finished."
    counts = {how: sum(row.unfinished[how] for row in rows) for how in UNFINISHED.values()}
    listed = ", ".join(f"{n} {how}" for how, n in counts.items() if n)
    return f"{ok} of {total} jobs finished ({listed})."


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
