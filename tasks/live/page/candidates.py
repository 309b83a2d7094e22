"""Champions and challengers, the evidence between them, and incidents."""

import math
from collections.abc import Iterator

import pandas as pd

from leaseboard.algorithms.sequential_test import SequentialTest
from leaseboard.tasks.live.page.data import moment
from leaseboard.tasks.live.page.day_charts import day_chart, day_section, level
from leaseboard.tasks.live.record import DECIDED, ERASED, EXPIRED, ModelRecord, moves, name_of
from leaseboard.tasks.report.charts import INK, Figure, colour, scatter
from leaseboard.tasks.report.page import Cell, Section, Table, number
from leaseboard.tasks.score.numbers import short
from leaseboard.tasks.store.live_tables import ModelCandidate

MOST_ROWS = 200
MOST_SHOWN = 1e6
"""Evidence beyond is as good."""

EMPHASIS = {"opened": "bad", "resolved": "good"}
INCIDENTS = ("opened", "resolved", "drift", DECIDED, "left out", ERASED, EXPIRED)
"""The kinds of history that the table of incidents lists."""


def candidates(record: ModelRecord) -> Section:
    """Return what happened to champions and challengers."""
    title = "Champion and challengers"
    if not record.tenures:
        text = ["No candidate was created yet: the first is when enough labels have come."]
        return Section("candidates", title, nav="Champion", text=text)
    rows = [
        {
            "When (UTC)": moment(each.at),
            "Candidate": name_of(record.candidates[int(each.subject)]),
            "Event": each.kind,
            "Reason": each.what,
        }
        for each in moves(record.history, record.candidates)[::-1][:MOST_ROWS]
    ]
    table = Table(
        "candidates-table",
        "Changes of candidates, the newest first",
        pd.DataFrame(rows),
        title="Changes",
        text=f"The newest first; at most {MOST_ROWS}.",
        key=1,
    )
    return Section("candidates", title, nav="Champion", tables=[table])


def running_tests(record: ModelRecord) -> Iterator[tuple[ModelCandidate, SequentialTest]]:
    """Yield the rivals of the champion and the tests against them, the challenger's first."""
    for role, test in sorted(record.lifecycle.tests.items()):
        if (rival := record.in_role(role)) is not None:
            yield rival, test


def comparison(record: ModelRecord) -> Section | None:
    """Return the evidence so far, and by day; None while nothing has been compared."""
    alpha, rows = record.settings.compare.alpha, []
    for rival, test in running_tests(record):
        low, high = test.interval(alpha)
        ends = f"[{short(low, 3)}, {short(high, 3)}]" if math.isfinite(high) else "–"
        rows.append(
            {
                "Against": f"{name_of(rival)} ({rival.role})",
                "Labels": test.rows,
                "Evidence for the challenger": number(test.e_value("challenger"), 3),
                "Evidence for the champion": number(test.e_value("champion"), 3),
                "Gain a row": number(test.mean, 3),
                f"{100 * (1 - alpha):g} % interval of the gain": Cell(ends),
            }
        )
    figure = _evidence(record)
    if not rows and figure is None:
        return None
    text = (
        f"A challenger is promoted when the evidence for it reaches {1 / alpha:g}, and retired"
        " when that for the champion does. The evidence is valid however often you look."
    )
    table = Table(
        "tests-table",
        "The champion against its challengers",
        pd.DataFrame(rows),
        note="The gain is the champion's loss less the other's, in squared units of the target; of"
        " classes in Brier scores. The interval is of differences that are clipped where they are"
        " far larger than those before.",
    )
    return day_section(
        "comparison",
        "Comparison",
        figure,
        nav="Comparison",
        text=[text],
        tables=[table] if rows else [],
    )


def _evidence(record: ModelRecord) -> Figure | None:
    """Return the evidence by day, of all challengers one after the other."""
    found: dict[str, dict[str, float]] = {"challenger": {}, "champion": {}}
    for each in record.lifecycle.evidence:
        for side, points in found.items():
            points[each.at[:10]] = math.exp(min(getattr(each, side), math.log(MOST_SHOWN)))
    if not found["challenger"]:
        return None
    lines = [
        scatter(f"for the {side}", points, points.values(), paint, mode="lines+markers")
        for (side, points), paint in zip(found.items(), (colour(1), INK), strict=True)
    ]
    lines.append(level(1 / record.settings.compare.alpha, found["challenger"], "decides"))
    note = "The evidence after the last update of a day; it begins again with each challenger."
    title = "Evidence by day"
    return day_chart(title, note, lines, "evidence (e-value)", type="log")


def incidents(record: ModelRecord) -> Section:
    """Return when each incident opened and was resolved, and what else was found."""
    listed = [each for each in record.history if each.kind in INCIDENTS][::-1]
    if not listed:
        text = ["No incidents so far."]
        return Section("incidents", "Incidents", nav="Incidents", text=text)
    rows = [
        {
            "When (UTC)": moment(each.at),
            "What": each.what,
            "Event": Cell(each.kind, each.kind, EMPHASIS.get(each.kind, "")),
        }
        for each in listed[:MOST_ROWS]
    ]
    more = len(listed) - len(rows)
    table = Table(
        "incidents-table",
        "Incidents and findings, the newest first",
        pd.DataFrame(rows),
        key=1,
        note=f"{more:,} older ones are not listed." if more else "",
    )
    return Section("incidents", "Incidents", nav="Incidents", tables=[table])
