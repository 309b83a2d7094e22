"""The leaderboard: every algorithm by its mean rank."""

from __future__ import annotations

import math

from markupsafe import Markup

from tasks.report.cells import Cell, Names, finite, named, number
from tasks.report.material import Material
from tasks.report.section import Section, Table
from tasks.score import board as terminal
from tasks.score.leaderboard import Board, Row
from tasks.score.summary import bracket, fixed, short
from tasks.score.table import HINDSIGHT_RULE, MISSING_RULE


def section(made: Material) -> Section:
    """The board as a table, with the rule for missing results."""
    board = made.found.board
    table = Table(
        "leaderboard-table",
        "All algorithms by mean rank",
        [
            "Place", "Algorithm", "Mean rank", "Score", "95 % interval", "Wins / ties / losses",
            "CPU s a job", "Times the cheapest", "Jobs", "Data sets ranked",
        ],
        [_row(row, board) for row in board.rows],
        note=_note(board, made.names),
        filters="algorithms",
        few=0,
        numeric_from=2,
        key_column=1,
    )  # fmt: skip
    text = (
        f"Ordered by mean rank over data sets. Score: {terminal.score_name(board)}. Intervals are"
        " two-level bootstrap intervals over data sets and repetitions, paired between"
        " algorithms. CPU seconds are the algorithm’s work alone; data loaded, kernels compiled."
    )
    return Section("leaderboard", "Leaderboard", nav="Leaderboard", text=[text], tables=[table])


def _row(row: Row, board: Board) -> list[Cell]:
    one_set = any(math.isfinite(other.raw.value) for other in board.rows)
    shown = row.raw if one_set else row.score
    missing = row.n_jobs - row.n_ok
    return [
        Cell(str(row.place), row.place),
        Cell(terminal.name_of(row), row.label),
        Cell(fixed(row.rank.value, 2), finite(row.rank.value), hint=bracket(row.rank)),
        Cell(short(shown.value) if one_set else fixed(shown.value), finite(shown.value)),
        Cell(bracket(shown, 4 if one_set else None) or "–", finite(shown.lower)),
        Cell(f"{row.wins} / {row.ties} / {row.losses}", row.wins),
        number(row.cpu_seconds, 3),
        number(row.relative_cost, 3),
        Cell(terminal.jobs_text(row), missing, "bad" if row.n_failed or row.n_early else ""),
        Cell(f"{row.n_ranked} of {len(board.table.problems)}", row.n_ranked),
    ]


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
    return Markup("<strong>Missing results.</strong>") + rule
