"""Champions and challengers: who was what and when, the evidence between them, incidents."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from leaseboard.algorithms.sequential.duel import Duel
from leaseboard.tasks.keep.page.days import by_day, level, over_days, width_of
from leaseboard.tasks.keep.page.story import ROLES, Stay, Story, called, moment, moves
from leaseboard.tasks.keep.shadow import CHAMPION
from leaseboard.tasks.report.charts import Figure, axis, bar, chart, colour, named_rows, scatter
from leaseboard.tasks.report.leases import STAR
from leaseboard.tasks.report.page import Cell, Section, Table, number
from leaseboard.tasks.score.summary import short
from leaseboard.tasks.store.live_tables import Lineage

MOST_LINEAGES = 40
MOST_ROWS = 200
MOST_SHOWN = 1e6
"""Evidence beyond is as good."""

PAINTS = dict(zip(ROLES, ("$ink", colour(1), colour(0)), strict=True))
EMPHASIS = {"opened": "bad", "resolved": "good"}
INCIDENTS = ("opened", "resolved", "drift", "left out")
"""The kinds of events that the table of incidents lists."""


def lineages(story: Story) -> Section:
    """Return champions and challengers as bars over time, and what happened to them."""
    title = "Champion and challengers"
    if not story.stays:
        text = ["No lineage has been born yet: the first is made when enough labels have come."]
        return Section("lineages", title, nav="Champion", text=text)
    rows = [
        {
            "When (UTC)": moment(each.at),
            "Lineage": called(story.lineages[int(each.subject)]),
            "Became": each.kind,
            "Why": each.what,
        }
        for each in moves(story.history, story.lineages)[::-1][:MOST_ROWS]
    ]
    table = Table(
        "lineages-table",
        "What happened to lineages, the newest first",
        pd.DataFrame(rows),
        title="What happened",
        text=f"At most the last {MOST_ROWS} are listed.",
        filters="what happened",
        key=1,
        tall=True,
    )
    return Section("lineages", title, nav="Champion", figures=[picture(story)], tables=[table])


def picture(story: Story) -> Figure:
    """Return a row a lineage; a bar is its stay in a role, a star a change of champion."""
    every = sorted({stay.lineage for stay in story.stays})
    rows = every[-MOST_LINEAGES:]
    drawn = [stay for stay in story.stays if stay.lineage in set(rows)]
    traces = [
        bar(
            role, (stay.milliseconds for stay in mine), (rows.index(s.lineage) for s in mine),
            PAINTS[role], hints=(_words(story, stay) for stay in mine), orientation="h",
            base=[_start(stay) for stay in mine], width=0.66,
        )
        for role in ROLES
        if (mine := [stay for stay in drawn if stay.role == role])
    ]  # fmt: skip
    note = "A row is a lineage, a bar its stay in a role."
    if changes := [stay for stay in drawn if stay.role == CHAMPION][1:]:
        traces.append(
            scatter("new champion", map(_start, changes), (rows.index(s.lineage) for s in changes),
                    "$ink", mode="markers", marker=STAR, hints=(stay.why for stay in changes))
        )  # fmt: skip
        note += " A star is a change of champion."
    if len(rows) < len(every):
        note += f" The last {len(rows)} of {len(every)} lineages."
    names = named_rows(called(story.lineages[number]) for number in rows)
    height = max(200, 100 + 26 * len(rows))
    title = "Who was what, and when"
    return chart(title, note, traces, axis("", type="date"), names, height, barmode="overlay")


def _words(story: Story, stay: Stay) -> str:
    words = f"{called(story.lineages[stay.lineage])}, {stay.role}\n"
    words += f"since {stay.start[:10]}: {stay.why}"
    return words + (f"\nuntil {stay.stop[:10]}: {stay.left}" if stay.left else "")


def _start(stay: Stay) -> str:
    """Return when a stay began, as Plotly reads it."""
    return stay.start[:19].replace("T", " ")


@dataclass(frozen=True, slots=True)
class Standoff:
    """A comparison that goes on."""

    rival: Lineage
    duel: Duel
    alpha: float

    @property
    def words(self) -> str:
        """The evidence, and what it needs."""
        duel = self.duel
        ahead = duel.log_e("champion") > duel.log_e("challenger")
        whose, found = (
            ("champion", duel.e_value("champion"))
            if ahead
            else (self.rival.role, duel.e_value("challenger"))
        )
        labels = "1 label" if duel.rows == 1 else f"{duel.rows:,} labels"
        needed = 1 / self.alpha
        return f"evidence {short(found, 3)} for the {whose} after {labels}; {needed:g} decides"


def standoffs(story: Story) -> Iterator[Standoff]:
    """Yield the comparisons that go on, the challenger's first."""
    for role, duel in sorted(story.lifecycle.duels.items()):
        if (rival := story.in_role(role)) is not None:
            yield Standoff(rival, duel, story.keep.compare.alpha)


