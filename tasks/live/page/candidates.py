"""Champions and challengers, the evidence between them, and incidents."""

import math

import pandas as pd

from leaseboard.tasks.live.page.data import moment
from leaseboard.tasks.live.record import DECIDED, ERASED, EXPIRED, ModelRecord, moves, name_of
from leaseboard.tasks.report.page import Cell, Section, Table, number
from leaseboard.tasks.score.numbers import short

MOST_ROWS = 200

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


def comparison(record: ModelRecord) -> Section | None:
    """Return the evidence so far; None while nothing is compared."""
    alpha, rows = record.settings.compare.alpha, []
    for role, test in sorted(record.lifecycle.tests.items()):
        if (rival := record.in_role(role)) is None:
            continue
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
    if not rows:
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
    return Section("comparison", "Comparison", nav="Comparison", text=[text], tables=[table])


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
            "Event": Cell(each.kind, EMPHASIS.get(each.kind, "")),
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
