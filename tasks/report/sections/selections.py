"""Configuration selection: the runs held against Full-run, as in the paper's Figures 3 to 8."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import mean, median
from typing import Any

from leaseboard.algorithms.events import Event
from leaseboard.tasks.jobs.benches.kinds import choosing
from leaseboard.tasks.report.draw import facets
from leaseboard.tasks.report.draw.specs import Figure, Trace, axis, colour, rounded, text
from leaseboard.tasks.report.job.funnels import funnels, verdicts
from leaseboard.tasks.report.section import Cell, Material, Names, Section, Table, named, number
from leaseboard.tasks.score.selection import REFERENCE, Selection, Truth, compare
from leaseboard.tasks.score.sweeps import COUNT, Sweep, sweeps


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


SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon", "x")
_BUDGETS = ("time_limit", "initial_rows")
# With a format Plotly writes 20 and 50; without one, small digits 2 and 5 on every decade.
_LOG = {"type": "log", "dtick": "D2", "tickformat": "~g"}
_FASTER = "times faster than Full-run"
_LOSS = "accuracy lost"
_FROM_ZERO = {"rangemode": "tozero", "tickformat": "~g"}
_SPEEDUP = ("Speed-up", "speedup", _FASTER, _LOG)
_LOST = ("Loss", "loss", _LOSS, _FROM_ZERO)


def figures(found: Sequence[Selection], names: Names) -> list[Figure]:
    """Every figure that the runs at hand can fill, in the paper's order."""
    usable = [run for run in found if run.speedup is not None and run.loss is not None]
    by_count, by_epsilon = sweeps(usable, COUNT), sweeps(usable, "epsilon")
    by_budget = [sweep for setting in _BUDGETS for sweep in sweeps(usable, setting)]
    schedulers = [run for sweep in sweeps(usable, "scheduler") for run in sweep.runs]
    by_scheduler = _grouped(schedulers, lambda run: str(run.settings["scheduler"]))
    compared = [(sweep.name, sweep.runs) for sweep in by_count]
    if not compared:
        compared = _grouped(usable, lambda run: run.label)
    made = [
        _lines(by_count, "number of configurations", _SPEEDUP, names),
        _lines(by_count, "number of configurations", _LOST, names),
        scatter("Speed-up against loss", compared, names),
        losses(compared),
        _lines(by_epsilon, "epsilon", _SPEEDUP, names),
        _lines(by_epsilon, "epsilon", _LOST, names),
        over_time(by_budget, names),
        scatter("Schedulers", by_scheduler, names),
    ]
    return [figure for figure in made if figure is not None]


def scatter(
    title: str, groups: Sequence[tuple[str, Sequence[Selection]]], names: Names
) -> Figure | None:
    """Figures 4a and 8: speed-up against relative loss, a point a run."""
    places = list(dict.fromkeys(run.data for _, runs in groups for run in runs))
    if not places:
        return None
    data: list[Trace] = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": text(label),
            "x": rounded(run.relative_loss for run in runs),
            "y": rounded(run.speedup for run in runs),
            "hovertext": [
                text(f"{named(run.data, names)}, {run.configurations} configurations")
                for run in runs
            ],
            "hovertemplate": "%{hovertext}<br>loss %{x}, %{y} times faster",
            "marker": {
                "size": 9,
                "opacity": 0.8,
                "color": colour(index),
                "symbol": [SYMBOLS[places.index(run.data) % len(SYMBOLS)] for run in runs],
            },
        }
        for index, (label, runs) in enumerate(groups)
    ]
    layout = {
        "xaxis": _losses(groups),
        "yaxis": axis(_FASTER, **_LOG),
        "height": 420,
    }
    shapes = ", ".join(
        f"{SYMBOLS[i % len(SYMBOLS)]} {named(data, names)}" for i, data in enumerate(places)
    )
    note = f"A point is one run; its shape is the data set: {shapes}."
    return Figure(title, note, data, layout)


