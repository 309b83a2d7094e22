"""What was known of whom: confidence bounds as bands, over a job's time or a lease's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leaseboard.algorithms.configurations import Configuration, Observation
from leaseboard.algorithms.events import BoundsUpdated, ChampionChanged, Event, of
from leaseboard.tasks.report.draw.specs import (
    Figure,
    Trace,
    axis,
    colour,
    names_of,
    rounded,
    text,
    thinned,
)
from leaseboard.tasks.report.job.leases import reigns

MOST_BANDS = 6
MOST_POINTS = 60


def bounds(
    configurations: Sequence[Configuration],
    events: Sequence[Event],
    unit: str,
    *,
    by_units: bool = False,
) -> Figure | None:
    """Bands: the longest reigning champions and the challengers that came furthest.

    `by_units`: draw against what the configuration itself consumed: a funnel that narrows.
    """
    if not of(events, BoundsUpdated):
        return None
    champions = [change.configuration for change in of(events, ChampionChanged)]
    longest = sorted(reigns(events, events[-1].at), key=lambda reign: reign[1] - reign[2])
    bounded = {
        c.configuration: [o for o in c.observations if o.lower is not None] for c in configurations
    }
    ranked = sorted((n for n in bounded if bounded[n]), key=lambda n: (-_reach(bounded[n]), n))
    crowned = [*champions[-1:], *(number for number, _, _ in longest[: MOST_BANDS // 2])]
    chosen = list(dict.fromkeys([*crowned, *ranked]))
    chosen = [number for number in chosen if bounded.get(number)][:MOST_BANDS]
    data: list[Trace] = []
    names = names_of((c for c in configurations if c.configuration in chosen), 100)
    for number in reversed(chosen):  # the last champion on top
        crown = " (champion)" if champions and number == champions[-1] else ""
        label = text(names[number] + crown)
        data += _band(number, bounded[number], label, by_units=by_units)
    others = sum(bool(observed) for observed in bounded.values()) - len(chosen)
    note = "Lower and upper bound as a band, the value as a line; double-click shows the extremes."
    if others:
        note += (
            " Shown are the longest reigning champions and the challengers that came furthest;"
            f" {others} more have bounds."
        )
    title = "Intervals as they narrow" if by_units else "Bounds of champion and challengers"
    layout = {
        "xaxis": axis(f"{unit} of the configuration's own" if by_units else unit),
        "yaxis": axis(
            f"{_loss(configurations)} with bounds",
            **_visible([o for n in chosen for o in bounded[n]]),
        ),
        "height": 380,
    }
    return Figure(title, note, data, layout, log="xy")


def _loss(configurations: Sequence[Configuration]) -> str:
    """What the bounds speak of."""
    named = next((record.loss for record in configurations if record.loss), "value")
    return named.replace("_", " ")


def _reach(observed: Sequence[Observation]) -> float:
    return max(observation.units for observation in observed)


def _visible(observed: Sequence[Observation]) -> dict[str, list[float]]:
    """The range that holds all but the widest bounds, which belong to the first examples."""
    lows = np.array([o.lower for o in observed if o.lower is not None])
    highs = np.array([o.upper for o in observed if o.upper is not None])
    low, high = np.quantile(lows, 0.05), np.quantile(highs, 0.9)
    if not np.isfinite([low, high]).all() or high <= low:
        return {}
    room = 0.08 * (high - low)
    return {"range": [float(f"{low - room:.4g}"), float(f"{high + room:.4g}")]}


def _band(number: int, observed: list[Observation], label: str, *, by_units: bool) -> list[Trace]:
    """A filled polygon for each life of the configuration, and the line of its values."""
    lives: list[list[Observation]] = []
    for observation in observed:
        if not lives or observation.units < lives[-1][-1].units:
            lives.append([])
        lives[-1].append(observation)
    most = max(2, MOST_POINTS // len(lives))
    px: list[float | None] = []
    py: list[float | None] = []
    lx: list[float | None] = []
    ly: list[float | None] = []
    for life in lives[-MOST_POINTS // 2 :]:
        kept = [life[i] for i in thinned(len(life), most)]
        x = [o.units if by_units else o.at for o in kept]
        gap = [None] if px else []
        px += [*gap, *x, *reversed(x)]
        py += [*gap, *(o.lower for o in kept), *(o.upper for o in reversed(kept))]
        lx += [*gap, *x]
        ly += [*gap, *(o.value for o in kept)]
    group = str(number)
    band: Trace = {
        "type": "scatter",
        "x": rounded(px),
        "y": rounded(py, 4),
        "fill": "toself",
        "fillcolor": colour(number, 0.18),
        "mode": "lines",
        "line": {"width": 0, "color": colour(number)},
        "hoverinfo": "skip",
        "legendgroup": group,
        "showlegend": False,
    }
    line: Trace = {
        "type": "scatter",
        "x": rounded(lx),
        "y": rounded(ly, 4),
        "mode": "lines+markers" if len(lx) < 12 else "lines",
        "line": {"color": colour(number), "width": 2},
        "name": label,
        "legendgroup": group,
    }
    return [band, line]
