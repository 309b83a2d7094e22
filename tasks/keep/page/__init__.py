"""How a live model stands: one page that opens offline, and a few lines for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

import pandas as pd

from leaseboard.tasks.folder.results import write_atomically
from leaseboard.tasks.keep.page import intake, lineages, quality, standing
from leaseboard.tasks.keep.page.standing import status
from leaseboard.tasks.keep.page.story import Story, read_story
from leaseboard.tasks.keep.settings import FOLDER, Keep
from leaseboard.tasks.machine.addresses import redacted
from leaseboard.tasks.report.page import Section, Table, page_of
from leaseboard.tasks.store.live_model import State

__all__ = ["PAGE", "build", "render", "status"]

PAGE = "report.html"

SECTIONS: Sequence[Callable[[Story], Section | None]] = (
    quality.losses,
    quality.estimates,
    lineages.lineages,
    lineages.comparison,
    lineages.incidents,
    intake.asides,
    intake.categories,
    intake.drift,
    quality.calibration,
    intake.waiting,
    intake.batches,
    intake.holdings,
)
"""In the order of the page; one that has nothing to say gives None."""


def build(state: State, keep: Keep, folder: Path, now: datetime) -> Path:
    """Write ``report.html`` into the live model's folder, whole or not at all; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / PAGE
    write_atomically(page, render(read_story(state, keep, now)).encode())
    return page


def render(story: Story) -> str:
    """Return the page as HTML."""
    keep = story.keep
    place = keep.data.place if keep.data.kind == FOLDER else redacted(keep.data.place)
    answers = [
        ("How does it stand?", standing.reign(story)),
        ("How good is it?", standing.quality(story)),
        ("Who challenges it?", standing.challenge(story)),
    ]
    facts = [
        ("Is anything wrong?", standing.trouble(story)),
        ("Which labels are missing?", standing.labels(story)),
        ("What happened last?", standing.turn(story)),
    ]
    return page_of(
        keep.name,
        [found for make in SECTIONS if (found := make(story)) is not None],
        description=f"{keep.data.target}, forecast by {keep.model.algorithm} from {place}, as of"
        f" {story.now:%Y-%m-%d %H:%M} UTC.",
        made_from=story.now.isoformat(),
        answers=[answers, facts],
        callout=open_incidents(story),
        urgent=True,
    )


def open_incidents(story: Story) -> Table | None:
    """Return the incidents that are not resolved, with what to do."""
    rows = [
        {
            "Incident": incident.kind,
            "What": incident.what,
            "Since (UTC)": f"{incident.since:%Y-%m-%d %H:%M}",
            "See": incident.command,
        }
        for incident in (case.incident for case in story.open)
    ]
    if not rows:
        return None
    return Table("open-table", "Open incidents", pd.DataFrame(rows), folded="Open incidents")
