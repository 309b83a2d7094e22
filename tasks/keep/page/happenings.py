"""Incidents, when each opened and was resolved; and what else was found."""

from __future__ import annotations

from leaseboard.tasks.keep.page.story import Story
from leaseboard.tasks.report.section import Cell, Section, Table

MOST_ROWS = 200
EMPHASIS = {"opened": "bad", "resolved": "good"}
TOLD = ("opened", "resolved", "drift", "left out")


def section(story: Story) -> Section:
    """All of them, the newest first."""
    told = [each for each in story.history if each.kind in TOLD][::-1]
    if not told:
        text = ["Nothing has gone wrong so far."]
        return Section("incidents", "Incidents", nav="Incidents", text=text)
    rows = [
        [
            Cell(each.at[:16].replace("T", " "), each.at),
            Cell(each.what),
            Cell(each.kind, kind=EMPHASIS.get(each.kind, "")),
        ]
        for each in told[:MOST_ROWS]
    ]
    more = len(told) - len(rows)
    table = Table(
        "incidents-table",
        "Incidents and findings, the newest first",
        ["When (UTC)", "What", "Was"],
        rows,
        filters="incidents",
        numeric_from=3,
        key_column=1,
        tall=True,
        note=f"{more:,} older ones are not listed." if more else "",
    )
    return Section("incidents", "Incidents", nav="Incidents", tables=[table])
