"""The page of a run, ``report.html``, made of its results and event logs: its sections.

``texts.yaml`` has their wording.
"""

import json
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from markupsafe import Markup
from pydantic import ValidationError

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.events import Event, Measured, TrialFinished, of
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.checks import ALARM, Diagnostic
from leaseboard.tasks.jobs.job import plain_value
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine.terminal import counted
from leaseboard.tasks.report import page
from leaseboard.tasks.score.diagnostics import DiagnosedRun, signals
from leaseboard.tasks.score.frame import as_frame, metric_title, short
from leaseboard.tasks.score.leaderboard import TEST, UNFINISHED, Board, ScoreTable, score_table
from leaseboard.tasks.score.summary import Compared, compared, notes, texts
from leaseboard.tasks.track.records import JOBS, NIGHTS, runs_link, thin


@dataclass(frozen=True, kw_only=True)
class Material(DiagnosedRun):
    """Everything that a run's report is made from."""

    suite: Suite | None
    found: Compared
    """The comparison of the results."""
    curves: Mapping[tuple[str, str], Sequence[pd.Series]]
    """See `job_curve`, by dataset and algorithm."""
    mlflow: Mapping[str, str]
    """Where users see the run in MLflow: the address of its UI, and the ids of two experiments."""

    @property
    def labels(self) -> list[str]:
        """The algorithms in the order of the leaderboard."""
        return list(self.found.board.frame.index)

    @cached_property
    def diagnostics(self) -> list[Diagnostic]:
        """Findings of all codes that the suite does not ignore."""
        return self.findings(self.suite.ignore if self.suite else ())


def read_logs(
    out: Path, frame: pd.DataFrame
) -> tuple[dict[tuple[str, str], list[pd.Series]], dict[str, Sequence[Event]]]:
    """Read every event log once: the curves and the signals.

    A partial log gives what it holds.
    """
    curves, logs = defaultdict[tuple[str, str], list[pd.Series]](list), {}
    for row in counted(frame.itertuples(), "reading event logs", "jobs", len(frame)):
        path = out / "jobs" / str(row.key) / results.EVENTS
        if not (isinstance(row.events, str) and path.is_file()):  # none, or a damaged one
            continue
        events = results.read_partial_log(path)
        curve = job_curve(events) if row.status == "ok" else None
        if curve is not None:
            curves[row.data, row.name].append(curve)
        if found := signals(events):
            logs[str(row.key)] = found
    return curves, logs


LOWEST = -1.0
"""A score on the common scale below is not drawn at first: it would flatten all others."""
LABEL = 28
"""Characters of a name that are drawn."""
SYMBOLS = 25
"""Kinds of dots, taken in order, so that they differ in more than their colours."""


def leaderboard(made: Material) -> page.Section:
    """Return every algorithm by its mean rank, with the rules for missing results."""
    frame = texts(made.found)
    table = page.Table(
        "leaderboard-table", made.found.title, frame, key=list(frame).index("algorithm"),
        note=" ".join(notes(made.found)),
    )  # fmt: skip
    return page.Section("leaderboard", **page.wording("leaderboard"), tables=[table])


def pictures(board: Board) -> list[page.Figure]:
    """Return the scores with their intervals, and against their cost; relative losses if any."""
    of = "relative_loss" if board.has_baselines else "score"
    least = 0.0 if board.has_baselines else -math.inf  # on a logarithmic axis 0 has no place
    found = board.frame[board.frame[of].between(least, math.inf, inclusive="neither")]
    if found.empty:
        return []
    kind = board.scale.metric if board.one_set else f"{board.scale.name.split()[0]} score"
    across = page.axis(kind)
    if of == "relative_loss":
        across = page.axis("relative loss, less is better", **page.LOG)
    elif not board.one_set and found[of].min() < LOWEST < (high := found[of].max()):
        across["range"] = [LOWEST, high + 0.05 * (high - LOWEST)]
    values = found[of]
    spans = [board.span(name, of) for name in found.index]
    dots = page.scatter(
        "", values, range(len(values)), page.ACCENT, mode="markers", marker={"size": 10},
        hovertext=[page.text(f"{name}: {short(each.value)} {each.ends(4)}".rstrip())
                   for name, each in zip(found.index, spans, strict=True)],
        hovertemplate="%{hovertext}<extra></extra>",
        error_x={
            "type": "data", "symmetric": False, "thickness": 3, "width": 0,
            "array": (found[f"{of}_upper"] - values).fillna(0).tolist(),
            "arrayminus": (values - found[f"{of}_lower"]).fillna(0).tolist(),
        },
    )  # fmt: skip
    note = "A line is the 95 % interval." if any(map(math.isfinite, found[f"{of}_lower"])) else ""
    rows = page.named_rows(name[:LABEL] for name in found.index) | {"zeroline": False}
    drawn = [page.chart("Scores", note, [dots], across, rows, 100 + 26 * len(found))]
    if len(found) > 1 and (found["cpu_seconds"] > 0).any():
        # Names in the legend: next to the dots they would overlap.
        costs = [
            page.scatter(name, [cpu], [value], page.colour(i), mode="markers",
                    marker={"size": 10, "symbol": i % SYMBOLS})
            for i, (name, cpu, value) in enumerate(found[["cpu_seconds", of]].itertuples())
        ]  # fmt: skip
        note = "An algorithm is better the less time it takes for its score."
        seconds = page.axis("CPU seconds a job", **page.LOG)
        drawn.append(page.chart("Score against CPU time", note, costs, seconds, across, 440))
    return drawn


