"""The tables of a live model's page: candidates, evidence, incidents, data, and drift."""

import math
from collections import Counter
from collections.abc import Mapping
from statistics import median

import pandas as pd

from leaseboard.tasks.live.drift.day_statistics import STEP, divided, shown, title_of
from leaseboard.tasks.live.drift.monitor import INPUTS, OUTCOMES, MonitoredDays
from leaseboard.tasks.live.page.day_charts import day_chart, over_days
from leaseboard.tasks.live.record import DECIDED, ERASED, EXPIRED, ModelRecord, moves, name_of
from leaseboard.tasks.report.charts import Figure, colour, plain
from leaseboard.tasks.report.page import Cell, Section, Table, number
from leaseboard.tasks.score.numbers import short

MOST_ROWS, MOST_LINES = 200, 8
COUNTS = {
    "new": "new rows",
    "labels": "labels",
    "repeated": "repeats",
    "quarantined": "quarantined",
}
"""Rows of a batch by kind, and what readers call them."""


def quarantine(record: ModelRecord) -> Section:
    """Return rows that broke the contract, with the reason."""
    listed = record.state.quarantined_rows()
    if not listed:
        text = ["No row was quarantined."]
        return Section("quarantine", "Quarantined rows", nav="Quarantine", text=text)
    batches = {each["number"]: each for each in record.batches}
    groups = Counter((each["batch"], each["reason"]) for each in listed)
    first = {(each["batch"], each["reason"]): each["id"] for each in listed}
    rows = [
        {
            "Came (UTC)": moment(batches[number]["at"]),
            "Batch": batches[number]["name"],
            "Reason": reason,
            "The first of them": first[number, reason],
            "Rows": count,
        }
        for (number, reason), count in list(groups.items())[:MOST_ROWS]
    ]
    table = Table(
        "quarantine-table",
        "Quarantined rows, by batch and reason, the newest first",
        pd.DataFrame(rows),
        text=f"The newest first; at most {MOST_ROWS} lines.",
        key=2,
    )
    return Section("quarantine", "Quarantined rows", nav="Quarantine", tables=[table])


def categories(record: ModelRecord) -> Section | None:
    """Return the categories that the contract does not name; notifications quote none of them."""
    seen = {column: names for column, names in record.lifecycle.new_categories.items() if names}
    if not seen:
        return None
    rows = [(column, ", ".join(names[-MOST_ROWS:])) for column, names in seen.items()]
    table = Table(
        "categories-table",
        "Categories that the contract does not name, the last of each column",
        pd.DataFrame(rows, columns=["Column", "Categories"]),
        text="Fix the source, or add them to the contract:",
    )
    return Section("categories", "New categories", tables=[table])


def batches(record: ModelRecord) -> Section | None:
    """Return the rows of each batch by kind; None before the first."""
    if not record.batches:
        return None
    rows = [
        {"Came (UTC)": moment(each["at"]), "Batch": each["name"]}
        | {name: each["counts"].get(key, 0) for key, name in COUNTS.items()}
        for each in record.batches[::-1][:MOST_ROWS]
    ]
    more = len(record.batches) - len(rows)
    table = Table(
        "batches-table",
        "Batches, the newest first",
        pd.DataFrame(rows),
        key=1,
        note=f"{more:,} older batches are not listed." if more else "",
        folded=f"Batches ({len(record.batches):,})",
    )
    return Section("batches", "Batches", nav="Batches", tables=[table])


def drift(record: ModelRecord) -> Section | None:
    """Return a figure for inputs and one for outcomes, and alarms; None before a day was seen."""
    monitored = record.lifecycle.monitored
    parts = {INPUTS: monitored.inputs, OUTCOMES: monitored.outcomes}
    if not any(part.days for part in parts.values()):
        return None
    alarms = []
    for name, part in parts.items():
        for day, alarmed in zip(part.days, part.alarmed, strict=True):
            for series in alarmed:
                points = points_of(part, series)
                usual = [value for other, value in points.items() if other < day]
                ends = f"{short(min(usual))} to {short(max(usual))}" if usual else "–"
                value = points.get(day, math.nan)
                alarms.append([day, title_of(series), name, value, Cell(ends)])
    alarms.sort(key=lambda each: each[0], reverse=True)  # type: ignore[arg-type,return-value]
    columns = ["Day", "Series", "Of", "Value", "On the days before"]
    table = Table(
        "alarms-table",
        "Alarms, the newest first",
        pd.DataFrame(alarms[:MOST_ROWS], columns=columns, dtype=object),
        title="Alarms",
        text="Days that differ from the days before, as far as the monitor remembers. At most the"
        f" last {MOST_ROWS} alarms are listed.",
        key=1,
    )
    figures = [_distances(name, part) for name, part in parts.items() if part.days]
    return Section(
        "drift",
        "Drift",
        nav="Drift",
        text=[] if alarms else ["No drift detected on the days that the monitor remembers."],
        figures=[figure for figure in figures if figure is not None],
        tables=[table] if alarms else [],
    )


def points_of(part: MonitoredDays, series: str) -> dict[str, float]:
    """Return the values of a series by day, as people read them."""
    pairs = zip(part.days, part.values.get(series, [math.nan] * len(part.days)), strict=True)
    return {day: shown(series, value) for day, value in pairs if not math.isnan(value)}


def distances(points: Mapping[str, float]) -> dict[str, float]:
    """Return how far each value is from the median, in the median of these distances.

    Examples
    --------
    >>> distances({"2026-01-01": 1.0, "2026-01-02": 2.0, "2026-01-03": 7.0})
    {'2026-01-01': -1.0, '2026-01-02': 0.0, '2026-01-03': 5.0}
    """
    middle = median(points.values())
    away = {day: value - middle for day, value in points.items()}
    sizes = [abs(each) for each in away.values()]
    scale = median(sizes) or sum(sizes) / len(sizes)  # most days are alike: the mean of all
    return {day: each / scale for day, each in away.items()} if scale else dict.fromkeys(away, 0.0)


def _distances(title: str, part: MonitoredDays) -> Figure | None:
    """Return the series that alarmed or went furthest; None if all are constant."""
    names = [name for name in part.values if divided(name)[1] != STEP]
    found = {name: points for name in names if (points := points_of(part, name))}
    away = {name: distances(points) for name, points in found.items()}
    furthest = {name: max(map(abs, each.values())) for name, each in away.items()}
    alarms = Counter(name for alarmed in part.alarmed for name in alarmed)
    moved = sorted((name for name in found if furthest[name]),
                   key=lambda name: (-alarms[name], -furthest[name]))[:MOST_LINES]  # fmt: skip
    if not moved:
        return None
    traces = [over_days(title_of(name), away[name], 1, colour(i)) for i, name in enumerate(moved)]
    for name, trace in zip(moved, traces, strict=True):
        values = plain(found[name].get(day) for day in trace["x"])
        trace |= {"customdata": values, "hovertemplate": "%{customdata}"}
    note = "How far a day's value is from the median of all days, in median distances from it;"
    note += " a point shows the value itself."
    if len(found) > len(traces):
        note += f" The {len(traces)} of {len(found)} series that alarmed most or went furthest."
    return day_chart(title.capitalize(), note, traces, "distance from usual")


def moment(at: str) -> Cell:
    """Return a time to the minute."""
    return Cell(at[:16].replace("T", " "), "day")


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
