"""Champions and challengers as bars over time, and what happened to them in words."""

from __future__ import annotations

from leaseboard.tasks.keep.page.story import ROLES, Stay, Story, called, moves
from leaseboard.tasks.keep.shadow import CHAMPION
from leaseboard.tasks.report.draw.specs import Figure, Trace, axis, colour, text
from leaseboard.tasks.report.section import Cell, Section, Table

MOST_LINEAGES = 40
MOST_MOVES = 200

PAINTS = dict(zip(ROLES, ("$ink", colour(1), colour(0)), strict=True))


def section(story: Story) -> Section:
    """The picture, and the table."""
    if not story.stays:
        text = ["No lineage has been born yet: the first is made when enough labels have come."]
        return Section("lineages", "Champion and challengers", nav="Champion", text=text)
    return Section(
        "lineages",
        "Champion and challengers",
        nav="Champion",
        figures=[picture(story)],
        tables=[_table(story)],
    )


def picture(story: Story) -> Figure:
    """A row a lineage; a bar is its stay in a role, a star a change of champion."""
    every = sorted({stay.lineage for stay in story.stays})
    rows = every[-MOST_LINEAGES:]
    drawn = [stay for stay in story.stays if stay.lineage in set(rows)]
    traces = [_bars(story, role, drawn, rows) for role in ROLES]
    changes = [stay for stay in drawn if stay.role == CHAMPION][1:]
    if changes:
        traces.append(_stars(changes, rows))
    note = "A row is a lineage, a bar its stay in a role."
    if changes:
        note += " A star is a change of champion."
    if len(rows) < len(every):
        note += f" The last {len(rows)} of {len(every)} lineages."
    layout = {
        "xaxis": axis("", type="date"),
        "yaxis": axis(
            "",
            tickvals=list(range(len(rows))),
            ticktext=[text(called(story.lineages[number])) for number in rows],
            autorange="reversed",
        ),
        "barmode": "overlay",
        "height": max(200, 100 + 26 * len(rows)),
    }
    return Figure("Who was what, and when", note, [each for each in traces if each], layout)


def _bars(story: Story, role: str, drawn: list[Stay], rows: list[int]) -> Trace:
    mine = [stay for stay in drawn if stay.role == role]
    if not mine:
        return {}
    return {
        "type": "bar",
        "orientation": "h",
        "name": role,
        "base": [_moment(stay.start) for stay in mine],
        "x": [stay.milliseconds for stay in mine],
        "y": [rows.index(stay.lineage) for stay in mine],
        "marker": {"color": PAINTS[role], "line": {"width": 0}},
        "hovertext": [_words(story, stay) for stay in mine],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "width": 0.66,
    }


def _stars(changes: list[Stay], rows: list[int]) -> Trace:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "new champion",
        "x": [_moment(stay.start) for stay in changes],
        "y": [rows.index(stay.lineage) for stay in changes],
        "hovertext": [text(stay.why) for stay in changes],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "marker": {
            "symbol": "star",
            "size": 14,
            "color": "$ink",
            "line": {"color": "$surface", "width": 1.5},
        },
    }


def _words(story: Story, stay: Stay) -> str:
    name = text(f"{called(story.lineages[stay.lineage])}, {stay.role}")
    until = f" until {stay.stop[:10]}" if stay.left else ""
    words = f"{name}<br>since {stay.start[:10]}: {text(stay.why)}"
    return words + (f"<br>{until.strip()}: {text(stay.left)}" if stay.left else "")


def _moment(at: str) -> str:
    """As plotly reads it."""
    return at[:19].replace("T", " ")


def _table(story: Story) -> Table:
    happened = moves(story.history, story.lineages)[::-1][:MOST_MOVES]
    rows = [
        [
            Cell(each.at[:16].replace("T", " "), each.at),
            Cell(called(story.lineages[int(each.subject)])),
            Cell(each.kind),
            Cell(each.what),
        ]
        for each in happened
    ]
    return Table(
        "lineages-table",
        "What happened to lineages, the newest first",
        ["When (UTC)", "Lineage", "Became", "Why"],
        rows,
        title="What happened",
        text=f"At most the last {MOST_MOVES} are listed.",
        filters="what happened",
        numeric_from=4,
        key_column=1,
        tall=True,
    )
