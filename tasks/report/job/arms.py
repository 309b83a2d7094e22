"""What a policy did with its trials: how many pulls each arm had, and what they brought."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from leaseboard.algorithms.configurations import Configuration
from leaseboard.algorithms.events import (
    ConfigurationFailed,
    Eliminated,
    Event,
    ProbeFinished,
    TrialFinished,
    of,
)
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

MOST_STEPS = 90
MOST_CURVES = 12


def allocation(
    configurations: Sequence[Configuration], events: Sequence[Event], unit: str
) -> Figure | None:
    """Pulls of every arm over time, stacked, with a cross where an arm was eliminated."""
    trials = of(events, TrialFinished)
    if not trials:
        return None
    totals = Counter(trial.arm for trial in trials)
    arms = sorted(totals, key=lambda arm: (-totals[arm], arm))
    names = names_of((c for c in configurations if c.configuration in totals), 30)
    steps = thinned(len(trials), MOST_STEPS)
    counts = _counts(trials, steps)
    data: list[Trace] = [
        {
            "type": "scatter",
            "mode": "lines",
            "stackgroup": "pulls",
            "x": rounded(trials[step].at for step in steps),
            "y": [count[arm] for count in counts],
            "name": text(f"{names[arm]} ({totals[arm]})"),
            "line": {"width": 0.6, "color": colour(arm)},
            "fillcolor": colour(arm, 0.55),
        }
        for arm in arms
    ]
    crosses = _eliminations(trials, events, arms, names)
    if crosses:
        data.append(crosses)
    layout = {
        "xaxis": axis(unit),
        "yaxis": axis("pulls"),
        "height": 400,
        "hovermode": "x unified",
    }
    note = "Height is how many pulls an arm has had until then; in brackets its total."
    if crosses:
        note += " A cross marks where an arm was eliminated."
    return Figure("Allocation of pulls", note, data, layout)


def rewards(
    configurations: Sequence[Configuration], events: Sequence[Event], unit: str
) -> Figure | None:
    """The best reward of every arm so far."""
    trials = of(events, TrialFinished)
    if not trials:
        return None
    pulled = {trial.arm for trial in trials}
    names = names_of((c for c in configurations if c.configuration in pulled), 30)
    best: dict[int, list[tuple[float, float]]] = {}
    for trial in trials:
        if trial.status == "ok":
            curve = best.setdefault(trial.arm, [])
            if not curve or trial.reward > curve[-1][1]:
                curve.append((trial.at, trial.reward))
    arms = sorted(best, key=lambda arm: -best[arm][-1][1])[:MOST_CURVES]
    last = {trial.arm: trial.at for trial in trials}
    data: list[Trace] = []
    for arm in arms:
        curve = [*best[arm], (last[arm], best[arm][-1][1])]
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "line": {"shape": "hv", "color": colour(arm), "width": 2},
                "x": rounded(x for x, _ in curve),
                "y": rounded(y for _, y in curve),
                "name": text(names[arm]),
            }
        )
    note = "Best reward of each arm so far; a line ends at the arm's last pull."
    if len(best) > len(arms):
        note += f" The best {len(arms)} of {len(best)} arms."
    layout = {"xaxis": axis(unit), "yaxis": axis("best reward"), "height": 380}
    return Figure("Reward of the arms", note, data, layout, log="x")


def probes(configurations: Sequence[Configuration], events: Sequence[Event]) -> Figure | None:
    """Test accuracy of the most probed configurations against the rows they were trained on."""
    found: dict[int, list[ProbeFinished]] = {}
    for probe in of(events, ProbeFinished):
        if probe.status == "ok":
            found.setdefault(probe.configuration, []).append(probe)
    if not found:
        return None
    names = names_of((c for c in configurations if c.configuration in found), 30)
    chosen = sorted(found, key=lambda n: (-max(p.rows for p in found[n]), -len(found[n]), n))
    chosen = chosen[:MOST_CURVES]
    data: list[Trace] = []
    for number in chosen:
        curve = sorted(found[number], key=lambda probe: probe.rows)
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "line": {"color": colour(number), "width": 2},
                "x": rounded(probe.rows for probe in curve),
                "y": rounded(probe.test_accuracy for probe in curve),
                "customdata": rounded(probe.train_accuracy for probe in curve),
                "hovertemplate": "%{x} rows: test %{y}, train %{customdata}",
                "name": text(names[number]),
            }
        )
    note = "A point is one probe: a configuration trained on so many rows."
    if len(found) > len(chosen):
        note += f" The {len(chosen)} that reached most rows, of {len(found)} probed."
    layout = {"xaxis": axis("rows"), "yaxis": axis("test accuracy"), "height": 380}
    return Figure("Probes", note, data, layout, log="x")


def _counts(trials: Sequence[TrialFinished], steps: list[int]) -> list[Mapping[int, int]]:
    counts: list[Mapping[int, int]] = []
    running: Counter[int] = Counter()
    wanted = set(steps)
    for i, trial in enumerate(trials):
        running[trial.arm] += 1
        if i in wanted:
            counts.append(running.copy())
    return counts


def _eliminations(
    trials: Sequence[TrialFinished],
    events: Sequence[Event],
    arms: list[int],
    names: Mapping[int, str],
) -> Trace | None:
    """A cross on top of the arm's own layer at the time it was eliminated."""
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
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "eliminated",
        "x": rounded(event.at for event in gone),
        "y": heights,
        "hovertext": [text(f"{names[e.configuration]}: {e.reason}") for e in gone],
        "hovertemplate": "%{hovertext}<extra>eliminated</extra>",
        "marker": {"symbol": "x", "size": 9, "color": "$ink", "line": {"width": 0}},
    }
