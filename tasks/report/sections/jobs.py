"""Every job with a page of its own, and how to repeat the leaderboard."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
import yaml
from markupsafe import Markup

from leaseboard.algorithms.configurations import OUTCOMES, Configuration, configurations, phrase
from leaseboard.algorithms.environments.holdout import ONE_CLASS, SAYS_NOTHING
from leaseboard.algorithms.errors import short as cut
from leaseboard.algorithms.events import Event
from leaseboard.tasks.jobs.job import Job, replayed_cpu_seconds
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.report.charts import names_of, sentences, short_number, wording
from leaseboard.tasks.report.job_charts import figures
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import (
    Cell,
    Names,
    Packed,
    Section,
    Table,
    data_cell,
    number,
    packages,
    packed,
)
from leaseboard.tasks.report.sections.selections import pictures
from leaseboard.tasks.score.frame import metric_title
from leaseboard.tasks.score.numbers import short
from leaseboard.tasks.track.views import JOBS, NIGHTS

MOST_CHARACTERS = 600
"""Characters of a text about a champion, or settings."""
CODE = "The version of an algorithm’s code is on each job’s page."
SHORT = 60
"""Configurations of a job whose whole list is left out, those that consumed most."""
MOST_CHARACTERS_OF_LISTS = 3_000_000
"""What all whole lists of configurations may take, packed: some 200,000 configurations."""
MOST_DECISIONS = 80
MANY, MOST_CHARACTERS_OF_LOGS = 1000, 850_000
"""Of a run with more jobs, the characters that the packed table and logs may take; it has no whole
lists of configurations."""
LOGS_TOGETHER = 64
"""Logs that are packed as one: alike logs take a third of the space, and a page opens one."""

_BETTER = {"min": "less is better", "max": "more is better"}


class JobLog(NamedTuple):
    """Part of a job's page that is made from its log."""

    shown: dict[str, Any]
    every: Packed
    """The columns of all its configurations, if `shown` has the first of them alone."""


def jobs(made: Material) -> Section:
    """Return every job, with its page: facts, command, and what its log holds."""
    drawn = pictures(made)
    logged = [(row, log.shown) for row, log in made.by(job_log)]
    for row, payload in logged:
        payload["figures"] += drawn.get(row.key, [])
    shown, details = facts(made)
    words, block_of = wording("jobs-table", n=f"{len(shown):,}"), dict[str, str]()
    block_of |= {row.key: "left out" for row, _ in logged}
    table = Table("jobs-table", frame=shown, details=details, **words)
    room, blocks = MOST_CHARACTERS_OF_LOGS - len(packed(table.payload())), dict[str, Any]()
    # Of a large run the first repetitions have charts, of every algorithm and dataset.
    logged.sort(key=lambda pair: pair[0].repetition)
    for start in range(0, len(logged), LOGS_TOGETHER):
        block = {row.key: log for row, log in logged[start : start + LOGS_TOGETHER]}
        room -= len(packed(block))
        if room < 0 and len(shown) > MANY:
            break
        blocks[f"logs-{start}"] = block
        block_of |= dict.fromkeys(block, f"logs-{start}")
    details["log"] = [block_of.get(key, "") for key in made.frame["key"]]
    text = []
    if left := list(block_of.values()).count("left out"):
        text = [sentences("jobs.left-out", shown=f"{len(logged) - left:,}", all=f"{len(shown):,}")]
    words = wording("jobs")
    words["text"] += text
    if made.mlflow:
        blocks["mlflow"] = made.mlflow
        ui, jobs = made.mlflow["ui"], made.mlflow["jobs"]
        runs = {"the leaderboards over time": NIGHTS, "the jobs": JOBS}
        links = [Markup("<a href='{}/{}'>{}</a>").format(ui, view.link(jobs), what)
                 for what, view in runs.items()]  # fmt: skip
        words["text"].append(Markup("<p>In MLflow: {}.</p>").format(Markup(", ").join(links)))
    return Section("jobs", **words, tables=[table], more=blocks)


