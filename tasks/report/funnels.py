"""One run of selection on its job's page: its intervals beside what full training gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from algorithms.events import BoundsUpdated, Eliminated, Event
from tasks.configurations import configurations
from tasks.report.specs import Figure, Trace, axis, colour, name_of, rounded, text
from tasks.score.selection import champion_of

MOST_FUNNELS = 6


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
