"""``leaseboard run``, ``plan``, ``report``, ``compare``: a suite, its page, and two runs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.flows.commands.model import register_winners
from leaseboard.flows.commands.options import (
    Cluster,
    Conf,
    Local,
    Metric,
    Mirrors,
    NoBaselines,
    Out,
    SuiteName,
    TrackingUri,
    Workers,
    show_table,
)
from leaseboard.flows.console import check_file, check_folder, resumable, say
from leaseboard.tasks.folder.results import read_result, shown_at
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.terminal import show

if TYPE_CHECKING:
    from leaseboard.tasks.jobs.suites.plan import Planned
    from leaseboard.tasks.jobs.suites.suite import Suite
    from leaseboard.tasks.score.compared import Compared


def run(
    suite: SuiteName,
    out: Out = None,
    workers: Workers = None,
    local: Local = False,
    cluster: Cluster = None,
    mirror: Mirrors = None,
    conf: Conf = None,
    tracking_uri: TrackingUri = None,
    metric: Metric = None,
    no_baselines: NoBaselines = False,
    register: Annotated[
        bool, typer.Option("--register", help="Register the winners, see `leaseboard model`.")
    ] = False,
) -> int:
    """Run a suite: skip what is done, run the rest, print the leaderboard.

    Example: leaseboard run quick
    """
    from leaseboard.flows.dispatch import How, execute, exit_code, open_suites

    if cluster and (local or workers):
        raise UsageError("--cluster excludes --local and --workers: Dask's workers do the work")
    how = How(workers, local, cluster, tuple(mirror or ()), tracking_uri)
    codes = []
    for loaded, home in open_suites(suite, out, conf, baselines=not no_baselines):
        with resumable(home):
            code = exit_code(execute(_ranked_by(metric, loaded), home, how))
        if register and code == 0:
            register_winners(loaded, home, None, mirror=mirror, tracking_uri=tracking_uri)
        codes.append(code)
    return _together(codes)


def plan(
    suite: SuiteName,
    out: Out = None,
    mirror: Mirrors = None,
    conf: Conf = None,
    no_baselines: NoBaselines = False,
) -> int:
    """Print the jobs of a suite, what is done and what will run; run nothing.

    Example: leaseboard plan paper-chacha
    """
    from leaseboard.flows.dispatch import open_suites

    opened = open_suites(suite, out, conf, baselines=not no_baselines)
    return _together([_show_plan(loaded, home, mirror) for loaded, home in opened])


def _show_plan(loaded: Suite, home: Path, mirror: list[Path] | None) -> int:
    from leaseboard.flows.benchmark import look
    from leaseboard.tasks import fetch

    mirrors = paths.mirrors(tuple(mirror or ()))
    planned = look(loaded, home, lambda reference: fetch.load(reference, mirrors=mirrors).digest)
    names = loaded.data_names
    called = [names.get(e.job.data, e.job.data) for e in planned]
    rows = [
        (e.job.label, data, str(e.job.seed), e.key, _state(e, home))
        for e, data in zip(planned, called, strict=True)
    ]
    show_table("", ("algorithm", "data", "seed", "key", "state"), rows)
    say(_summary(planned))
    for what in ("crash", "skipped"):
        reasons = (entry.fault if what == "crash" else entry.obstacle for entry in planned)
        for reason, count in Counter(filter(None, reasons)).items():
            say(f"{what}, {count} jobs: {reason}")
    if any(entry.fault for entry in planned):
        return 2
    return 0 if any(not entry.obstacle for entry in planned) else 3


def report(
    runs: Annotated[list[Path], typer.Argument(help="Output folders of earlier runs.")],
    metric: Metric = None,
    board: Annotated[
        str | None,
        typer.Option("--board", help="Print the board of one run as csv, latex or markdown."),
    ] = None,
) -> None:
    """Build the report of one or several runs again from their results and events.

    With --board it prints the board alone, and leaves the page as it is. --metric is of this page
    or board alone: the run stays what it is.

    Example: leaseboard report runs/quick --board latex > board.tex
    """
    for folder in runs:
        if not (folder / "results.parquet").is_file():
            raise UsageError(f"{str(folder)!r} has no results.parquet: name the --out of a run")
    from leaseboard.tasks.report import build
    from leaseboard.tasks.score.board import FORMATS

    if board is not None:
        if board not in FORMATS:
            raise unknown("board", board, sorted(FORMATS))
        if len(runs) > 1:
            raise UsageError(f"--board {board} of {len(runs)} runs: name one")

    found = []
    for folder in runs:
        check_folder(folder)
        found.append((folder, *_ranked(folder, metric)))
    for folder, suite, ranked, compared in found:  # now that all of them can be ranked
        if board is None:
            say(build(folder, suite, compared, ranked=ranked))
        else:
            say(FORMATS[board](compared).rstrip("\n"))


def _ranked(folder: Path, metric: str | None) -> tuple[Suite | None, Suite | None, Compared]:
    """The suite of a run, the same by `metric` if it is given, and the comparison by that."""
    from leaseboard.tasks.report import suite_of
    from leaseboard.tasks.score.compared import compared
    from leaseboard.tasks.score.frame import as_frame

    suite = ranked = suite_of(folder)
    if metric is not None:
        if suite is None:
            raise UsageError(f"{str(folder)!r} is of no suite: run one, with --metric {metric}")
        ranked = _ranked_by(metric, suite)
    try:
        return suite, ranked, compared(as_frame(shown_at(folder)), ranked)
    except UsageError as error:
        raise UsageError(f"{str(folder)!r}: {error}") from error


def _ranked_by(metric: str | None, suite: Suite) -> Suite:
    """`suite`, whose boards rank by `metric` if it is given."""
    from leaseboard.tasks.score.frame import check_measure

    return suite.model_copy(update={"metric": check_measure(metric)}) if metric else suite


def _together(codes: list[int]) -> int:
    """One exit code: a failed run weighs most, and nothing was run only where all ran nothing."""
    return 2 if 2 in codes else min(codes)


def _state(entry: Planned, home: Path) -> str:
    """What becomes of a job; of one that failed before, also how."""
    if entry.fault or entry.obstacle:
        return "crash" if entry.fault else "skipped"
    if entry.done:
        return "done"
    before = read_result(home, entry.key)
    return "to run" if before is None else f"to run (was {before.status})"


def _summary(planned: list[Planned]) -> str:
    done = sum(entry.done for entry in planned)
    skipped = sum(bool(entry.obstacle) for entry in planned)
    failed = sum(bool(entry.fault) for entry in planned)
    waiting = sum(entry.waits for entry in planned)
    crash = f" {failed} cannot run," if failed else ""
    return (
        f"{len(planned)} jobs: {done} done, {waiting} to run,{crash} {skipped} skipped."
        f"{_estimate(planned)}"
    )


def _estimate(planned: list[Planned]) -> str:
    """What the waiting jobs will cost, by the mean of the finished ones of the same algorithm."""
    waiting = [entry.job.label for entry in planned if entry.waits]
    if not waiting:
        return ""
    known: dict[str, list[float]] = {}
    for entry in planned:
        if entry.earlier is not None:
            known.setdefault(entry.job.label, []).append(entry.earlier.cpu_seconds)
    costs = [sum(known[label]) / len(known[label]) for label in waiting if label in known]
    unknown = len(waiting) - len(costs)
    tail = f", and {unknown} jobs of algorithms without a finished one" if unknown else ""
    return f" Estimated cost: {sum(costs):.1f} CPU s{tail}."


def compare(
    a: Annotated[Path, typer.Argument(help="The output folder of a run.")],
    b: Annotated[Path, typer.Argument(help="The output folder of another run.")],
    json: Annotated[Path | None, typer.Option(help="Also write it there as JSON.")] = None,
) -> int:
    """Say what changed from run A to run B, seed by seed, and whether chance explains it.

    Example: leaseboard compare runs/before runs/after
    """
    from leaseboard.tasks.score import compare as core
    from leaseboard.tasks.score.frame import as_frame

    if json is not None:
        check_file(json)
    found = core.compare(*(as_frame(shown_at(run)) for run in (a, b)))
    if json is not None:
        json.write_text(core.as_json(found), encoding="utf-8")
    show(core.renderable(found, (str(a), str(b))))
    return 0 if found.n_compared else 3
