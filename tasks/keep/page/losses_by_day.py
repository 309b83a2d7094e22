"""Loss and skill by day: a line a lineage, beside what a person tries first."""

from __future__ import annotations

from collections.abc import Mapping

from leaseboard.tasks.keep.changes import Lineage
from leaseboard.tasks.keep.page.days import Total
from leaseboard.tasks.keep.page.story import ROLES, Story, called
from leaseboard.tasks.keep.page.traces import layout, level, over_days
from leaseboard.tasks.keep.shadow import CHAMPION, REFERENCE
from leaseboard.tasks.report.draw.specs import Figure, Trace, colour
from leaseboard.tasks.report.section import Cell, Section, Table, number

MOST_ROWS = 400

SERVED = 0
"""Stands for who was champion on a day, among the numbers of lineages."""

LOWEST = -1.0
"""A skill below is not drawn."""

UNITS = {"rmse": "root of the mean squared error", "brier": "mean Brier score"}


def section(story: Story) -> Section:
    """The figures, and the numbers behind them."""
    if not story.days:
        text = ["No forecast has met its label yet: figures begin with the first day that does."]
        return Section("losses", "Loss by day", nav="Loss", text=text)
    reigns = [(stay.start, stay.lineage) for stay in story.stays if stay.role == CHAMPION]
    alive = [each for role in ROLES if (each := story.in_role(role))] + story.references
    found = {each.number: story.days.by_span([each.number]) for each in alive}
    drawn = {SERVED: story.days.served(reigns), **found}
    drawn = {number: totals for number, totals in drawn.items() if totals}
    skill = _skill(story, drawn)
    return Section(
        "losses",
        "Loss by day",
        nav="Loss",
        figures=[_losses(story, drawn), *([skill] if skill else [])],
        tables=[_table(story, drawn)],
    )


def skills(totals: Mapping[str, Total], reference: Mapping[str, Total]) -> dict[str, float | None]:
    """1 - loss / loss of the reference; None where the reference was never wrong."""
    bases = {day: total.measures["loss"] for day, total in reference.items()}
    return {
        day: 1 - total.measures["loss"] / bases[day] if bases[day] else None
        for day, total in totals.items()
        if day in bases
    }


def best_first_try(drawn: Mapping[int, Mapping[str, Total]], story: Story) -> Lineage | None:
    """The first try that has lost least."""
    costs = {
        each.number: sum(t.sums["loss"] for t in totals.values())
        / sum(t.rows for t in totals.values())
        for each in story.references
        if (totals := drawn.get(each.number))
    }
    return story.lineages[min(costs, key=costs.__getitem__)] if costs else None


def _losses(story: Story, drawn: Mapping[int, Mapping[str, Total]]) -> Figure:
    measure, unit = story.days.measure, story.keep.data.target
    traces = [
        _line(story, number, {day: total.measures[measure] for day, total in totals.items()})
        for number, totals in drawn.items()
    ]
    note = f"{UNITS[measure].capitalize()}"
    note += f", in the unit of {unit}: " if story.days.is_regression else ": "
    note += (
        "less is better. The thick line is of who was champion then, each other one of a lineage"
    )
    note += " that lives; a gap is a time without labels."
    title = f"{measure} of {unit}" if story.days.is_regression else f"Brier score of {unit}"
    return Figure(
        "Loss by week" if story.days.width > 1 else "Loss by day",
        note,
        traces,
        layout(title, story.days.width),
        log="y",
    )


def _skill(story: Story, drawn: Mapping[int, Mapping[str, Total]]) -> Figure | None:
    best = best_first_try(drawn, story)
    if best is None:
        return None
    lines = {
        number: skills(totals, drawn[best.number])
        for number, totals in drawn.items()
        if number == SERVED or story.lineages[number].role != REFERENCE
    }
    lines = {number: points for number, points in lines.items() if points}
    values = [value for points in lines.values() for value in points.values() if value is not None]
    if not values:
        return None
    days = [day for points in lines.values() for day in points]
    traces = [_line(story, number, points) for number, points in lines.items()]
    note = f"1 − loss / loss of {best.name}, the best first try: above 0 is better than it, 1 is"
    note += " perfect."
    fixed = {}
    if min(values) < LOWEST:
        fixed = {"range": [LOWEST, 1.0]}
        note += " What is below −1 is cut off."
    return Figure(
        f"Skill over {best.name}",
        note,
        [level(0.0, days, best.name), *traces],
        layout("skill", story.days.width, 300, y=fixed),
    )


def _table(story: Story, drawn: Mapping[int, Mapping[str, Total]]) -> Table:
    """The same in numbers, the newest first."""
    days = sorted({day for totals in drawn.values() for day in totals}, reverse=True)[:MOST_ROWS]
    measure = story.days.measure
    rows = []
    for day in days:
        found = {number: totals.get(day) for number, totals in drawn.items()}
        most = max(total.rows for total in found.values() if total)
        values = {n: total.measures[measure] for n, total in found.items() if total}
        least = min(values.values())
        rows.append(
            [
                Cell(day, day),
                Cell(f"{most:,}", most),
                *(
                    number(values[n], kind="best" if values[n] == least else "")
                    if n in values
                    else Cell("–")
                    for n in drawn
                ),
            ]
        )
    names = [_name(story, n) for n in drawn]
    return Table(
        "losses-table",
        f"{measure} by {'week' if story.days.width > 1 else 'day'}; the best of a row is bold",
        ["Week from" if story.days.width > 1 else "Day", "Labels", *names],
        rows,
        folded="The numbers",
        tall=True,
    )


def _line(story: Story, number: int, points: Mapping[str, float | None]) -> Trace:
    width = story.days.width
    if number == SERVED:
        line = over_days(_name(story, number), points, width, "$ink", thick=2.6)
        return line | {"zorder": 1}  # above those that share its points
    dash = "dot" if story.lineages[number].role == REFERENCE else "solid"
    return over_days(_name(story, number), points, width, colour(number), dash=dash)


def _name(story: Story, number: int) -> str:
    if number == SERVED:
        return "who was champion"
    lineage = story.lineages[number]
    return called(lineage) + ("" if lineage.role == REFERENCE else f" ({lineage.role})")
