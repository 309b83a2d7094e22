"""The leases of a job as a Gantt chart of slots."""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from leaseboard.algorithms.configurations import Configuration
from leaseboard.algorithms.events import ChampionChanged, Event, Finished, of
from leaseboard.tasks.report.charts import (
    PALETTE,
    STAR,
    Figure,
    Trace,
    axis,
    bar,
    chart,
    colour,
    named_rows,
    names_of,
    plain,
    scatter,
    sentences,
    text,
)

MOST_SEGMENTS = 400
MOST_ROWS = 64
FEW = 10
"""Rows that are drawn without being asked for."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A configuration's stay in a row of the chart; None for several stays too short to show."""

    row: int
    start: float
    stop: float
    configuration: int | None
    leases: int


def segments(configurations: Sequence[Configuration]) -> list[Segment]:
    """Return every stay, a lease and its extensions being one, in order of row and time.

    A row is a slot; where leases have no slots, a configuration.
    """
    found: list[Segment] = []
    for record in configurations:
        last: Segment | None = None
        for lease in record.leases:
            row = record.configuration if lease.slot is None else lease.slot
            if last is not None and not lease.fresh and (last.row, last.stop) == (row, lease.at):
                last = replace(found.pop(), stop=lease.end, leases=last.leases + 1)
            else:
                last = Segment(row, lease.at, lease.end, record.configuration, 1)
            found.append(last)
    return sorted(found, key=lambda segment: (segment.row, segment.start, segment.stop))


