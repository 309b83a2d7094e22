"""Whole systems on tables: how far from LightGBM's defaults, and beyond the budget."""

from __future__ import annotations

import math

import numpy as np

from leaseboard.tasks.report.section import (
    Cell,
    Material,
    Section,
    Table,
    data_cell,
    finite,
    named,
    number,
)
from leaseboard.tasks.score.margins import REFERENCE, RIVAL, TOLERATED, Margin, margins
from leaseboard.tasks.score.summary import fixed


def section(made: Material) -> Section | None:
    """The margins; None where no system ran beside the reference."""
    found = {each.label: each for each in margins(made.frame, made.found.board.table)}
    if not found:
        return None
    ordered = [found[label] for label in made.labels]
    text = (
        f"Differences of the test score, accuracy or R², from {REFERENCE}: means over the"
        " repetitions that both finished, ± their standard deviation. CPU seconds are of the fit"
        " alone with all its processes, measured from outside; the overrun is what was taken"
        " beyond the budget. The defaults of single learners know no budget."
    )
    return Section(
        "systems",
        "Whole systems",
        nav="Whole systems",
        text=[text],
        tables=[_totals(made, ordered), _by_table(made, ordered)],
    )


def _totals(made: Material, ordered: list[Margin]) -> Table:
    problems = made.found.board.table.problems
    cpu = {row.label: row.cpu_seconds for row in made.found.board.rows}

    def row(each: Margin) -> list[Cell]:
        there = np.isfinite(each.differences)
        worst = int(np.nanargmin(each.differences)) if there.any() else None
        least = math.nan if worst is None else float(each.differences[worst])
        where = "" if worst is None else named(problems[worst], made.names)
        rivals = int(np.isfinite(each.against_rival).sum())
        return [
            Cell(each.label, each.label),
            Cell(str(there.sum()), int(there.sum())),
            _signed(each.mean),
            Cell(
                f"{_signed(least).text} on {where}" if where else "–",
                finite(least),
                "bad" if least < -TOLERATED else "",
            ),
            Cell(f"{each.tolerable} of {there.sum()}", each.tolerable),
            Cell(f"{each.level} of {rivals}" if rivals else "–", each.level),
            number(cpu[each.label], 3),
            _percent(_mean(each.overruns)),
            _percent(float(np.nanmax(each.overruns)) if len(each.overruns) else math.nan),
        ]

    return Table(
        "systems-table",
        f"Against {REFERENCE} and {RIVAL}",
        [
            "Algorithm", "Tables", "Mean difference", "Worst difference",
            f"At most {TOLERATED} below", f"At least level with {RIVAL}", "CPU s a fit",
            "Mean overrun", "Largest overrun",
        ],
        [row(each) for each in ordered],
    )  # fmt: skip


def _by_table(made: Material, ordered: list[Margin]) -> Table:
    others = [each for each in ordered if each.label != REFERENCE]
    rows = []
    for p, problem in enumerate(made.found.board.table.problems):
        cells = [data_cell(problem, made.names)]
        for each in others:
            spread = float(each.spreads[p])
            tail = f" ± {fixed(spread, 4)}" if math.isfinite(spread) else ""
            cells.append(_signed(float(each.differences[p]), tail))
        rows.append(cells)
    return Table(
        "margins-table",
        f"Test score less that of {REFERENCE}",
        ["Data", *(each.label for each in others)],
        rows,
        title="Table by table",
        filters="tables",
        few=12,
    )


def _signed(value: float, tail: str = "") -> Cell:
    """A difference with its sign; much below is bad, above is good."""
    if not math.isfinite(value):
        return Cell("–")
    text = f"{value:+.4f}".replace("-", "−") + tail
    return Cell(text, value, "bad" if value < -TOLERATED else "good" if value > TOLERATED else "")


def _percent(share: float) -> Cell:
    return Cell(f"{share:.1%}".replace("%", " %"), share) if math.isfinite(share) else Cell("–")


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan
