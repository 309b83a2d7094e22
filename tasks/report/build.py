"""Build ``report.html`` from ``results.parquet`` and the event logs of a run folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import ValidationError

from algorithms.errors import UsageError, naming
from algorithms.events import read_log
from tasks.report import curves, data_views, exploitation, job_views, svg, views
from tasks.report.cells import named
from tasks.report.commands import commands_of
from tasks.report.curves import Curve
from tasks.report.job_page import job_payload
from tasks.report.pack import packed, packed_text
from tasks.report.policy import content_security_policy
from tasks.report.provenance import packages
from tasks.report.relative import figures as relative_figures
from tasks.report.relative import section as relative_section
from tasks.report.selection import Selections, section
from tasks.report.selection_figures import figures as selection_figures
from tasks.report.specs import Figure
from tasks.report.speed_up import Races
from tasks.report.stamp import is_stamped, stamp
from tasks.score import board as terminal
from tasks.score.compared import Compared, compared
from tasks.score.frame import read_frame
from tasks.score.leaderboard import Board
from tasks.score.published import published_against_measured
from tasks.score.relative import relative
from tasks.score.selection import with_metrics
from tasks.suites.suite import SUITE_FILE, Suite

PAGE = "report.html"


@dataclass
class Logs:
    """What the event logs of a run add to its results, read once."""

    payloads: dict[str, dict[str, Any]] = field(default_factory=dict)
    curves: dict[tuple[str, str], list[Curve]] = field(default_factory=dict)
    costs: dict[tuple[str, str], list[Curve]] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)
    selections: Selections = field(default_factory=Selections)
    races: Races = field(default_factory=Races)


def build(out: Path, suite: Suite | None = None, found: Compared | None = None) -> Path:
    """Write ``report.html`` of the run folder `out`, whole or not at all.

    Parameters
    ----------
    out : Path
        Holds ``results.parquet`` and ``jobs/<key>/events.jsonl.gz``.
    suite : Suite, optional
        Gives title, scale, published numbers and the commands; it is stored beside the page, so
        that `suite_of` finds it when the report is built again.
    found : Compared, optional
        The comparison of these results, where it has been made already.

    Returns
    -------
    Path
        Of the page.
    """
    frame = read_frame(out)
    if suite is not None:
        _replace(out / SUITE_FILE, suite.model_dump_json(indent=1))
    page = out / PAGE
    found = found or compared(frame, suite)
    logs, made_from = read_logs(out, frame), stamp(out, suite)
    _replace(page, render(frame, suite, found, logs, title=out.name, made_from=made_from))
    return page


def refresh(out: Path, suite: Suite | None, found: Compared) -> Path:
    """`build` the page, unless it is there and would come out the same."""
    page = out / PAGE
    return page if is_stamped(page, stamp(out, suite)) else build(out, suite, found)


def figures(found: Compared) -> str:
    """The pictures of the summary, small, as HTML without scripts."""
    board, tests = found.board, found.tests
    name = terminal.score_name(board)
    return svg.sheet(
        [
            (f"{name[:1].upper()}{name[1:]}", svg.intervals(board.rows, name)),
            ("Score against CPU seconds", svg.costs(board.rows, name)),
            ("Mean ranks", svg.critical_difference(tests)),
        ]
    )


def suite_of(out: Path) -> Suite | None:
    """The suite that `build` stored beside an earlier page, None if there is none."""
    path = out / SUITE_FILE
    if not path.is_file():
        return None
    try:
        return Suite.model_validate_json(path.read_text(encoding="utf-8"))
    except ValidationError as error:
        raise UsageError(
            f"{path} is of another version ({error.error_count()} errors): run the suite again"
        ) from error


def read_logs(out: Path, frame: pd.DataFrame) -> Logs:
    """Read every event log that is there; a partial log gives what it holds."""
    logs = Logs()
    for row in frame.itertuples():
        path = out / "jobs" / str(row.key) / "events.jsonl.gz"
        if not (isinstance(row.events, str) and path.is_file()):  # none, or not as its seal says
            continue
        events = []
        try:
            for event in read_log(path):
                events.append(event)  # noqa: PERF402  (what came before the damage is kept)
        except (OSError, EOFError, ValueError) as error:
            logs.damaged[str(row.key)] = f"the event log is damaged: {error}"
        if not events:
            continue
        logs.payloads[str(row.key)] = job_payload(events)
        logs.selections.add(row, events)
        logs.races.add(row, events)
        if row.status == "ok":
            cell = (row.label, row.data)
            logs.curves.setdefault(cell, []).append(curves.curve_of(events))
            logs.costs.setdefault(cell, []).append(curves.cost_curve_of(events))
    for key, pictures in logs.selections.figures().items():
        logs.payloads[key]["figures"] += pictures
    return logs


def render(
    frame: pd.DataFrame,
    suite: Suite | None,
    found: Compared,
    logs: Logs,
    *,
    title: str,
    made_from: str,
) -> str:
    """The page as HTML."""
    board, tests = found.board, found.tests
    scale = suite.normalise if suite else None
    zero, one = (scale.zero, scale.one) if scale else (None, None)
    claims = suite.published if suite else []
    selected = logs.selections.compared()
    derived = with_metrics(frame, selected)
    agreements = published_against_measured(derived, claims, zero, one)
    names = suite.data_names if suite else {}
    environment = Environment(
        loader=PackageLoader("tasks.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    related = relative(frame, suite.relative_to) if suite and suite.relative_to else None
    jobs = job_views.jobs(frame, commands_of(suite), logs.damaged, names)
    script, plotly = _static("report.js"), _plotly()
    context = {
        "title": suite.title if suite else title,
        "made_from": made_from,
        "name": (suite.name if suite else "") or title,
        "description": suite.description if suite else "",
        "summary": views.summary(found),
        "board": views.board(board, names),
        "figures": [
            {"id": f"curve-{i}", "title": label, "data": packed(figure.payload())}
            for i, (label, figure) in enumerate(anytime(frame, board, logs, names))
        ],
        "tests": views.tests(tests),
        "scores": data_views.scores(board, names),
        "tested": data_views.tested(frame, board, names),
        "normalised": data_views.normalised(board, names),
        "relative": data_views.relative(board, names, zero),
        "microseconds": data_views.microseconds(frame, board, names)
        if suite and suite.kind == "speed"
        else None,
        "published": views.published(agreements, names),
        "selection": section(selected, names),
        "selection_figures": [
            {"id": f"selection-{i}", "data": packed(figure.payload())}
            for i, figure in enumerate(selection_figures(selected, names))
        ],
        "relative_error": relative_section(related, names) if related else None,
        "relative_figures": [
            {"id": f"relative-{i}", "data": packed(figure.payload())}
            for i, figure in enumerate(relative_figures(related) if related else [])
        ],
        "speed_up": logs.races.section(names),
        "exploitation": exploitation.section(frame, [row.label for row in board.rows]),
        "unfinished": [job for job in jobs if job["status"] != "ok"],
        "jobs": jobs,
        "payloads": {
            job["key"]: packed({**job["page"], **logs.payloads.get(job["key"], {})})
            for job in jobs
        },
        "data_sets": job_views.data_sets(frame, names),
        "packages": packages(),
        "style": Markup(_static("report.css")),  # noqa: S704  (our own files)
        "script": Markup(script),  # noqa: S704
        "plotly": packed_text(plotly),
        "policy": content_security_policy([script, plotly]),
    }
    return environment.get_template("report.html").render(context)


def anytime(
    frame: pd.DataFrame, board: Board, logs: Logs, names: dict[str, str]
) -> list[tuple[str, Figure]]:
    """The anytime figures: ranks over all data sets first, then one of each data set."""
    labels = [row.label for row in board.rows]
    directions = dict(zip(board.table.problems, board.table.directions, strict=True))
    found: list[tuple[str, Figure]] = []
    if len(board.table.problems) > 1:
        ranks = curves.rank_figure(frame, logs.curves, labels, directions)
        if ranks is not None:
            found.append(("All data sets: mean rank", ranks))
    for data in board.table.problems:
        done = frame[(frame["data"] == data) & (frame["status"] == "ok")]
        if not len(done):
            continue
        first = done.iloc[0]
        name, metric = named(data, names), first["metric"]
        figure = curves.data_figure(data, logs.curves, labels, first["unit"], metric)
        if figure is not None:
            found.append((name, figure))
        figure = curves.data_figure(data, logs.costs, labels, "CPU seconds", metric)
        if figure is not None:
            found.append((f"{name}, by CPU seconds", figure))
    return found


def _plotly() -> str:
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    script: str = get_plotlyjs()
    return script


def _static(name: str) -> str:
    return (Path(__file__).parent / "static" / name).read_text(encoding="utf-8")


def _replace(path: Path, content: str) -> None:
    part = path.with_suffix(path.suffix + ".part")
    with naming(path):
        part.write_text(content, encoding="utf-8")
        part.replace(path)
