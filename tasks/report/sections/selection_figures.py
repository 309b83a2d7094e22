"""The paper's comparisons of configuration selection: Figures 3, 4, 6, 7 and 8."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean, median
from typing import Any

from tasks.report.cells import Names, named
from tasks.report.draw import facets
from tasks.report.draw.specs import Figure, Trace, axis, colour, rounded, text
from tasks.score.selection import Selection
from tasks.score.sweeps import COUNT, Sweep, sweeps

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