def every_configuration(made: Material) -> Section | None:
    """Return one table of the configurations of all jobs, which the page's script fills."""
    logged = sorted(made.by(job_log), key=lambda pair: pair[0].repetition)
    room = MOST_CHARACTERS_OF_LISTS if len(made.frame) <= MANY else -1
    whole = dict[str, Packed]()
    for row, log in logged:
        room -= len(log.every)
        if log.every and room >= 0:
            whole[f"configurations-{row.key}"] = log.every
    total = sum(log.shown["configurations"]["total"] for _, log in logged)
    if not total:
        return None
    words = wording("configurations", total=f"{total:,}", short=SHORT)
    folded = Markup("<details class='folded' data-lazy><summary>{}</summary></details>")
    text = [*words.pop("text")[: 1 + (room < 0)], folded.format(words.pop("folded"))]
    return Section("configurations", **words, text=text, more=whole)


def facts(made: Material) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the columns of the table of jobs, and those that only a job's page shows."""
    frame = made.frame
    ok = frame["status"] == "ok"

    def seconds(name: str) -> list[str]:
        return [short(value, 3) for value in frame[name].where(ok)]

    shown = _places(frame, made.names).assign(
        Score=[number(score, 6) for score in frame["score"].where(ok)],
        **{"CPU seconds": [number(value, 3) for value in frame["cpu_seconds"].where(ok)]},
        Consumed=[
            Cell(consumed(row), row.units, "" if row.complete else "bad")
            if row.unit and row.status == "ok" else Cell("–")
            for row in frame.itertuples()
        ],
    )  # fmt: skip
    titles = wording("measures")
    metrics = pd.DataFrame(
        [{titles.get(name, name): short(float(value), 4) for name, value in found.items()
          if isinstance(value, int | float) and not isinstance(value, bool)}
         for found in frame["metrics"]],
        index=frame.index,
    ).astype(object).fillna("")  # fmt: skip
    commands = commands_of(made.suite)
    details = pd.DataFrame(
        {
            "Reason": frame["reason"],
            "Reference": frame["data"],
            "Metric": [f"{metric_title(row.metric)}, {_BETTER[row.direction]}"
                       if row.status == "ok" else "" for row in frame.itertuples()],
            "Warning": [SAYS_NOTHING if ONE_CLASS in found else "" for found in frame["metrics"]],
            **metrics,
            "Champion": [cut(phrase(each), MOST_CHARACTERS) for each in frame["champion"]],
            "CPU seconds replayed from recorded trials": [
                short(replayed, 3) if (replayed := replayed_cpu_seconds(row)) else ""
                for row in frame.itertuples()
            ],
            "Wall seconds": seconds("wall_seconds"),
            "Set-up seconds, of data and kernels": seconds("setup_seconds"),
            "Environment seed": frame["environment_seed"].astype(str),
            "Settings": [
                cut(", ".join(f"{key}={value}" for key, value in settings.items()
                              if value not in (None, "")), MOST_CHARACTERS)
                for settings in frame["settings"]
            ],
            "Code version": frame["version"],
            "Data digest": frame["digest"],
            "Started": frame["started"].str[:19],
            "Host": frame["host"],
            "Trouble": [made.damaged.get(key, "") for key in frame["key"]],
            "Key": frame["key"],
            "Repetition": frame["repetition"].astype(str),
            "command": [command_of(row, commands) for row in frame.itertuples()],
        }
    )  # fmt: skip
    return shown, details


def unfinished(frame: pd.DataFrame, names: Names) -> Table | None:
    """Return every job that is not ok, with its reason."""
    lost = frame[frame["status"] != "ok"]
    if lost.empty:
        return None
    shown = _places(lost, names)
    shown["Algorithm"] = [Cell(row.name, row.name, link=f"#job-{row.key}")
                          for row in lost.itertuples()]  # fmt: skip
    shown = shown.assign(Reason=lost["reason"].where(lost["reason"] != "", "no reason recorded"))
    words = wording("unfinished-table", lost=len(lost), all=len(frame))
    return Table("unfinished-table", frame=shown, **words)