def merged(found: Sequence[Segment]) -> list[Segment]:
    """Return at most about `MOST_SEGMENTS`: neighbours too short to be seen become one."""
    if len(found) <= MOST_SEGMENTS:
        return list(found)
    lengths = sorted((segment.stop - segment.start for segment in found), reverse=True)
    shortest = lengths[MOST_SEGMENTS // 2]
    n_rows = len({segment.row for segment in found})
    span = max(segment.stop for segment in found) * 2 * n_rows / MOST_SEGMENTS
    result: list[Segment] = []
    for new in found:
        last = result[-1] if result else None
        if (
            last is not None
            and last.row == new.row
            and new.stop - new.start <= shortest
            and (last.configuration is None or last.stop - last.start <= shortest)
            and new.stop - last.start <= span
        ):
            leases = last.leases + new.leases
            result[-1] = Segment(new.row, last.start, new.stop, None, leases)
        else:
            result.append(new)
    return result


def reigns(events: Sequence[Event], end: float) -> list[tuple[int, float, float]]:
    """Return every champion with the time from which and until which it reigned."""
    changes = of(events, ChampionChanged)
    stops = [change.at for change in changes[1:]] + [end] * bool(changes)
    return [
        (change.configuration, change.at, stop)
        for change, stop in zip(changes, stops, strict=True)
    ]


def gantts(
    configurations: Sequence[Configuration], events: Sequence[Event], unit: str, end: float
) -> list[Figure]:
    """Return the leases of the rows that mattered; where there are more, of all, folded away."""
    rows = by_weight(configurations, events, end)
    if not rows:
        return []
    few = gantt(configurations, events, unit, end, rows[:FEW])
    if len(rows) <= FEW:
        return [few]
    what = _row_name(configurations)
    rule = sentences("leases.rule", rows=len(rows), what=what, few=FEW)
    everything = f"Leases of all {len(rows)} {what}s"
    whole = gantt(configurations, events, unit, end, rows)
    return [
        replace(few, note=f"{few.note} {rule}"),
        replace(whole, title=everything, folded=everything),
    ]


def by_weight(
    configurations: Sequence[Configuration], events: Sequence[Event], end: float
) -> list[int]:
    """Return the rows of the chart, those that mattered most first.

    By how long champions reigned there, then by the longest stay of one configuration, then by
    the best score of those that stayed.
    """
    sign = -1.0 if any(last.direction == "max" for last in of(events, Finished)) else 1.0
    scores: dict[int | None, float | None] = {c.configuration: c.score for c in configurations}
    reigned, longest = defaultdict[int, float](float), defaultdict[int, float](float)
    lost, ruled = dict[int, float](), reigns(events, end)
    for stay in segments(configurations):
        for champion, start, stop in ruled:
            if champion == stay.configuration:
                reigned[stay.row] += max(0.0, min(stop, stay.stop) - max(start, stay.start))
        longest[stay.row] = max(longest[stay.row], stay.stop - stay.start)
        score = scores[stay.configuration]
        mine = math.inf if score is None or math.isnan(score) else sign * score
        lost[stay.row] = min(lost.get(stay.row, math.inf), mine)
    return sorted(lost, key=lambda row: (-reigned[row], -longest[row], lost[row], row))


def gantt(
    configurations: Sequence[Configuration],
    events: Sequence[Event],
    unit: str,
    end: float,
    only: Collection[int],
) -> Figure:
    """Return the rows `only` over time, coloured by configuration, the champion underlined."""
    rows = sorted(only)
    shown = rows[:MOST_ROWS]
    every = [segment for segment in segments(configurations) if segment.row in set(only)]
    kept = [segment for segment in every if segment.row in set(shown)]
    drawn = merged(kept)
    names = names_of(configurations, 80)
    paints = ["$muted" if s.configuration is None else colour(s.configuration) for s in drawn]
    bars = bar(
        "", (s.stop - s.start for s in drawn), (shown.index(s.row) for s in drawn), paints,
        hints=(_hint(segment, names) for segment in drawn), orientation="h", width=0.78,
        base=plain(s.start for s in drawn),
        hovertemplate=f"%{{hovertext}}<br>%{{base}} + %{{x}} {text(unit)}<extra></extra>",
    )  # fmt: skip
    crowned = _champions(kept, shown, events, names, end)
    what = _row_name(configurations)
    note = f"A bar is one stay in a {what}; its colour is the configuration."
    held = {segment.configuration for segment in drawn if segment.configuration is not None}
    if len(held) > len(PALETTE):
        note += f" The {len(PALETTE)} colours repeat: hover over a bar for its configuration."
    if crowned:
        note += " The line under the bars is the champion, a star marks a change of champion."
    if len(drawn) < len(every):
        note += f" {len(every)} stays; neighbours too short to be seen are drawn as one, in grey."
    if len(shown) < len(rows):
        note += f" The first {len(shown)} of {len(rows)} rows."
    return chart(
        "Leases", note, [bars, *crowned], axis(unit, range=[0, end]),
        named_rows(shown) | axis(what), max(220, 110 + 22 * len(shown)), barmode="overlay",
    )  # fmt: skip


def _champions(
    every: list[Segment],
    rows: list[int],
    events: Sequence[Event],
    names: Mapping[int, str],
    end: float,
) -> list[Trace]:
    """Return the line of the champions, and a star at each change."""
    line: list[tuple[float | None, float | None]] = []
    stars: list[tuple[float, float, str]] = []
    for position, (champion, start, stop) in enumerate(reigns(events, end)):
        inside = [s for s in every if s.configuration == champion
                  and s.start < stop and s.stop > start]  # fmt: skip
        for stay in inside:
            y = rows.index(stay.row) + 0.46
            line += [(max(start, stay.start), y), (min(stop, stay.stop), y), (None, None)]
        if position and inside:
            hint = f"new champion {names.get(champion, champion)}"
            stars.append((start, rows.index(inside[0].row), hint))
    if not line:
        return []
    xs, ys = zip(*line[:MOST_SEGMENTS], strict=True)
    found = [scatter("champion", xs, ys, "$ink", line={"width": 3}, hoverinfo="skip")]
    if stars:
        at, heights, hints = zip(*stars[:MOST_SEGMENTS], strict=True)
        found.append(
            scatter(
                "champion changed", at, heights, "$ink", mode="markers", marker=STAR, hints=hints,
                hovertemplate="%{hovertext}<br>at %{x}<extra></extra>",
            )
        )  # fmt: skip
    return found


def _row_name(configurations: Sequence[Configuration]) -> str:
    slotted = any(lease.slot is not None for c in configurations for lease in c.leases)
    return "slot" if slotted else "configuration"


def _hint(segment: Segment, names: Mapping[int, str]) -> str:
    if segment.configuration is None:
        return f"{segment.leases} short leases"
    extended = f" ({segment.leases} leases)" if segment.leases > 1 else ""
    return names[segment.configuration] + extended
