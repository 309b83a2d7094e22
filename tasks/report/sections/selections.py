"""Configuration selection held against Full-run, as in the paper's Figures 3 to 8."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import mean, median
from typing import Any

import pandas as pd

from leaseboard.algorithms.configurations import configurations
from leaseboard.algorithms.events import BoundsUpdated, Eliminated, Event, of
from leaseboard.tasks.jobs.benches.kinds import choosing
from leaseboard.tasks.report.charts import (
    LOG,
    Figure,
    Trace,
    axis,
    chart,
    colour,
    name_of,
    panels,
    placed,
    plain,
    scatter,
    text,
)
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import Cell, Names, Section, Table, cell, count, number, rounded
from leaseboard.tasks.score.selection import (
    COUNT,
    REFERENCE,
    RULE,
    TOLERATED,
    Selection,
    Sweep,
    Truth,
    champion_of,
    compare,
    standings,
    sweeps,
)

MOST_FUNNELS = 6
_BROKEN = 3
"""The colour of an interval that misses the real accuracy."""

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon", "x")
_BUDGETS = ("time_limit", "initial_rows")
_FASTER = "times faster than Full-run"
_LOSS = "accuracy lost"
_FROM_ZERO = {"rangemode": "tozero", "tickformat": "~g"}
_SPEEDUP = ("Speed-up", "speedup", _FASTER, LOG)
_LOST = ("Loss", "loss", _LOSS, _FROM_ZERO)


def selection_log(row: Any, events: Sequence[Event]) -> Sequence[Event] | None:
    """Return the log of a finished job of selection."""
    return events if row.status == "ok" and row.bench in choosing("configuration") else None


def truths(made: Material) -> dict[tuple[str, int], Truth]:
    """Return what Full-run found on each data set and repetition."""
    found: dict[tuple[str, int], Truth] = {}
    for row, events in made.by(selection_log):
        if row.algorithm == REFERENCE:
            found.setdefault((row.data, row.repetition), Truth()).add(events)
    return found


def compared(made: Material) -> list[Selection]:
    """Return every run that has a Full-run to stand beside, Full-run itself left out."""
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


def ranks(made: Material) -> Section | None:
    """Return who loses little and is quick; None where none of one size ran beside Full-run."""
    found = standings(made.frame)
    if found.empty:
        return None
    text = (
        f"{RULE} The loss is the accuracy of Full-run’s choice less that of the algorithm’s, both"
        " trained in full and judged on held-out rows; by loss alone Full-run is first, because it"
        " defines what is best. CPU and wall seconds are of the selection alone, means over"
        " finished runs; a fit is charged what it took when it was recorded, whoever asks for it."
        " The speed-up is over Full-run, the geometric mean."
    )
    table = Table(
        "selection-ranks-table",
        "Mean ranks over data sets by loss and seconds",
        pd.DataFrame([_standing(str(label), each) for label, each in found.iterrows()]),
    )
    title = "Selection: loss and seconds"
    return Section("selection-ranks", title, nav="Loss and seconds", text=[text], tables=[table])


def _standing(label: str, each: pd.Series) -> dict[str, object]:
    shares = {epsilon: f"{100 * epsilon:g} %" for epsilon in TOLERATED}
    finished, least = int(each["finished"]), TOLERATED[0]
    above = {share: int(each[f"above {epsilon}"]) for epsilon, share in shares.items()}
    return {
        "Algorithm": label,
        **{f"Mean rank, {share} may be lost": rounded(each[f"rank at {epsilon}"], 2)
           for epsilon, share in shares.items()},
        "Mean rank by loss": rounded(each["rank by loss"], 2),
        "Mean rank by seconds": rounded(each["rank by seconds"], 2),
        "Mean loss": number(each["loss"], 3, "bad" if each["loss"] > least else ""),
        "Worst loss": number(each["worst"], 3, "bad" if each["worst"] > least else ""),
        **{f"Lost more than {share}": Cell(f"{n} of {finished}", n, "bad" if n else "")
           for share, n in above.items()},
        "CPU s": number(each["cpu_seconds"], 3),
        "Wall s": number(each["wall_seconds"], 3),
        "Speed-up": Cell("∞") if math.isinf(each["speedup"]) else number(each["speedup"], 3),
        "Finished": finished,
        "Failed": count(each["failed"]),
        "Skipped": int(each["skipped"]),
    }  # fmt: skip


def selections(made: Material) -> Section | None:
    """Return the selections; None where nothing was selected beside Full-run."""
    found = compared(made)
    if not found:
        return None
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
    groups: dict[tuple[str, str], list[Selection]] = {}
    for selection in found:
        groups.setdefault((selection.data, selection.label), []).append(selection)
    table = Table(
        "selection-table",
        "Speed-up, loss and calibration; medians over runs, the worst loss, sums of intervals",
        pd.DataFrame([_group(made, *place, runs) for place, runs in groups.items()]),
        filters="selections",
        key=1,
    )
    return Section(
        "selection",
        "Configuration selection",
        nav="Selection",
        text=[held, calibration],
        figures=figures(found, made.names),
        tables=[table],
    )


def _group(made: Material, data: str, label: str, runs: Sequence[Selection]) -> dict[str, object]:
    intervals, above, below = (
        sum(getattr(run.calibration, name) for run in runs)
        for name in ("intervals", "above", "below")
    )
    worst = max((run.loss for run in runs if run.loss is not None), default=math.nan)
    over = any(run.kept is False for run in runs)
    # Only an interval that is a promise can break an assumption; DAUB's are projections.
    promises = intervals > 0 and any(run.epsilon is not None for run in runs)
    return {
        "Data": Cell(made.name(data), data),
        "Algorithm": label,
        "Runs": len(runs),
        "Configurations": runs[0].configurations,
        "Speed-up (i)": number(_median(run.speedup for run in runs), 3),
        "Speed-up (ii)": number(_median(run.speedup_trained for run in runs), 3),
        "Loss, worst": number(worst, 3, "bad" if over else ""),
        "Probes": _median(run.probes for run in runs),
        "Largest sample": max(run.largest_rows for run in runs),
        "Intervals": cell(intervals) if intervals else Cell("–", 0),
        "Held": 1 - (above + below) / intervals if intervals else None,
        "Exploitiveness broken": count(above) if promises else Cell("–", above),
        "Fitness broken": count(below) if promises else Cell("–", below),
    }


def _median(values: Iterable[float | None]) -> float:
    known = [float(value) for value in values if value is not None]
    return median(known) if known else math.nan


def figures(found: Sequence[Selection], names: Names) -> list[Figure]:
    """Return every figure that the runs at hand can fill, in the paper's order."""
    usable = [run for run in found if run.speedup is not None and run.loss is not None]
    by_count, by_epsilon = sweeps(usable, COUNT), sweeps(usable, "epsilon")
    by_budget = [sweep for setting in _BUDGETS for sweep in sweeps(usable, setting)]
    schedulers = [run for sweep in sweeps(usable, "scheduler") for run in sweep.runs]
    by_scheduler = _grouped(schedulers, lambda run: str(run.settings["scheduler"]))
    groups = [(sweep.name, sweep.runs) for sweep in by_count]
    if not groups:
        groups = _grouped(usable, lambda run: run.label)
    made = (
        _lines(by_count, "number of configurations", _SPEEDUP, names),
        _lines(by_count, "number of configurations", _LOST, names),
        _points("Speed-up against loss", groups, names),
        _losses(groups),
        _lines(by_epsilon, "epsilon", _SPEEDUP, names),
        _lines(by_epsilon, "epsilon", _LOST, names),
        _over_time(by_budget, names),
        _points("Schedulers", by_scheduler, names),
    )
    return [figure for figure in made if figure is not None]


