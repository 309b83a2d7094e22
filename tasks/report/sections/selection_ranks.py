"""Configuration selection: who loses little, and who is quick about it."""

from __future__ import annotations

import math

from leaseboard.tasks.report.section import Cell, Material, Section, Table, finite, number
from leaseboard.tasks.score.selection_ranks import RULE, TOLERATED, Standing, standings
from leaseboard.tasks.score.summary import fixed


def section(made: Material) -> Section | None:
    """The ranks; None where no selections of one size ran beside Full-run."""
    found = standings(made.frame)
    if not found:
        return None
    text = (
        f"{RULE} The loss is the accuracy of Full-run’s choice less that of the algorithm’s, both"
        " trained in full and judged on held-out rows; by loss alone Full-run is first, because it"
        " defines what is best. CPU and wall seconds are of the selection alone, means over"
        " finished runs; a fit is charged what it took when it was recorded, whoever asks for it."
        " The speed-up is over Full-run, the geometric mean."
    )
    percent = [f"{100 * each:g} %" for each in TOLERATED]
    table = Table(
        "selection-ranks-table",
        "Mean ranks over data sets by loss and seconds",
        [
            "Algorithm",
            *(f"Mean rank, {each} may be lost" for each in percent),
            "Mean rank by loss", "Mean rank by seconds", "Mean loss", "Worst loss",
            *(f"Lost more than {each}" for each in percent),
            "CPU s", "Wall s", "Speed-up", "Finished", "Failed", "Skipped",
        ],
        [_row(each) for each in found],
    )  # fmt: skip
    return Section(
        "selection-ranks",
        "Selection: loss and seconds",
        nav="Loss and seconds",
        text=[text],
        tables=[table],
    )


def _row(each: Standing) -> list[Cell]:
    least = TOLERATED[0]
    return [
        Cell(each.label, each.label),
        *(_rank(rank) for rank in each.ranks),
        _rank(each.by_loss),
        _rank(each.by_seconds),
        number(each.loss, 3, "bad" if each.loss > least else ""),
        number(each.worst, 3, "bad" if each.worst > least else ""),
        *(Cell(f"{n} of {each.finished}", n, "bad" if n else "") for n in each.above),
        number(each.cpu_seconds, 3),
        number(each.wall_seconds, 3),
        Cell("∞", "") if math.isinf(each.speedup) else number(each.speedup, 3),
        Cell(str(each.finished), each.finished),
        Cell(str(each.failed), each.failed, "bad" if each.failed else ""),
        Cell(str(each.skipped), each.skipped),
    ]


def _rank(value: float) -> Cell:
    return Cell(fixed(value, 2), finite(value))
