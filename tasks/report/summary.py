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
    lead = (
        f"Relative loss in {board.metric}, below 1 is better than the best baseline"
        if board.baselines
        else terminal.score_name(board)
    )
    questions = (
        ("What is measured?", answer.metric),
        ("Which is best?", answer.best),
        ("Does the test agree?", answer.on_test),
        ("Better than naive baselines?", answer.first_tries),
        ("By how much?", answer.relative),
        (
            f"By how much in {board.scale.partition(':')[0]}?"
            if answer.relative
            else "By how much?",
            answer.by_how_much,
        ),
        ("What does that number say?", answer.meaning),
        ("How sure?", answer.how_sure),
        ("At what cost?", answer.cost),
        ("What is missing?", answer.missing),
    )
    unfinished = made.frame[made.frame["status"] != "ok"]
    return {
        "answers": [(question, text) for question, text in questions if text],
        "picture": svg.intervals(board.rows, lead),
        "costs": svg.costs(board.rows, terminal.score_name(board)),
        "lead": lead,
        "scale": terminal.score_name(board),
        "jobs": len(made.frame),
        "unfinished": [(row, data_cell(row.data, made.names)) for row in unfinished.itertuples()],
    }
