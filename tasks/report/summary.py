"""The head of the page: the questions with their answers, and what did not finish."""

from __future__ import annotations

from typing import Any

from tasks.report.cells import data_cell
from tasks.report.draw import svg
from tasks.report.material import Material
from tasks.score import board as terminal


def summary(made: Material) -> dict[str, Any]:
    """The answers, the pictures beside them, and every job that is not ok."""
    board, answer = made.found.board, made.found.answer
    questions = (
        ("Which is best?", answer.best),
        ("Does the test agree?", answer.on_test),
        ("Better than what one tries first?", answer.first_tries),
        ("By how much?", answer.by_how_much),
        ("What does that number say?", answer.meaning),
        ("How sure?", answer.how_sure),
        ("At what cost?", answer.cost),
        ("What is missing?", answer.missing),
    )
    unfinished = made.frame[made.frame["status"] != "ok"]
    return {
        "answers": [(question, text) for question, text in questions if text],
        "picture": svg.intervals(board.rows, terminal.score_name(board)),
        "costs": svg.costs(board.rows, terminal.score_name(board)),
        "scale": terminal.score_name(board),
        "jobs": len(made.frame),
        "unfinished": [(row, data_cell(row.data, made.names)) for row in unfinished.itertuples()],
    }
