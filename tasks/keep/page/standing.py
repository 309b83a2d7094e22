"""How a live model stands, in words that page and terminal share, and as lines for a terminal."""

from __future__ import annotations

from datetime import datetime

from leaseboard.tasks.keep.page.days import LATELY
from leaseboard.tasks.keep.page.lineages import standoffs
from leaseboard.tasks.keep.page.quality import best_first_try, estimated
from leaseboard.tasks.keep.page.story import Story, called, read_story
from leaseboard.tasks.keep.settings import Keep
from leaseboard.tasks.keep.shadow import CHALLENGER, CHAMPION
from leaseboard.tasks.score.summary import short
from leaseboard.tasks.store.live_model import State

MOST_INCIDENTS = 5


def reign(story: Story) -> str:
    """Return who is champion, and since when."""
    champion = story.champion
    if champion is None:
        return "There is no champion yet: the first is made when enough labels have come."
    reigns = [stay for stay in story.stays if stay.role == CHAMPION]
    since = next((s.start for s in reigns[::-1] if s.lineage == champion.number), champion.born)
    return (
        f"{called(champion)} is champion since {since[:10]}, and has learned"
        f" {champion.learned:,} rows."
    )


def quality(story: Story) -> str:
    """Return the loss of the last days in the unit of the target, beside the best first try."""
    champion = story.champion
    last = story.days.lately(champion.number) if champion else ""
    if champion is None or not last:
        return "No forecast of a champion has met its label yet."
    total = story.days.until(last, champion.number)
    days, target, mine = LATELY.days, story.keep.data.target, total.measures
    labels = f"{total.rows:,} labels of the {days} days up to {last}"
    if story.days.is_regression:
        text = f"Over the {labels} its forecasts of {target} have an rmse of {short(mine['rmse'])}"
        text += f" (mae {short(mine['mae'])})"
    else:
        text = f"Over the {labels} {100 * mine['error']:.1f} % of its forecasts of {target} were"
        text += f" wrong, and their Brier score is {short(mine['brier'])}"
    totals = {each.number: story.days.until(last, each.number) for each in story.references}
    drawn = {number: {last: total} for number, total in totals.items() if total.rows}
    best = best_first_try(drawn, story)
    theirs = totals[best.number].measures if best else {"loss": 0.0}
    if best is None or not theirs["loss"]:
        return f"{text}; there is no first try to compare with."
    skill = 1 - mine["loss"] / theirs["loss"]
    verdict = "better" if skill > 0 else "worse" if skill < 0 else "no better"
    return (
        f"{text}: {verdict} than {best.name} with {short(theirs[story.days.measure])}, the best"
        f" first try (skill {short(skill, 2)})."
    )


def challenge(story: Story) -> str:
    """Return who challenges, and the evidence so far."""
    parts = [
        f"{called(each.rival)}, {each.rival.role}: {each.words}." for each in standoffs(story)
    ]
    challenger = story.in_role(CHALLENGER)
    if challenger is not None and not any(f", {CHALLENGER}:" in part for part in parts):
        parts.append(f"{called(challenger)}, {CHALLENGER}: no label both have forecast has come.")
    return " ".join(parts) or "Nobody challenges the champion."


def labels(story: Story) -> str:
    """Return how many rows wait for their label."""
    total = sum(story.waiting.values())
    if not total:
        return "No row waits for its label."
    rows = "1 row waits" if total == 1 else f"{total:,} rows wait"
    return f"{rows} for a label, the oldest since {min(story.waiting)}."


def trouble(story: Story) -> str:
    """Return how many incidents are open."""
    count = len(story.open)
    if not count:
        return "No incident is open."
    return "1 incident is open." if count == 1 else f"{count} incidents are open."


def turn(story: Story) -> str:
    """Return what the last turn did."""
    if story.turn is None:
        return "No turn has been taken yet."
    began = story.turn["began"][:16].replace("T", " ")
    if story.turn["ended"] is None:
        if story.now.replace(microsecond=0) <= datetime.fromisoformat(story.turn["began"]):
            return f"This is of the turn of {began} UTC."
        return f"The last turn began {began} UTC and has not ended: it goes on, or was stopped."
    counts = [
        f"{name.replace('_', ' ')} {value}"
        for name, value in story.turn["summary"].items()
        if isinstance(value, int) and value
    ]
    return f"The last turn was {began} UTC" + (f": {', '.join(counts)}." if counts else ".")


def status(state: State, keep: Keep, now: datetime) -> str:
    """Return what `leaseboard keep --status` prints."""
    story = read_story(state, keep, now)
    told = {
        "champion": reign(story),
        "lately": quality(story),
        "against": challenge(story),
        "labels": labels(story),
        "expected": estimated(story),
        "turn": turn(story),
        "incidents": trouble(story),
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
