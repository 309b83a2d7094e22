"""Whether forecasts hold what they promise: intervals of numbers, probabilities of classes."""

from __future__ import annotations

from collections.abc import Mapping

from leaseboard.tasks.keep.page.days import Total
from leaseboard.tasks.keep.page.story import ROLES, Story, called
from leaseboard.tasks.keep.page.traces import layout, level, over_days
from leaseboard.tasks.keep.shadow import CHAMPION
from leaseboard.tasks.models.continued import LEVEL
from leaseboard.tasks.report.draw.specs import Figure, colour
from leaseboard.tasks.report.section import Section

WEEK = 7


def section(story: Story) -> Section | None:
    """By week; None where the champion promises nothing that has been put to the test."""
    champion = story.champion
    found = story.days.by_span([champion.number], WEEK) if champion else {}
    if not found:
        return None
    if not story.days.is_regression:
        text, figure = _certainty(found)
    elif any(total.sums.get("told") for total in found.values()):
        text, figure = _coverage(story, found)
    else:
        return None
    return Section("calibration", "Calibration", nav="Calibration", text=[text], figures=[figure])


def _coverage(story: Story, found: Mapping[str, Total]) -> tuple[str, Figure]:
    """The share of labels inside their interval, of those that live."""
    lines, weeks = [], set[str]()
    for role in ROLES:
        lineage = story.in_role(role)
        totals = story.days.by_span([lineage.number], WEEK) if lineage else {}
        shares = {d: t.measures["coverage"] for d, t in totals.items() if t.sums.get("told")}
        if lineage is None or not shares:
            continue
        weeks |= set(shares)
        paint, thick = ("$ink", 2.6) if role == CHAMPION else (colour(lineage.number), 1.6)
        lines.append(over_days(f"{called(lineage)} ({role})", shares, WEEK, paint, thick=thick))
    rows = _sum(found, "told")
    text = f"Of {rows:,.0f} labels {100 * _sum(found, 'inside') / rows:.1f} % were inside the"
    text += f" champion's intervals, which promise {100 * LEVEL:g} %."
    return text, Figure(
        "Labels inside their interval, by week",
        "What was told with a forecast, before the label was known.",
        [level(LEVEL, sorted(weeks), "promised"), *lines],
        layout("share inside", WEEK, 300),
    )


def _certainty(found: Mapping[str, Total]) -> tuple[str, Figure]:
    """How probable the champion called the likeliest class, and how often that was right."""
    sure = {day: total.sums["sure"] / total.rows for day, total in found.items()}
    right = {day: 1 - total.measures["error"] for day, total in found.items()}
    rows = sum(total.rows for total in found.values())
    text = f"Over {rows:,} labels the champion gave the likeliest class a probability of"
    text += f" {100 * _sum(found, 'sure') / rows:.1f} % on average, and was right in"
    text += f" {100 * (1 - _sum(found, 'error') / rows):.1f} %."
    return text, Figure(
        "Certainty beside the share that was right, by week",
        "The nearer the lines, the better the probabilities of the likeliest class.",
        [
            over_days("certainty", sure, WEEK, colour(1), dash="dash"),
            over_days("right", right, WEEK, "$ink", thick=2.6),
        ],
        layout("share", WEEK, 300),
    )


def _sum(found: Mapping[str, Total], name: str) -> float:
    return sum(total.sums.get(name, 0.0) for total in found.values())
