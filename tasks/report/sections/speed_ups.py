"""How soon each policy over arms matched the joint optimiser."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from leaseboard.algorithms.events import Event
from leaseboard.tasks.jobs.benches.kinds import choosing
from leaseboard.tasks.report.section import (
    Cell,
    Material,
    Names,
    Section,
    Table,
    data_cell,
    number,
)
from leaseboard.tasks.score.speed_up import (
    BestSoFar,
    SpeedUp,
    progress_of,
    reference_of,
    speed_ups,
)


def job_progress(row: Any, events: Sequence[Event]) -> BestSoFar | None:
    """How a finished job of trials got on."""
    return progress_of(events) if row.status == "ok" and row.bench in choosing("arm") else None


def section(made: Material) -> Section | None:
    """The speed-ups; None where no reference ran or nothing stands beside it."""
    runs: dict[tuple[str, int], dict[str, BestSoFar]] = {}
    for row, progress in made.by(job_progress):
        runs.setdefault((row.data, row.repetition), {})[row.label] = progress
    reference = reference_of(label for by_label in runs.values() for label in by_label)
    found = speed_ups(runs, reference) if reference else []
    if not found:
        return None
    unit = " or ".join(sorted({row.unit for row, _ in made.by(job_progress)}))
    table = Table(
        "speed-up-table",
        f"Until the final validation score of {reference} was matched",
        ["Data", "Algorithm", "Runs", "Reached", unit.capitalize(), "CPU s",
         f"Times fewer {unit}", "Times less CPU"],
        [_row(speed_up, made.names) for speed_up in found],
        filters="speed-ups",
        numeric_from=2,
        key_column=1,
    )  # fmt: skip
    over_all = "" if found[0].data else ", and first over all data sets and repetitions"
    text = (
        "What each algorithm needed until its best validation score was at least the one with"
        f" which {reference} ended on the same data and repetition. Medians over"
        f" repetitions{over_all}; a repetition that never got there counts as infinitely long, and"
        f" its speed-up as 0. The speed-up is what {reference} needed to reach that score itself,"
        " over what the algorithm needed; the seconds are those recorded when the trials were run."
    )
    title = "Speed-up to the same validation score"
    return Section("speed-up", title, nav="Speed-up", text=[text], tables=[table])


def _row(found: SpeedUp, names: Names) -> list[Cell]:
    return [
        data_cell(found.data, names) if found.data else Cell("All data sets", ""),
        Cell(found.label, found.label),
        Cell(str(found.runs), found.runs),
        Cell(str(found.reached), found.reached),
        *(_or_never(value) for value in (found.units, found.cpu_seconds)),
        *(number(value, 3) for value in (found.times_units, found.times_cpu)),
    ]


def _or_never(value: float) -> Cell:
    return number(value) if math.isfinite(value) else Cell("never")
