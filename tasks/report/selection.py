"""Configuration selection on the page: the runs held against Full-run, as a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from algorithms.events import Event
from tasks.report.cells import Cell, Names, named, number
from tasks.report.funnels import funnels, verdicts
from tasks.score.selection import REFERENCE, Selection, Truth, compare


@dataclass
class Selections:
    """The logs of the samples bench, gathered one by one."""

    truths: dict[tuple[str, int], Truth] = field(default_factory=dict)
    runs: dict[str, tuple[Any, Sequence[Event]]] = field(default_factory=dict)

    def add(self, row: Any, events: Sequence[Event]) -> None:
        """Take in the log of one finished job, if it was one of selection."""
        if row.status != "ok" or row.bench != "samples":
            return
        self.runs[str(row.key)] = (row, events)
        if row.algorithm == REFERENCE:
            self.truths.setdefault((row.data, row.repetition), Truth()).add(events)

    def compared(self) -> list[Selection]:
        """Every run that has a Full-run to stand beside, Full-run itself left out."""
        found = []
        for row, events in self.runs.values():
            truth = self.truths.get((row.data, row.repetition))
            if truth is not None and row.algorithm != REFERENCE:
                found.append(
                    compare(
                        events, truth, key=str(row.key), label=row.label, data=row.data,
                        algorithm=row.algorithm,
                    )
                )  # fmt: skip
        return [selection for selection in found if selection is not None]

    def figures(self) -> dict[str, list[dict[str, Any]]]:
        """The pictures of each job's page that need the truth, by the job's key."""
        pictures: dict[str, list[dict[str, Any]]] = {}
        for key, (row, events) in self.runs.items():
            truth = self.truths.get((row.data, row.repetition))
            real = truth.by_number(events) if truth else {}
            made = [funnels(events, real), verdicts(events, real)]
            pictures[key] = [figure.payload() for figure in made if figure is not None]
        return pictures


def section(found: Sequence[Selection], names: Names) -> dict[str, Any] | None:
    """The section of the page, None where nothing was selected."""
    if not found:
        return None
    groups: dict[tuple[str, str], list[Selection]] = {}
    for selection in found:
        groups.setdefault((selection.data, selection.label), []).append(selection)
    bounded = [selection for selection in found if selection.epsilon is not None]
    return {
        "columns": [
            "Data", "Algorithm", "Runs", "Configurations", "Speed-up (i)", "Speed-up (ii)",
            "Loss, worst", "Probes", "Largest sample", "Intervals", "Held",
            "Exploitiveness broken", "Fitness broken",
        ],
        "rows": [_row(data, label, runs, names) for (data, label), runs in groups.items()],
        "kept": sum(selection.kept is True for selection in found),
        "promised": sum(selection.kept is not None for selection in found),
        "intervals": sum(s.calibration.intervals for s in bounded),
        "above": sum(s.calibration.above for s in bounded),
        "below": sum(s.calibration.below for s in bounded),
    }  # fmt: skip


def _row(data: str, label: str, runs: Sequence[Selection], names: Names) -> list[Cell]:
    intervals = sum(run.calibration.intervals for run in runs)
    above = sum(run.calibration.above for run in runs)
    below = sum(run.calibration.below for run in runs)
    worst = max((run.loss for run in runs if run.loss is not None), default=math.nan)
    over = any(run.kept is False for run in runs)
    held = 1 - (above + below) / intervals if intervals else math.nan
    # Only an interval that is a promise can break an assumption; DAUB's are projections.
    promises = intervals > 0 and any(run.epsilon is not None for run in runs)
    return [
        Cell(named(data, names), data),
        Cell(label, label),
        Cell(str(len(runs)), len(runs)),
        Cell(str(runs[0].configurations), runs[0].configurations),
        number(_median(run.speedup for run in runs), 3),
        number(_median(run.speedup_trained for run in runs), 3),
        number(worst, 3, "bad" if over else ""),
        number(_median(float(run.probes) for run in runs), 4),
        number(max(float(run.largest_rows) for run in runs), 7),
        Cell(str(intervals) if intervals else "–", intervals),
        number(held, 4),
        Cell(str(above) if promises else "–", above, "bad" if promises and above else ""),
        Cell(str(below) if promises else "–", below, "bad" if promises and below else ""),
    ]


def _median(values: Iterable[float | None]) -> float:
    known = [value for value in values if value is not None]
    return median(known) if known else math.nan
