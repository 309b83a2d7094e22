"""``leaseboard run``, ``report``, ``gate``, ``results``: a suite, its page, accepted scores."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.flows.commands.options import (
    Command,
    Local,
    Register,
    RunDir,
    arg,
    group,
    opt,
    show_table,
)
from leaseboard.flows.console import output_folder, report_damage, resumable, say, terminable
from leaseboard.tasks.machine import environment
from leaseboard.tasks.machine.terminal import counted

if TYPE_CHECKING:
    from leaseboard.tasks.jobs.job import Result
    from leaseboard.tasks.jobs.suites.suite import Suite
    from leaseboard.tasks.models.winner import Fitted

SuiteName = Annotated[str, arg("A name of `leaseboard list suites`, or a YAML file.")]
_PLAN = "Print what would be done, and do nothing."
_WORKERS = "Worker processes (default: one a core)."
_DASK = "Address of a Dask scheduler to run on, such as tcp://10.0.0.1:8786."


def run(
    suite: SuiteName,
    dry_run: Annotated[bool, opt(_PLAN, "", "--dry-run")] = False,
    run_dir: RunDir = None,
    workers: Annotated[int | None, opt(_WORKERS, "N", min=1)] = None,
    local: Local = False,
    cluster: Annotated[str | None, opt(_DASK, "ADDRESS")] = None,
    register: Register = None,
) -> int:
    """Run a suite of algorithms on datasets: skip what is done, run the rest, print a leaderboard.

    The run folder gets results.parquet, the event logs and report.html. With --register and
    several datasets, the best model on each is NAME-DATASET.

    Example: leaseboard run quick
    """
    from leaseboard.flows.dispatch import RunOptions, execute, exit_code, open_suites
    from leaseboard.tasks.models.registry import check_name

    if cluster and (local or workers):
        raise UsageError("--cluster excludes --local and --workers: Dask's workers do the work")
    options = RunOptions(workers, local, cluster)
    if register is not None:
        check_name(register)
    codes = []
    for loaded, home in open_suites(suite, run_dir):
        if dry_run:
            codes.append(_show_plan(loaded, home))
            continue
        with resumable(home):
            code = exit_code(execute(loaded, home, options))
        if register is not None and code:
            say(f"nothing is registered: the run ended with exit code {code}", err=True)
        elif register is not None:
            register_winners(loaded, home, register)
        codes.append(code)
    return next((bad for bad in (2, 1) if bad in codes), min(codes))  # 3: all ran nothing


def _show_plan(loaded: Suite, home: Path) -> int:
    from leaseboard.flows.benchmark import plan_jobs
    from leaseboard.tasks.fetch import loading

    names = loaded.data_names
    planned = plan_jobs(loaded, home, lambda each: loading.load(each).digest)
    rows = [(e.job.name, names.get(e.job.data, e.job.data), str(e.job.seed), e.key, e.state)
            for e in planned]  # fmt: skip
    show_table("", ("algorithm", "data", "seed", "key", "state"), rows)
    statuses = Counter(entry.status for entry in planned)
    crash = f" {statuses['crash']} cannot run," if statuses["crash"] else ""
    say(
        f"{len(planned)} jobs: {sum(e.done for e in planned)} done,"
        f" {sum(e.waits for e in planned)} to run,{crash} {statuses['skipped']} skipped."
    )
    reasons = Counter((entry.status, entry.reason) for entry in planned if entry.status)
    for (status, reason), count in reasons.items():
        say(f"{status}, {count} jobs: {reason}")
    if crash:
        return 2
    return 0 if statuses["skipped"] < len(planned) else 3


def report(runs: Annotated[list[Path], arg("Folders of finished runs.")]) -> int:
    """Build the report page of one or several runs again from their results and event logs.

    Exits with 2 if a job is not done: its files were edited or damaged.

    Example: leaseboard report runs/quick
    """
    from leaseboard.tasks.folder.results import TABLE
    from leaseboard.tasks.report.build import build, suite_of

    for folder in runs:
        if not (folder / TABLE).is_file():
            raise UsageError(f"{str(folder)!r} has no {TABLE}: name the folder of a run")

    code = report_damage(*runs)
    for folder in runs:
        say(build(folder, suite_of(folder)))
    return code


def register_winners(suite: Suite, run: Path, name: str) -> None:
    """Register the winner on every dataset of the suite, under a name for each.

    A failure is reported, and the other winners are registered.
    """
    from leaseboard.tasks.folder.results import current
    from leaseboard.tasks.models.registry import slug
    from leaseboard.tasks.models.winner import fit, winner_of

    report_damage(run)
    results = current(run)
    failures = 0
    for entry in counted(suite.data, "registering", "models"):
        own = f"{name}-{slug(entry.name or entry.data)}" if len(suite.data) > 1 else name
        try:
            job, found = winner_of(suite.jobs(), results, entry.data)
            with terminable():
                fitted = fit(job, found[0])
            record(own, fitted, found, suite.name)
        except LeaseboardError as error:
            if len(suite.data) == 1:
                raise
            say(f"not registered: the winner on {entry.data}: {error}", err=True)
            failures += 1
    if failures:
        raise LeaseboardError(
            f"{failures} of {len(suite.data)} winners were not registered: fix the errors"
            " above, and register again"
        )


def record(name: str, fitted: Fitted, results: list[Result], group: str) -> None:
    """Register a fitted model and print how to use it."""
    from leaseboard.tasks.models import registry

    version = registry.register(environment.tracking_uri(), name, fitted, results, group=group)
    say(
        f"registered {results[0].name} on {results[0].data} as models:/{name}/{version}, alias"
        " challenger; for the alias champion open `leaseboard ui`",
        err=True,
    )


_UPDATE = "Write the scores of this run as baseline scores, and compare nothing."
_SEEDS = "Number of seeds that --update-baseline records (default: 24)."


def gate(
    suite: SuiteName,
    update_baseline: Annotated[bool, opt(_UPDATE, "", "--update-baseline")] = False,
    repetitions: Annotated[int | None, opt(_SEEDS, "N", min=1)] = None,
    run_dir: RunDir = None,
    local: Local = False,
) -> int:
    """Run a suite and compare it with its baseline scores and requirements, for CI.

    Exits with 0 if all pass, with 1 for a regression, with 2 if a job failed, and with 3 if
    nothing could be compared. The verdict is Markdown. Baseline scores are in
    conf/baselines/NAME.json, or in baselines/NAME.json next to a suite that is a YAML file.

    Example: leaseboard gate ci > comment.md
    """
    from leaseboard.flows.dispatch import RunOptions
    from leaseboard.flows.gate import Gate
    from leaseboard.tasks.score.summary import several
    from leaseboard.tasks.score.verdict import markdown

    if repetitions is not None and not update_baseline:
        raise UsageError("--repetitions needs --update-baseline: the gate repeats where in doubt")
    made = Gate(suite, run_dir, RunOptions(local=local, boarded=False))
    if update_baseline:
        accepted, path = made.accept(repetitions or 24)
        say(f"accepted {several(len(accepted.scenarios), 'scenario')} in {path}")
        return 2 if made.problems else 0
    verdict = made.compare()
    say(markdown(verdict).rstrip())
    return verdict.exit_code


_FOLDERS = "Run folders, or folders that hold some (default: runs)."
_KEEP = "Number of the newest results of each algorithm and dataset that stay."
_YES = "Do it; without this flag, only print what would be done."
archive = group("Merge the results of several machines, and prune old ones.")


@archive.command("merge", cls=Command)
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

    from leaseboard.flows.benchmark import Executor, show_board
    from leaseboard.tasks.archive import runs as core

    home = output_folder(run_dir)
    with results.locked(home):
        code = report_damage(*folders, home)
        merged = core.merge(folders, home)
        name = merged.suite.name if merged.suite else folders[0].resolve().name
        problem, _ = show_board(
            Executor(), merged.results, merged.suite, name, home, environment.tracking_uri(),
            found=merged.found, logged=False,
        )  # fmt: skip
    say(f"merged:  {len(merged.results)} jobs, {merged.added} of them new")
    if problem:
        say(f"leaseboard: {problem}", err=True)
    return 2 if problem else code


@archive.command("prune", cls=Command)
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

    report_damage(folder)
    with results.locked(folder) if remove else nullcontext():
        jobs, of = core.surplus_jobs(folder, keep), len(results.read_results(folder))
        say(f"{folder}: {len(jobs)} of {of} jobs")
        if not (jobs and remove):
            return len(jobs)
        shown = results.current(folder)
        core.remove_jobs(folder, jobs)
        if 0 < len(results.current(folder)) < len(shown):
            from leaseboard.tasks.report import build

            build.build(folder, build.suite_of(folder))
    return len(jobs)