def losses(groups: Sequence[tuple[str, Sequence[Selection]]]) -> Figure | None:
    """Figure 4b: the relative losses of every group as a box."""
    if not groups:
        return None
    data: list[Trace] = [
        {
            "type": "box",
            "name": text(label),
            "showlegend": False,  # the names stand at the axis
            "x": rounded(run.relative_loss for run in runs),
            "boxpoints": "all",
            "jitter": 0.5,
            "pointpos": 0,
            "boxmean": True,
            "marker": {"color": colour(index), "size": 4, "opacity": 0.6},
            "line": {"color": colour(index)},
        }
        for index, (label, runs) in enumerate(groups)
    ]
    layout = {
        "xaxis": _losses(groups),
        "yaxis": {"autorange": "reversed", "type": "category"},
        "height": 110 + 42 * len(data),
    }
    note = "Every run on every data set is a point; the dashed line is their mean."
    return Figure("Relative loss", note, data, layout)


def over_time(found: Sequence[Sweep], names: Names) -> Figure | None:
    """Figure 7: what is lost by an answer after a share of Full-run's time."""
    places = _places(found)
    if not places:
        return None
    data: list[Trace] = []
    for index, sweep in enumerate(found):
        for data_set, values in sweep.points.items():
            points = sorted(
                (
                    median(100 / run.speedup for run in runs if run.speedup),
                    mean(run.loss for run in runs if run.loss is not None),
                )
                for runs in values.values()
            )
            trace = _line(
                sweep.name, index, rounded(x for x, _ in points), [y for _, y in points],
                first=data_set == next(iter(sweep.points)),
            )  # fmt: skip
            data.append(facets.placed(trace, places.index(data_set)))
    layout = facets.layout(
        [named(place, names) for place in places], _LOG, _FROM_ZERO,
        "% of Full-run’s CPU time", _LOSS,
    )  # fmt: skip
    note = (
        "A point is one time limit, or one first sample of successive halving:"
        " medians of the time and means of the loss over repetitions. Lower left is better."
    )
    return Figure("Loss under a time limit", note, data, layout)


def _lines(
    found: Sequence[Sweep],
    setting: str,
    measure: tuple[str, str, str, dict[str, Any]],
    names: Names,
) -> Figure | None:
    """Figures 3 and 6: a measure by the value of a setting, a panel a data set."""
    places = _places(found)
    if not places:
        return None
    title, attribute, y_title, y_axis = measure
    data: list[Trace] = []
    for index, sweep in enumerate(found):
        for data_set, values in sweep.points.items():
            trace = _line(
                sweep.name, index, [str(value) for value in values],
                [median(getattr(run, attribute) for run in runs) for runs in values.values()],
                first=data_set == next(iter(sweep.points)),
            )  # fmt: skip
            data.append(facets.placed(trace, places.index(data_set)))
    layout = facets.layout(
        [named(place, names) for place in places], {"type": "category"}, y_axis, setting, y_title
    )
    return Figure(f"{title} by {setting}", "Medians over repetitions.", data, layout)


def _losses(groups: Sequence[tuple[str, Sequence[Selection]]]) -> dict[str, Any]:
    most = max((run.relative_loss or 0.0) for _, runs in groups for run in runs) or 0.01
    return axis("relative loss of accuracy", range=[-0.03 * most, 1.05 * most], tickformat="~g")


def _line(name: str, index: int, x: Sequence[Any], y: Sequence[float], *, first: bool) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": text(name),
        "legendgroup": text(name),
        "showlegend": first,
        "x": list(x),
        "y": rounded(y),
        "line": {"color": colour(index), "width": 2},
        "marker": {"size": 6},
    }


def _places(found: Sequence[Sweep]) -> list[str]:
    return list(dict.fromkeys(data for sweep in found for data in sweep.points))


def _grouped(
    found: Sequence[Selection], name_of: Callable[[Selection], str]
) -> list[tuple[str, list[Selection]]]:
    groups: dict[str, list[Selection]] = {}
    for run in found:
        groups.setdefault(name_of(run), []).append(run)
    return list(groups.items())