def _grouped(
    found: Sequence[Selection], name_of: Callable[[Selection], str]
) -> list[tuple[str, list[Selection]]]:
    groups: dict[str, list[Selection]] = {}
    for run in found:
        groups.setdefault(name_of(run), []).append(run)
    return list(groups.items())


def _points(
    title: str, groups: Sequence[tuple[str, Sequence[Selection]]], names: Names
) -> Figure | None:
    """Return Figures 4a and 8: speed-up against relative loss, a point a run."""
    places = list(dict.fromkeys(run.data for _, runs in groups for run in runs))
    if not places:
        return None
    symbols = {data: SYMBOLS[i % len(SYMBOLS)] for i, data in enumerate(places)}
    data = [
        scatter(
            label, (run.relative_loss for run in runs), (run.speedup for run in runs),
            colour(index), mode="markers",
            hints=(f"{names.get(run.data, run.data)}, {run.configurations} configurations"
                   for run in runs),
            hovertemplate="%{hovertext}<br>loss %{x}, %{y} times faster",
            marker={"size": 9, "opacity": 0.8, "symbol": [symbols[run.data] for run in runs]},
        )
        for index, (label, runs) in enumerate(groups)
    ]  # fmt: skip
    shapes = ", ".join(f"{symbol} {names.get(data, data)}" for data, symbol in symbols.items())
    note = f"A point is one run; its shape is the data set: {shapes}."
    return chart(title, note, data, _from_none(groups), axis(_FASTER, **LOG), 420)


