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
    loaded, home = open_suite(suite, out, conf)
    frame = _scores(loaded, home, workers, mirror, tracking_uri, local=local)
    limit = core.TOLERANCE if tolerance is None else tolerance
    verdict = core.gate(frame, core.read_baseline(_baseline(suite, loaded, conf)), limit)
    for path, text in (
        (markdown, gate_formats.markdown),
        (junit, gate_formats.junit),
        (json, gate_formats.as_json),
    ):
        if path is not None:
            path.write_text(text(verdict), encoding="utf-8")
    typer.echo(gate_formats.markdown(verdict))
    return verdict.exit_code


def accept(
    suite: SuiteName,
    out: Out = None,
    workers: Workers = None,
    local: Local = False,
    mirror: Mirrors = None,
    conf: Conf = None,
    tracking_uri: TrackingUri = None,
) -> None:
    """Run a suite and accept its scores as the baseline that `gate` compares with.

    Example: leaseboard accept ci
    """
    from datetime import UTC, datetime

    from tasks import gate as core
    from tasks.environment import versions

    loaded, home = open_suite(suite, out, conf)
    frame = _scores(loaded, home, workers, mirror, tracking_uri, local=local)
    today = datetime.now(UTC).date().isoformat()
    baseline = core.accept(frame, loaded.name, date=today, versions=versions())
    path = _baseline(suite, loaded, conf)
    core.write_baseline(path, baseline)
    typer.echo(f"accepted {len(baseline.scenarios)} scenarios in {path}")


def _baseline(named: str, suite: Suite, conf: Path | None) -> Path:
    """In the configuration folder, or beside a suite that was named as a file.

    So nobody's own scores end up in the installation.
    """
    from tasks.paths import conf_dir

    if conf is not None or Path(named).suffix not in (".yaml", ".yml"):
        folder = conf_dir(conf)
    else:
        folder = Path(named).resolve().parent
        if folder.name == "suites":
            folder = folder.parent
    return folder / "baselines" / f"{suite.name}.json"


def _scores(
    suite: Suite,
    home: Path,
    workers: int | None,
    mirror: list[Path] | None,
    tracking_uri: str | None,
    *,
    local: bool,
) -> pd.DataFrame:
    with resumable(home):
        outcome = execute(
            suite, home, mirror=mirror, workers=workers, local=local, tracking_uri=tracking_uri
        )

    from tasks.score.frame import as_frame

    return as_frame(outcome.results)
