"""``leaseboard gate`` and ``accept``: fail when an algorithm got worse than what was accepted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.commands.execute import execute, open_suite
from flows.commands.options import (
    Conf,
    Local,
    Mirrors,
    Out,
    SuiteName,
    TrackingUri,
    Workers,
    check_file,
)
from flows.interruption import resumable
from flows.terminal import say

if TYPE_CHECKING:
    import pandas as pd

    from tasks.config import Suite

Written = Annotated[Path | None, typer.Option(help="Also write it there.")]


def gate(
    suite: SuiteName,
    tolerance: Annotated[
        float | None, typer.Option(min=0, help="Relative drop that is still accepted.")
    ] = None,
    markdown: Written = None,
    junit: Written = None,
    json: Written = None,
    speed_against: Annotated[
        str | None, typer.Option(help="Also compare CPU times with this commit's, run just now.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="A scenario that became slower fails the gate.")
    ] = False,
    out: Out = None,
    workers: Workers = None,
    local: Local = False,
    mirror: Mirrors = None,
    conf: Conf = None,
    tracking_uri: TrackingUri = None,
) -> int:
    """Run a suite and compare it with its accepted scores; exits with 1 on a regression.

    Example: leaseboard gate ci --markdown comment.md
    """
    from tasks import gate as core
    from tasks import gate_formats

    for path in filter(None, (markdown, junit, json)):
        check_file(path)
    if speed_against is not None:
        from tasks.speed.commits import resolved

        resolved(speed_against)
    loaded, home = open_suite(suite, out, conf)
    frame, troubled = _scores(loaded, home, workers, mirror, tracking_uri, local=local)
    limit = core.TOLERANCE if tolerance is None else tolerance
    verdict = core.gate(frame, core.read_baseline(_accepted(suite, loaded, conf)), limit)
    page, slower = gate_formats.markdown(verdict), False
    for path, content in (
        (markdown, page),
        (junit, gate_formats.junit(verdict)),
        (json, gate_formats.as_json(verdict)),
    ):
        if path is not None:
            path.write_text(content, encoding="utf-8")
    say(page)
    if speed_against is not None:
        text, slower = _speed(loaded, frame, speed_against, mirror)
        say(text)
        if markdown is not None:
            markdown.write_text(f"{page}\n{text}", encoding="utf-8")
    if verdict.exit_code != core.PASSED:
        return verdict.exit_code
    if strict and slower:
        return core.REGRESSION
    return core.RUN_FAILED if troubled else core.PASSED


def accept(
    suite: SuiteName,
    out: Out = None,
    workers: Workers = None,
    local: Local = False,
    mirror: Mirrors = None,
    conf: Conf = None,
    tracking_uri: TrackingUri = None,
) -> int:
    """Run a suite and accept its scores as the baseline that `gate` compares with.

    Example: leaseboard accept ci
    """
    from datetime import UTC, datetime

    from tasks import gate as core
    from tasks.environment import versions

    loaded, home = open_suite(suite, out, conf)
    frame, troubled = _scores(loaded, home, workers, mirror, tracking_uri, local=local)
    today = datetime.now(UTC).date().isoformat()
    before = core.read_baseline(_accepted(suite, loaded, conf))
    baseline = core.accept(frame, loaded.name, date=today, versions=versions(), before=before)
    path = _own_baseline(suite, loaded, conf)
    core.write_baseline(path, baseline)
    say(f"accepted {len(baseline.scenarios)} scenarios in {path}")
    for gone in core.dropped(before, baseline):
        say(f"not accepted any more: {gone} has no score now", err=True)
    return core.RUN_FAILED if troubled else core.PASSED


def _speed(
    suite: Suite, frame: pd.DataFrame, commit: str, mirror: list[Path] | None
) -> tuple[str, bool]:
    """The comparison of CPU times as markdown, and whether a scenario became slower."""
    from flows.interruption import terminable
    from tasks import paths
    from tasks.speed import commits

    done = frame[frame["status"] == "ok"]
    ran = set(zip(done["label"], done["data"], strict=True))
    jobs = commits.timed([job for job in suite.jobs() if (job.label, job.data) in ran])
    with terminable():
        found, incomparable = commits.compare(
            jobs, commit, mirrors=paths.mirrors(tuple(mirror or ()))
        )
    page = commits.markdown(found, incomparable, commit)
    return page, any(speed.slower for speed in found)


def _accepted(named: str, suite: Suite, conf: Path | None) -> Path:
    """Where the accepted scores are: where `accept` writes them, or those that are shipped."""
    from tasks.paths import conf_files

    mine = _own_baseline(named, suite, conf)
    if mine.is_file() or _is_file(named):
        return mine
    return conf_files("baselines", conf, ".json").get(suite.name, mine)


def _own_baseline(named: str, suite: Suite, conf: Path | None) -> Path:
    """In the user's configuration folder, or beside a suite that was named as a file.

    It is ``./conf`` where there is none yet, so nobody's scores end up in the installation.
    """
    from tasks.paths import own_conf

    if conf is not None or not _is_file(named):
        folder = own_conf(conf) or Path("conf").resolve()
    else:
        folder = Path(named).resolve().parent
        if folder.name == "suites":
            folder = folder.parent
    return folder / "baselines" / f"{suite.name}.json"


def _is_file(named: str) -> bool:
    return Path(named).suffix in (".yaml", ".yml")


def _scores(
    suite: Suite,
    home: Path,
    workers: int | None,
    mirror: list[Path] | None,
    tracking_uri: str | None,
    *,
    local: bool,
) -> tuple[pd.DataFrame, bool]:
    """The results of a run, and whether it had trouble beside its jobs, which has been said."""
    with resumable(home):
        outcome = execute(
            suite, home, mirror=mirror, workers=workers, local=local, tracking_uri=tracking_uri
        )

    from tasks.score.frame import as_frame

    return as_frame(outcome.results), bool(outcome.problems)