def _losses(groups: Sequence[tuple[str, Sequence[Selection]]]) -> Figure | None:
    """Return Figure 4b: the relative losses of every group as a box."""
    if not groups:
        return None
    data: list[Trace] = [
        {
            "type": "box",
            "name": text(label),
            "showlegend": False,  # the names stand at the axis
            "x": plain(run.relative_loss for run in runs),
            "boxpoints": "all",
            "jitter": 0.5,
            "pointpos": 0,
            "boxmean": True,
            "marker": {"color": colour(index), "size": 4, "opacity": 0.6},
            "line": {"color": colour(index)},
        }
        for index, (label, runs) in enumerate(groups)
    ]
    note = "Every run on every data set is a point; the dashed line is their mean."
    up = {"autorange": "reversed", "type": "category"}
    return chart("Relative loss", note, data, _from_none(groups), up, 110 + 42 * len(data))


def _from_none(groups: Sequence[tuple[str, Sequence[Selection]]]) -> dict[str, Any]:
    most = max((run.relative_loss or 0.0) for _, runs in groups for run in runs) or 0.01
    return axis("relative loss of accuracy", range=[-0.03 * most, 1.05 * most], tickformat="~g")


def _over_time(found: Sequence[Sweep], names: Names) -> Figure | None:
    """Return Figure 7: what is lost by an answer after a share of Full-run's time."""

    def points(values: Mapping[Any, Sequence[Selection]]) -> Iterable[tuple[float, float]]:
        return sorted(
            (
                median(100 / run.speedup for run in runs if run.speedup),
                mean(run.loss for run in runs if run.loss is not None),
            )
            for runs in values.values()
        )

    note = (
        "A point is one time limit, or one first sample of successive halving:"
        " medians of the time and means of the loss over repetitions. Lower left is better."
    )
    return _by_data(
        "Loss under a time limit", note, found, points, names, LOG, _FROM_ZERO,
        "% of Full-run’s CPU time", _LOSS,
    )  # fmt: skip


def _lines(
    found: Sequence[Sweep],
    setting: str,
    measure: tuple[str, str, str, dict[str, Any]],
    names: Names,
) -> Figure | None:
    """Return Figures 3 and 6: a measure by the value of a setting, a panel a data set."""
    title, attribute, y_title, y_axis = measure

    def points(values: Mapping[Any, Sequence[Selection]]) -> Iterable[tuple[str, float]]:
        return [(str(value), median(getattr(run, attribute) for run in runs))
                for value, runs in values.items()]  # fmt: skip

    return _by_data(
        f"{title} by {setting}", "Medians over repetitions.", found, points, names,
        {"type": "category"}, y_axis, setting, y_title,
    )  # fmt: skip


def _by_data(
    title: str,
    note: str,
    found: Sequence[Sweep],
    points: Callable[[Mapping[Any, Sequence[Selection]]], Iterable[tuple[Any, float]]],
    names: Names,
    *axes: Any,
) -> Figure | None:
    """Return a panel for each data set, and a line in it for each sweep."""
    places = list(dict.fromkeys(data for sweep in found for data in sweep.points))
    if not places:
        return None
    data = []
    for index, sweep in enumerate(found):
        for place, (data_set, values) in enumerate(sweep.points.items()):
            x, y = zip(*points(values), strict=True)
            line = scatter(
                sweep.name, x, y, colour(index), mode="lines+markers",
                legendgroup=text(sweep.name), showlegend=place == 0,
            )  # fmt: skip
            data.append(placed(line, places.index(data_set)))
    return Figure(title, note, data, panels([names.get(p, p) for p in places], *axes))


