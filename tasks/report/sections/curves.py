"""Anytime curves: the score of every algorithm while its budget is being spent."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from leaseboard.algorithms.events import Event, Measured, TrialFinished, of
from leaseboard.tasks.report.charts import (
    Figure,
    Trace,
    axis,
    band,
    chart,
    colour,
    scatter,
    thinned,
    wording,
)
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import Section

MOST_POINTS = 40
STEEP = 30.0
"""Ratio of the largest score of a curve to the least one, beyond which its axis is logarithmic."""


def job_curve(row: Any, events: Sequence[Event]) -> pd.Series | None:
    """Return what a finished job measured, by units; of pulls, the best reward so far."""
    if row.status != "ok":
        return None
    points = {point.at: point.value for point in of(events, Measured)}
    if points:
        return pd.Series(points, dtype=float)
    trials = {each.at: each.reward for each in of(events, TrialFinished) if each.status == "ok"}
    return pd.Series(trials, dtype=float).cummax() if trials else None


def aligned(curves: Sequence[pd.Series]) -> pd.DataFrame:
    """Return the curves on the units of all, each with its last value; NaN before its first."""
    return pd.concat(curves, axis=1).sort_index().ffill()


def curves(made: Material) -> Section | None:
    """Return the scores of each dataset over time; None without a measured curve."""
    found: dict[tuple[str, str], list[pd.Series]] = {}
    for row, curve in made.read[job_curve]:
        found.setdefault((row.name, row.data), []).append(curve)
    by_place = {place: aligned(each) for place, each in found.items()}
    table, frame = made.found.board.table, made.frame
    drawn = []
    for data in table.problems:
        done = frame[(frame["data"] == data) & (frame["status"] == "ok")]
        for unit, metric in done[["unit", "metric"]].head(1).itertuples(index=False):
            mine = {label: by_place[label, data] for label in made.labels
                    if (label, data) in by_place}  # fmt: skip
            drawn.append(data_figure(made.names.get(data, data), mine, made.labels, unit, metric))
    shown = [figure for figure in drawn if figure is not None]
    if not shown:
        return None
    folded = [replace(figure, folded=figure.title) for figure in shown[1:]]
    return Section("curves", **wording("curves"), figures=[shown[0], *folded])


def data_figure(
    name: str, curves: Mapping[str, pd.DataFrame], labels: Sequence[str], unit: str, metric: str
) -> Figure | None:
    """Return the median over repetitions with the quartiles as a band, for one dataset."""
    traces: list[Trace] = []
    middles = []
    for label, curve in curves.items():
        known = curve.dropna()
        known = known.iloc[thinned(len(known), MOST_POINTS)]
        low, middle, high = (known.quantile(share, axis=1) for share in (0.25, 0.5, 0.75))
        index = labels.index(label)
        if (high > low).any():
            traces.append(band(index, [*known.index], [*low], [*high]))
        traces.append(_line(index, label, middle))
        middles.append(middle)
    if not traces:
        return None
    scores = pd.concat(middles)
    # The losses of the first examples would flatten all later ones.
    steep = scores.min() > 0 and STEEP * scores.min() < scores.max()
    up = axis(metric, **({"type": "log", "tickformat": "~g"} if steep else {}))
    note = "Median over repetitions; the band holds the middle half of them."
    title = f"Score while the budget is spent: {name}"
    return chart(title, note, traces, axis(unit, type="log"), up, 440)


def _line(index: int, label: str, curve: pd.Series) -> Trace:
    dash = "dash" if index >= 10 else "solid"
    line = {"dash": dash}
    return scatter(label, curve.index, curve, colour(index), line=line, legendgroup=str(index))