def diagnostics(made: Material) -> page.Section | None:
    """Return the findings of the diagnostics, alarms first; None without any."""
    if not made.diagnostics:
        return None
    rows = [
        {
            "Code": page.Cell(each.code, hint=each.meaning["title"]),
            "Severity": page.Cell(each.severity, "bad" if each.severity == ALARM else ""),
            "Found": str(each),
            "What to do": each.meaning["advice"],
        }
        for each in made.diagnostics
    ]
    words = page.wording("diagnostics-table")
    table = page.Table("diagnostics-table", frame=pd.DataFrame(rows), **words)
    return page.Section("diagnostics", **page.wording("diagnostics"), tables=[table])


def datasets(made: Material) -> page.Section:
    """Return mean and spread of the scores, and of test scores where there are any."""
    tables = {"scores-table": made.found.board.table}
    tested = score_table(made.frame, TEST)
    if tested.scores.notna().any(axis=None):
        tables["tested-table"] = tested
    metric = metric_title(made.found.board.scale.metric)
    shown = [
        page.Table(name, frame=_by_data(made, table), **page.wording(name, metric=metric))
        for name, table in tables.items()
    ]
    return page.Section("data", **page.wording("data"), tables=shown)


def _by_data(made: Material, table: ScoreTable) -> pd.DataFrame:
    """Return a row a dataset, with the algorithms as on the leaderboard; the best is bold."""
    means, sds, ranks = table.means, table.sds, table.ranks()

    def show(label: str, data: str) -> page.Cell:
        mean, sd, states = means.loc[label, data], sds.loc[label, data], table.states.loc[label]
        counts = {how: (states[data] == how).sum() for how in UNFINISHED}
        missing = ", ".join(f"{n} {how}" for how, n in counts.items() if n)
        words = short(mean) + (f" ± {short(sd, 2)}" if sd > 0 else "")
        best = np.isfinite(mean) and ranks.loc[label, data] == ranks[data].min()
        kind = "best" if best else "bad" if counts["failed"] else ""
        return page.Cell(f"{words} ({missing})" if missing else words, kind)

    rows = [
        [page.data_cell(data, made.names), *(show(label, data) for label in made.labels)]
        for data in means
    ]
    return pd.DataFrame(rows, columns=["Data", *made.labels], dtype=object)


def jobs(made: Material) -> page.Section:
    """Return every job, with its score, its cost, and why it did not finish."""
    words = page.wording("jobs")
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
            "Data": [page.data_cell(data, made.names) for data in frame["data"]],
            "Seed": frame["seed"].astype(str),
            "Status": [page.Cell(each, "" if each == "ok" else "bad") for each in frame["status"]],
            "Score": [short(score, 6) for score in frame["score"].where(ok)],
            "CPU s": [short(value, 3) for value in frame["cpu_seconds"].where(ok)],
            "Consumed": pd.Series(consumed, frame.index).where(ok, "–"),
            "Reason": list(frame["reason"]),
            "Key": frame["key"],
        }
    )
    table = page.Table(
        "jobs-table", frame=shown, **page.wording("jobs-table", n=f"{len(shown):,}")
    )
    return page.Section("jobs", **words, tables=[table])


MOST_POINTS = 40


