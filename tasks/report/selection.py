"""Configuration selection on the page: speed-up against loss, calibration, funnels with truth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from algorithms.events import BoundsUpdated, Eliminated, Event
from tasks.configurations import configurations
from tasks.report.cells import Cell, Names, named, number
from tasks.report.specs import Figure, Trace, axis, colour, name_of, rounded, text
from tasks.score.selection import REFERENCE, Selection, Truth, champion_of, compare

MOST_FUNNELS = 6
FLOOR = 1e-5
"""Where a loss of nothing stands on a logarithmic axis."""


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
                key, label, data = str(row.key), row.label, row.data
                found.append(compare(events, truth, key=key, label=label, data=data))
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
    promised = [s for s in found if s.epsilon is not None and s.loss is not None]
    return {
        "columns": [
            "Data", "Algorithm", "Runs", "Configurations", "Speed-up (i)", "Speed-up (ii)",
            "Loss, worst", "Probes", "Largest sample", "Intervals", "Held",
            "Exploitiveness broken", "Fitness broken",
        ],
        "rows": [_row(data, label, runs, names) for (data, label), runs in groups.items()],
        "kept": sum(s.loss <= s.epsilon + 1e-12 for s in promised),  # type: ignore[operator]
        "promised": len(promised),
        "intervals": sum(s.calibration.intervals for s in bounded),
        "above": sum(s.calibration.above for s in bounded),
        "below": sum(s.calibration.below for s in bounded),
    }  # fmt: skip


def scatter(found: Sequence[Selection], names: Names) -> Figure | None:
    """Speed-up against relative loss, a point a run."""
    usable = [s for s in found if s.speedup is not None and s.relative_loss is not None]
    if not usable:
        return None
    symbols = ("circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon", "x")
    places = list(dict.fromkeys(s.data for s in usable))
    data: list[Trace] = []
    for index, label in enumerate(dict.fromkeys(s.label for s in usable)):
        mine = [s for s in usable if s.label == label]
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": text(label),
                "x": rounded(max(s.relative_loss or 0.0, FLOOR) for s in mine),
                "y": rounded(s.speedup for s in mine),
                "hovertext": [
                    text(f"{named(s.data, names)}, {s.configurations} configurations")
                    for s in mine
                ],
                "hovertemplate": "%{hovertext}<br>loss %{x}, %{y} times faster",
                "marker": {
                    "size": 10,
                    "color": colour(index),
                    "symbol": [symbols[places.index(s.data) % len(symbols)] for s in mine],
                },
            }
        )
    layout = {
        "xaxis": axis("relative loss of accuracy", type="log"),
        "yaxis": axis("times faster than Full-run", type="log"),
        "height": 420,
    }
    note = f"A point is one run, its shape the data set. No loss stands at {FLOOR:g}."
    return Figure("Speed-up against loss", note, data, layout)


def funnels(events: Sequence[Event], real: Mapping[int, float]) -> Figure | None:
    """The intervals of the most probed configurations, each with its real accuracy as a line."""
    bounds: dict[int, list[BoundsUpdated]] = {}
    for event in events:
        if isinstance(event, BoundsUpdated) and event.configuration in real:
            bounds.setdefault(event.configuration, []).append(event)
    if not bounds:
        return None
    parameters = {c.configuration: c.parameters for c in configurations(events)}
    last = champion_of(events)
    chosen = sorted(bounds, key=lambda n: (n != last, -len(bounds[n]), n))[:MOST_FUNNELS]
    data: list[Trace] = []
    for n in chosen:
        rows = [event.units for event in bounds[n]]
        label = text(name_of(n, parameters[n], 30) + (" (champion)" if n == last else ""))
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": rounded([*rows, *reversed(rows)]),
                "y": rounded(
                    [*(e.lower for e in bounds[n]), *(e.upper for e in reversed(bounds[n]))]
                ),
                "fill": "toself",
                "fillcolor": colour(n, 0.18),
                "line": {"width": 1, "color": colour(n)},
                "name": label,
                "legendgroup": str(n),
            }
        )
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": rounded([rows[0], rows[-1]]) if len(rows) > 1 else rounded([rows[0]] * 2),
                "y": rounded([real[n]] * 2),
                "line": {"color": colour(n), "width": 2, "dash": "dash"},
                "name": "real accuracy",
                "legendgroup": str(n),
                "showlegend": False,
            }
        )
    layout = {"xaxis": axis("rows", type="log"), "yaxis": axis("accuracy"), "height": 400}
    note = "Dashed: what full training gives. A dashed line outside its funnel is a broken bound."
    return Figure("Funnels and the real accuracy", note, data, layout)


def verdicts(events: Sequence[Event], real: Mapping[int, float]) -> Figure | None:
    """Every configuration's last interval with its real accuracy, in the order of pruning."""
    last = {e.configuration: e for e in events if isinstance(e, BoundsUpdated)}
    if not last:
        return None
    pruned = [e.configuration for e in events if isinstance(e, Eliminated)]
    order = [n for n in pruned if n in last] + [n for n in last if n not in pruned]
    parameters = {c.configuration: c.parameters for c in configurations(events)}
    names = [text(name_of(n, parameters[n], 34)) for n in order]
    bars: Trace = {
        "type": "scatter",
        "mode": "markers",
        "name": "last interval",
        "x": rounded((last[n].lower + last[n].upper) / 2 for n in order),
        "y": names,
        "error_x": {
            "type": "data",
            "array": rounded((last[n].upper - last[n].lower) / 2 for n in order),
            "thickness": 4,
            "width": 0,
            "color": colour(0, 0.55),
        },
        "customdata": rounded(last[n].units for n in order),
        "hovertemplate": "after %{customdata} rows",
        "marker": {"size": 1, "color": colour(0)},
    }
    known = [(n, name) for n, name in zip(order, names, strict=True) if n in real]
    truth: Trace = {
        "type": "scatter",
        "mode": "markers",
        "name": "real accuracy",
        "x": rounded(real[n] for n, _ in known),
        "y": [name for _, name in known],
        "marker": {"symbol": "diamond", "size": 9, "color": "$ink"},
    }
    layout = {
        "xaxis": axis("accuracy"),
        "yaxis": {"autorange": "reversed", "type": "category"},
        "height": 120 + 22 * len(order),
        "margin": {"l": 240},
    }
    note = (
        "From the first pruned to the last that remained; a diamond is what full training gives."
    )
    return Figure("Order of pruning", note, [bars, truth] if known else [bars], layout)


def _row(data: str, label: str, runs: Sequence[Selection], names: Names) -> list[Cell]:
    intervals = sum(run.calibration.intervals for run in runs)
    above = sum(run.calibration.above for run in runs)
    below = sum(run.calibration.below for run in runs)
    worst = max((run.loss for run in runs if run.loss is not None), default=math.nan)
    over = any(
        run.loss is not None and run.epsilon is not None and run.loss > run.epsilon + 1e-12
        for run in runs
    )
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
