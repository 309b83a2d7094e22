"""One run of selection on its job's page: its intervals beside what full training gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from leaseboard.algorithms.configurations import configurations
from leaseboard.algorithms.events import BoundsUpdated, Eliminated, Event, of
from leaseboard.tasks.report.draw import facets
from leaseboard.tasks.report.draw.specs import Figure, Trace, axis, colour, name_of, rounded, text
from leaseboard.tasks.score.selection import champion_of

MOST_FUNNELS = 6
_BROKEN = 3
"""The colour of an interval that misses the real accuracy."""


def funnels(events: Sequence[Event], real: Mapping[int, float]) -> Figure | None:
    """The intervals of the most probed configurations, a panel each, with the real accuracy."""
    bounds: dict[int, list[BoundsUpdated]] = {}
    for event in of(events, BoundsUpdated):
        if event.configuration in real:
            bounds.setdefault(event.configuration, []).append(event)
    if not bounds:
        return None
    names = _names(events, 18)
    last = champion_of(events)
    chosen = sorted(bounds, key=lambda n: (n != last, -len(bounds[n]), n))[:MOST_FUNNELS]
    most = max(event.units for n in chosen for event in bounds[n])
    data = [
        facets.placed(trace, panel)
        for panel, n in enumerate(chosen)
        for trace in _funnel(bounds[n], real[n], most)
    ]
    titles = [f"{names[n]}, champion" if n == last else names[n] for n in chosen]
    rows = {"type": "log", "dtick": "D2", "tickformat": "~s"}
    layout = facets.layout(titles, rows, {}, "rows", "accuracy")
    note = (
        "A bar is the interval after a probe, red if it misses what full training gives, which is"
        f" dashed. The champion and the most probed, {len(chosen)} of {len(bounds)}."
    )
    return Figure("Funnels and the real accuracy", note, data, layout)


def verdicts(events: Sequence[Event], real: Mapping[int, float]) -> Figure | None:
    """Every configuration's last interval with its real accuracy, in the order of pruning."""
    last = {event.configuration: event for event in of(events, BoundsUpdated)}
    if not last:
        return None
    pruned = [event.configuration for event in of(events, Eliminated)]
    order = [n for n in pruned if n in last] + [n for n in last if n not in pruned]
    names = _names(events, 34)
    bars: Trace = {
        "type": "scatter",
        "mode": "markers",
        "name": "last interval",
        "x": rounded((last[n].lower + last[n].upper) / 2 for n in order),
        "y": [names[n] for n in order],
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
    data = [bars]
    for name, paint, held in (
        ("real accuracy", "$ink", True),
        ("real accuracy, missed", colour(_BROKEN), False),
    ):
        shown = [n for n in order if n in real and _holds(last[n], real[n]) == held]
        if shown:
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": name,
                    "x": rounded(real[n] for n in shown),
                    "y": [names[n] for n in shown],
                    "marker": {"symbol": "diamond", "size": 9, "color": paint},
                }
            )
    layout = {
        "xaxis": axis("accuracy"),
        "yaxis": {"autorange": "reversed", "type": "category"},
        "height": 120 + 22 * len(order),
    }
    note = (
        "From the first pruned to the last that remained; a diamond is what full training gives."
    )
    return Figure("Order of pruning", note, data, layout)


def _funnel(bounds: Sequence[BoundsUpdated], real: float, most: float) -> Iterable[Trace]:
    for broken in (False, True):
        shown = [event for event in bounds if _holds(event, real) != broken]
        if shown:
            paint = colour(_BROKEN if broken else 0, 0.75)
            yield {
                "type": "scatter",
                "mode": "markers",
                "showlegend": False,
                "x": rounded(event.units for event in shown),
                "y": rounded((event.lower + event.upper) / 2 for event in shown),
                "error_y": {
                    "type": "data",
                    "array": rounded((event.upper - event.lower) / 2 for event in shown),
                    "thickness": 4,
                    "width": 0,
                    "color": paint,
                },
                "marker": {"size": 1, "color": paint},
                "hovertemplate": "after %{x} rows<extra></extra>",
            }
    yield {
        "type": "scatter",
        "mode": "lines",
        "showlegend": False,
        "x": rounded([bounds[0].units, most]),
        "y": rounded([real] * 2),
        "line": {"color": "$ink", "width": 1.5, "dash": "dash"},
        "hovertemplate": "%{y} in full<extra></extra>",
    }


def _holds(event: BoundsUpdated, real: float) -> bool:
    return event.lower <= real <= event.upper


def _names(events: Sequence[Event], limit: int) -> dict[int, str]:
    return {
        c.configuration: text(name_of(c.configuration, c.parameters, limit))
        for c in configurations(events)
    }
