"""The score of each algorithm over the days on which the suite's jobs ran anew."""

from __future__ import annotations

import numpy as np

from leaseboard.tasks.report.draw.specs import Figure, Trace, axis, colour, rounded, text
from leaseboard.tasks.report.section import Cell, Material, Section, Table, finite
from leaseboard.tasks.score.summary import fixed, short
from leaseboard.tasks.score.trend import MOST_DAYS, Trend, trend

LOWEST = -1.0
"""A normalised score below is not drawn at first: it would flatten all others."""


def section(made: Material) -> Section | None:
    """A line an algorithm, and the numbers behind it; None where all jobs ran on one day."""
    suite = made.suite
    scale = suite.normalise if suite else None
    found = trend(
        made.frame,
        made.earlier,
        zero=scale.zero if scale else None,
        one=scale.one if scale else None,
        meaningless=tuple(d.data for d in suite.data if not d.meaningful) if suite else (),
    )
    if found is None:
        return None
    said = (
        "The results as they stood at the end of each day on which jobs ran anew, which they do"
        " when their code or data changed, so a scheduled suite that nobody touched adds no day."
        f" Score: {found.scale}. At most the last {MOST_DAYS} days are shown."
    )
    if found.only is None:
        said += f" {found.meaning} Each day is on its own scale."
    return Section(
        "trend",
        "Score over nights",
        nav="Nights",
        text=[said],
        figures=[_figure(found, made.labels)],
        tables=[_table(found, made.labels, raw=found.only is not None)],
    )


def _figure(found: Trend, labels: list[str]) -> Figure:
    data: list[Trace] = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": text(label),
            "x": list(found.days),
            "y": rounded(found.scores[found.labels.index(label)].tolist()),
            "line": {"color": colour(i), "dash": "dash" if i >= 10 else "solid"},
            "marker": {"size": 6},
        }
        for i, label in enumerate(labels)
    ]
    note = "A point is a day on which at least one job of the suite ran anew."
    shown: dict[str, list[float]] = {}
    most, least = (float(end(found.scores)) for end in (np.nanmax, np.nanmin))
    if found.only is None and least < LOWEST < most:
        shown = {"range": [LOWEST, most + 0.05 * (most - LOWEST)]}
        note += " What is below −1 is cut off; double-click shows it."
    layout = {
        "xaxis": axis("", type="date"),
        "yaxis": axis("score", **shown),
        "height": 400,
    }
    return Figure("Score of each algorithm by day", note, data, layout, log="")


def _table(found: Trend, labels: list[str], *, raw: bool) -> Table:
    """The newest day first."""
    order = [found.labels.index(label) for label in labels]
    show = short if raw else fixed
    rows = [
        [
            Cell(day, day),
            Cell(str(found.ran[at]), found.ran[at]),
            *(Cell(show(found.scores[i, at]), finite(found.scores[i, at])) for i in order),
        ]
        for at, day in reversed(list(enumerate(found.days)))
    ]
    return Table(
        "trend-table",
        "Score of each algorithm by day, and how many jobs ran anew",
        ["Day", "Jobs", *labels],
        rows,
        folded="The numbers",
        tall=True,
    )
