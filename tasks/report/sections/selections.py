"""Configuration selection: the runs held against Full-run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from algorithms.events import Event
from tasks.jobs.benches.kinds import choosing
from tasks.report.cells import Cell, Names, named, number
from tasks.report.job.funnels import funnels, verdicts
from tasks.report.material import Material
from tasks.report.section import Section, Table
from tasks.report.sections.selection_figures import figures
from tasks.score.selection import REFERENCE, Selection, Truth, compare


def selection_log(row: Any, events: Sequence[Event]) -> Sequence[Event] | None:
    """The log of a finished job of selection."""
    return events if row.status == "ok" and row.bench in choosing("configuration") else None


def truths(made: Material) -> dict[tuple[str, int], Truth]:
    """What Full-run found on each data set and repetition."""
    found: dict[tuple[str, int], Truth] = {}
    for row, events in made.by(selection_log):
        if row.algorithm == REFERENCE:
            found.setdefault((row.data, row.repetition), Truth()).add(events)
    return found


def compared(made: Material) -> list[Selection]:
    """Every run that has a Full-run to stand beside, Full-run itself left out."""
    real = truths(made)
    found = [
        compare(
            events, real[row.data, row.repetition], key=str(row.key), label=row.label,
            data=row.data, algorithm=row.algorithm,
        )
        for row, events in made.by(selection_log)
        if row.algorithm != REFERENCE and (row.data, row.repetition) in real
    ]  # fmt: skip
    return [selection for selection in found if selection is not None]


def pictures(made: Material) -> dict[str, list[dict[str, Any]]]:
    """The pictures of each job's page that need the truth, by the job's key."""
    real, found = truths(made), {}
    for row, events in made.by(selection_log):
        truth = real.get((row.data, row.repetition))
        accuracies = truth.by_number(events) if truth else {}
        drawn = [funnels(events, accuracies), verdicts(events, accuracies)]
        found[str(row.key)] = [figure.payload() for figure in drawn if figure is not None]
    return found


def section(made: Material) -> Section | None:
    """The selections; None where nothing was selected beside Full-run."""
    found = compared(made)
    if not found:
        return None
    return Section(
        "selection",
        "Configuration selection",
        nav="Selection",
        text=_text(found),
        figures=figures(found, made.names),
        tables=[_table(found, made.names)],
    )


def _text(found: Sequence[Selection]) -> list[str]:
    kept = sum(selection.kept is True for selection in found)
    promised = sum(selection.kept is not None for selection in found)
    held = (
        "Held against Full-run on the same data and repetition, over the same configurations."
        " Speed-up (i) is Full-run’s CPU seconds over those of the selection, (ii) counts one full"
        " training of the choice too. The loss is that of real test accuracy; it stayed within the"
        f" allowed epsilon in {kept} of {promised} runs that promise one."
    )
    bounded = [selection.calibration for selection in found if selection.epsilon is not None]
    calibration = (
        f"Calibration: of {sum(c.intervals for c in bounded)} intervals before full size,"
        f" {sum(c.above for c in bounded)} lay above the real accuracy (the configuration did"
        " better on a sample than in full: exploitiveness broke) and"
        f" {sum(c.below for c in bounded)} below it (it did not fit its sample: fitness broke)."
        " Where the upper bounds of the best configuration alone are a promise, as by default,"
        " no other’s counts."
    )
    return [held, calibration]


def _table(found: Sequence[Selection], names: Names) -> Table:
    groups: dict[tuple[str, str], list[Selection]] = {}
    for selection in found:
        groups.setdefault((selection.data, selection.label), []).append(selection)
    return Table(
        "selection-table",
        "Speed-up, loss and calibration; medians over runs, the worst loss, sums of intervals",
        [
            "Data", "Algorithm", "Runs", "Configurations", "Speed-up (i)", "Speed-up (ii)",
            "Loss, worst", "Probes", "Largest sample", "Intervals", "Held",
            "Exploitiveness broken", "Fitness broken",
        ],
        [_row(data, label, runs, names) for (data, label), runs in groups.items()],
        filters="selections",
        numeric_from=2,
        key_column=1,
    )  # fmt: skip


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
