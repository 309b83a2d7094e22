"""Configuration selection compared with Full-run, as in the paper's Figures 3 to 8."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import pandas as pd

from leaseboard.algorithms.configurations import configurations
from leaseboard.algorithms.events import BoundsUpdated, Eliminated, Event, of
from leaseboard.tasks.jobs.environments.kinds import choosing
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
    sentences,
    text,
    wording,
)
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import (
    Cell,
    Names,
    Section,
    Table,
    cell,
    count,
    data_cell,
    number,
    rounded,
)
from leaseboard.tasks.score.selection import (
    COUNT,
    REFERENCE,
    RULE,
    TOLERATED,
    Selection,
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
_FASTER, _LOST = "times faster than Full-run", "accuracy lost"
_FROM_ZERO = {"rangemode": "tozero", "tickformat": "~g"}


def selection_log(row: Any, events: Sequence[Event]) -> Sequence[Event] | None:
    """Return the log of a finished job of selection."""
    return events if row.status == "ok" and row.environment in choosing("configuration") else None


def truths(made: Material) -> dict[tuple[str, int], Truth]:
    """Return the results of Full-run on each dataset and repetition."""
    found: dict[tuple[str, int], Truth] = {}
    for row, events in made.by(selection_log):
        if row.algorithm == REFERENCE:
            found.setdefault((row.data, row.repetition), Truth()).add(events)
    return found


def compared(made: Material) -> list[Selection]:
    """Return every run that can be compared with a Full-run, Full-run itself left out."""
    real = truths(made)
    found = [
        compare(
            events, real[row.data, row.repetition], key=str(row.key), name=row.name,
            data=row.data, algorithm=row.algorithm,
        )
        for row, events in made.by(selection_log)
        if row.algorithm != REFERENCE and (row.data, row.repetition) in real
    ]  # fmt: skip
    return [selection for selection in found if selection is not None]


def ranks(made: Material) -> Section | None:
    """Return ranks by loss and seconds; None where none of one size ran with Full-run."""
    found = standings(made.frame)
    if found.empty:
        return None
    shares = {f"{100 * epsilon:g} %": epsilon for epsilon in TOLERATED}
    shown: dict[str, list[Cell]] = {"Algorithm": [cell(str(label)) for label in found.index]}
    for name, column in (
        *((f"Mean rank, {share} may be lost", f"rank at {e}") for share, e in shares.items()),
        ("Mean rank by loss", "rank by loss"),
        ("Mean rank by seconds", "rank by seconds"),
    ):
        shown[name] = [rounded(rank, 2) for rank in found[column]]
    for name in ("loss", "worst"):
        kinds = ["bad" if loss > TOLERATED[0] else "" for loss in found[name]]
        shown[f"{'Mean' if name == 'loss' else 'Worst'} loss"] = [
            number(loss, 3, kind) for loss, kind in zip(found[name], kinds, strict=True)
        ]
    for share, epsilon in shares.items():
        above = zip(found[f"above {epsilon}"], found["finished"], strict=True)
        shown[f"Lost more than {share}"] = [
            Cell(f"{n} of {finished}", n, "bad" if n else "") for n, finished in above
        ]
    for name, column in (("CPU s", "cpu_seconds"), ("Wall s", "wall_seconds")):
        shown[name] = [number(seconds, 3) for seconds in found[column]]
    shown["Speed-up"] = [Cell("∞") if math.isinf(x) else number(x, 3) for x in found["speedup"]]
    shown |= {"Finished": [cell(n) for n in found["finished"]],
              "Failed": [count(n) for n in found["failed"]],
              "Skipped": [cell(n) for n in found["skipped"]]}  # fmt: skip
    words = wording("selection-ranks-table")
    table = Table("selection-ranks-table", frame=pd.DataFrame(shown), **words)
    return Section("selection-ranks", **wording("selection-ranks", rule=RULE), tables=[table])


def selections(made: Material) -> Section | None:
    """Return the selections; None where none ran with Full-run."""
    found = compared(made)
    if not found:
        return None
    guaranteed = [selection.kept for selection in found if selection.kept is not None]
    bounded = [selection.calibration for selection in found if selection.epsilon is not None]
    intervals, above, below = (sum(getattr(each, name) for each in bounded)
                               for name in ("intervals", "above", "below"))  # fmt: skip
    words = wording(
        "selection", kept=sum(guaranteed), guaranteed=len(guaranteed), intervals=intervals,
        above=above, below=below,
    )  # fmt: skip
    groups: dict[tuple[str, str], list[Selection]] = {}
    for selection in found:
        groups.setdefault((selection.data, selection.name), []).append(selection)
    rows = [_group(made, *place, runs) for place, runs in groups.items()]
    table = Table("selection-table", frame=pd.DataFrame(rows), **wording("selection-table"))
    drawn = figures(found, made.names)
    return Section("selection", **words, figures=drawn, tables=[table])


def _group(made: Material, data: str, label: str, runs: Sequence[Selection]) -> dict[str, object]:
    frame = as_runs(runs)
    intervals, above, below = (int(frame[name].sum()) for name in ("intervals", "above", "below"))
    # Only an interval that is guaranteed can break an assumption; DAUB's are projections.
    guarantees = intervals > 0 and any(run.epsilon is not None for run in runs)
    kind = "bad" if any(run.kept is False for run in runs) else ""
    return {
        "Data": data_cell(data, made.names),
        "Algorithm": label,
        "Runs": len(runs),
        "Configurations": runs[0].configurations,
        "Speed-up (i)": number(frame["speedup"].median(), 3),
        "Speed-up (ii)": number(frame["speedup_trained"].median(), 3),
        "Loss, worst": number(frame["loss"].max(), 3, kind),
        "Probes": frame["probes"].median(),
        "Largest sample": frame["largest_rows"].max(),
        "Intervals": cell(intervals) if intervals else Cell("–", 0),
        "Held": 1 - (above + below) / intervals if intervals else None,
        "Exploitiveness broken": count(above) if guarantees else Cell("–", above),
        "Fitness broken": count(below) if guarantees else Cell("–", below),
    }


def as_runs(found: Sequence[Selection]) -> pd.DataFrame:
    """Return a row for each selection, its calibration as columns."""
    names = [each.name for each in fields(Selection)]
    frame = pd.DataFrame([[getattr(run, name) for name in names] for run in found], columns=names)
    numbers = ["speedup", "speedup_trained", "loss", "relative_loss"]
    frame[numbers] = frame[numbers].astype(float)
    for name in ("intervals", "above", "below"):
        frame[name] = [getattr(run.calibration, name) for run in found]
    return frame


def figures(found: Sequence[Selection], names: Names) -> list[Figure]:
    """Return every figure that the runs can fill, in the paper's order."""
    runs = as_runs(found).dropna(subset=["speedup", "loss"])
    by_count, by_epsilon, by_scheduler, by_limit, by_rows = (
        sweeps(runs, each)
        for each in (COUNT, "epsilon", "scheduler", "time_limit", "initial_rows")
    )
    groups = runs.assign(sweep=runs["name"]) if by_count.empty else by_count.sort_index()
    if len(by_scheduler):
        by_scheduler = by_scheduler.assign(sweep=by_scheduler["value"])
    many = "number of configurations"
    made = (
        _lines("Speed-up", "speedup", by_count, many, (_FASTER, LOG), names),
        _lines("Loss", "loss", by_count, many, (_LOST, _FROM_ZERO), names),
        _points("Speed-up against loss", groups, names),
        _losses(groups),
        _lines("Speed-up", "speedup", by_epsilon, "epsilon", (_FASTER, LOG), names),
        _lines("Loss", "loss", by_epsilon, "epsilon", (_LOST, _FROM_ZERO), names),
        _over_time([by_limit, by_rows], names),
        _points("Schedulers", by_scheduler, names),
    )
    return [figure for figure in made if figure is not None]


