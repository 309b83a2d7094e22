"""Who held which slot when: the leases of a job as a Gantt chart."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from leaseboard.algorithms.configurations import Configuration
from leaseboard.algorithms.events import ChampionChanged, Event, of
from leaseboard.tasks.report.draw.specs import (
    PALETTE,
    Figure,
    Trace,
    axis,
    colour,
    names_of,
    rounded,
    text,
)

MOST_SEGMENTS = 400
MOST_ROWS = 64


@dataclass(frozen=True, slots=True)
class Segment:
    """A configuration's stay in a row of the chart; None for several stays too short to show."""

    row: int
    start: float
    stop: float
    configuration: int | None
    leases: int


def segments(configurations: Sequence[Configuration]) -> list[Segment]:
    """Every stay, a lease and its extensions being one, in order of row and time.

    A row is a slot; where leases have no slots, a configuration.
    """
    found: list[Segment] = []
    for record in configurations:
        previous: Segment | None = None
        for lease in record.leases:
            row = record.configuration if lease.slot is None else lease.slot
            if (
                previous is not None
                and not lease.fresh
                and previous.row == row
                and previous.stop == lease.at
            ):
                found.pop()
                previous = Segment(
                    row, previous.start, lease.end, record.configuration, previous.leases + 1
                )
            else:
                previous = Segment(row, lease.at, lease.end, record.configuration, 1)
            found.append(previous)
    return sorted(found, key=lambda segment: (segment.row, segment.start, segment.stop))


def merged(found: Sequence[Segment]) -> list[Segment]:
    """At most about `MOST_SEGMENTS`: neighbours too short to be seen are drawn as one."""
    if len(found) <= MOST_SEGMENTS:
        return list(found)
    lengths = sorted((segment.stop - segment.start for segment in found), reverse=True)
    shortest = lengths[MOST_SEGMENTS // 2]
    n_rows = len({segment.row for segment in found})
    span = max(segment.stop for segment in found) * 2 * n_rows / MOST_SEGMENTS
    result: list[Segment] = []
    for segment in found:
        last = result[-1] if result else None
        short = segment.stop - segment.start <= shortest
        if (
            short
            and last is not None
            and last.row == segment.row
            and (last.configuration is None or last.stop - last.start <= shortest)
            and segment.stop - last.start <= span
        ):
            leases = last.leases + segment.leases
            result[-1] = Segment(segment.row, last.start, segment.stop, None, leases)
        else:
            result.append(segment)
    return result


def reigns(events: Sequence[Event], end: float) -> list[tuple[int, float, float]]:
    """Every champion with the time from which and until which it reigned."""
    changes = of(events, ChampionChanged)
    stops = [change.at for change in changes[1:]] + [end] * bool(changes)
    return [
        (change.configuration, change.at, stop)
        for change, stop in zip(changes, stops, strict=True)
    ]


def row_name(configurations: Sequence[Configuration]) -> str:
    """What a row of the chart is."""
    slotted = any(lease.slot is not None for c in configurations for lease in c.leases)
    return "slot" if slotted else "configuration"


def gantt(
    configurations: Sequence[Configuration],
    events: Sequence[Event],
    unit: str,
    end: float,
    only: Collection[int] | None = None,
) -> Figure | None:
    """The slots over time, or `only` some, coloured by configuration, the champion underlined."""
    every = [s for s in segments(configurations) if only is None or s.row in only]
    rows = sorted({segment.row for segment in every})
    if not rows:
        return None
    shown = rows[:MOST_ROWS]
    drawn = merged([segment for segment in every if segment.row in set(shown)])
    names = names_of(configurations, 80)
    bars: Trace = {
        "type": "bar",
        "orientation": "h",
        "base": rounded(segment.start for segment in drawn),
        "x": rounded(segment.stop - segment.start for segment in drawn),
        "y": [shown.index(segment.row) for segment in drawn],
        "marker": {"color": [_segment_colour(s) for s in drawn], "line": {"width": 0}},
        "hovertext": [_segment_text(segment, names) for segment in drawn],
        "hovertemplate": f"%{{hovertext}}<br>%{{base}} + %{{x}} {text(unit)}<extra></extra>",
        "width": 0.78,
        "showlegend": False,
    }
    kept = set(shown)
    data = [
        bars,
        *_champion_traces([s for s in every if s.row in kept], shown, events, names, end),
    ]
    what = row_name(configurations)
    note = f"A bar is one stay in a {what}; its colour is the configuration. "
    held = {segment.configuration for segment in drawn if segment.configuration is not None}
    if len(held) > len({colour(number) for number in held}):
        note += f"The {len(PALETTE)} colours repeat: hover over a bar for its configuration. "
    if len(data) > 1:
        note += "The line under the bars is the champion, a star marks a change of champion. "
    if len(drawn) < len(every):
        note += f"{len(every)} stays; neighbours too short to be seen are drawn as one, in grey. "
    if len(shown) < len(rows):
        note += f"The first {len(shown)} of {len(rows)} rows. "
    layout = {
        "xaxis": axis(unit, range=[0, end]),
        "yaxis": axis(
            what,
            tickvals=list(range(len(shown))),
            ticktext=[str(row) for row in shown],
            autorange="reversed",
        ),
        "barmode": "overlay",
        "height": max(220, 110 + 22 * len(shown)),
    }
    return Figure("Leases", note.strip(), data, layout, log="")


def _champion_traces(
    every: list[Segment],
    rows: list[int],
    events: Sequence[Event],
    names: dict[int, str],
    end: float,
) -> list[Trace]:
    xs: list[float | None] = []
    ys: list[float | None] = []
    stars: list[tuple[float, float, str]] = []
    for position, (champion, start, stop) in enumerate(reigns(events, end)):
        stays = [s for s in every if s.configuration == champion]
        inside = [s for s in stays if s.start < stop and s.stop > start]
        for stay in inside:
            y = rows.index(stay.row) + 0.46
            xs += [max(start, stay.start), min(stop, stay.stop), None]
            ys += [y, y, None]
        if position and inside:
            label = f"new champion {names.get(champion, champion)}"
            stars.append((start, rows.index(inside[0].row), label))
    if not xs:
        return []
    line: Trace = {
        "type": "scatter",
        "mode": "lines",
        "name": "champion",
        "x": rounded(xs[:MOST_SEGMENTS]),
        "y": ys[:MOST_SEGMENTS],
        "line": {"color": "$ink", "width": 3},
        "hoverinfo": "skip",
    }
    marks: Trace = {
        "type": "scatter",
        "mode": "markers",
        "name": "champion changed",
        "x": rounded(x for x, _, _ in stars[:MOST_SEGMENTS]),
        "y": [y for _, y, _ in stars[:MOST_SEGMENTS]],
        "hovertext": [text(label) for _, _, label in stars[:MOST_SEGMENTS]],
        "hovertemplate": "%{hovertext}<br>at %{x}<extra></extra>",
        "marker": {
            "symbol": "star",
            "size": 13,
            "color": "$ink",
            "line": {"color": "$surface", "width": 1.5},
        },
    }
    return [line, marks] if stars else [line]


def _segment_colour(segment: Segment) -> str:
    return "$muted" if segment.configuration is None else colour(segment.configuration)


def _segment_text(segment: Segment, names: dict[int, str]) -> str:
    if segment.configuration is None:
        return f"{segment.leases} short leases"
    extended = f" ({segment.leases} leases)" if segment.leases > 1 else ""
    return text(names[segment.configuration] + extended)
