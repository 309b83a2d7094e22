"""The leaderboard: every algorithm by its mean rank."""

from __future__ import annotations

import math

from markupsafe import Markup

from leaseboard.tasks.report.section import (
    Cell,
    Material,
    Names,
    Section,
    Table,
    finite,
    named,
    number,
)
from leaseboard.tasks.score import board as terminal
from leaseboard.tasks.score.leaderboard import ONE_SET_RULE, Board, Row
from leaseboard.tasks.score.summary import bracket, fixed, short
from leaseboard.tasks.score.table import HINDSIGHT_RULE, MISSING_RULE
from leaseboard.tasks.score.tested import Tested

RANKED = ("Place", "Mean rank", "Mean rank by test", "Wins / ties / losses", "Data sets ranked")
"""What a board of one data set does not claim."""


def section(made: Material) -> Section:
    """The board as a table, with the rule for missing results."""
    board, tested = made.found.board, made.found.tested
    rows = [_row(row, board, tested) for row in board.rows]
    columns = list(rows[0]) if rows else ["Algorithm"]
    table = Table(
        "leaderboard-table",
        f"All algorithms by mean {'score' if board.one_set else 'rank'}",
        columns,
        [list(row.values()) for row in rows],
        note=_note(board, made.names),
        filters="algorithms",
        few=0,
        numeric_from=1 + columns.index("Algorithm"),
        key_column=columns.index("Algorithm"),
    )
    order = ONE_SET_RULE if board.one_set else "Ordered by mean rank over data sets."
    if tested:
        order += (
            " The score is one of validation; the test score, which no algorithm saw, stands"
            " beside it on the same scale."
        )
    led = f" Relative loss: {board.metric} over that of the best baseline, below 1 is better."
    order += led if board.baselines else ""
    means = "" if board.one_set else f" {board.meaning}"
    text = (
        f"{order} Score: {terminal.score_name(board)}.{means} Intervals are"
        " two-level bootstrap intervals over data sets and repetitions, paired between"
        " algorithms. CPU seconds are the algorithm’s work alone; data loaded, kernels compiled."
    )
    return Section("leaderboard", "Leaderboard", nav="Leaderboard", text=[text], tables=[table])


def _row(row: Row, board: Board, tested: Tested | None) -> dict[str, Cell]:
    """The cells of a row by their columns; a board of one data set ranks nobody."""
    one_set = board.one_set
    shown = row.raw if one_set else row.score

    def score(value: float) -> Cell:
        return Cell(short(value) if one_set else fixed(value), finite(value))

    missing = row.n_jobs - row.n_ok
    cells = {
        "Place": Cell(str(row.place), row.place),
        "Algorithm": Cell(terminal.name_of(row), row.label),
    }
    if board.baselines:
        cells["Relative loss"] = Cell(
            fixed(row.relative.value), finite(row.relative.value), hint=bracket(row.relative)
        )
    cells["Mean rank"] = Cell(
        fixed(row.rank.value, 2), finite(row.rank.value), hint=bracket(row.rank)
    )
    if tested:
        rank = tested.ranks.get(row.label, math.nan)
        cells["Mean rank by test"] = Cell(fixed(rank, 2), finite(rank))
    named = board.metric if one_set else "Score"
    cells[named[:1].upper() + named[1:]] = score(shown.value)
    cells["95 % interval"] = Cell(
        bracket(shown, 4 if one_set else None) or "–", finite(shown.lower)
    )
    if tested:
        cells["Test score"] = score(tested.scores.get(row.label, math.nan))
    cells |= {
        "Wins / ties / losses": Cell(f"{row.wins} / {row.ties} / {row.losses}", row.wins),
        "CPU s a job": number(row.cpu_seconds, 3),
        "Times the cheapest": number(row.relative_cost, 3),
        "Jobs": Cell(
            terminal.jobs_text(row), missing, "bad" if row.n_failed or row.n_early else ""
        ),
        "Data sets ranked": Cell(f"{row.n_ranked} of {len(board.table.problems)}", row.n_ranked),
    }
    if board.baselines and not one_set:  # a detail below the relative loss
        cells |= {name: cells.pop(name) for name in ("Score", "95 % interval")}
    return {name: each for name, each in cells.items() if not (one_set and name in RANKED)}


def _note(board: Board, names: Names) -> Markup:
    rule = f" {MISSING_RULE}"
    if any(row.hindsight for row in board.rows):
        rule += f" {HINDSIGHT_RULE}"
    if board.unscaled:
        plural = "" if len(board.unscaled) == 1 else "s"
        rule += (
            f" The score leaves out {len(board.unscaled)} data set{plural} on which it has no"
            " meaning or that the suite excludes:"
            f" {', '.join(named(data, names) for data in board.unscaled)}."
        )
    if zero := board.without_relative:
        rule += f" {terminal.LEFT_OUT} {', '.join(named(data, names) for data in zero)}."
    return Markup("<strong>Missing results.</strong>") + rule
