"""Of many slots those that mattered, drawn first; all of them on demand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from algorithms.configurations import Configuration
from algorithms.events import Event, Finished, of
from tasks.report.draw.specs import Figure
from tasks.report.job.leases import gantt, reigns, row_name, segments

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
