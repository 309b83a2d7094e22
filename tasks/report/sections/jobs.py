"""Every job with a page of its own, and how to repeat the board."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import yaml
from markupsafe import Markup

from leaseboard.algorithms.benches.holdout import ONE_CLASS, SAYS_NOTHING
from leaseboard.algorithms.configurations import OUTCOMES, Configuration, configurations, phrase
from leaseboard.algorithms.errors import short as cut
from leaseboard.algorithms.events import Event
from leaseboard.tasks.folder.results import EVENTS
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.report.charts import names_of, short_number
from leaseboard.tasks.report.job_charts import figures
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import Cell, Names, Section, Table, data_cell, number, packages
from leaseboard.tasks.report.sections.selections import pictures
from leaseboard.tasks.score.summary import short

MOST_CHARACTERS = 600
"""Of what is said about a champion, or settings."""
CODE = "The version of an algorithm’s code stands on each job’s page."
MOST_CONFIGURATIONS = 60
MOST_DECISIONS = 80

_BETTER = {"min": "less", "max": "more"}

Commands = Mapping[tuple[str, str, int], str]
"""``{(label, data, repetition): command}``."""


def jobs(made: Material) -> Section:
    """Return every job, and its page: facts, command, and what its log tells."""
    commands, drawn = commands_of(made.suite), pictures(made)
    logged = {row.key: payload for row, payload in made.by(job_log)}
    pages = {}
    for row in made.frame.itertuples():
        page = {
            "title": f"{row.label} on {made.name(row.data)}, repetition {row.repetition}",
            "facts": _facts(row, made.damaged.get(row.key, "")),
            "command": command_of(row, commands),
            **logged.get(row.key, {}),
        }
        if row.key in drawn:
            page["figures"] += drawn[row.key]
        pages[f"payload-{row.key}"] = page
    table = Table(
        "jobs-table",
        "Every job of the run",
        pd.DataFrame([_finished(row, made.names) for row in made.frame.itertuples()]),
        filters="jobs",
        few=0,
        pick="Status",
    )
    text = "Open a job to see its leases, bounds, decisions and configurations."
    return Section("jobs", "Jobs", nav="Jobs", text=[text], tables=[table], more=pages)


def unfinished(frame: pd.DataFrame, names: Names) -> Table | None:
    """Return every job that is not ok, with its reason."""
    rows = [
        _job(row, names) | {"Reason": row.reason or "no reason recorded"}
        for row in frame[frame["status"] != "ok"].itertuples()
    ]
    return Table(
        "unfinished-table",
        "Every job that is not ok, with its reason",
        pd.DataFrame(rows),
        folded=f"{len(rows)} of {len(frame)} jobs did not finish",
    ) if rows else None  # fmt: skip


def _job(row: Any, names: Names) -> dict[str, Any]:
    return {
        "Algorithm": Cell(row.label, row.label, link=f"#job-{row.key}"),
        "Data": data_cell(row.data, names),
        "Seed": Cell(str(row.seed), row.seed),
        "Status": Cell(row.status, row.status, f"tag {row.status}"),
    }


def _finished(row: Any, names: Names) -> dict[str, Any]:
    ok = row.status == "ok"
    units = number(row.units if ok else math.nan, 6)
    if ok and not row.complete:
        units = Cell(consumed(row), row.units, "bad")
    cpu = number(row.cpu_seconds if ok else math.nan, 3)
    return _job(row, names) | {"Score": number(row.score, 6), "CPU s": cpu, "Units": units}


def _facts(row: Any, trouble: str) -> list[tuple[str, str]]:
    score = "–"
    if row.status == "ok":
        score = f"{short(row.score, 6)} {row.metric} ({_BETTER[row.direction]} is better)"
    facts = [
        ("Data", row.data),
        ("Status", f"{row.status}: {row.reason}" if row.reason else row.status),
        ("Score", score),
        ("Warning", SAYS_NOTHING if ONE_CLASS in row.metrics else ""),
        *(
            (name, short(float(value), 6))
            for name, value in row.metrics.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        ),
        ("Champion", cut(phrase(row.champion), MOST_CHARACTERS)),
        ("Budget consumed", consumed(row) if row.unit else "–"),
        ("CPU seconds", short(row.cpu_seconds, 4)),
        ("Wall seconds", short(row.wall_seconds, 4)),
        ("Set-up seconds", short(row.setup_seconds, 4)),
        ("Seed", f"{row.seed} (environment {row.environment_seed})"),
        ("Settings", cut(", ".join(f"{key}={value}" for key, value in row.settings.items()
                                   if value not in (None, "")), MOST_CHARACTERS)),
        ("Code version", row.version),
        ("Data digest", row.digest),
        ("Started", f"{row.started} on {row.host}" if row.started else ""),
        ("Key", row.key),
        ("Event log", f"jobs/{row.key}/{EVENTS}"),
        ("Trouble", trouble),
    ]  # fmt: skip
    return [(name, text) for name, text in facts if text]


def consumed(row: Any) -> str:
    """Return the units that a job consumed, and of how many if it should have consumed all."""
    if row.complete or not math.isfinite(row.budget):
        return f"{short(row.units, 7)} {row.unit}"
    return f"{short(row.units, 7)} of {short(row.budget, 7)} {row.unit}: ended early"


def job_log(row: Any, events: Sequence[Event]) -> dict[str, Any]:
    """Return what a log says on its job's page."""
    return job_payload(events)


