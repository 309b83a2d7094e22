"""``leaseboard results``: archives of results, checked, merged, published and pruned."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leaseboard.algorithms.errors import UsageError
from leaseboard.flows.commands.options import (
    Command,
    Commands,
    FlowsCommand,
    Mirrors,
    OptionalSeed,
    Output,
    TablesCommand,
    TrackingUri,
)
from leaseboard.flows.console import (
    check_file,
    check_runs,
    new_folder,
    output_folder,
    report_damage,
    say,
)
from leaseboard.tasks.machine import paths

if TYPE_CHECKING:
    from leaseboard.tasks.archive.prune import Rule


Signers = Path | None

app = typer.Typer(
    cls=Commands,
    help="Share results: archives of several machines, checks of them, and a website.",
    no_args_is_help=True,
)


@app.command("export", cls=Command)
def export(run: Path, file: Path, sign: Path | None = None) -> int:
    """Write the results, event logs and configurations of a run into an archive.

    Exits with 2 if a job is omitted: its files were edited or damaged.

    - `run`: Folder of a run.
    - `file`: Archive to write, such as quick.zip.
    - `sign`: Private SSH key; the signature is written next to the archive, as quick.zip.sig.

    Example: leaseboard results export runs/quick quick.zip
    """
    from leaseboard.tasks.archive import bundle, signature
    from leaseboard.tasks.folder import results
    from leaseboard.tasks.machine import disk

    if not (run / "jobs").is_dir():
        raise UsageError(f"{str(run)!r} holds no results: name the output folder of a run")
    check_file(file)
    code = report_damage(run)
    with results.locked(run):
        manifest, left_out = bundle.export(run, file)
    jobs = sum(name.endswith(results.RESULT) for name in manifest.files)
    say(f"{file}: {jobs} jobs of {manifest.suite}, {disk.shown(file.stat().st_size)}")
    if sign is not None:
        say(f"signed:  {signature.sign(file, sign)}")
    for why in left_out.values():
        say(f"leaseboard: left out: {why}", err=True)
    return 2 if left_out else code


@app.command("merge", cls=FlowsCommand)
def merge(
    files: list[Path],
    run_dir: Annotated[Path, typer.Option()],
    signers: Signers = None,
    tracking_uri: TrackingUri = None,
) -> int:
    """Merge archives of several machines into one run folder, MLflow and a report page.

    Exits with 2 if two machines have different scores of one job, or if MLflow failed.

    - `files`: Archives that `leaseboard results export` wrote.
    - `run_dir`: a new folder, or that of an earlier merge.

    Example: leaseboard results merge here.zip there.zip --run-dir runs/both
    """
    from leaseboard.tasks.archive import bundle, signature
    from leaseboard.tasks.archive.verdict import verdict_of

    known_signers = [signature.signer_of(file, signers) for file in files] if signers else []
    bundles = [bundle.read(file) for file in files]  # all, before anything is written
    verdicts = {str(each.path): verdict_of(each) for each in bundles}

    from leaseboard.flows.benchmark import show_board
    from leaseboard.flows.executor import LocalExecutor, nothing_runs
    from leaseboard.tasks.archive import merge as core
    from leaseboard.tasks.folder import results
    from leaseboard.tasks.track.recorder import Recorder
    from leaseboard.tasks.track.tracker import Tracker

    name = bundles[0].manifest.suite
    uri = paths.tracking_uri(tracking_uri)
    with new_folder(run_dir) as home, results.locked(home):
        code = report_damage(home)
        merged = core.merge(bundles, home)
        for each, signer in zip(bundles, known_signers, strict=False):
            signature.remember(home, each, signer)
            say(f"signed:  {each.path} by {signer}")
        rule = merged.suite.tracking.configurations if merged.suite else "all"
        keys = [result.key for result in merged.results]
        with Recorder(
            home, merged.results, lambda: Tracker(uri, name, keys, rule=rule)
        ) as recorder:
            pass
        known = None if recorder.problems else uri
        executor = LocalExecutor(nothing_runs, 1)
        problem, _ = show_board(
            executor, merged.rows, merged.suite, name, home, known, found=merged.found
        )
    say(f"merged:  {len(merged.results)} jobs, {merged.added} of them new")
    for file, verdict in verdicts.items():
        if verdict is not None:  # a checksum is not a signature
            say(f"verdict: {file}: {verdict.outcome}, by an unsigned note")
    for line in merged.conflicts:
        say(f"leaseboard: conflict: {line}", err=True)
    problems = [*recorder.problems, *filter(None, [problem])]
    for line in problems:
        say(f"leaseboard: {line}", err=True)
    return 2 if merged.conflicts or problems else code


MOST_LINES = 20
_CODES = {"agreed": 0, "refuted": 1, "agreed in part": 3, "undecided": 3}


@app.command("verify", cls=TablesCommand)
def verify(
    archive: Path,
    share: Annotated[float, typer.Option(min=0.0001, max=1)] = 0.02,
    seed: OptionalSeed = None,
    mirror: Mirrors = None,
    signers: Signers = None,
    output: Output = None,
) -> int:
    """Check every checksum of an archive, and run a random share of its jobs again.

    The verdict is written into the archive. Exits with 1 if the archive is refused or refuted, and
    with 3 if some jobs or data could not be checked, or nothing can decide it.

    - `archive`: Archive that `leaseboard results export` wrote.
    - `share`: Share of its jobs to run again, at least 7 jobs.
    - `seed`: by default another one each time.
    - `output`: a file for the archive with the verdict (default: ARCHIVE itself).

    Example: leaseboard results verify there.zip --share 0.1
    """
    from secrets import SystemRandom

    from leaseboard.tasks.archive import signature
    from leaseboard.tasks.archive import verify as core
    from leaseboard.tasks.archive.bundle import read
    from leaseboard.tasks.archive.verdict import put

    if not archive.is_file():
        raise UsageError(
            f"{str(archive)!r} does not exist: name a file that `leaseboard results export` wrote"
        )
    check_file(output or archive)
    try:
        if signers is not None:
            say(f"signed:  by {signature.signer_of(archive, signers)}")
        found = read(archive)
    except UsageError as error:
        say(f"refused: {error}", err=True)
        return 1
    verdict = core.judge(
        found,
        share=share,
        seed=SystemRandom().randrange(2**31) if seed is None else seed,
        mirrors=paths.mirrors(tuple(mirror or ())),
        say=say,
    )
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
    covered = ", ".join(
        f"{label} {each.could_run} of {each.ran}"
        + (f" ({each.skipped} skipped)" if each.skipped else "")
        for label, each in verdict.covered.items()
    )
    say(f"jobs:    {', '.join(f'{count} {status}' for status, count in verdict.jobs.items())}")
    say(f"could be drawn: {covered}")
    say(f"suite:   {verdict.suite}")
    say(f"drawn:   {len(verdict.again)} of {verdict.could_run}, with --seed {verdict.seed}")
    say(f"verdict: {verdict.outcome}; on the sender's word: {', '.join(verdict.unverified)}")
    put(verdict, archive, output or archive)
    return _CODES[verdict.outcome]


@app.command("publish", cls=FlowsCommand)
def publish(runs: list[Path], output: Annotated[Path, typer.Option()]) -> int:
    """Add the leaderboards of runs to a static website, which also opens from disk.

    Earlier leaderboards stay. The same leaderboards give the same bytes, in any order.
    Exits with 2 if a job is not done: its files were edited or damaged.

    - `runs`: Folders of finished runs.
    - `output`: the folder of the website.

    Example: leaseboard results publish runs/quick runs/both --output site
    """
    check_runs(runs)

    from leaseboard.tasks.report import site as core

    code = report_damage(*runs)
    with new_folder(output) as place:
        made = core.publish(runs, place)
    for board in made.new:
        say(f"{board.id}: {board.title}, {board.jobs} jobs")
    say(f"site:    {made.page}, {len(made.listed)} leaderboard{'s' * (len(made.listed) != 1)}")
    return code


@app.command("prune", cls=FlowsCommand)
def prune(
    folders: Annotated[list[Path] | None, typer.Argument()] = None,
    keep: Annotated[int, typer.Option(min=0)] = 1,
    older_than: Annotated[float | None, typer.Option(min=0, max=36500)] = None,
    archive: Path | None = None,
    yes: bool = False,
    tracking_uri: TrackingUri = None,
) -> None:
    """Remove results that newer ones have replaced, in run folders and in MLflow.

    The newest result of each algorithm on each dataset and repetition stays, and so do results
    that are being written, and every run with a registered model.

    - `folders`: Run folders, or folders that hold some (default: runs).
    - `keep`: Number of the newest results of each algorithm and dataset that stay.
    - `older_than`: Remove only results older than this number of days.
    - `archive`: First write archives of the removed results into this folder.

    Example: leaseboard results prune --older-than 90 --archive old --yes
    """
    from datetime import UTC, datetime, timedelta

    from leaseboard.tasks.archive import prune as core
    from leaseboard.tasks.machine import disk

    now = datetime.now(UTC)
    before = None if older_than is None else now - timedelta(days=older_than)
    rule = core.Rule(keep, before)
    uri = paths.tracking_uri(tracking_uri)
    given = folders or [place for place in [Path("runs")] if place.is_dir()]
    total = sum(
        _prune_folder(folder, rule, archive, now.strftime("%Y%m%dT%H%M%S"), remove=yes)
        for folder in core.run_folders(given)
    )
    races = core.surplus_races(given, rule)
    say(f"races: {len(races.items)} of {races.of}, {disk.shown(races.size)}")
    if yes and races.items:
        core.remove_races(races.items, None if archive is None else output_folder(archive))
    old = core.surplus_runs(uri, rule)
    say(
        f"MLflow: {len(old.jobs)} jobs with {len(old.configurations)} configurations,"
        f" {len(old.suites)} suite runs, {len(old.deleted)} runs deleted earlier,"
        f" {disk.shown(old.size)} of artifacts"
    )
    total += len(races.items) + len(old.runs)
    if not (total and yes):
        say("nothing was removed: add --yes" if total else "nothing to remove")
        return
    if old.runs and not core.remove_runs(uri, old):
        say("MLflow: marked as deleted; `mlflow gc` on the server's machine frees the disk")
    say("removed")


def _prune_folder(
    folder: Path, rule: Rule, archive: Path | None, moment: str, *, remove: bool
) -> int:
    """Print what goes from a run folder, remove it if `remove`; return how many jobs."""
    from leaseboard.tasks.archive import prune as core
    from leaseboard.tasks.folder import results
    from leaseboard.tasks.machine import disk

    report_damage(folder)
    with results.locked(folder) if remove else nullcontext():
        old = core.surplus_jobs(folder, rule)
        say(f"{folder}: {len(old.items)} of {old.of} jobs, {disk.shown(old.size)}")
        jobs = old.items
        if not (jobs and remove):
            return len(jobs)
        if archive is not None:
            from leaseboard.tasks.archive import bundle

            file = output_folder(archive) / f"{folder.resolve().name}-{moment}.zip"
            left_out = bundle.export(folder, file, jobs).left_out
            say(f"{file}: {disk.shown(file.stat().st_size)}")
            for why in left_out.values():
                say(f"leaseboard: kept, since no archive takes it: {why}", err=True)
            jobs = [job for job in jobs if job.key not in left_out]
        shown = results.current(folder)
        core.remove_jobs(folder, jobs)
        if 0 < len(results.current(folder)) < len(shown):
            from leaseboard.tasks.report import build

            build.build(folder, build.suite_of(folder))
    return len(jobs)
