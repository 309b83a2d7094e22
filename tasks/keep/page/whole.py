"""The page of a keep: ``report.html``, made from its state alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from leaseboard.tasks.folder.results import write_atomically
from leaseboard.tasks.keep.page import (
    calibration,
    drifts,
    duels,
    expectations,
    happenings,
    holdings,
    intake,
    losses_by_day,
    reigns,
    standing,
)
from leaseboard.tasks.keep.page.story import Story, read_story
from leaseboard.tasks.keep.settings import FOLDER, Keep
from leaseboard.tasks.keep.state import State
from leaseboard.tasks.machine.addresses import redacted
from leaseboard.tasks.report.section import Section
from leaseboard.tasks.report.shell import page_of

PAGE = "report.html"

SECTIONS: Sequence[Callable[[Story], Section | None]] = (
    losses_by_day.section,
    expectations.section,
    reigns.section,
    duels.section,
    happenings.section,
    intake.asides,
    intake.categories,
    drifts.section,
    calibration.section,
    intake.waiting,
    intake.batches,
    holdings.section,
)
"""What makes the sections, in the order of the page."""


def build(state: State, keep: Keep, folder: Path, now: datetime) -> Path:
    """Write ``report.html`` into the keep's folder, whole or not at all; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / PAGE
    write_atomically(page, render(read_story(state, keep, now)).encode())
    return page


def render(story: Story) -> str:
    """The page as HTML."""
    keep = story.keep
    place = keep.data.place if keep.data.kind == FOLDER else redacted(keep.data.place)
    moment = f"{story.now:%Y-%m-%d %H:%M} UTC"
    return page_of(
        "keep.html",
        package="leaseboard.tasks.keep.page",
        title=keep.name,
        description=f"{keep.data.target}, forecast by {keep.model.algorithm} from {place}, as of"
        f" {moment}.",
        made_from=story.now.isoformat(),
        answers=[
            ("How does it stand?", standing.reign(story)),
            ("How good is it?", standing.quality(story)),
            ("Who challenges it?", standing.challenge(story)),
        ],
        facts=[
            ("Is anything wrong?", standing.trouble(story)),
            ("Which labels are missing?", standing.labels(story)),
            ("What happened last?", standing.turn(story)),
        ],
        incidents=[case.incident for case in story.open],
        sections=[found for make in SECTIONS if (found := make(story)) is not None],
    )
