"""The charts of one job, from its events alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

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
from leaseboard.tasks.jobs.benches.kinds import choosing
from leaseboard.tasks.report.charts import (
    Figure,
    Trace,
    axis,
    chart,
    colour,
    names_of,
    plain,
    scatter,
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
    """Return the charts that the events of a job give, whatever its algorithm."""
    started = next(iter(of(events, Started)), None)
    finished = next(iter(of(events, Finished)), None)
    unit = started.unit if started else "units"
    metric = finished.metric if finished else "score"
    bench = started.bench if started else ""
    end = events[-1].at if events else 0.0
    # Pulls are leases of one trial each: their allocation says more than a bar an arm.
    leased = [] if bench in choosing("arm") else gantts(records, events, unit, end)
    others = (
        allocation(records, events, unit),
        rewards(records, events, unit),
        bounds(records, events, unit, by_units=bench in choosing("configuration")),
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
        axis(unit, type="log"), metric, 300, log="xy",
    )  # fmt: skip


def expansion(events: Sequence[Event]) -> Figure | None:
    """Return how many features apple used in each epoch, and which parents it chose."""
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


def allocation(
    configurations: Sequence[Configuration], events: Sequence[Event], unit: str
) -> Figure | None:
    """Return the pulls of every arm over time, stacked, with a cross at each elimination."""
    trials = of(events, TrialFinished)
    if not trials:
        return None
    totals = Counter(trial.arm for trial in trials)
    arms = sorted(totals, key=lambda arm: (-totals[arm], arm))
    names = names_of((c for c in configurations if c.configuration in totals), 30)
    steps = thinned(len(trials), MOST_STEPS)
    data = []
    for arm in arms:
        pulls = list(accumulate(trial.arm == arm for trial in trials))
        data.append(
            scatter(
                f"{names[arm]} ({totals[arm]})", (trials[step].at for step in steps),
                (int(pulls[step]) for step in steps), colour(arm), line={"width": 0.6},
                stackgroup="pulls", fillcolor=colour(arm, 0.55),
            )
        )  # fmt: skip
    note = "Height is how many pulls an arm has had until then; in brackets its total."
    if crosses := _eliminations(trials, events, arms, names):
        data.append(crosses)
        note += " A cross marks where an arm was eliminated."
    return chart("Allocation of pulls", note, data, unit, "pulls", hovermode="x unified")


def _eliminations(
    trials: Sequence[TrialFinished],
    events: Sequence[Event],
    arms: list[int],
    names: Mapping[int, str],
) -> Trace | None:
    """Return a cross on top of the arm's own layer at the time it was eliminated."""
    left: list[Eliminated | ConfigurationFailed] = [
        *of(events, Eliminated),
        *of(events, ConfigurationFailed),
    ]
    gone = sorted((e for e in left if e.configuration in arms), key=lambda e: e.at)
    if not gone:
        return None
    heights = []
    for event in gone:
        below = set(arms[: arms.index(event.configuration) + 1])
        heights.append(sum(trial.arm in below for trial in trials if trial.at <= event.at))
    return scatter(
        "eliminated", (event.at for event in gone), heights, "$ink", mode="markers",
        marker={"symbol": "x", "size": 9, "line": {"width": 0}},
        hints=(f"{names[e.configuration]}: {e.reason}" for e in gone),
        hovertemplate="%{hovertext}<extra>eliminated</extra>",
    )  # fmt: skip


def rewards(
    configurations: Sequence[Configuration], events: Sequence[Event], unit: str
) -> Figure | None:
    """Return the best reward of every arm so far."""
    trials = of(events, TrialFinished)
    if not trials:
        return None
    last = {trial.arm: trial.at for trial in trials}
    names = names_of((c for c in configurations if c.configuration in last), 30)
    best: dict[int, list[tuple[float, float]]] = {}
    for trial in trials:
        if trial.status == "ok":
            curve = best.setdefault(trial.arm, [])
            if not curve or trial.reward > curve[-1][1]:
                curve.append((trial.at, trial.reward))
    arms = sorted(best, key=lambda arm: -best[arm][-1][1])[:MOST_CURVES]
    data = []
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
    names = names_of((c for c in configurations if c.configuration in found), 30)
    chosen = sorted(found, key=lambda n: (-max(p.rows for p in found[n]), -len(found[n]), n))
    chosen = chosen[:MOST_CURVES]
    data = []
    for number in chosen:
        curve = sorted(found[number], key=lambda probe: probe.rows)
        data.append(
            scatter(
                names[number], (probe.rows for probe in curve),
                (probe.test_accuracy for probe in curve), colour(number), mode="lines+markers",
                customdata=plain(probe.train_accuracy for probe in curve),
                hovertemplate="%{x} rows: test %{y}, train %{customdata}",
            )
        )  # fmt: skip
    note = "A point is one probe: a configuration trained on so many rows."
    if len(found) > len(chosen):
        note += f" The {len(chosen)} that reached most rows, of {len(found)} probed."
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
    names = names_of((c for c in configurations if c.configuration in chosen), 100)
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


def _visible(chosen: Iterator[Sequence[Observation]]) -> dict[str, list[float]]:
    """Return the range of all but the widest bounds, which belong to the first examples."""
    ends = np.array([(o.lower, o.upper) for observed in chosen for o in observed], float)
    low, high = np.quantile(ends[:, 0], 0.05), np.quantile(ends[:, 1], 0.9)
    if not np.isfinite([low, high]).all() or high <= low:
        return {}
    room = 0.08 * (high - low)
    return {"range": [float(f"{low - room:.4g}"), float(f"{high + room:.4g}")]}


def _band(number: int, observed: list[Observation], label: str, *, by_units: bool) -> list[Trace]:
    """Return a filled polygon for each life of the configuration, and the line of its values."""
    lives: list[list[Observation]] = []
    for observation in observed:
        if not lives or observation.units < lives[-1][-1].units:
            lives.append([])
        lives[-1].append(observation)
    most = max(2, MOST_IN_A_BAND // len(lives))
    edge: list[tuple[float | None, float | None]] = []
    middle: list[tuple[float | None, float | None]] = []
    for life in lives[-MOST_IN_A_BAND // 2 :]:
        kept = [life[i] for i in thinned(len(life), most)]
        x = [o.units if by_units else o.at for o in kept]
        gap = [(None, None)] if edge else []
        edge += [*gap, *zip(x, (o.lower for o in kept), strict=True),
                 *zip(reversed(x), (o.upper for o in reversed(kept)), strict=True)]  # fmt: skip
        middle += [*gap, *zip(x, (o.value for o in kept), strict=True)]
    (xs, ys), (across, up) = zip(*edge, strict=True), zip(*middle, strict=True)
    around = scatter(
        label, xs, ys, colour(number), line={"width": 0}, fill="toself",
        fillcolor=colour(number, 0.18), hoverinfo="skip", legendgroup=str(number),
        showlegend=False,
    )  # fmt: skip
    mode = "lines+markers" if len(middle) < 12 else "lines"
    line = scatter(label, across, up, colour(number), mode=mode, legendgroup=str(number))
    return [around, line]
