"""The evidence so far: champion against challenger, and against the one before."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from leaseboard.algorithms.sequential.duel import Duel
from leaseboard.tasks.keep.comparing import DUELS, EVIDENCE
from leaseboard.tasks.keep.page.days import width_of
from leaseboard.tasks.keep.page.story import Story, called
from leaseboard.tasks.keep.page.traces import layout, level, over_days
from leaseboard.tasks.report.draw.specs import Figure, colour
from leaseboard.tasks.report.section import Cell, Section, Table, number
from leaseboard.tasks.score.summary import short

MOST_SHOWN = 1e6
"""Evidence beyond is as good."""


@dataclass(frozen=True, slots=True)
class Standoff:
    """A duel that goes on."""

    role: str
    duel: Duel
    alpha: float

    @property
    def words(self) -> str:
        """The evidence, and what it needs."""
        needed, side = 1 / self.alpha, "challenger"
        found = self.duel.e_value("challenger")
        if self.duel.log_e("champion") > self.duel.log_e("challenger"):
            found, side = self.duel.e_value("champion"), "champion"
        whose = f"for the {self.role if side == 'challenger' else side}"
        labels = "1 label" if self.duel.rows == 1 else f"{self.duel.rows:,} labels"
        return f"evidence {short(found, 3)} {whose} after {labels}; {needed:g} decides"


def standoffs(story: Story) -> Iterator[Standoff]:
    """The duels that go on, the challenger's first."""
    for role, state in sorted(story.memory.get(DUELS, {}).items()):
        if story.in_role(role) is not None:
            yield Standoff(role, Duel.from_dict(state), story.keep.compare.alpha)


def section(story: Story) -> Section | None:
    """The table of duels, and the evidence by day; None while nobody has been compared."""
    going = list(standoffs(story))
    figure = _evidence(story)
    if not going and figure is None:
        return None
    text = (
        "A challenger is promoted when the evidence for it reaches"
        f" {1 / story.keep.compare.alpha:g}, and retired when that for the champion does; one may"
        " look as often as one likes."
    )
    return Section(
        "comparison",
        "Comparison",
        nav="Comparison",
        text=[text],
        figures=[figure] if figure else [],
        tables=[_table(story, going)] if going else [],
    )


def _table(story: Story, going: list[Standoff]) -> Table:
    rows = []
    for each in going:
        rival, duel = story.in_role(each.role), each.duel
        assert rival is not None
        low, high = duel.interval(each.alpha)
        ends = f"[{short(low, 3)}, {short(high, 3)}]" if math.isfinite(high) else "–"
        rows.append(
            [
                Cell(f"{called(rival)} ({each.role})"),
                Cell(f"{duel.rows:,}", duel.rows),
                number(duel.e_value("challenger"), 3),
                number(duel.e_value("champion"), 3),
                number(duel.mean, 3),
                Cell(ends),
            ]
        )
    share = f"{100 * (1 - story.keep.compare.alpha):g}"
    return Table(
        "duels-table",
        "The champion against others",
        ["Against", "Labels", "Evidence for it", "Evidence for the champion", "Gain by it a row",
         f"{share} % interval of the gain"],
        rows,
        note="The gain is the champion's loss less the other's, in squared units of the target; of"
        " classes in Brier scores. The interval is of differences that are clipped where they are"
        " far larger than those before.",
    )  # fmt: skip


def _evidence(story: Story) -> Figure | None:
    """The evidence by day, of all challengers one after the other."""
    found: dict[str, dict[str, float]] = {}
    for each in story.memory.get(EVIDENCE, ()):
        for side, log in (("rival", each["for"]), ("champion", each["against"])):
            value = min(MOST_SHOWN, math.exp(min(log, math.log(MOST_SHOWN))))
            found.setdefault(side, {})[each["at"][:10]] = value
    if not found:
        return None
    days = list(found["rival"])
    width = width_of(days)
    lines = [
        over_days("for the challenger", found["rival"], width, colour(1)),
        over_days("for the champion", found["champion"], width, "$ink"),
        level(1 / story.keep.compare.alpha, days, "decides"),
    ]
    figure = layout("evidence (e-value)", width, 300, y={"type": "log"})
    note = "The evidence at the end of a day; it begins anew with each challenger."
    return Figure("Evidence by day", note, lines, figure, log="y")
