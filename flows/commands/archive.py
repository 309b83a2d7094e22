"""``leaseboard export``, ``merge``, ``verify``, ``publish``, ``prune``: results on the move."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leaseboard.algorithms.errors import UsageError
from leaseboard.flows.commands.options import Mirrors, TrackingUri
from leaseboard.flows.console import check_file, check_folder, new_folder, output_folder, say
from leaseboard.tasks.folder import results
from leaseboard.tasks.machine import disk, paths

if TYPE_CHECKING:
    from leaseboard.tasks.tend.folders import Rule, SurplusJobs
    from leaseboard.tasks.tend.verdict import BundleVerdict, Covered


def export(
    run: Annotated[Path, typer.Argument(help="The output folder of a run.")],
    file: Annotated[Path, typer.Argument(help="The bundle to write, such as quick.zip.")],
) -> int:
    """Write the results, events and configurations of a run into one file.

    Exits with 2 if a job is left out because its event log is not that of a run.

    Example: leaseboard export runs/quick quick.zip
    """
    from leaseboard.tasks.tend import bundle

    if not (run / "jobs").is_dir():
        raise UsageError(f"{str(run)!r} holds no results: name the output folder of a run")
    check_file(file)
    check_folder(run)
    with results.locked(run):
        manifest, left_out = bundle.export(run, file)
    jobs = sum(name.endswith(results.RESULT) for name in manifest.files)
    say(f"{file}: {jobs} jobs of {manifest.suite}, {disk.shown(file.stat().st_size)}")
    for why in left_out.values():
        say(f"leaseboard: left out: {why}", err=True)
    return 2 if left_out else 0


def merge(
    files: Annotated[list[Path], typer.Argument(help="Bundles of `leaseboard export`.")],
    out: Annotated[Path, typer.Option("--out", help="The run folder, new or there already.")],
    tracking_uri: TrackingUri = None,
) -> int:
    """Merge bundles of several machines into one run folder, MLflow and a report.

    Exits with 2 if two machines have different scores of one job, or the store failed.

    Example: leaseboard merge here.zip there.zip --out runs/both
    """
    from leaseboard.tasks.tend import bundle
    from leaseboard.tasks.tend.verdict import verdict_of

    bundles = [bundle.read(file) for file in files]  # all, before anything is written
    verdicts = {str(each.path): verdict_of(each) for each in bundles}

    from leaseboard.flows.benchmark import show_board
    from leaseboard.flows.executor import LocalExecutor, nothing_runs
    from leaseboard.tasks.tend import merge as core
    from leaseboard.tasks.track import Recorder, Tracker

    name = bundles[0].manifest.suite
    uri = paths.tracking_uri(tracking_uri)
    with new_folder(out) as home, results.locked(home):
        check_folder(home)
        merged = core.merge(bundles, home)
        rule = merged.suite.tracking.configurations if merged.suite else "all"
        keys = [result.key for result in merged.results]
        with Recorder(
            home, merged.results, lambda: Tracker(uri, name, keys, rule=rule)
        ) as recorder:
            pass
        known = None if recorder.problems else uri
        executor = LocalExecutor(nothing_runs, 1)
        problem = show_board(
            executor, merged.rows, merged.suite, name, home, known, found=merged.found
        )
    say(f"merged:  {len(merged.results)} jobs, {merged.added} of them new")
    for file, verdict in verdicts.items():
        if verdict is not None:  # whoever wrote it: a seal is no signature
            say(f"verdict: {file}: {verdict.outcome}, says somebody who did not sign")
    for line in merged.conflicts:
        say(f"leaseboard: conflict: {line}", err=True)
    problems = [*recorder.problems, *filter(None, [problem])]
    for line in problems:
        say(f"leaseboard: {line}", err=True)
    return 2 if merged.conflicts or problems else 0


MOST_LINES = 20
_CODES = {"agreed": 0, "refuted": 1, "agreed in part": 3, "undecided": 3}


def verify(
    bundle: Annotated[Path, typer.Argument(help="A bundle of `leaseboard export`.")],
    share: Annotated[
        float, typer.Option(min=0.0001, max=1, help="Of its jobs, to run again; at least 7 are.")
    ] = 0.02,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**31 - 1, help="Of the draw (default: one that nobody knows)."),
    ] = None,
    mirror: Mirrors = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Where to write the bundle with the verdict (default: there)."),
    ] = None,
) -> int:
    """Check every seal of a bundle, run a random share of its jobs again, and say what came.

    The verdict goes into the bundle. Exits with 1 if the bundle is refused or refuted, and with 3
    if it agrees in part, as some jobs or data could not be looked at, or nothing can decide it.

    Example: leaseboard verify there.zip --share 0.1
    """
    from secrets import SystemRandom

    from leaseboard.tasks.tend import verify as core
    from leaseboard.tasks.tend.bundle import read
    from leaseboard.tasks.tend.verdict import put

    if not bundle.is_file():
        raise UsageError(f"{str(bundle)!r}: no such file: name a bundle of `leaseboard export`")
    check_file(out or bundle)
    try:
        found = read(bundle)
    except UsageError as error:
        say(f"refused: {error}", err=True)
        return 1
    verdict = core.judge(
        found,
        share=share,
        seed=SystemRandom().randrange(2**31) if seed is None else seed,
        mirrors=paths.mirrors(tuple(mirror or ())),
        told=say,
    )
    _say_verdict(verdict)
    put(verdict, bundle, out or bundle)
    return _CODES[verdict.outcome]


def _say_verdict(verdict: BundleVerdict) -> None:
    for fault in verdict.faults[:MOST_LINES]:
        say(f"refuted: {fault}", err=True)
    if len(verdict.faults) > MOST_LINES:
        say(f"refuted: and {len(verdict.faults) - MOST_LINES} more faults", err=True)
    for data, why in verdict.unseen.items():
        say(f"not seen: {data}: {why}", err=True)
    for why, count in verdict.left.items():
        say(f"never drawn, {count} jobs: {why}")
    for line in verdict.stated:
        say(f"stated:  {line}")
    say(f"jobs:    {', '.join(f'{count} {status}' for status, count in verdict.jobs.items())}")
    say(f"could be drawn: {', '.join(_looked_at(*each) for each in verdict.covered.items())}")
    say(f"suite:   {verdict.suite}")
    say(f"drawn:   {len(verdict.again)} of {verdict.could_run}, with --seed {verdict.seed}")
    say(f"verdict: {verdict.outcome}; on the sender's word: {', '.join(verdict.unverified)}")


def _looked_at(label: str, covered: Covered) -> str:
    skipped = f" ({covered.skipped} skipped)" if covered.skipped else ""
    return f"{label} {covered.could_run} of {covered.ran}{skipped}"


def publish(
    runs: Annotated[list[Path], typer.Argument(help="Output folders of runs.")],
    out: Annotated[Path, typer.Option("--out", help="The site's folder, new or there already.")],
) -> None:
    """Add the boards of runs to a static site, which any web server shows, or a browser from disk.

    Boards that are there stay. The same boards make the same bytes, in whatever order they come.

    Example: leaseboard publish runs/quick runs/both --out site
    """
    for folder in runs:
        if not (folder / "results.parquet").is_file():
            raise UsageError(f"{str(folder)!r} has no results.parquet: name the --out of a run")

    from leaseboard.tasks.report import site as core

    for folder in runs:
        check_folder(folder)
    with new_folder(out) as place:
        made = core.publish(runs, place)
    for board in made.new:
        say(f"{board.id}: {board.title}, {board.jobs} jobs")
    say(f"site:    {made.page}, {len(made.listed)} board{'s' * (len(made.listed) != 1)}")


def prune(
    places: Annotated[
        list[Path] | None,
        typer.Argument(help="Run folders, or folders that have some (default: runs)."),
    ] = None,
    keep: Annotated[
        int, typer.Option(min=0, help="How many of each scenario stay, the newest.")
    ] = 1,
    older_than: Annotated[
        float | None,
        typer.Option(min=0, max=36_500, help="Only what is older than so many days."),
    ] = None,
    archive: Annotated[
        Path | None, typer.Option(help="First put what goes into bundles in this folder.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Do it; else only say what.")] = False,
    tracking_uri: TrackingUri = None,
) -> None:
    """Remove results that newer ones have replaced, in run folders and in MLflow.

    Says what would go and how much that is; nothing goes without --remove. Of every algorithm on
    every data set and repetition the newest result stays (--keep), and so does all that is being
    written, and every run with a registered model.

    Example: leaseboard prune --older-than 90 --archive old --remove
    """
    from datetime import UTC, datetime, timedelta

    from leaseboard.tasks.tend import folders as core
    from leaseboard.tasks.tend import stores as tracked

    now = datetime.now(UTC)
    before = None if older_than is None else now - timedelta(days=older_than)
    rule = core.Rule(keep, before)
    uri = paths.tracking_uri(tracking_uri)
    given = places or [place for place in [Path("runs")] if place.is_dir()]
    total = sum(
        _prune_folder(folder, rule, archive, now.strftime("%Y%m%dT%H%M%S"), remove=remove)
        for folder in core.run_folders(given)
    )
    races = core.race_surplus(given, rule)
    say(f"races: {len(races.folders)} of {races.of}, {disk.shown(races.size)}")
    if remove and races.folders:
        core.remove_races(races, None if archive is None else output_folder(archive))
    old = tracked.surplus(uri, rule)
    say(
        f"MLflow: {len(old.jobs)} jobs with {len(old.configurations)} configurations,"
        f" {len(old.suites)} suite runs, {len(old.deleted)} runs deleted earlier,"
        f" {disk.shown(old.size)} of artifacts"
    )
    total += len(races.folders) + len(old.runs)
    if not (total and remove):
        say("nothing was removed: add --remove" if total else "nothing to remove")
        return
    if old.runs and not tracked.remove(uri, old):
        say("MLflow: marked as deleted; `mlflow gc` on the server's machine frees the disk")
    say("removed")


def _prune_folder(
    folder: Path, rule: Rule, archive: Path | None, stamp: str, *, remove: bool
) -> int:
    """Say what goes from one run folder, and let it go if told to; returns how many jobs."""
    from leaseboard.tasks.tend import folders as core

    check_folder(folder)
    if not remove:
        return _say_surplus(core.surplus(folder, rule))
    with results.locked(folder):
        old = core.surplus(folder, rule)
        if not _say_surplus(old):
            return 0
        if archive is not None:
            from leaseboard.tasks.tend import bundle

            file = output_folder(archive) / f"{folder.resolve().name}-{stamp}.zip"
            left_out = bundle.export(folder, file, old.jobs).left_out
            say(f"{file}: {disk.shown(file.stat().st_size)}")
            for why in left_out.values():
                say(f"leaseboard: kept, since no bundle takes it: {why}", err=True)
            old = replace(old, jobs=[job for job in old.jobs if job.key not in left_out])
        shown = results.current(folder)
        core.remove(old)
        if 0 < len(results.current(folder)) < len(shown):
            from leaseboard.tasks import report

            report.build(folder, report.suite_of(folder))
    return len(old.jobs)


def _say_surplus(old: SurplusJobs) -> int:

    say(f"{old.out}: {len(old.jobs)} of {old.of} jobs, {disk.shown(old.size)}")
    return len(old.jobs)