def _places(frame: pd.DataFrame, names: Names) -> pd.DataFrame:
    """Return algorithm, data, seed and status of jobs as cells."""
    return pd.DataFrame(
        {
            "Algorithm": frame["name"],
            "Data": [data_cell(data, names) for data in frame["data"]],
            "Seed": [Cell(str(seed), seed) for seed in frame["seed"]],
            "Status": [Cell(status, status, f"tag {status}") for status in frame["status"]],
        }
    )


def consumed(row: Any) -> str:
    """Return the units that a job consumed, and of how many if it should have consumed all."""
    if row.complete or not math.isfinite(row.budget):
        return f"{short(row.units, 7)} {row.unit}"
    return f"{short(row.units, 7)} of {short(row.budget, 7)} {row.unit}: ended early"


def job_log(row: Any, events: Sequence[Event]) -> JobLog:
    """Return the part of a job's page that is made from its log."""
    shown = job_payload(events)
    columns = shown["configurations"]["cells"]
    if shown["configurations"]["total"] <= SHORT:
        return JobLog(shown, Packed())
    shown["configurations"]["cells"] = [column[:SHORT] for column in columns]
    return JobLog(shown, packed(columns))


def job_payload(events: Sequence[Event]) -> dict[str, Any]:
    """Return all that the page of a job shows in addition to its row in the results."""
    records = configurations(events)
    return {
        "figures": [figure.payload() for figure in figures(records, events)],
        "configurations": configuration_table(records),
        "decisions": decision_table(records, events),
        "events": dict(Counter(type(event).__name__ for event in events).most_common()),
    }


def configuration_table(records: Sequence[Configuration]) -> dict[str, Any]:
    """Return all configurations by column, champion first, then by what they consumed."""
    order = sorted(
        records, key=lambda c: (OUTCOMES.index(c.outcome) > 0, -c.units, c.configuration)
    )
    names = names_of(records, 140)
    metric = next((record.metric for record in records if record.metric), "")
    columns: dict[str, Callable[[Configuration], Any]] = {
        "Configuration": lambda c: names[c.configuration],
        "Outcome": lambda c: c.outcome,
        "Origin": lambda c: f"{c.origin} from {c.parent}".strip() if c.parent is not None
        else c.origin,
        "Leases": lambda c: len(c.leases),
        "Units": lambda c: short_number(c.units, 6),
        f"Score ({metric})" if metric else "Score": lambda c: short_number(c.score),
        "Reason": lambda c: c.reason[:120],
    }  # fmt: skip
    return {
        "total": len(records),
        "outcomes": dict(Counter(record.outcome for record in records)),
        "columns": list(columns),
        "cells": [[value(record) for record in order] for value in columns.values()],
    }