def job_payload(events: Sequence[Event]) -> dict[str, Any]:
    """Return all that the page of a job shows beside its row in the results."""
    records = configurations(events)
    return {
        "figures": [figure.payload() for figure in figures(records, events)],
        "configurations": configuration_table(records),
        "decisions": decision_table(records, events),
        "events": dict(Counter(type(event).__name__ for event in events).most_common()),
    }


def configuration_table(records: Sequence[Configuration]) -> dict[str, Any]:
    """Return the configurations, champion first, then by what they consumed."""
    order = sorted(
        records, key=lambda c: (OUTCOMES.index(c.outcome) > 0, -c.units, c.configuration)
    )
    names = names_of(records, 140)
    metric = next((record.metric for record in records if record.metric), "")
    score = f"score ({metric})" if metric else "score"
    return {
        "total": len(records),
        "outcomes": dict(Counter(record.outcome for record in records)),
        "columns": ["configuration", "outcome", "origin", "leases", "units", score, "reason"],
        "rows": [
            [
                names[record.configuration],
                record.outcome,
                record.origin if record.parent is None
                else f"{record.origin} from {record.parent}".strip(),
                len(record.leases),
                short_number(record.units, 6),
                short_number(record.score),
                record.reason[:120],
            ]
            for record in order[:MOST_CONFIGURATIONS]
        ],
    }  # fmt: skip


def decision_table(records: Sequence[Configuration], events: Sequence[Event]) -> dict[str, Any]:
    """Return what the algorithm decided: champions, eliminations, failures, then pauses."""
    names = names_of(records, 90)
    worded = [(event.at, event.words(lambda n: names.get(n, str(n)))) for event in events]
    decisions = [(at, *words) for at, words in worded if words]
    major = [row for row in decisions if row[1] != "paused"]
    # Pauses can be thousands: they fill what room the rarer decisions leave.
    room = max(0, MOST_DECISIONS - len(major))
    minor = [row for row in decisions if row[1] == "paused"][:room]
    if len(major) > MOST_DECISIONS:
        major = [*major[: MOST_DECISIONS // 2], *major[-(MOST_DECISIONS // 2) :]]
    rows = sorted([*major, *minor], key=lambda row: row[0])
    return {"total": len(decisions), "rows": [[short_number(a, 7), b, c] for a, b, c in rows]}


def repeat(made: Material) -> Section:
    """Return all that it takes to get the same numbers: commands, data, versions."""
    suite = (made.suite.name if made.suite else "") or made.folder
    first = next(made.frame.itertuples(), None)
    command = "" if first is None else command_of(first, commands_of(made.suite))
    names = made.suite.stands_for() if made.suite else []
    items = Markup("").join(Markup("<li>{}</li>").format(line) for line in names)
    installed = ", ".join(map(" ".join, packages().items()))
    text = [
        Markup("<p>The whole board: <code>leaseboard run {}</code>. Each number is one job; its"
               " page gives the command, such as</p><pre><code>{}</code></pre>")
        .format(suite, command),
        Markup("<p>The same seed gives the same events, byte for byte. Data from a mirror need"
               " <code>--mirror</code>. This page was built from <code>results.parquet</code> and"
               " the event logs beside it by <code>leaseboard report</code>.</p>"),
        Markup("<h3>Names</h3><ul>{}</ul>").format(items) if names else "",
        Markup("<h3>Versions</h3>"),
        f"Installed when this page was built: {installed}. {CODE}",
    ]  # fmt: skip
    frame = pd.DataFrame(data_sets(made.frame, made.names))
    table = Table("data-sets-table", "Data sets of the run", frame, title="Data")
    shown = [paragraph for paragraph in text if paragraph]
    return Section("repeat", "How to repeat it", nav="Repeat it", text=shown, tables=[table])


def data_sets(frame: pd.DataFrame, names: Names) -> list[dict[str, str]]:
    """Return every dataset with its digest, source and licence as the results record them."""

    def first(rows: pd.DataFrame, column: str) -> str:
        return next((str(value) for value in rows.get(column, ()) if value), "–")

    return [
        {
            "Data": names.get(str(data), str(data)),
            "Reference": str(data),
            "Digest": ", ".join(sorted(set(rows["digest"]) - {""})) or "not read",
            "Source": first(rows, "source"),
            "Licence": first(rows, "licence"),
        }
        for data, rows in frame.groupby("data", sort=False)
    ]


def race_command(job: Job) -> str:
    """Return the `leaseboard race` that does the same work as a suite's `job`."""
    words = ["leaseboard", "race", job.algorithm, job.data, "--seed", str(job.seed)]
    if job.environment_seed != job.seed:
        words += ["--environment-seed", str(job.environment_seed)]
    if job.budget is not None:
        words += ["--budget", f"{job.budget:g}"]
    for key, value in {**job.settings, **job.bench}.items():
        dumped = yaml.safe_dump(value, default_flow_style=True, width=10**6)
        plain = value if isinstance(value, str) else dumped.removesuffix("...\n").strip()
        words += ["--set", f"{key}={plain}"]
    return shlex.join(words)


def commands_of(suite: Suite | None) -> Commands:
    """Return the command of every job of a suite."""
    if suite is None:
        return {}
    return {
        (job.label or job.algorithm, job.data, job.repetition): race_command(job)
        for job in suite.jobs()
    }


def command_of(row: Any, commands: Commands) -> str:
    """Return the command of the job whose results are `row`: its suite's, else one by its seed."""
    return commands.get((row.label, row.data, row.repetition)) or shlex.join(
        ["leaseboard", "race", row.algorithm, row.data, "--seed", str(row.seed)]
    )
