"""``leaseboard run`` and ``report``: a suite and its page."""

from __future__ import annotations

import json
import sys
from collections import Counter
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.parts import require
from leaseboard.flows.commands.options import (
    AsJson,
    FailOn,
    Local,
    Metric,
    Register,
    RunDir,
    SuiteName,
    Workers,
    arg,
    failing_codes,
    opt,
    show_table,
)
from leaseboard.flows.commands.registration import register_winners
from leaseboard.flows.console import check_runs, report_damage, resumable, say
from leaseboard.tasks.machine import paths

if TYPE_CHECKING:
    from leaseboard.tasks.jobs.suites.plan import Planned
    from leaseboard.tasks.jobs.suites.suite import Suite
    from leaseboard.tasks.score.summary import Compared

_PLAN = "Print what would be done, and do nothing."
_DASK = "Address of a Dask scheduler to run on, such as tcp://10.0.0.1:8786."


def run(
    suite: SuiteName,
    dry_run: Annotated[bool, opt(_PLAN, "", "--dry-run")] = False,
    run_dir: RunDir = None,
    workers: Workers = None,
    local: Local = False,
    cluster: Annotated[str | None, opt(_DASK, "ADDRESS")] = None,
    register: Register = None,
    fail_on: FailOn = None,
    as_json: AsJson = False,
) -> int:
    """Run a suite of algorithms on datasets: skip what is done, run the rest, print a leaderboard.

    The run folder gets results.parquet, the event logs and report.html. With --register and
    several datasets, the best model on each is NAME-DATASET.

    Example: leaseboard run quick
    """
    from leaseboard.flows.dispatch import RunOptions, execute, exit_code, open_suites
    from leaseboard.tasks.models.winner import check_name

    if not dry_run:
        require("flows", "run")
    if cluster and (local or workers):
        raise UsageError("--cluster excludes --local and --workers: Dask's workers do the work")
    options = RunOptions(workers, local, cluster)
    if register is not None:
        check_name(register)
    failing, codes = failing_codes(fail_on), []
    for loaded, home in open_suites(suite, run_dir):
        if dry_run:
            codes.append(_show_plan(loaded, home))
            continue
        with redirect_stdout(sys.stderr) if as_json else nullcontext(), resumable(home):
            code = exit_code(execute(loaded, home, options))
        if register is not None and code == 0:
            register_winners(loaded, home, register)
        codes.append(max(code, _diagnosed(home, failing, as_json=as_json)))
    return next((bad for bad in (2, 1) if bad in codes), min(codes))  # 3: all ran nothing


def _diagnosed(home: Path, failing: frozenset[str], *, as_json: bool) -> int:
    """Print what --json asks for; return 1 if one of the codes that fail was found, else 0."""
    from leaseboard.tasks.report.build import PAGE, read_diagnostics

    found = read_diagnostics(home)
    if as_json:
        rows = [each.as_row() for each in found]
        say(json.dumps({"run": str(home), "report": str(home / PAGE), "diagnostics": rows}))
    return int(any(each.code in failing for each in found))


def _show_plan(loaded: Suite, home: Path) -> int:
    from leaseboard.flows.benchmark import plan_jobs
    from leaseboard.tasks.fetch import loading
    from leaseboard.tasks.jobs.suites.plan import require_ranking

    mirrors, names = paths.mirrors(), loaded.data_names
    tasks: dict[str, str] = {}

    def digest(reference: str) -> str:
        data = loading.load(reference, mirrors=mirrors)
        tasks[reference] = data.task
        return data.digest

    planned = plan_jobs(loaded, home, digest)
    if loaded.metric is not None:
        require_ranking(loaded.metric, loaded.jobs(), tasks)
    rows = [
        (e.job.name, names.get(e.job.data, e.job.data), str(e.job.seed), e.key, _state(e, home))
        for e in planned
    ]
    show_table("", ("algorithm", "data", "seed", "key", "state"), rows)
    faults = Counter(entry.fault for entry in planned if entry.fault)
    obstacles = Counter(entry.obstacle for entry in planned if entry.obstacle)
    crash = f" {faults.total()} cannot run," if faults else ""
    say(
        f"{len(planned)} jobs: {sum(e.done for e in planned)} done,"
        f" {sum(e.waits for e in planned)} to run,{crash} {obstacles.total()} skipped."
    )
    for what, reasons in (("crash", faults), ("skipped", obstacles)):
        for reason, count in reasons.items():
            say(f"{what}, {count} jobs: {reason}")
    if faults:
        return 2
    return 0 if any(not entry.obstacle for entry in planned) else 3


def _state(entry: Planned, home: Path) -> str:
    """Return what happens to a job, with the last status of one that failed."""
    from leaseboard.tasks.folder.results import read_result

    if entry.fault or entry.obstacle:
        return "crash" if entry.fault else "skipped"
    if entry.done:
        return "done"
    before = read_result(home, entry.key)
    return "to run" if before is None else f"to run (was {before.status})"


def report(
    runs: Annotated[list[Path], arg("Folders of finished runs.")],
    metric: Metric = None,
    fail_on: FailOn = None,
    as_json: AsJson = False,
) -> int:
    """Build the report page of one or several runs again from their results and event logs.

    Exits with 2 if a job is not done: its files were edited or damaged.

    Example: leaseboard report runs/quick
    """
    failing = failing_codes(fail_on)
    check_runs(runs)
    from leaseboard.tasks.report.build import build

    codes = [report_damage(*runs)]
    found = [(folder, *_ranked(folder, metric)) for folder in runs]
    for folder, suite, ranked, compared in found:  # now that all of them can be ranked
        page = build(folder, suite, compared, ranked=ranked)
        if not as_json:
            say(page)
        codes.append(_diagnosed(folder, failing, as_json=as_json))
    return max(codes)


def _ranked(folder: Path, metric: str | None) -> tuple[Suite | None, Suite | None, Compared]:
    """Return a run's suite, the same ranked by `metric` if given, and the comparison by that."""
    from leaseboard.tasks.folder.results import shown_at
    from leaseboard.tasks.report.build import suite_of
    from leaseboard.tasks.score.frame import as_frame, direction_of
    from leaseboard.tasks.score.summary import compared

    suite = ranked = suite_of(folder)
    if metric is not None:
        if suite is None:
            raise UsageError(f"{str(folder)!r} is of no suite: name one that `run` made")
        direction_of(metric)
        ranked = suite.model_copy(update={"metric": metric})
    try:
        return suite, ranked, compared(as_frame(shown_at(folder)), ranked)
    except UsageError as error:
        raise UsageError(f"{str(folder)!r}: {error}") from error