def decision_table(records: Sequence[Configuration], events: Sequence[Event]) -> dict[str, Any]:
    """Return the algorithm's decisions: champions, eliminations, failures, then pauses."""
    names = names_of(records, 90)
    worded = [(event.at, event.words(lambda n: names.get(n, str(n)))) for event in events]
    decisions = [(at, *words) for at, words in worded if words]
    major = [row for row in decisions if row[1] != "paused"]
    # Pauses can be thousands: they fill what room the rarer decisions leave.
    margin = max(0, MOST_DECISIONS - len(major))
    minor = [row for row in decisions if row[1] == "paused"][:margin]
    if len(major) > MOST_DECISIONS:
        major = [*major[: MOST_DECISIONS // 2], *major[-(MOST_DECISIONS // 2) :]]
    rows = sorted([*major, *minor], key=lambda row: row[0])
    return {"total": len(decisions), "rows": [[short_number(a, 7), b, c] for a, b, c in rows]}


def repeat(made: Material) -> Section:
    """Return all that it takes to get the same numbers: commands, data, versions."""
    suite = (made.suite.file or made.suite.name if made.suite else "") or made.folder
    first = next(made.frame.itertuples(), None)
    command = "" if first is None else filled(command_of(first, commands_of(made.suite)), first)
    names = made.suite.described() if made.suite else []
    items = Markup("").join(Markup("<li>{}</li>").format(line) for line in names)
    installed = ", ".join(map(" ".join, packages().items()))
    text = [
        Markup("<p>The leaderboard: <code>leaseboard run {}</code>. Each number is one job; its"
               " page gives the command, such as</p><pre><code>{}</code></pre>")
        .format(suite, command),
        Markup("<p>The same seed gives the same events, byte for byte. Data from a mirror need"
               " <code>--mirror</code>. <code>leaseboard report</code> built this page from"
               " <code>results.parquet</code> and the event logs next to it.</p>"),
        Markup("<h3>Names</h3><ul>{}</ul>").format(items) if names else "",
        Markup("<h3>Versions</h3>"),
        f"Installed when this page was built: {installed}. {CODE}",
    ]  # fmt: skip

    def first_of(values: pd.Series) -> str:
        return next((str(value) for value in values if value), "–")

    by_data = made.frame.groupby("data", sort=False)
    digests = by_data["digest"].agg(lambda each: ", ".join(sorted({*each} - {""})) or "not read")
    frame = pd.DataFrame({
        "Data": [made.name(str(data)) for data in digests.index],
        "Reference": digests.index,
        "Digest": digests.to_numpy(),
        "Source": by_data["source"].agg(first_of).to_numpy(),
        "Licence": by_data["licence"].agg(first_of).to_numpy(),
    })  # fmt: skip
    table = Table("data-sets-table", frame=frame, **wording("data-sets-table"))
    shown = [paragraph for paragraph in text if paragraph]
    return Section("repeat", **wording("repeat"), text=shown, tables=[table])


def race_command(job: Job) -> str:
    """Return the `leaseboard race` that does the same work as a suite's `job`."""
    words = ["leaseboard", "race", job.algorithm, job.data, "--seed", str(job.seed)]
    if job.environment_seed != job.seed:
        words += ["--environment-seed", str(job.environment_seed)]
    if job.budget is not None:
        words += ["--budget", f"{job.budget:g}"]
    for key, value in {**job.settings, **job.environment}.items():
        dumped = yaml.safe_dump(value, default_flow_style=True, width=10**6)
        plain = value if isinstance(value, str) else dumped.removesuffix("...\n").strip()
        words += ["--set", f"{key}={plain}"]
    return shlex.join(words)


def commands_of(suite: Suite | None) -> Mapping[tuple[str, str, int], str]:
    """Return the command of every job of a suite, by label, data and repetition."""
    return {} if suite is None else {
        (job.name or job.algorithm, job.data, job.repetition): race_command(job)
        for job in suite.jobs()
    }  # fmt: skip


def command_of(row: Any, commands: Mapping[tuple[str, str, int], str]) -> str:
    """Return the command of the job whose results are `row`: its suite's, else one by its seed.

    The row's seeds are placeholders, which keeps ten thousand commands small: see `filled`.
    """
    command = commands.get((row.name, row.data, row.repetition)) or shlex.join(
        ["leaseboard", "race", row.algorithm, row.data, "--seed", str(row.seed)]
    )
    command = command.replace(f"--seed {row.seed}", "--seed {Seed}", 1)
    seed = f"--environment-seed {row.environment_seed}"
    return command.replace(seed, "--environment-seed {Environment seed}", 1)


def filled(command: str, row: Any) -> str:
    """Return a command of `command_of` with the seeds of its job."""
    known = {"{Seed}": str(row.seed), "{Environment seed}": str(row.environment_seed)}
    for name, seed in known.items():
        command = command.replace(name, seed, 1)
    return command