def comparison(story: Story) -> Section | None:
    """Return the evidence so far, and by day; None while nothing has been compared."""
    alpha = story.keep.compare.alpha
    rows = []
    for each in standoffs(story):
        duel = each.duel
        low, high = duel.interval(each.alpha)
        ends = f"[{short(low, 3)}, {short(high, 3)}]" if math.isfinite(high) else "–"
        rows.append(
            {
                "Against": f"{called(each.rival)} ({each.rival.role})",
                "Labels": duel.rows,
                "Evidence for it": number(duel.e_value("challenger"), 3),
                "Evidence for the champion": number(duel.e_value("champion"), 3),
                "Gain by it a row": number(duel.mean, 3),
                f"{100 * (1 - alpha):g} % interval of the gain": Cell(ends),
            }
        )
    figure = _evidence(story)
    if not rows and figure is None:
        return None
    text = (
        f"A challenger is promoted when the evidence for it reaches {1 / alpha:g}, and retired"
        " when that for the champion does; one may look as often as one likes."
    )
    table = Table(
        "duels-table",
        "The champion against others",
        pd.DataFrame(rows),
        note="The gain is the champion's loss less the other's, in squared units of the target; of"
        " classes in Brier scores. The interval is of differences that are clipped where they are"
        " far larger than those before.",
    )
    return Section(
        "comparison",
        "Comparison",
        nav="Comparison",
        text=[text],
        figures=[figure] if figure else [],
        tables=[table] if rows else [],
    )


def _evidence(story: Story) -> Figure | None:
    """Return the evidence by day, of all challengers one after the other."""
    found: dict[str, dict[str, float]] = {"challenger": {}, "champion": {}}
    for each in story.lifecycle.evidence:
        for side, points in found.items():
            points[each.at[:10]] = math.exp(min(getattr(each, side), math.log(MOST_SHOWN)))
    days = list(found["challenger"])
    if not days:
        return None
    width = width_of(days)
    lines = [
        over_days("for the challenger", found["challenger"], width, colour(1)),
        over_days("for the champion", found["champion"], width, "$ink"),
        level(1 / story.keep.compare.alpha, days, "decides"),
    ]
    note = "The evidence at the end of a day; it begins anew with each challenger."
    title = "Evidence by day"
    return by_day(title, note, lines, "evidence (e-value)", width, log="y", type="log")


def incidents(story: Story) -> Section:
    """Return when each incident opened and was resolved, and what else was found."""
    listed = [each for each in story.history if each.kind in INCIDENTS][::-1]
    if not listed:
        text = ["Nothing has gone wrong so far."]
        return Section("incidents", "Incidents", nav="Incidents", text=text)
    rows = [
        {
            "When (UTC)": moment(each.at),
            "What": each.what,
            "Was": Cell(each.kind, each.kind, EMPHASIS.get(each.kind, "")),
        }
        for each in listed[:MOST_ROWS]
    ]
    more = len(listed) - len(rows)
    table = Table(
        "incidents-table",
        "Incidents and findings, the newest first",
        pd.DataFrame(rows),
        filters="incidents",
        key=1,
        tall=True,
        note=f"{more:,} older ones are not listed." if more else "",
    )
    return Section("incidents", "Incidents", nav="Incidents", tables=[table])
