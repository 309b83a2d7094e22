"""What a keep's state holds, and what it takes."""

from __future__ import annotations

from leaseboard.tasks.keep.page.story import Story
from leaseboard.tasks.report.section import Cell, Section, Table

WORDS = {
    "rows": "identities of rows, so that each is taken in once",
    "contents": "rows whose values are kept: those that wait, and the last ones",
    "aside": "rows set aside, with their reason",
    "batches": "batches",
    "days": "sums of losses, by day and lineage",
    "lineages": "lineages",
    "models": "models of lineages that live",
    "history": "what happened",
    "turns": "turns",
    "served": "forecasts that the server gave",
    "posted": "labels posted to the server, not taken in yet",
    "letters": "messages that nobody has taken yet",
    "memory": "values that the watch and the comparison remember",
}
"""What readers call the tables of `leaseboard.tasks.keep.schema`."""


def section(story: Story) -> Section:
    """How many of each, and the size of all."""
    rows = [
        [Cell(WORDS[name]), Cell(f"{story.holds[name]:,}", story.holds[name])] for name in WORDS
    ]
    table = Table(
        "holdings-table",
        "How many of each are kept",
        ["What", "How many"],
        rows,
        folded="How many of each",
    )
    text = [f"The state takes {in_bytes(story.size)}."]
    return Section("holdings", "What is kept", text=text, tables=[table])


def in_bytes(size: int) -> str:
    """A size as people read it.

    Examples
    --------
    >>> in_bytes(1_540_000), in_bytes(800)
    ('1.5 MB', '800 bytes')
    """
    for unit, bytes_of in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= bytes_of:
            return f"{size / bytes_of:.1f} {unit}"
    return f"{size} bytes"
