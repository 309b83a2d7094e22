"""The loss of days before their labels come, beside the loss that came."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leaseboard.tasks.keep.expecting import Expected, expected
from leaseboard.tasks.keep.page.story import Story
from leaseboard.tasks.keep.page.traces import layout, over_days
from leaseboard.tasks.keep.watch.estimate import LEVEL
from leaseboard.tasks.report.draw.specs import Figure, Trace, rounded
from leaseboard.tasks.report.section import Cell, Section, Table, number
from leaseboard.tasks.score.summary import short

_BLIND = (
    "It is learned from rows whose labels have come, so it sees days whose rows are harder, and"
    " cannot see that labels have come to depend on rows otherwise."
)


def section(story: Story) -> Section | None:
    """None while nothing has been estimated."""
    days = expected(story.memory)
    if not days:
        return None
    return Section(
        "expected",
        "Loss before labels come",
        nav="Expected",
        text=[" ".join([*_waiting(story, days), honesty(days), _BLIND])],
        figures=[_figure(story, days)],
        tables=[_table(story, days)],
    )


def line(story: Story) -> str:
    """For the terminal; empty while nothing has been estimated."""
    days = expected(story.memory)
    return " ".join([*_waiting(story, days), honesty(days)]) if days else ""


def honesty(days: Sequence[Expected]) -> str:
    """How good the estimates have been, on days whose labels have come since.

    Examples
    --------
    >>> days = [Expected("2026-01-01", 1, 20, 2.0, 1.0, 3.0, 5.0, came=2.5)]
    >>> honesty(days + [Expected("2026-01-02", 1, 20, 2.0, 1.0, 3.0, 5.0)])
    'Of 1 day estimated before, 1 came to what its 90 % interval said; the mean error was 0.5, that of the week before 2.5.'
    """  # noqa: E501  (the sentence)
    over = [(each, each.came) for each in days if each.came is not None]
    if not over:
        return "No estimate has met its labels yet."
    held = sum(each.held for each, _ in over)
    errors = float(np.mean([abs(each.loss - came) for each, came in over]))
    before = float(np.mean([abs(each.lately - came) for each, came in over]))
    what = "1 day" if len(over) == 1 else f"{len(over)} days"
    said = "its" if len(over) == 1 else "their"
    return (
        f"Of {what} estimated before, {held} came to what {said} {100 * LEVEL:g} % interval said;"
        f" the mean error was {short(errors)}, that of the week before {short(before)}."
    )


def _waiting(story: Story, days: Sequence[Expected]) -> list[str]:
    """What the newest of the days that wait is expected to come to, and all on average."""
    unknown = [each for each in days if each.came is None]
    if not unknown:
        return []
    last = unknown[-1]
    told = f"{last.day} is expected to come to {_measure(story)} {short(last.loss)}"
    told += f" ({short(last.low)} to {short(last.high)}), where the week before came to"
    told += f" {short(last.lately)}"
    if len(unknown) > 1:
        mean = float(np.mean([each.loss for each in unknown]))
        told += f"; the {len(unknown)} days that wait, to {short(mean)} on average"
    return [f"{told}."]


def _figure(story: Story, days: Sequence[Expected]) -> Figure:
    came = {each.day: each.came for each in days if each.came is not None}
    points: Trace = {
        "type": "scatter",
        "mode": "markers",
        "name": f"expected, with {100 * LEVEL:g} % intervals",
        "x": [each.day for each in days],
        "y": rounded([each.loss for each in days], 4),
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": rounded([each.high - each.loss for each in days], 4),
            "arrayminus": rounded([each.loss - each.low for each in days], 4),
            "width": 0,
            "thickness": 1.2,
        },
        "marker": {"size": 5, "color": "$muted"},
    }
    return Figure(
        f"{_measure(story)} by day, expected and come",
        "A point is what a day was expected to come to when its rows came, the line what it came"
        " to: the champion's of that time.",
        [points, *([over_days("what came", came, 1, "$ink", thick=2.6)] if came else [])],
        layout(_measure(story), 1, 300),
    )


def _table(story: Story, days: Sequence[Expected]) -> Table:
    rows = [
        [
            Cell(each.day, each.day),
            Cell(f"{each.rows:,}", each.rows),
            *map(number, (each.loss, each.low, each.high)),
            Cell("–") if each.came is None else number(each.came),
        ]
        for each in reversed(days)
    ]
    return Table(
        "expected-table",
        f"{_measure(story)} by day, when its rows came and when its labels did",
        ["Day", "Rows", "Expected", "From", "To", "Came"],
        rows,
        folded="The numbers",
        tall=True,
    )


def _measure(story: Story) -> str:
    return "mae" if story.days.is_regression else "Brier score"
