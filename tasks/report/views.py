"""The summary, the leaderboard, the tests, and published against measured, as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tasks.report import svg
from tasks.report.cells import Cell, Names, data_cell, finite, named, number, spread
from tasks.score import board as terminal
from tasks.score.compared import Compared
from tasks.score.leaderboard import Board
from tasks.score.published import Agreement, printed_decimals
from tasks.score.significance import Comparison
from tasks.score.summary import bracket, fixed, short
from tasks.score.table import HINDSIGHT_RULE, MISSING_RULE


def summary(found: Compared) -> dict[str, Any]:
    """The questions with their answers, and the picture beside them."""
    board, answer = found.board, found.answer
    questions = (
        ("Which is best?", answer.best),
        ("By how much?", answer.by_how_much),
        ("How sure?", answer.how_sure),
        ("At what cost?", answer.cost),
        ("What is missing?", answer.missing),
    )
    return {
        "answers": [(question, text) for question, text in questions if text],
        "picture": svg.intervals(board.rows, terminal.score_name(board)),
        "costs": svg.costs(board.rows, terminal.score_name(board)),
        "scale": terminal.score_name(board),
    }


def board(found: Board, names: Names) -> dict[str, Any]:
    """The leaderboard."""
    one_set = any(math.isfinite(row.raw.value) for row in found.rows)
    rows = []
    for row in found.rows:
        shown = row.raw if one_set else row.score
        missing = row.n_jobs - row.n_ok
        rows.append(
            [
                Cell(str(row.place), row.place),
                Cell(terminal.name_of(row), row.label),
                Cell(fixed(row.rank.value, 2), finite(row.rank.value), hint=bracket(row.rank)),
                Cell(short(shown.value) if one_set else fixed(shown.value), finite(shown.value)),
                Cell(bracket(shown, 4 if one_set else None) or "–", finite(shown.lower)),
                Cell(f"{row.wins} / {row.ties} / {row.losses}", row.wins),
                number(row.cpu_seconds, 3),
                number(row.relative_cost, 3),
                Cell(
                    terminal.jobs_text(row), missing, "bad" if row.n_failed or row.n_early else ""
                ),
                Cell(f"{row.n_ranked} of {len(found.table.problems)}", row.n_ranked),
            ]
        )
    return {
        "columns": [
            "Place", "Algorithm", "Mean rank", "Score", "95 % interval", "Wins / ties / losses",
            "CPU s a job", "Times the cheapest", "Jobs", "Data sets ranked",
        ],
        "rows": rows,
        "scale": terminal.score_name(found),
        "rule": f"{MISSING_RULE} {HINDSIGHT_RULE}"
        if any(row.hindsight for row in found.rows)
        else MISSING_RULE,
        "unscaled": [named(data, names) for data in found.unscaled],
        "n_sets": len(found.table.problems),
    }  # fmt: skip


def tests(found: Comparison) -> dict[str, Any]:
    """The tests over data sets."""
    return {
        "picture": svg.critical_difference(found),
        "friedman": short(found.friedman_p, 2) if math.isfinite(found.friedman_p) else "",
        "distance": short(found.critical_difference, 3),
        "n": found.n,
        "note": found.note,
        "excluded": found.excluded,
        "pairs": [
            [
                Cell(pair.first, pair.first),
                Cell(pair.second, pair.second),
                number(pair.p, 3),
                Cell("yes" if pair.different else "no", int(pair.different)),
            ]
            for pair in found.pairs
        ],
    }


def published(found: Sequence[Agreement], names: Names) -> dict[str, Any] | None:
    """Published against measured, None without claims."""
    if not found:
        return None
    rows = []
    for agreement in sorted(found, key=lambda agreement: agreement.n == 0):
        claim = agreement.claim
        digits = printed_decimals(claim)
        verdict = {True: "agrees", False: "differs", None: "–"}[agreement.agrees]
        if not agreement.n:
            verdict = "not measured"
        rows.append(
            [
                Cell(claim.source, claim.source),
                Cell(claim.algorithm, claim.algorithm),
                data_cell(claim.data, names),
                Cell(claim.metric, claim.metric),
                Cell(spread(claim.value, claim.sd, digits), claim.value),
                Cell(
                    spread(agreement.measured, agreement.measured_sd, digits + 1)
                    if agreement.n
                    else "–",
                    finite(agreement.measured),
                ),
                Cell(verdict, verdict, {"agrees": "good", "differs": "bad"}.get(verdict, "")),
                Cell(_yes(agreement.within_spread), _yes(agreement.within_spread)),
                _optional(claim.tolerance),
                Cell(str(agreement.n), agreement.n),
            ]
        )
    measured = [agreement for agreement in found if agreement.n]
    judged = [agreement for agreement in measured if agreement.agrees is not None]
    return {
        "columns": [
            "Source", "Algorithm", "Data", "Metric", "Published", "Measured", "Verdict",
            "In the paper's spread", "Tolerance", "n",
        ],
        "rows": rows,
        "total": len(found),
        "measured": len(measured),
        "judged": len(judged),
        "agreeing": sum(bool(agreement.agrees) for agreement in judged),
    }  # fmt: skip


def _yes(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "–"}[value]


def _optional(value: float | None) -> Cell:
    return Cell("–") if value is None else number(value)
