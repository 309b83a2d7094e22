"""``leaseboard export`` and ``merge``: carry results between machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leaseboard.flows.commands.options import TrackingUri
from leaseboard.flows.folders import check_file, check_folder, new_folder
from leaseboard.flows.terminal import say


def export(
    run: Annotated[Path, typer.Argument(help="The output folder of a run.")],
    file: Annotated[Path, typer.Argument(help="The bundle to write, such as quick.zip.")],
) -> int:
    """Write the results, events and configurations of a run into one file.

    Exits with 2 if a job is left out because its event log is not that of a run.

    Example: leaseboard export runs/quick quick.zip
    """
    from leaseboard.algorithms.errors import UsageError
    from leaseboard.tasks.folder import results
    from leaseboard.tasks.machine import disk
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
    from leaseboard.flows.steps import Locally, nothing_runs
    from leaseboard.tasks.folder import results
    from leaseboard.tasks.machine import paths
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
        steps = Locally(nothing_runs, 1)
        problem = show_board(
            steps, merged.rows, merged.suite, name, home, known, found=merged.found
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