def _points(title: str, groups: pd.DataFrame, names: Names) -> Figure | None:
    """Return Figures 4a and 8: speed-up against relative loss, a point a run."""
    if groups.empty:
        return None
    symbols = {data: SYMBOLS[i % len(SYMBOLS)] for i, data in enumerate(groups["data"].unique())}
    data = [
        scatter(
            label, runs["relative_loss"], runs["speedup"], colour(index), mode="markers",
            hints=(f"{names.get(run.data, run.data)}, {run.configurations} configurations"
                   for run in runs.itertuples()),
            hovertemplate="%{hovertext}<br>loss %{x}, %{y} times faster",
            marker={"size": 9, "opacity": 0.8, "symbol": runs["data"].map(symbols).tolist()},
        )
        for index, (label, runs) in enumerate(groups.groupby("sweep", sort=False))
    ]  # fmt: skip
    shapes = ", ".join(f"{symbol} {names.get(data, data)}" for data, symbol in symbols.items())
    note = f"A point is one run; its shape is the dataset: {shapes}."
    return chart(title, note, data, _from_none(groups), axis(_FASTER, **LOG), 420)


def _losses(groups: pd.DataFrame) -> Figure | None:
    """Return Figure 4b: the relative losses of every group as a box."""
    if groups.empty:
        return None
    data: list[Trace] = [
        {
            "type": "box",
            "name": text(label),
            "showlegend": False,  # the names are at the axis
            "x": plain(runs["relative_loss"]),
            "boxpoints": "all",
            "jitter": 0.5,
            "pointpos": 0,
            "boxmean": True,
            "marker": {"color": colour(index), "size": 4, "opacity": 0.6},
            "line": {"color": colour(index)},
        }
        for index, (label, runs) in enumerate(groups.groupby("sweep", sort=False))
    ]
    note = "Every run on every dataset is a point; the dashed line is their mean."
    up = {"autorange": "reversed", "type": "category"}
    return chart("Relative loss", note, data, _from_none(groups), up, 110 + 42 * len(data))


