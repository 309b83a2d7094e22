"""How a kept model stands, in lines for a terminal."""

from __future__ import annotations

from datetime import datetime

from leaseboard.tasks.keep.page import expectations, standing
from leaseboard.tasks.keep.page.story import read_story
from leaseboard.tasks.keep.settings import Keep
from leaseboard.tasks.keep.state import State

MOST_INCIDENTS = 5


def status(state: State, keep: Keep, now: datetime) -> str:
    """What `leaseboard keep --status` prints."""
    story = read_story(state, keep, now)
    told = {
        "champion": standing.reign(story),
        "lately": standing.quality(story),
        "against": standing.challenge(story),
        "labels": standing.labels(story),
        "expected": expectations.line(story),
        "turn": standing.turn(story),
        "incidents": standing.trouble(story),
    }
    lines = [f"{keep.name}: {keep.data.target}"]
    lines += [f"  {name:<10} {text}" for name, text in told.items() if text]
    for case in story.open[:MOST_INCIDENTS]:
        incident = case.incident
        lines.append(f"    {incident.since:%Y-%m-%d %H:%M} {incident.kind}: {incident.what}")
        lines.append(f"      see {incident.command}")
    more = len(story.open) - MOST_INCIDENTS
    if more > 0:
        lines.append(f"    and {more} more, on the page")
    return "\n".join(lines)
