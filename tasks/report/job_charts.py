"""The charts of one job, from its events alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence

import numpy as np

from leaseboard.algorithms.configurations import Configuration, Observation
from leaseboard.algorithms.events import (
    BoundsUpdated,
    ChampionChanged,
    ConfigurationFailed,
    Eliminated,
    Event,
    FeaturesExpanded,
    Finished,
    Measured,
    ProbeFinished,
    Started,
    TrialFinished,
    of,
)
from leaseboard.tasks.jobs.environments.kinds import choosing
from leaseboard.tasks.report.charts import (
    Figure,
    Trace,
    axis,
    chart,
    colour,
    names_of,
    plain,
    scatter,
    score_axis,
    thinned,
)
from leaseboard.tasks.report.leases import gantts, reigns
from leaseboard.tasks.score.table import Floats

MOST_POINTS = 40
MOST_STEPS = 90
MOST_CURVES = 12
MOST_BANDS, MOST_IN_A_BAND = 6, 60

Curve = tuple[Floats, Floats]
"""Units consumed, ascending, and the score then."""


def figures(records: Sequence[Configuration], events: Sequence[Event]) -> list[Figure]:
    """Return the charts that the events of a job of any algorithm give."""
    started, finished = of(events, Started), of(events, Finished)
    unit, kind = (started[0].unit, started[0].environment) if started else ("units", "")
    metric = finished[0].metric if finished else "score"
    end = events[-1].at if events else 0.0
    # Pulls are leases of one trial each: their allocation says more than a bar an arm.
    leased = [] if kind in choosing("arm") else gantts(records, events, unit, end)
    others = (
        allocation(records, events, unit),
        rewards(records, events, unit),
        bounds(records, events, unit, by_units=kind in choosing("configuration")),
        probes(records, events),
        expansion(events),
        score(events, unit, metric),
    )
    return [*leased, *filter(None, others)]


def curve_of(events: Sequence[Event]) -> Curve:
    """Return the points that a job measured; of pulls, the best reward so far."""
    points = [(point.at, point.value) for point in of(events, Measured)]
    return _curve(points or [(trial.at, best) for trial, best, _ in _trials(events)])


def cost_curve_of(events: Sequence[Event]) -> Curve:
    """Return the best reward so far against the CPU seconds that the trials were charged."""
    return _curve([(seconds, best) for _, best, seconds in _trials(events)])


def _trials(events: Sequence[Event]) -> Iterator[tuple[TrialFinished, float, float]]:
    """Yield every trial once there is a reward, with the best reward and CPU seconds so far."""
    best, seconds = -math.inf, 0.0
    for trial in of(events, TrialFinished):
        seconds += trial.cpu_seconds
        if trial.status == "ok":
            best = max(best, trial.reward)
        if math.isfinite(best):
            yield trial, best, seconds


def _curve(points: list[tuple[float, float]]) -> Curve:
    array = np.array(points, dtype=np.float64).reshape(-1, 2)
    return array[:, 0], array[:, 1]


def score(events: Sequence[Event], unit: str, metric: str) -> Figure | None:
    """Return the anytime curve of one job."""
    x, y = curve_of(events)
    if len(x) < 2:
        return None
    kept = thinned(len(x), 2 * MOST_POINTS)
    return chart(
        "Score while the budget is spent",
        "The job's own score after so many units.",
        [scatter("", x[kept], y[kept], colour(0))],
        axis(unit, type="log"), score_axis(metric, y[kept].tolist()), 300, log="xy",
    )  # fmt: skip


def expansion(events: Sequence[Event]) -> Figure | None:
    """Return the number of features that apple used in each epoch, and the parents it chose."""
    found = of(events, FeaturesExpanded)
    if not found:
        return None
    kept = [found[i] for i in thinned(len(found), MOST_POINTS)]
    line = scatter(
        "", (event.epoch for event in kept), (event.size for event in kept), colour(0),
        mode="lines+markers", line={"shape": "hv"},
        hints=(f"degree {e.degree}; parents {', '.join(e.parents[:8])}" for e in kept),
        hovertemplate="epoch %{x}: %{y} features<br>%{hovertext}<extra></extra>",
    )  # fmt: skip
    title = "Expansion of the features"
    return chart(title, "Size after each choice.", [line], "epoch", "features", 300, log="y")


def _named(
    records: Sequence[Configuration], numbers: Container[int], limit: int = 30
) -> dict[int, str]:
    return names_of((each for each in records if each.configuration in numbers), limit)


def allocation(
    configurations: Sequence[Configuration], events: Sequence[Event], unit: str
) -> Figure | None:
    """Return the pulls of every arm over time, stacked, with a cross at each elimination."""
    trials = of(events, TrialFinished)
    if not trials:
        return None
    at, arm = (np.array([getattr(trial, name) for trial in trials]) for name in ("at", "arm"))
    totals = Counter(arm.tolist())
    arms = sorted(totals, key=lambda arm: (-totals[arm], arm))
    pulls = np.cumsum(arm[:, None] == np.array(arms), axis=0)  # (n_trials, n_arms)
    names, steps = _named(configurations, totals), thinned(len(trials), MOST_STEPS)
    data = [
        scatter(
            f"{names[arm]} ({totals[arm]})", at[steps], pulls[steps, layer], colour(arm),
            line={"width": 0.6}, stackgroup="pulls", fillcolor=colour(arm, 0.55),
        )
        for layer, arm in enumerate(arms)
    ]  # fmt: skip
    note = "Height is how many pulls an arm has had until then; in brackets its total."
    ends: list[Eliminated | ConfigurationFailed]
    ends = [*of(events, Eliminated), *of(events, ConfigurationFailed)]
    gone = [event for event in ends if event.configuration in totals]
    if gone:
        # On top of the arm's own layer: all pulls until then of the arms up to it.
        until = np.searchsorted(at, [event.at for event in gone], side="right")
        heights = [int(pulls[n - 1, : arms.index(event.configuration) + 1].sum()) if n else 0
                   for event, n in zip(gone, until, strict=True)]  # fmt: skip
        data.append(
            scatter(
                "eliminated", (event.at for event in gone), heights, "$ink", mode="markers",
                marker={"symbol": "x", "size": 9, "line": {"width": 0}},
                hints=(f"{names[e.configuration]}: {e.reason}" for e in gone),
                hovertemplate="%{hovertext}<extra>eliminated</extra>",
            )
        )  # fmt: skip
        note += " A cross marks where an arm was eliminated."
    return chart("Allocation of pulls", note, data, unit, "pulls", hovermode="x unified")


def rewards(
    configurations: Sequence[Configuration], events: Sequence[Event], unit: str
) -> Figure | None:
    """Return the best reward of every arm so far."""
    trials = of(events, TrialFinished)
    if not trials:
        return None
    last = {trial.arm: trial.at for trial in trials}
    best: dict[int, list[tuple[float, float]]] = {}
    for trial in trials:
        curve = best.setdefault(trial.arm, []) if trial.status == "ok" else None
        if curve is not None and (not curve or trial.reward > curve[-1][1]):
            curve.append((trial.at, trial.reward))
    arms = sorted(best, key=lambda arm: -best[arm][-1][1])[:MOST_CURVES]
    names, data = _named(configurations, last), []
    for arm in arms:
        x, y = zip(*best[arm], (last[arm], best[arm][-1][1]), strict=True)
        data.append(scatter(names[arm], x, y, colour(arm), line={"shape": "hv"}))
    note = "Best reward of each arm so far; a line ends at the arm's last pull."
    if len(best) > len(arms):
        note += f" The best {len(arms)} of {len(best)} arms."
    return chart("Reward of the arms", note, data, unit, "best reward", 380, log="x")


def probes(configurations: Sequence[Configuration], events: Sequence[Event]) -> Figure | None:
    """Return the test accuracy of the most probed configurations against their rows."""
    found: dict[int, list[ProbeFinished]] = {}
    for probe in of(events, ProbeFinished):
        if probe.status == "ok":
            found.setdefault(probe.configuration, []).append(probe)
    if not found:
        return None
    names = _named(configurations, found)
    chosen = sorted(found, key=lambda n: (-max(p.rows for p in found[n]), -len(found[n]), n))
    data = []
    for number in chosen[:MOST_CURVES]:
        rows, test, train = zip(*sorted((p.rows, p.test_accuracy, p.train_accuracy)
                                        for p in found[number]), strict=True)  # fmt: skip
        data.append(
            scatter(names[number], rows, test, colour(number), mode="lines+markers",
                    customdata=plain(train),
                    hovertemplate="%{x} rows: test %{y}, train %{customdata}")
        )  # fmt: skip
    note = "A point is one probe: a configuration trained on so many rows."
    if len(found) > len(data):
        note += f" The {len(data)} that reached most rows, of {len(found)} probed."
    return chart("Probes", note, data, "rows", "test accuracy", 380, log="x")


def bounds(
    configurations: Sequence[Configuration],
    events: Sequence[Event],
    unit: str,
    *,
    by_units: bool = False,
) -> Figure | None:
    """Return the longest reigning champions, and the challengers that came furthest, as bands.

    `by_units`: draw against what the configuration itself consumed: a funnel that narrows.
    """
    if not of(events, BoundsUpdated):
        return None
    champions = [change.configuration for change in of(events, ChampionChanged)]
    longest = sorted(reigns(events, events[-1].at), key=lambda reign: reign[1] - reign[2])
    seen = {
        c.configuration: [o for o in c.observations if o.lower is not None] for c in configurations
    }
    seen = {number: observed for number, observed in seen.items() if observed}
    ranked = sorted(seen, key=lambda n: (-max(o.units for o in seen[n]), n))
    crowned = [*champions[-1:], *(number for number, _, _ in longest[: MOST_BANDS // 2])]
    chosen = [n for n in dict.fromkeys([*crowned, *ranked]) if n in seen][:MOST_BANDS]
    names = _named(configurations, chosen, 100)
    data: list[Trace] = []
    for number in reversed(chosen):  # the last champion on top
        crown = " (champion)" if champions and number == champions[-1] else ""
        data += _band(number, seen[number], names[number] + crown, by_units=by_units)
    note = "Lower and upper bound as a band, the value as a line; double-click shows the extremes."
    if others := len(seen) - len(chosen):
        note += (
            " Shown are the longest reigning champions and the challengers that came furthest;"
            f" {others} more have bounds."
        )
    loss = next((record.loss for record in configurations if record.loss), "value")
    return chart(
        "Intervals as they narrow" if by_units else "Bounds of champion and challengers",
        note,
        data,
        f"{unit} of the configuration's own" if by_units else unit,
        axis(f"{loss.replace('_', ' ')} with bounds", **_visible(seen[n] for n in chosen)),
        380, log="xy",
    )  # fmt: skip


def _visible(chosen: Iterable[Sequence[Observation]]) -> dict[str, list[float]]:
    """Return the range of all but the widest bounds, which belong to the first examples."""
    ends = np.array([(o.lower, o.upper) for observed in chosen for o in observed], float)
    low, high = np.quantile(ends[:, 0], 0.05), np.quantile(ends[:, 1], 0.9)
    if not np.isfinite([low, high]).all() or high <= low:
        return {}
    margin = 0.08 * (high - low)
    return {"range": [float(f"{low - margin:.4g}"), float(f"{high + margin:.4g}")]}


def _band(number: int, observed: list[Observation], label: str, *, by_units: bool) -> list[Trace]:
    """Return a filled polygon for each life of the configuration, and the line of its values."""
    lives: list[list[Observation]] = []
    for observation in observed:
        if not lives or observation.units < lives[-1][-1].units:
            lives.append([])
        lives[-1].append(observation)
    most = max(2, MOST_IN_A_BAND // len(lives))
    edge, middle = list[tuple[float | None, ...]](), list[tuple[float | None, ...]]()
    for life in lives[-MOST_IN_A_BAND // 2 :]:
        kept = [life[i] for i in thinned(len(life), most)]
        points = [(o.units if by_units else o.at, o.lower, o.value, o.upper) for o in kept]
        gap = [(None, None)] if edge else []
        edge += [*gap, *((x, low) for x, low, _, _ in points),
                 *((x, high) for x, _, _, high in reversed(points))]  # fmt: skip
        middle += [*gap, *((x, value) for x, _, value, _ in points)]
    (xs, ys), (across, up) = zip(*edge, strict=True), zip(*middle, strict=True)
    around = scatter(
        label, xs, ys, colour(number), line={"width": 0}, fill="toself",
        fillcolor=colour(number, 0.18), hoverinfo="skip", legendgroup=str(number),
        showlegend=False,
    )  # fmt: skip
    mode = "lines+markers" if len(middle) < 12 else "lines"
    line = scatter(label, across, up, colour(number), mode=mode, legendgroup=str(number))
    return [around, line]