def _from_none(groups: pd.DataFrame) -> dict[str, Any]:
    most = groups["relative_loss"].max() or 0.01
    return axis("relative loss of accuracy", range=[-0.03 * most, 1.05 * most], tickformat="~g")


def _over_time(found: Sequence[pd.DataFrame], names: Names) -> Figure | None:
    """Return Figure 7: the loss of an answer after a share of Full-run's time."""
    points = [
        runs.assign(x=100 / runs["speedup"], value=runs["value"].map(str))
        .groupby(["sweep", "data", "value"], sort=False)
        .agg(x=("x", "median"), y=("loss", "mean"))
        .droplevel("value")
        for runs in found
        if len(runs)
    ]
    return _by_data(
        "Loss under a time limit", sentences("selection.over_time"),
        pd.concat(points).sort_values(["x", "y"]), names,
        LOG, _FROM_ZERO, "% of Full-run’s CPU time", _LOST,
    ) if points else None  # fmt: skip


def _lines(
    title: str,
    measure: str,
    runs: pd.DataFrame,
    setting: str,
    vertical: tuple[str, dict[str, Any]],
    names: Names,
) -> Figure | None:
    """Return Figures 3 and 6: a measure by the value of a setting, a panel a dataset."""
    if runs.empty:
        return None
    points = runs.assign(x=runs["value"].map(str)).groupby(["sweep", "data", "x"], sort=False)
    y_title, y_axis = vertical
    return _by_data(
        f"{title} by {setting}", "Medians over repetitions.",
        points.agg(y=(measure, "median")).reset_index("x"), names,
        {"type": "category"}, y_axis, setting, y_title,
    )  # fmt: skip


def _by_data(
    title: str, note: str, points: pd.DataFrame, names: Names, *axes: Any
) -> Figure | None:
    """Return a panel for each dataset, and a line in it for each sweep."""
    places = points.index.unique("data").tolist()
    labels = points.index.unique("sweep").tolist()
    data: list[Trace] = []
    for label in labels:
        for place in places:
            if (label, place) in points.index:
                mine = points.loc[[(label, place)]]
                line = scatter(
                    label, mine["x"], mine["y"], colour(labels.index(label)), mode="lines+markers",
                    legendgroup=text(label),
                    showlegend=all(each["legendgroup"] != text(label) for each in data),
                )  # fmt: skip
                data.append(placed(line, places.index(place)))
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
    names, last = _configurations(events, 18), champion_of(events)
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
    note = sentences("selection.funnels", shown=len(chosen), all=len(bounds))
    layout = panels(titles, LOG | {"tickformat": "~s"}, {}, "rows", "accuracy")
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
    halves = plain((event.upper - event.lower) / 2 for event in shown)
    ends = {"type": "data", "array": halves, "thickness": 4, "width": 0, "color": paint}
    return scatter(
        label, x, y, paint, mode="markers", marker={"size": 1},
        customdata=plain(event.units for event in shown),
        hovertemplate="after %{customdata} rows<extra></extra>", **{f"error_{along}": ends},
    )  # fmt: skip


def _holds(event: BoundsUpdated, real: float) -> bool:
    return event.lower <= real <= event.upper


def _configurations(events: Sequence[Event], limit: int) -> dict[int, str]:
    return {
        c.configuration: name_of(c.configuration, c.parameters, limit)
        for c in configurations(events)
    }
