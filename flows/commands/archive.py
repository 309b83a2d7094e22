"""``leaseboard results``: merge run folders, and prune what newer results have replaced."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from leaseboard.algorithms.errors import UsageError
from leaseboard.flows.commands.options import (
    Commands,
    FlowsCommand,
    arg,
    opt,
)
from leaseboard.flows.console import (
    output_folder,
    report_damage,
    say,
)
from leaseboard.tasks.machine import environment

_FOLDERS = "Run folders, or folders that hold some (default: runs)."
_KEEP = "Number of the newest results of each algorithm and dataset that stay."
_YES = "Do it; without this flag, only print what would be done."
app = typer.Typer(
    cls=Commands,
    help="Merge the results of several machines, and prune old ones.",
    no_args_is_help=True,
)


@app.command("merge", cls=FlowsCommand)
def merge(
    folders: Annotated[list[Path], arg("Run folders, copied from other machines.")],
    run_dir: Annotated[Path, opt("Folder for results: a new one, or of a merge.", "DIR")],
) -> int:
    """Merge run folders of several machines into one, with MLflow and a report page.

    Exits with 2 if MLflow failed.

    Example: leaseboard results merge runs/here copies/there --run-dir runs/both
    """
    from leaseboard.tasks.folder import results

    for folder in folders:
        if not (folder / "jobs").is_dir():
            raise UsageError(f"{str(folder)!r} holds no results: name the output folder of a run")

    from leaseboard.flows.benchmark import idle, show_board
    from leaseboard.tasks.archive import runs as core
    from leaseboard.tasks.track.tracker import Recorder, Tracker

    uri = environment.tracking_uri()
    home = output_folder(run_dir)
    with results.locked(home):
        code = report_damage(*folders, home)
        merged = core.merge(folders, home)
        name = merged.suite.name if merged.suite else folders[0].resolve().name
        rule = merged.suite.tracking.configurations if merged.suite else "all"
        keys = [result.key for result in merged.results]
        with Recorder(
            home, merged.results, lambda: Tracker(uri, name, keys, rule=rule)
        ) as recorder:
            pass
        known = None if recorder.problems else uri
        problem, _ = show_board(
            idle(), merged.rows, merged.suite, name, home, known, found=merged.found
        )
    say(f"merged:  {len(merged.results)} jobs, {merged.added} of them new")
    problems = [*recorder.problems, *filter(None, [problem])]
    for line in problems:
        say(f"leaseboard: {line}", err=True)
    return 2 if problems else code


@app.command("prune", cls=FlowsCommand)
def prune(
    folders: Annotated[list[Path] | None, arg(_FOLDERS)] = None,
    keep: Annotated[int, opt(_KEEP, "N", min=0)] = 1,
    yes: Annotated[bool, opt(_YES, "", "--yes")] = False,
) -> None:
    """Remove results that newer ones have replaced, in run folders.

    The newest result of each algorithm on each dataset and repetition stays. In MLflow, delete
    runs on its pages, then run `mlflow gc`.

    Example: leaseboard results prune --yes
    """
    from leaseboard.tasks.archive import runs as core

    given = folders or [place for place in [Path("runs")] if place.is_dir()]
    total = sum(_prune_folder(folder, keep, remove=yes) for folder in core.run_folders(given))
    if not (total and yes):
        say("nothing was removed: add --yes" if total else "nothing to remove")
        return
    say("removed")


def _prune_folder(folder: Path, keep: int, *, remove: bool) -> int:
    """Print what goes from a run folder, remove it if `remove`; return how many jobs."""
    from leaseboard.tasks.archive import runs as core
    from leaseboard.tasks.folder import results
    from leaseboard.tasks.machine import disk

    report_damage(folder)
    with results.locked(folder) if remove else nullcontext():
        jobs, of = core.surplus_jobs(folder, keep), len(results.read_results(folder))
        say(f"{folder}: {len(jobs)} of {of} jobs, {disk.shown(core.size_of(folder, jobs))}")
        if not (jobs and remove):
            return len(jobs)
        shown = results.current(folder)
        core.remove_jobs(folder, jobs)
        if 0 < len(results.current(folder)) < len(shown):
            from leaseboard.tasks.report import build

            build.build(folder, build.suite_of(folder))
    return len(jobs)