def pictures(made: Material) -> dict[str, list[dict[str, Any]]]:
    """Return the pictures of each job's page that need the truth, by the job's key."""
    real, found = truths(made), {}
    for row, events in made.by(selection_log):
        truth = real.get((row.data, row.repetition))
        accuracies = truth.by_number(events) if truth else {}
        drawn = filter(None, (funnels(events, accuracies), verdicts(events, accuracies)))
        found[str(row.key)] = [figure.payload() for figure in drawn]
    return found


def funnels(events: Sequence[Event], real: Mapping[int, float]) -> Figure | None:
    """Return the intervals of the most probed configurations with the real accuracy."""
    bounds: dict[int, list[BoundsUpdated]] = {}
    for event in of(events, BoundsUpdated):
        if event.configuration in real:
            bounds.setdefault(event.configuration, []).append(event)
    if not bounds:
        return None
    names = _configurations(events, 18)
    last = champion_of(events)
    chosen = sorted(bounds, key=lambda n: (n != last, -len(bounds[n]), n))[:MOST_FUNNELS]
    most = max(event.units for n in chosen for event in bounds[n])
    data = []
    for panel, n in enumerate(chosen):
        for paint, held in ((colour(0, 0.75), True), (colour(_BROKEN, 0.75), False)):
            shown = [event for event in bounds[n] if _holds(event, real[n]) == held]
            if shown:
                bars = _intervals("", shown, (event.units for event in shown), paint, "y")
                data.append(placed(bars, panel))
        full = scatter("", [bounds[n][0].units, most], [real[n]] * 2, "$ink",
                       line={"width": 1.5, "dash": "dash"},
                       hovertemplate="%{y} in full<extra></extra>")  # fmt: skip
        data.append(placed(full, panel))
    titles = [f"{names[n]}, champion" if n == last else names[n] for n in chosen]
    rows = {"type": "log", "dtick": "D2", "tickformat": "~s"}
    note = (
        "A bar is the interval after a probe, red if it misses what full training gives, which is"
        f" dashed. The champion and the most probed, {len(chosen)} of {len(bounds)}."
    )
    layout = panels(titles, rows, {}, "rows", "accuracy")
    return Figure("Funnels and the real accuracy", note, data, layout)


def verdicts(events: Sequence[Event], real: Mapping[int, float]) -> Figure | None:
    """Return every configuration's last interval in the order of pruning."""
    last = {event.configuration: event for event in of(events, BoundsUpdated)}
    if not last:
        return None
    pruned = [event.configuration for event in of(events, Eliminated)]
    order = [n for n in pruned if n in last] + [n for n in last if n not in pruned]
    names = {n: text(name) for n, name in _configurations(events, 34).items()}
    data = [_intervals("last interval", [last[n] for n in order], (names[n] for n in order),
                       colour(0, 0.55), "x")]  # fmt: skip
    for name, paint, held in (
        ("real accuracy", "$ink", True),
        ("real accuracy, missed", colour(_BROKEN), False),
    ):
        shown = [n for n in order if n in real and _holds(last[n], real[n]) == held]
        if shown:
            data.append(
                scatter(name, (real[n] for n in shown), (names[n] for n in shown), paint,
                        mode="markers", marker={"symbol": "diamond", "size": 9})
            )  # fmt: skip
    note = (
        "From the first pruned to the last that remained; a diamond is what full training gives."
    )
    up = {"autorange": "reversed", "type": "category"}
    return chart("Order of pruning", note, data, "accuracy", up, 120 + 22 * len(order))


def _intervals(
    label: str, shown: Sequence[BoundsUpdated], at: Iterable[Any], paint: str, along: str
) -> Trace:
    """Return intervals as thick bars along one axis, at places of the other."""
    middles = [(event.lower + event.upper) / 2 for event in shown]
    x, y = (middles, at) if along == "x" else (at, middles)
    bars = scatter(
        label, x, y, paint, mode="markers",
        marker={"size": 1}, customdata=plain(event.units for event in shown),
        hovertemplate="after %{customdata} rows<extra></extra>",
    )  # fmt: skip
    halves = plain((event.upper - event.lower) / 2 for event in shown)
    return bars | {f"error_{along}": {"type": "data", "array": halves, "thickness": 4,
                                      "width": 0, "color": paint}}  # fmt: skip


def _holds(event: BoundsUpdated, real: float) -> bool:
    return event.lower <= real <= event.upper


def _configurations(events: Sequence[Event], limit: int) -> dict[int, str]:
    return {
        c.configuration: name_of(c.configuration, c.parameters, limit)
        for c in configurations(events)
    }
