"""One job's page: pictures, configurations and decisions, small enough for a thousand jobs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from leaseboard.algorithms.configurations import OUTCOMES, Configuration, configurations
from leaseboard.algorithms.events import Event, Finished, Started, of
from leaseboard.tasks.jobs.benches.kinds import choosing
from leaseboard.tasks.report.draw.specs import Figure, names_of, short_number
from leaseboard.tasks.report.job import arms, bands, curve
from leaseboard.tasks.report.job.leases import gantt, reigns, row_name, segments

MOST_CONFIGURATIONS = 60
MOST_DECISIONS = 80


def job_payload(events: Sequence[Event]) -> dict[str, Any]:
    """All that the page of a job shows beside its row in the results."""
    records = configurations(events)
    return {
        "figures": [figure.payload() for figure in figures(records, events)],
        "configurations": configuration_table(records),
        "decisions": decision_table(records, events),
        "events": dict(Counter(type(event).__name__ for event in events).most_common()),
    }


def figures(records: Sequence[Configuration], events: Sequence[Event]) -> list[Figure]:
    """The pictures that the events of a job give, whatever its algorithm."""
    started = next(iter(of(events, Started)), None)
    finished = next(iter(of(events, Finished)), None)
    unit = started.unit if started else "units"
    metric = finished.metric if finished else "score"
    bench = started.bench if started else ""
    end = events[-1].at if events else 0.0
    # Pulls are leases of one trial each: their allocation says more than a bar an arm.
    leased = [] if bench in choosing("arm") else gantts(records, events, unit, end)
    makers: list[Callable[[], Figure | None]] = [
        lambda: arms.allocation(records, events, unit),
        lambda: arms.rewards(records, events, unit),
        lambda: bands.bounds(records, events, unit, by_units=bench in choosing("configuration")),
        lambda: arms.probes(records, events),
        lambda: curve.expansion_figure(events),
        lambda: curve.job_figure(events, unit, metric),
    ]
    return [*leased, *(figure for make in makers if (figure := make()) is not None)]


def configuration_table(records: Sequence[Configuration]) -> dict[str, Any]:
    """The configurations, champion first, then by what they consumed."""
    order = sorted(
        records, key=lambda c: (OUTCOMES.index(c.outcome) > 0, -c.units, c.configuration)
    )
    shown = order[:MOST_CONFIGURATIONS]
    names = names_of(records, 140)
    metric = next((record.metric for record in records if record.metric), "")
    score = f"score ({metric})" if metric else "score"
    return {
        "total": len(records),
        "outcomes": dict(Counter(record.outcome for record in records)),
        "columns": ["configuration", "outcome", "origin", "leases", "units", score, "reason"],
        "rows": [
            [
                names[record.configuration],
                record.outcome,
                _origin(record),
                len(record.leases),
                short_number(record.units, 6),
                short_number(record.score),
                record.reason[:120],
            ]
            for record in shown
        ],
    }


def decision_table(records: Sequence[Configuration], events: Sequence[Event]) -> dict[str, Any]:
    """What the algorithm decided: champions, eliminations, failures, expansions, then pauses."""
    names = names_of(records, 90)
    told = [event.words(lambda number: names.get(number, str(number))) for event in events]
    decisions = [(event.at, *words) for event, words in zip(events, told, strict=True) if words]
    major = [row for row in decisions if row[1] != "paused"]
    # Pauses can be thousands: they fill what room the rarer decisions leave.
    room = max(0, MOST_DECISIONS - len(major))
    minor = [row for row in decisions if row[1] == "paused"][:room]
    rows = sorted([*_spread(major, MOST_DECISIONS), *minor], key=lambda row: row[0])
    return {"total": len(decisions), "rows": [[short_number(a, 7), b, c] for a, b, c in rows]}


def _origin(record: Configuration) -> str:
    parent = "" if record.parent is None else f"from {record.parent}"
    return " ".join(part for part in (record.origin, parent) if part)


def _spread(rows: Iterable[Any], most: int) -> list[Any]:
    """The first and the last rows when they are too many."""
    listed = list(rows)
    return listed if len(listed) <= most else [*listed[: most // 2], *listed[-(most // 2) :]]


FEW = 10
"""Rows that are drawn without being asked for."""


def gantts(
    configurations: Sequence[Configuration], events: Sequence[Event], unit: str, end: float
) -> list[Figure]:
    """The leases of the rows that mattered; where there are more, of all, folded away."""
    rows = by_weight(configurations, events, end)
    few = gantt(configurations, events, unit, end, rows[:FEW])
    whole = gantt(configurations, events, unit, end) if len(rows) > FEW else None
    if few is None or whole is None:
        return [] if few is None else [few]
    what = row_name(configurations)
    rule = (
        f" Of {len(rows)} {what}s these are the {FEW} that mattered: those where champions reigned"
        " longest, then those whose configuration held its leases longest, of equals the one of"
        " better score."
    )
    everything = f"Leases of all {len(rows)} {what}s"
    return [
        replace(few, note=few.note + rule),
        replace(whole, title=everything, folded=everything),
    ]


def by_weight(
    configurations: Sequence[Configuration], events: Sequence[Event], end: float
) -> list[int]:
    """The rows of the chart, those that mattered most first.

    By how long champions reigned there, then by the longest stay of one configuration, then by
    the best score of those that stayed.
    """
    sign = -1.0 if any(last.direction == "max" for last in of(events, Finished)) else 1.0
    reigned: dict[int | None, list[tuple[float, float]]] = {}
    for champion, start, stop in reigns(events, end):
        reigned.setdefault(champion, []).append((start, stop))
    scores: dict[int | None, float | None] = {c.configuration: c.score for c in configurations}
    weights: dict[int, tuple[float, float, float]] = {}
    for stay in segments(configurations):
        ruled = sum(
            max(0.0, min(stop, stay.stop) - max(start, stay.start))
            for start, stop in reigned.get(stay.configuration, ())
        )
        score = scores[stay.configuration]
        lost = math.inf if score is None or math.isnan(score) else sign * score
        before = weights.get(stay.row, (0.0, 0.0, math.inf))
        weights[stay.row] = (
            before[0] + ruled,
            max(before[1], stay.stop - stay.start),
            min(before[2], lost),
        )
    return sorted(
        weights, key=lambda row: (-weights[row][0], -weights[row][1], weights[row][2], row)
    )
