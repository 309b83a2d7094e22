"""The leaderboard with its charts, the diagnostics, the scores by dataset, and all jobs."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from markupsafe import Markup

from leaseboard.tasks.jobs.diagnostic_codes import ALARM
from leaseboard.tasks.report.charts import (
    ACCENT,
    LOG,
    MUTED,
    Figure,
    axis,
    chart,
    named_rows,
    scatter,
    text,
    wording,
)
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import Cell, Section, Table, data_cell, number
from leaseboard.tasks.score.board import notes, texts
from leaseboard.tasks.score.frame import metric_title
from leaseboard.tasks.score.leaderboard import TEST, UNFINISHED, Board, ScoreTable, score_table
from leaseboard.tasks.score.numbers import short
from leaseboard.tasks.score.summary import distinct
from leaseboard.tasks.track.records import JOBS, NIGHTS, runs_link

LOWEST = -1.0
"""A score on the common scale below is not drawn at first: it would flatten all others."""
LABEL = 28
"""Characters of a name that are drawn."""


def leaderboard(made: Material) -> Section:
    """Return every algorithm by its mean rank, with the rules for missing results."""
    frame = texts(made.found)
    table = Table(
        "leaderboard-table", made.found.title, frame, key=list(frame).index("algorithm"),
        note=" ".join(notes(made.found)),
    )  # fmt: skip
    return Section("leaderboard", **wording("leaderboard"), tables=[table])


def pictures(board: Board) -> list[Figure]:
    """Return the scores with their intervals, and against their cost; relative losses if any."""
    of = "relative_loss" if board.has_baselines else "score"
    least = 0.0 if board.has_baselines else -math.inf  # on a logarithmic axis 0 has no place
    found = board.frame[board.frame[of].between(least, math.inf, inclusive="neither")]
    if found.empty:
        return []
    kind = board.scale.metric if board.one_set else f"{board.scale.name.split()[0]} score"
    across = axis(kind)
    if of == "relative_loss":
        across = axis("relative loss, less is better", **LOG)
    elif not board.one_set and found[of].min() < LOWEST < (high := found[of].max()):
        across["range"] = [LOWEST, high + 0.05 * (high - LOWEST)]
    names, values = [text(name)[:LABEL] for name in found.index], found[of]
    spans = [board.span(name, of) for name in found.index]
    dots = scatter(
        "", values, range(len(values)), ACCENT, mode="markers", marker={"size": 10},
        hints=(f"{name}: {short(each.value)} {each.ends(4)}".rstrip()
               for name, each in zip(found.index, spans, strict=True)),
        error_x={
            "type": "data", "symmetric": False, "thickness": 3, "width": 0,
            "array": (found[f"{of}_upper"] - values).fillna(0).tolist(),
            "arrayminus": (values - found[f"{of}_lower"]).fillna(0).tolist(),
        },
    )  # fmt: skip
    note = "A line is the 95 % interval." if any(map(math.isfinite, found[f"{of}_lower"])) else ""
    rows = named_rows(name[:LABEL] for name in found.index) | {"zeroline": False}
    drawn = [chart("Scores", note, [dots], across, rows, 100 + 26 * len(found))]
    if len(found) > 1 and (found["cpu_seconds"] > 0).any():
        costs = scatter(
            "", found["cpu_seconds"], values, ACCENT, mode="markers+text", text=names,
            textposition="top center", cliponaxis=False, textfont={"size": 11, "color": MUTED},
        )  # fmt: skip
        note = "An algorithm is better the less time it takes for its score."
        seconds = axis("CPU seconds a job", **LOG)
        drawn.append(chart("Score against CPU time", note, [costs], seconds, across, 380))
    return drawn


def diagnostics(made: Material) -> Section | None:
    """Return the findings of the diagnostics, alarms first; None without any."""
    if not made.diagnostics:
        return None
    rows = [
        {
            "Code": Cell(each.code, hint=each.meaning["title"]),
            "Severity": Cell(each.severity, "bad" if each.severity == ALARM else ""),
            "Found": str(each),
            "What to do": each.meaning["advice"],
        }
        for each in made.diagnostics
    ]
    words = wording("diagnostics-table")
    table = Table("diagnostics-table", frame=pd.DataFrame(rows), **words)
    return Section("diagnostics", **wording("diagnostics"), tables=[table])


def datasets(made: Material) -> Section:
    """Return mean and spread of the scores, and of test scores where there are any."""
    tables = {"scores-table": made.found.board.table}
    tested = score_table(distinct(made.frame), TEST)
    if np.isfinite(tested.scores).any():
        tables["tested-table"] = tested
    metric = metric_title(made.found.board.scale.metric)
    shown = [
        Table(name, frame=_by_data(made, table), **wording(name, metric=metric))
        for name, table in tables.items()
    ]
    return Section("data", **wording("data"), tables=shown)


def _by_data(made: Material, table: ScoreTable) -> pd.DataFrame:
    """Return a row a dataset, with the algorithms as on the leaderboard; the best is bold."""
    means, sds, ranks = table.means, table.sds, table.ranks()

    def show(i: int, p: int) -> Cell:
        states = table.states[i, p]
        counts = {word: int((states == state).sum()) for state, word in UNFINISHED.items()}
        missing = ", ".join(f"{n} {word}" for word, n in counts.items() if n)
        words = short(means[i, p]) + (f" ± {short(sds[i, p], 2)}" if sds[i, p] > 0 else "")
        best = np.isfinite(means[i, p]) and ranks[i, p] == np.nanmin(ranks[:, p])
        kind = "best" if best else "bad" if counts["failed"] else ""
        return Cell(f"{words} ({missing})" if missing else words, kind)

    order = [table.labels.index(label) for label in made.labels]
    rows = [
        [data_cell(data, made.names), *(show(i, p) for i in order)]
        for p, data in enumerate(table.problems)
    ]
    return pd.DataFrame(rows, columns=["Data", *made.labels], dtype=object)


def jobs(made: Material) -> Section:
    """Return every job, with its score, its cost, and why it did not finish."""
    words = wording("jobs")
    if made.mlflow:
        ui, experiment = made.mlflow["ui"], made.mlflow["jobs"]
        runs = {"the leaderboards over time": NIGHTS, "the jobs": JOBS}
        links = [Markup("<a href='{}/{}'>{}</a>").format(ui, runs_link(experiment, of), what)
                 for what, of in runs.items()]  # fmt: skip
        words["text"].append(Markup("In MLflow: {}.").format(Markup(", ").join(links)))
    frame = made.frame.sort_values("status", key=lambda status: status == "ok", kind="stable")
    ok = frame["status"] == "ok"
    consumed = [f"{short(row.units, 7)} {row.unit}" for row in frame.itertuples()]
    shown = pd.DataFrame(
        {
            "Algorithm": frame["name"],
            "Data": [data_cell(data, made.names) for data in frame["data"]],
            "Seed": frame["seed"].astype(str),
            "Status": [Cell(each, "" if each == "ok" else "bad") for each in frame["status"]],
            "Score": [number(score, 6) for score in frame["score"].where(ok)],
            "CPU s": [number(value, 3) for value in frame["cpu_seconds"].where(ok)],
            "Consumed": pd.Series(consumed, frame.index).where(ok, "–"),
            "Reason": [made.damaged.get(row.key, row.reason) for row in frame.itertuples()],
            "Key": frame["key"],
        }
    )
    table = Table("jobs-table", frame=shown, **wording("jobs-table", n=f"{len(shown):,}"))
    return Section("jobs", **words, tables=[table])
