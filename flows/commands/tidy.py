"""``leaseboard prune``: old results and old runs, shown first, then archived and removed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leaseboard.flows.commands.options import TrackingUri
from leaseboard.flows.folders import check_folder, output_folder
from leaseboard.flows.terminal import say

if TYPE_CHECKING:
    from leaseboard.tasks.tend.folders import Rule, SurplusJobs


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

    from leaseboard.tasks.machine import disk, paths
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
    from leaseboard.tasks.folder import results
    from leaseboard.tasks.machine import disk
    from leaseboard.tasks.tend import folders as core

    check_folder(folder)
    if not remove:
        return _say(core.surplus(folder, rule))
    with results.locked(folder):
        old = core.surplus(folder, rule)
        if not _say(old):
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


def _say(old: SurplusJobs) -> int:
    from leaseboard.tasks.machine import disk

    say(f"{old.out}: {len(old.jobs)} of {old.of} jobs, {disk.shown(old.size)}")
    return len(old.jobs)
