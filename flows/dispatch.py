"""From the name of a suite to its outcome: which executor carries it out, and where.

All executors carry out the same steps, and a job runs in a process under limits: of a pool
here, or of a pool next to a Dask worker.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.flows.benchmark import Executor, JobWaitsError, Outcome, benchmark
from leaseboard.flows.console import terminable
from leaseboard.flows.server import RUN_ENDED, SUITE, PrefectServer, current_run, emit, server_log
from leaseboard.tasks.folder.results import TABLE, read_table
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import RUN_JOB
from leaseboard.tasks.jobs.suites.plan import check_suite, with_baselines
from leaseboard.tasks.jobs.suites.suite import Suite, load_suites
from leaseboard.tasks.machine import environment
from leaseboard.tasks.pool.workers import WorkerPool, run_planned
from leaseboard.tasks.track.store import check_address

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State

    from leaseboard.flows.prefect_executor import PrefectExecutor

Body = Callable[[Executor], Outcome]
"""Chains the steps of a run, which an executor carries out."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run: executor and workers."""

    workers: int | None = None
    """Worker processes; one a core by default."""
    local: bool = False
    cluster: str | None = None
    """The address of a Dask scheduler on whose workers the jobs run."""
    boarded: bool = True
    """With the leaderboard, the page, and both in MLflow."""
    work: str = RUN_JOB
    """The function that runs a job, see `leaseboard.tasks.pool.workers.WorkerPool`."""


def open_suites(name: str, out: Path | None) -> list[tuple[Suite, Path]]:
    """Return the suite called `name`, or each of the group's, checked, with its output folder.

    - `out`: the folder of a suite, which need not exist, or one of all folders of a group's.
    """
    conf = environment.conf_dir()
    (group, suites), opened = load_suites(name, conf), []
    for suite in map(with_baselines, suites):
        check_suite(suite)
        home = out or Path("runs") / suite.name
        if out is not None and group:
            home = out / suite.name
        opened.append((suite, home.resolve()))
    return opened


def execute(suite: Suite, out: Path, options: RunOptions) -> Outcome:
    """Run a suite to its end, and print its results."""
    environment.prepare_environment()
    uri = environment.tracking_uri()
    check_address(uri)
    body = partial(benchmark, suite, out, tracking_uri=uri, boarded=options.boarded)
    return dispatch(suite, out, options, expected(suite, out), body)


def expected(suite: Suite, out: Path) -> list[Job]:
    """Return the jobs without a finished result in the table of `out`; only keys are certain."""
    jobs = suite.jobs()
    try:
        table = read_table(out / TABLE)
    except LeaseboardError:  # the run writes it, again if it is damaged
        return jobs
    done = table[table["status"] == "ok"]
    known = set(zip(done["name"], done["data"], done["repetition"], strict=True))
    return [job for job in jobs if (job.name, job.data, job.repetition) not in known]


def exit_code(outcome: Outcome) -> int:
    """Return 0 if every job that could run is ok, 2 if one failed, 3 if none could run."""
    if outcome.problems or outcome.failed:
        return 2
    return 0 if any(result.status == "ok" for result in outcome.results) else 3


def dispatch(
    suite: Suite, out: Path, options: RunOptions, expected: Collection[Job], body: Body
) -> Outcome:
    """Return the outcome of `body` on the executor that the options ask for.

    In a flow run, of a schedule or a worker of Prefect's, it is the one of that run.

    - `expected`: jobs that will probably run: their workers start to import at once.
    """
    address, inside = os.environ.get("PREFECT_API_URL", ""), bool(current_run())
    if not (expected or address or inside or options.cluster):  # no server for nothing
        with suppress(JobWaitsError):
            return Executor().perform(body)
    with ExitStack() as stack:
        if not inside:  # Prefect handles the signals of a run of its own
            stack.enter_context(terminable())
        server = None
        if not (address or inside) and (options.cluster or not options.local):
            server = stack.enter_context(PrefectServer(server_log()))

        if options.cluster:
            from leaseboard.flows.prefect_executor import DaskExecutor

            executor: PrefectExecutor = DaskExecutor(options.cluster, suite.limits, options.work)
        else:
            size = max(1, min(options.workers or os.cpu_count() or 1, len(expected)))
            pool = stack.enter_context(WorkerPool(size, suite.limits, work=options.work))
            pool.warm(len(expected))
            runs = partial(run_planned, pool, out)
            if options.local and not inside:
                return Executor(runs, pool.size, pool.stop).perform(body)
            from prefect.task_runners import ThreadPoolTaskRunner

            from leaseboard.flows.prefect_executor import PrefectExecutor

            runner: Any = ThreadPoolTaskRunner(max_workers=pool.size)
            executor = PrefectExecutor(runs, pool.size, pool.stop, runner)
        if inside:
            return executor.perform(body)
        from leaseboard.flows.prefect_executor import in_one_run

        if server is not None:
            address = server.wait()
        ended: Callable[[Outcome], State[Any]] = partial(final_state, suite.name)
        return in_one_run("benchmark", suite.name, address, executor, body, ended)


def final_state(suite: str, made: Outcome) -> State[Any]:
    """Return the state of a flow run, which fails if a job does; send it as an event."""
    from prefect.states import Completed, Failed

    jobs, skipped = len(made.results), made.skipped
    counts = {"jobs": jobs, "failed": made.failed, "skipped": skipped}
    emit(RUN_ENDED, SUITE, suite, {**counts, "problems": made.problems, **made.about})
    wrong = f"{made.failed} of {jobs} jobs failed" if made.failed else "; ".join(made.problems)
    if jobs and skipped == jobs:
        wrong = wrong or f"nothing could run: {jobs} jobs skipped"
    if wrong:
        return Failed(message=wrong)
    left = f", {skipped} skipped" if skipped else ""
    return Completed(message=f"{jobs - skipped} jobs done{left}")