def job_curve(events: Sequence[Event]) -> pd.Series | None:
    """Return what a job measured, by units; of pulls, the best reward so far."""
    points = {point.at: point.value for point in of(events, Measured)}
    if points:
        return pd.Series(points, dtype=float)
    trials = {each.at: each.reward for each in of(events, TrialFinished) if each.status == "ok"}
    return pd.Series(trials, dtype=float).cummax() if trials else None


def median_curve(curves: Sequence[pd.Series]) -> pd.Series:
    """Return the median of curves on the units of all, from where each has a value."""
    known = pd.concat(curves, axis=1).sort_index().ffill().dropna()
    return known.iloc[thin(len(known), MOST_POINTS)].median(axis=1)


def curves(made: Material) -> page.Section | None:
    """Return the scores of each dataset over time; None without a measured curve."""
    drawn: list[page.Figure] = []
    for data, rows in made.frame[made.frame["status"] == "ok"].groupby("data", sort=False):
        middles = {label: median_curve(made.curves[str(data), label]) for label in made.labels
                   if (data, label) in made.curves}  # fmt: skip
        if not middles:
            continue
        unit, metric = rows[["unit", "metric"]].iloc[0]
        name = made.names.get(str(data), str(data))
        # The losses of the first examples would flatten all later ones.
        low, high = min(map(min, middles.values())), max(map(max, middles.values()))
        up = page.LOG if 0 < 5 * low < high else {"tickformat": "~g"}
        traces = [
            page.scatter(label, middles[label].index, middles[label], page.colour(i),
                    line={"dash": "dash" if i >= len(page.PALETTE) else "solid"})
            for i, label in enumerate(made.labels) if label in middles
        ]  # fmt: skip
        title, note = f"Score while the budget is spent: {name}", "Median over repetitions."
        across, up = page.axis(unit, **page.LOG), page.axis(metric, **up)
        figure = page.chart(title, note, traces, across, up, 440)
        drawn.append(replace(figure, folded=title if drawn else ""))
    return page.Section("curves", **page.wording("curves"), figures=drawn) if drawn else None


SECTIONS: tuple[Callable[[Material], page.Section | None], ...] = (
    leaderboard, diagnostics, curves, datasets, jobs,
)  # fmt: skip
"""In the order of the page; one that has nothing to say of a run gives None."""


def read_diagnostics(out: Path) -> list[Diagnostic]:
    """Return the diagnostics of a run folder that `build` stored next to its page."""
    return [Diagnostic(**row) for row in json.loads((out / results.DIAGNOSTICS).read_bytes())]


def build(out: Path, suite: Suite | None = None, found: Compared | None = None) -> Path:
    """Write ``report.html`` of the run folder `out`, whole or not at all.

    - `out`: holds ``results.parquet`` and ``jobs/<key>/events.jsonl.gz``.
    - `suite`: gives title and scale; it is stored next to the page, so that
      `suite_of` finds it when the report is built again.
    - `found`: the comparison of these results, where it has been made already.

    Returns the path of the page.
    """
    frame = as_frame(results.rows(out))
    found, names = found or compared(frame, suite), suite.data_names if suite else {}
    curves, logs = read_logs(out, frame)
    mlflow = results.place_in_mlflow(out)
    made = Material(frame, names, logs, suite=suite, found=found, curves=curves, mlflow=mlflow)
    makers = counted(SECTIONS, "building the page", "sections")
    asked = page.wording("questions")
    content = page.page_of(
        suite.title if suite else out.name,
        [section for make in makers if (section := make(made)) is not None],
        description=suite.description if suite else "",
        answers=[[(asked[name], said) for name, said in made.found.answer.items()]],
        pictures=pictures(made.found.board),
    )
    if suite is not None:  # only now: what cannot be compared leaves the folder unchanged
        results.write_atomically(out / results.SUITE_FILE, suite.model_dump_json(indent=1))
    rows = json.dumps(plain_value([each._asdict() for each in made.diagnostics]))
    results.write_atomically(out / results.DIAGNOSTICS, rows)
    results.write_atomically(out / results.PAGE, content)
    return out / results.PAGE


def suite_of(out: Path) -> Suite | None:
    """Return the suite that `build` stored with an earlier page, None without such a page."""
    path = out / results.SUITE_FILE
    if not path.is_file():
        return None
    try:
        return Suite.model_validate_json(path.read_text(encoding="utf-8"))
    except ValidationError as error:
        raise UsageError(
            f"{path} is of another version ({error.error_count()} errors): run the suite again"
        ) from error
