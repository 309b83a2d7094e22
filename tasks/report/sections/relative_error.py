"""Relative errors and times: a table, and the CDFs over data sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leaseboard.tasks.report.draw.specs import Figure, Trace, axis, colour, rounded, text
from leaseboard.tasks.report.section import Cell, Material, Names, Section, Table, named, number
from leaseboard.tasks.score.relative import Relative, cumulative, relative
from leaseboard.tasks.score.table import Floats


def section(made: Material) -> Section | None:
    """Errors and times relative to the suite's baselines; None where it names none."""
    if made.suite is None or not made.suite.relative_to:
        return None
    found = relative(made.frame, made.suite.relative_to)
    if not found.problems:
        return None
    text = (
        "The error of an algorithm between the least (0) and the largest (1) mean error of the"
        " baselines; below 0 it beats them all. Times are CPU seconds over those of the first"
        " baseline; hover over a cell to read them. A name that ends in -best is, on each data"
        " set, the best of its settings."
    )
    return Section(
        "relative-error",
        "Relative error and time",
        nav="Relative error",
        text=[text],
        figures=figures(found),
        tables=[errors(found, made.names)],
    )


def errors(found: Relative, names: Names) -> Table:
    """Error over time of each algorithm on each data set, and how often it is below 0 and 0.5."""
    return Table(
        "relative-error-table",
        "Relative errors; medians and counts over data sets",
        [
            "Algorithm", "Data sets", "Below 0", "Below 0.5", "Median error", "Median time",
            *(named(problem, names) for problem in found.problems),
        ],
        [
            [
                Cell(label),
                number(np.isfinite(found.errors[i]).sum()),
                number((found.errors[i] < 0).sum()),
                number((found.errors[i] < 0.5).sum()),
                number(_median(found.errors[i]), 3),
                number(_median(found.times[i]), 3),
                *(
                    number(error, 3, hint=f"{time:.3g} times the time")
                    for error, time in zip(found.errors[i], found.times[i], strict=True)
                ),
            ]
            for i, label in enumerate(found.labels)
        ],
    )  # fmt: skip


def figures(found: Relative) -> list[Figure]:
    """Figures 2 and 3 of the paper: CDFs over all data sets, and over those where the second
    baseline takes at least twice the time of the first.
    """
    everywhere = np.ones(len(found.problems), dtype=bool)
    groups = [(everywhere, f"on {_data_sets(everywhere)}")]
    if len(found.baselines) > 1:
        second = found.baselines[1]
        costly = found.times[found.labels.index(second)] >= 2
        groups.append((costly, f"on {_data_sets(costly)} where {second} takes twice the time"))
    drawn = []
    for keep, where in groups:
        if keep.any():
            errors, times = found.errors[:, keep], found.times[:, keep]
            drawn.append(_cdf(found.labels, errors, "relative error", "linear", where))
            drawn.append(_cdf(found.labels, times, "relative time", "log", where))
    return drawn


def _cdf(labels: tuple[str, ...], values: Floats, what: str, kind: str, where: str) -> Figure:
    finite = values[np.isfinite(values)]
    data: list[Trace] = []
    folded = ["(" in label for label in labels]  # one setting of a family that has a best
    for place, index in enumerate(np.argsort(folded, kind="stable")):
        x, y = cumulative(values[index])
        if len(x):  # a step from nothing, level to the edge: one data set is seen too
            x, y = np.array([x[0], *x, finite.max()]), np.array([0, *y, y[-1]])
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": text(labels[index]),
                "x": rounded(x),
                "y": rounded(y),
                "line": {"shape": "hv", "color": colour(place)},
                "visible": "legendonly" if folded[index] else True,
            }
        )
    layout = {
        "xaxis": axis(what, type=kind),
        "yaxis": axis("data sets", rangemode="tozero", dtick=-(-values.shape[1] // 8)),
        "height": 420,
    }
    note = f"How many {what}s are at most x, {where}; further left and higher is better."
    return Figure(f"{what.capitalize()} {where}", note, data, layout)


def _data_sets(kept: NDArray[np.bool_]) -> str:
    return "1 data set" if kept.sum() == 1 else f"{kept.sum()} data sets"


def _median(values: Floats) -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else np.nan
