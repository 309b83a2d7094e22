"""The charts of one job, from its events: leases over time, bounds, and the pulls of arms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from leaseboard.algorithms.configurations import Configuration, Observation
from leaseboard.algorithms.events import (
    BoundsUpdated,
    ChampionChanged,
    Event,
    Started,
    TrialFinished,
    of,
)
from leaseboard.tasks.jobs.environments.kinds import choosing
from leaseboard.tasks.report.charts import (
    INK,
    Figure,
    axis,
    band,
    chart,
    colour,
    named_rows,
    names_of,
    plain,
    scatter,
    text,
    thinned,
)

MOST_ROWS, MOST_LEASES = 24, 400
MOST_BANDS, MOST_POINTS = 6, 60
STAR = {"symbol": "star", "size": 13, "line": {"color": "white", "width": 1.5}}
"""The marker of a change of champion."""


def figures(records: Sequence[Configuration], events: Sequence[Event]) -> list[Figure]:
    """Return the charts that the events of a job of any algorithm give."""
    started = of(events, Started)
    unit, kind = (started[0].unit, started[0].environment) if started else ("units", "")
    if kind in choosing("arm"):  # pulls are leases of one trial each
        found = [pulls(records, events, unit)]
    else:
        found = [gantt(records, events, unit), bounds(records, events, unit)]
    return [figure for figure in found if figure is not None]


def gantt(records: Sequence[Configuration], events: Sequence[Event], unit: str) -> Figure | None:
    """Return the leases of every slot over time, coloured by configuration.

    Where leases have no slots, a row is a configuration.
    """
    leases = [(record.configuration if lease.slot is None else lease.slot, lease, record)
              for record in records for lease in record.leases]  # fmt: skip
    if len(leases) < 2:
        return None
    rows = sorted(row for row, _ in Counter(row for row, *_ in leases).most_common(MOST_ROWS))
    drawn = [each for each in leases if each[0] in rows]
    longest = sorted(drawn, key=lambda each: each[1].at - each[1].end)[:MOST_LEASES]
    names = names_of(records, 80)
    bars = {
        "type": "bar", "orientation": "h", "width": 0.78, "showlegend": False,
        "base": plain(lease.at for _, lease, _ in longest),
        "x": plain(lease.end - lease.at for _, lease, _ in longest),
        "y": [rows.index(row) for row, _, _ in longest],
        "marker": {"color": [colour(each.configuration) for *_, each in longest]},
        "hovertext": [text(names[each.configuration]) for *_, each in longest],
        "hovertemplate": f"%{{hovertext}}<br>%{{base}} + %{{x}} {text(unit)}<extra></extra>",
    }  # fmt: skip
    note = "A bar is one lease; its colour is the configuration. A star is a change of champion."
    if len(longest) < len(leases):
        note += f" The {len(longest)} longest of {len(leases)} leases."
    slots = {record.configuration: rows.index(row) for row, _, record in drawn}
    changes = [each for each in of(events, ChampionChanged)[1:] if each.configuration in slots]
    stars = scatter(
        "", (each.at for each in changes), (slots[each.configuration] for each in changes), INK,
        mode="markers", marker=STAR, hints=(names[each.configuration] for each in changes),
    )  # fmt: skip
    height = max(220, 110 + 22 * len(rows))
    return chart("Leases", note, [bars, stars], unit, named_rows(rows), height, barmode="overlay")


def bounds(records: Sequence[Configuration], events: Sequence[Event], unit: str) -> Figure | None:
    """Return the bounds of the last champion and of those that came furthest, as bands."""
    if not of(events, BoundsUpdated):
        return None
    seen = {record.configuration: [o for o in record.observations if o.lower is not None]
            for record in records}  # fmt: skip
    champions = [each.configuration for each in of(events, ChampionChanged)][-1:]
    ranked = sorted(filter(seen.get, seen), key=lambda n: (-max(o.units for o in seen[n]), n))
    chosen = [n for n in dict.fromkeys([*champions, *ranked]) if seen.get(n)][:MOST_BANDS]
    names = names_of((each for each in records if each.configuration in chosen), 60)
    data = []
    for number in chosen:
        kept = [seen[number][i] for i in thinned(len(seen[number]), MOST_POINTS)]
        x, low, middle, high = ([getattr(o, name) for o in kept]
                                for name in ("at", "lower", "value", "upper"))  # fmt: skip
        label = f"{names[number]} (champion)" if number in champions else names[number]
        data += [band(number, x, low, high),
                 scatter(label, x, middle, colour(number), legendgroup=str(number))]  # fmt: skip
    loss = next((record.loss for record in records if record.loss), "value")
    note = f"Bounds as a band, the value as a line, of {len(chosen)} configurations."
    up = axis(f"{loss.replace('_', ' ')} with bounds", **_visible(seen[n] for n in chosen))
    return chart("Bounds", note, data, unit, up, 380)


def _visible(chosen: Iterable[Sequence[Observation]]) -> dict[str, list[float]]:
    """Return the range of all but the widest bounds, which belong to the first examples."""
    ends = np.array([(o.lower, o.upper) for observed in chosen for o in observed], float)
    low, high = np.quantile(ends[:, 0], 0.05), np.quantile(ends[:, 1], 0.9)
    if not np.isfinite([low, high]).all() or high <= low:
        return {}
    margin = 0.08 * (high - low)
    return {"range": plain([low - margin, high + margin])}


def pulls(records: Sequence[Configuration], events: Sequence[Event], unit: str) -> Figure | None:
    """Return the pulls of every arm over time, stacked."""
    trials = of(events, TrialFinished)
    if not trials:
        return None
    at, arm = (np.array([getattr(trial, name) for trial in trials]) for name in ("at", "arm"))
    totals = Counter(arm.tolist())
    counts = np.cumsum(arm[:, None] == np.array([*totals]), axis=0)  # (n_trials, n_arms)
    names = names_of((each for each in records if each.configuration in totals), 30)
    steps = thinned(len(trials), MOST_POINTS)
    data = [
        scatter(f"{names[arm]} ({n})", at[steps], counts[steps, layer], colour(arm),
                line={"width": 0.6}, stackgroup="pulls", fillcolor=f"{colour(arm)}8c")
        for layer, (arm, n) in enumerate(totals.items())
    ]  # fmt: skip
    note = "Height is how many pulls an arm has had until then; in brackets its total."
    return chart("Pulls of the arms", note, data, unit, "pulls", hovermode="x unified")
