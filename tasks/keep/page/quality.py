"""Losses by day, before and after labels come, and what intervals and probabilities promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.tasks.keep.estimation import LEVEL as EXPECTED_LEVEL
from leaseboard.tasks.keep.lifecycle import DayEstimate
from leaseboard.tasks.keep.page.days import Total, by_day, level, over_days
from leaseboard.tasks.keep.page.story import ROLES, Story, called
from leaseboard.tasks.keep.shadow import CHAMPION, REFERENCE
from leaseboard.tasks.models.continued import LEVEL
from leaseboard.tasks.report.charts import Figure, Trace, colour, plain, scatter
from leaseboard.tasks.report.page import Section, Table, number
from leaseboard.tasks.score.summary import short
from leaseboard.tasks.store.live_tables import Lineage

MOST_ROWS = 400

SERVED = 0
"""Stands for who was champion on a day, among the numbers of lineages."""

LOWEST = -1.0
"""A skill below is not drawn."""

UNITS = {"rmse": "root of the mean squared error", "brier": "mean Brier score"}

WEEK = 7

Drawn = Mapping[int, Mapping[str, Total]]
"""Totals by day, by the number of the lineage."""


def losses(story: Story) -> Section:
    """Return a line a lineage beside the naive baselines, and the numbers behind them."""
    if not story.days:
        text = ["No forecast has met its label yet: figures begin with the first day that does."]
        return Section("losses", "Loss by day", nav="Loss", text=text)
    reigns = [(stay.start, stay.lineage) for stay in story.stays if stay.role == CHAMPION]
    alive = [each for role in ROLES if (each := story.in_role(role))] + story.references
    found = {each.number: story.days.by_span(each.number) for each in alive}
    drawn = {SERVED: story.days.served(reigns), **found}
    drawn = {number: totals for number, totals in drawn.items() if totals}
    figures = filter(None, (_losses(story, drawn), _skill(story, drawn)))
    return Section(
        "losses", "Loss by day", nav="Loss", figures=list(figures), tables=[_table(story, drawn)]
    )


def best_first_try(drawn: Drawn, story: Story) -> Lineage | None:
    """Return the naive baseline that has lost least."""
    costs = {
        each.number: sum(t.sums["loss"] for t in totals.values())
        / sum(t.rows for t in totals.values())
        for each in story.references
        if (totals := drawn.get(each.number))
    }
    return story.lineages[min(costs, key=costs.__getitem__)] if costs else None


def _losses(story: Story, drawn: Drawn) -> Figure:
    measure, target = story.days.measure, story.keep.data.target
    regression = story.days.is_regression
    traces = [
        _line(story, number, {day: total.measures[measure] for day, total in totals.items()})
        for number, totals in drawn.items()
    ]
    note = UNITS[measure].capitalize() + (f", in the unit of {target}" if regression else "")
    note += (
        ": less is better. The thick line is of who was champion then, each other one of a lineage"
        " that lives; a gap is a time without labels."
    )
    return by_day(
        "Loss by week" if story.days.width > 1 else "Loss by day", note, traces,
        f"{measure if regression else 'Brier score'} of {target}", story.days.width, 340, log="y",
    )  # fmt: skip


def skills(totals: Mapping[str, Total], reference: Mapping[str, Total]) -> dict[str, float | None]:
    """Return 1 - loss / loss of the reference; None where the reference was never wrong."""
    bases = {day: total.measures["loss"] for day, total in reference.items()}
    return {
        day: 1 - total.measures["loss"] / bases[day] if bases[day] else None
        for day, total in totals.items()
        if day in bases
    }


def _skill(story: Story, drawn: Drawn) -> Figure | None:
    best = best_first_try(drawn, story)
    if best is None:
        return None
    lines = {
        number: skills(totals, drawn[best.number])
        for number, totals in drawn.items()
        if number == SERVED or story.lineages[number].role != REFERENCE
    }
    values = [v for points in lines.values() for v in points.values() if v is not None]
    if not values:
        return None
    traces = [_line(story, number, points) for number, points in lines.items() if points]
    note = f"1 − loss / loss of {best.name}, the best first try: above 0 is better than it, 1 is"
    note += " perfect."
    cut: dict[str, Any] = {}
    if min(values) < LOWEST:
        cut = {"range": [LOWEST, 1.0]}
        note += " What is below −1 is cut off."
    zero = level(0.0, (day for points in lines.values() for day in points), best.name)
    title = f"Skill over {best.name}"
    return by_day(title, note, [zero, *traces], "skill", story.days.width, **cut)


def _table(story: Story, drawn: Drawn) -> Table:
    """Return the same in numbers, the newest first."""
    days = sorted({day for totals in drawn.values() for day in totals}, reverse=True)[:MOST_ROWS]
    measure, weeks = story.days.measure, story.days.width > 1
    rows = []
    for day in days:
        found = {n: totals[day] for n, totals in drawn.items() if day in totals}
        values = {n: total.measures[measure] for n, total in found.items()}
        least = min(values.values())
        cells = [number(values[n], kind="best" if values[n] == least else "")
                 if n in values else None for n in drawn]  # fmt: skip
        rows.append([day, max(total.rows for total in found.values()), *cells])
    columns = ["Week from" if weeks else "Day", "Labels", *(_name(story, n) for n in drawn)]
    return Table(
        "losses-table",
        f"{measure} by {'week' if weeks else 'day'}; the best of a row is bold",
        pd.DataFrame(rows, columns=columns, dtype=object),
        folded="The numbers",
        tall=True,
    )


def _line(story: Story, number: int, points: Mapping[str, float | None]) -> Trace:
    name, width = _name(story, number), story.days.width
    if number == SERVED:  # above those that share its points
        return over_days(name, points, width, "$ink", thick=2.6, zorder=1)
    dash = "dot" if story.lineages[number].role == REFERENCE else "solid"
    return over_days(name, points, width, colour(number), dash=dash)


def _name(story: Story, number: int) -> str:
    if number == SERVED:
        return "who was champion"
    lineage = story.lineages[number]
    return called(lineage) + ("" if lineage.role == REFERENCE else f" ({lineage.role})")


_BLIND = (
    "It is learned from rows whose labels have come, so it sees days whose rows are harder, and"
    " cannot see that labels have come to depend on rows otherwise."
)


def estimates(story: Story) -> Section | None:
    """Return the loss of days before their labels come; None while nothing was estimated."""
    days = story.lifecycle.estimates
    if not days:
        return None
    measure = _measure(story)
    rows = [
        [each.day, each.rows, each.loss, each.low, each.high, each.came] for each in days[::-1]
    ]
    table = Table(
        "expected-table",
        f"{measure} by day, when its rows came and when its labels did",
        pd.DataFrame(rows, columns=["Day", "Rows", "Expected", "From", "To", "Came"]),
        folded="The numbers",
        tall=True,
    )
    points = scatter(
        f"expected, with {100 * EXPECTED_LEVEL:g} % intervals", (each.day for each in days),
        (each.loss for each in days), "$muted", mode="markers", marker={"size": 5},
        error_y={
            "type": "data", "symmetric": False, "width": 0, "thickness": 1.2,
            "array": plain(each.high - each.loss for each in days),
            "arrayminus": plain(each.loss - each.low for each in days),
        },
    )  # fmt: skip
    came = {each.day: each.came for each in days if each.came is not None}
    figure = by_day(
        f"{measure} by day, expected and come",
        "A point is what a day was expected to come to when its rows came, the line what it came"
        " to: the champion's of that time.",
        [points, *([over_days("what came", came, 1, "$ink", thick=2.6)] if came else [])],
        measure,
    )
    return Section(
        "expected",
        "Loss before labels come",
        nav="Expected",
        text=[f"{estimated(story)} {_BLIND}"],
        figures=[figure],
        tables=[table],
    )


def estimated(story: Story) -> str:
    """Return what the days that wait are expected to come to; empty while nothing is estimated."""
    days = story.lifecycle.estimates
    waiting = [each for each in days if each.came is None]
    if not waiting:
        return honesty(days) if days else ""
    last = waiting[-1]
    said = f"{last.day} is expected to come to {_measure(story)} {short(last.loss)}"
    said += f" ({short(last.low)} to {short(last.high)}), where the week before came to"
    said += f" {short(last.lately)}"
    if len(waiting) > 1:
        mean = float(np.mean([each.loss for each in waiting]))
        said += f"; the {len(waiting)} days that wait, to {short(mean)} on average"
    return f"{said}. {honesty(days)}"


def honesty(days: Sequence[DayEstimate]) -> str:
    """Return how good the estimates have been, on days whose labels have come since.

    Examples
    --------
    >>> days = [DayEstimate("2026-01-01", 1, 20, 2.0, 1.0, 3.0, 5.0, came=2.5)]
    >>> honesty(days + [DayEstimate("2026-01-02", 1, 20, 2.0, 1.0, 3.0, 5.0)])
    'Of 1 day estimated before, 1 came to what its 90 % interval said; the mean error was 0.5, that of the week before 2.5.'
    """  # noqa: E501  (the sentence)
    over = [(each, each.came) for each in days if each.came is not None]
    if not over:
        return "No estimate has met its labels yet."
    held = sum(each.held for each, _ in over)
    errors = float(np.mean([abs(each.loss - came) for each, came in over]))
    before = float(np.mean([abs(each.lately - came) for each, came in over]))
    what, whose = ("1 day", "its") if len(over) == 1 else (f"{len(over)} days", "their")
    return (
        f"Of {what} estimated before, {held} came to what {whose} {100 * EXPECTED_LEVEL:g} %"
        f" interval said; the mean error was {short(errors)}, that of the week before"
        f" {short(before)}."
    )


def _measure(story: Story) -> str:
    return "mae" if story.days.is_regression else "Brier score"


def calibration(story: Story) -> Section | None:
    """Return, by week, whether predictions hold what they promise; None if nothing is promised."""
    champion = story.champion
    found = story.days.by_span(champion.number, WEEK) if champion else {}
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
    """Return the share of labels inside their interval, of those that live."""
    lines, weeks = [], set[str]()
    for role in ROLES:
        lineage = story.in_role(role)
        totals = story.days.by_span(lineage.number, WEEK) if lineage else {}
        shares = {d: t.measures["coverage"] for d, t in totals.items() if t.sums.get("told")}
        if lineage is None or not shares:
            continue
        weeks |= set(shares)
        paint, thick = ("$ink", 2.6) if role == CHAMPION else (colour(lineage.number), 1.6)
        lines.append(over_days(f"{called(lineage)} ({role})", shares, WEEK, paint, thick=thick))
    rows = _sum(found, "told")
    text = f"Of {rows:,.0f} labels {100 * _sum(found, 'inside') / rows:.1f} % were inside the"
    text += f" champion's intervals, which promise {100 * LEVEL:g} %."
    return text, by_day(
        "Labels inside their interval, by week",
        "What was told with a forecast, before the label was known.",
        [level(LEVEL, weeks, "promised"), *lines], "share inside", WEEK,
    )  # fmt: skip


def _certainty(found: Mapping[str, Total]) -> tuple[str, Figure]:
    """Return how probable the champion called the likeliest class, and how often it was right."""
    sure = {day: total.sums["sure"] / total.rows for day, total in found.items()}
    right = {day: 1 - total.measures["error"] for day, total in found.items()}
    rows = sum(total.rows for total in found.values())
    text = f"Over {rows:,} labels the champion gave the likeliest class a probability of"
    text += f" {100 * _sum(found, 'sure') / rows:.1f} % on average, and was right in"
    text += f" {100 * (1 - _sum(found, 'error') / rows):.1f} %."
    return text, by_day(
        "Certainty beside the share that was right, by week",
        "The nearer the lines, the better the probabilities of the likeliest class.",
        [over_days("certainty", sure, WEEK, colour(1), dash="dash"),
         over_days("right", right, WEEK, "$ink", thick=2.6)],
        "share", WEEK,
    )  # fmt: skip


def _sum(found: Mapping[str, Total], name: str) -> float:
    return sum(total.sums.get(name, 0.0) for total in found.values())
