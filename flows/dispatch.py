"""From the name of a suite to its outcome: which executor carries it out, and where.

All executors carry out the same steps, and a job runs in a process under limits: of a pool
here, or of a pool next to a Dask worker.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.algorithms.parts import command_for
from leaseboard.flows.benchmark import Outcome, benchmark
from leaseboard.flows.commands.options import use_conf
from leaseboard.flows.console import check_writable, say, terminable
from leaseboard.flows.executor import Executor, JobWaitsError, LocalExecutor, nothing_runs
from leaseboard.flows.prefect_events import current_run
from leaseboard.flows.server import PrefectServer, server_log
from leaseboard.tasks.folder.results import TABLE, read_table
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import RUN_JOB
from leaseboard.tasks.jobs.suites.plan import check_suite, with_baselines
from leaseboard.tasks.jobs.suites.suite import Suite, load_suite, members, suite_path
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.environment import prepare_environment
from leaseboard.tasks.pool.attempts import run_planned
from leaseboard.tasks.pool.workers import WorkerPool
from leaseboard.tasks.track.store import TrackingError, check_address, ensure_store

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State

    from leaseboard.flows.prefect_executor import FlowWork, PrefectExecutor

Body = Callable[[Executor], Outcome]
"""Chains the steps of a run, which an executor carries out."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run: executor, workers, data and store."""

    workers: int | None = None
    """Worker processes; one a core by default."""
    local: bool = False
    cluster: str | None = None
    """The address of a Dask scheduler on whose workers the jobs run."""
    mirrors: tuple[Path, ...] = ()
    """By default those of ``LEASEBOARD_MIRROR``."""
    tracking_uri: str | None = None
    """By default ``MLFLOW_TRACKING_URI``, or the store of the project."""
    boarded: bool = True
    """With the leaderboard, the page, and both in MLflow."""
    work: str = RUN_JOB
    """The function that runs a job, see `leaseboard.tasks.pool.workers.WorkerPool`."""


def open_suite(
    name: str, out: Path | None, conf: Path | None, *, baselines: bool = True
) -> tuple[Suite, Path]:
    """Return the suite, checked, and its output folder, which need not exist.

    - `baselines`: False leaves out the naive baselines that the suite does not name.
    """
    use_conf(conf)
    folder = paths.conf_dir(conf)
    suite = load_suite(name, folder)
    suite = with_baselines(suite) if baselines else suite
    check_suite(suite, suite_path(name, folder))
    return suite, (out or Path("runs") / suite.name).resolve()


def open_suites(
    name: str, out: Path | None, conf: Path | None, *, baselines: bool = True
) -> list[tuple[Suite, Path]]:
    """Open the suite called `name`, or each of the group's, in folders below `out`."""
    use_conf(conf)
    names = members(name, paths.conf_dir(conf))
    if names == [name]:
        return [open_suite(name, out, conf, baselines=baselines)]
    return [
        open_suite(one, out / Path(one).stem if out else None, conf, baselines=baselines)
        for one in names
    ]


def execute(suite: Suite, out: Path, options: RunOptions) -> Outcome:
    """Run a suite to its end, and print its results."""
    return dispatch(suite, out, options, *_prepare(suite, out, options))


def perform(suite: Suite, out: Path, options: RunOptions) -> State[Any]:
    """Execute the suite within the current flow run; returns how that ends."""
    waiting, body = _prepare(suite, out, options)
    with _pool(suite, options, waiting) as pool:
        return _flow_work(suite.name, _in_threads(suite, out, pool), body).perform()


def _prepare(suite: Suite, out: Path, options: RunOptions) -> tuple[list[Job], Body]:
    """Return the jobs that will probably run, and what chains the steps."""
    prepare_environment()
    check_writable(out)
    uri, mirrors = paths.tracking_uri(options.tracking_uri), paths.mirrors(options.mirrors)
    check_address(uri)
    given: dict[str, Any] = {"mirrors": mirrors, "tracking_uri": uri, "boarded": options.boarded}
    return expected(suite, out), partial(benchmark, suite, out, **given)


def expected(suite: Suite, out: Path) -> list[Job]:
    """Return the jobs without a finished result in the table of `out`; only keys are certain."""
    jobs = suite.jobs()
    if not (out / TABLE).is_file():
        return jobs
    try:
        table = read_table(out / TABLE)
    except LeaseboardError:
        said = "cannot be read: the run writes it again, from the results of its jobs"
        say(f"leaseboard: {out / TABLE} {said}", err=True)
        return jobs
    if not {"status", "name", "data", "repetition"} <= set(table):  # of another version
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

    - `expected`: jobs that will probably run: their workers start to import at once.
    """
    address = os.environ.get("PREFECT_API_URL", "")
    if not (expected or address or options.cluster):  # a server would be started for nothing
        with suppress(JobWaitsError):
            return LocalExecutor(nothing_runs, 1).perform(body)
    with ExitStack() as stack:
        stack.enter_context(terminable())
        server = None
        if not address and (options.cluster or not options.local):
            server = stack.enter_context(PrefectServer(server_log()))
        if options.cluster:
            return _on_cluster(suite, out, options, body, server, address)
        pool = stack.enter_context(_pool(suite, options, expected))
        if current_run():
            work = _flow_work(suite.name, _in_threads(suite, out, pool), body)
            work.perform()
            return work.outcome()
        if options.local:
            runs = partial(run_planned, pool, out)
            return LocalExecutor(runs, pool.size, pool.stop).perform(body)
        executor = _in_threads(suite, out, pool)
        if server is not None:
            with _prepared_meanwhile(paths.tracking_uri(options.tracking_uri)):
                address = server.wait()
        return _in_flow(suite, address, executor, body)


@contextmanager
def _pool(suite: Suite, options: RunOptions, expected: Collection[Job]) -> Iterator[WorkerPool]:
    size = min(options.workers or os.cpu_count() or 1, len(expected))
    given = {"mirrors": paths.mirrors(options.mirrors), "work": options.work}
    with WorkerPool(max(1, size), suite.limits, **given) as pool:
        pool.warm(expected)
        yield pool


@contextmanager
def _prepared_meanwhile(uri: str) -> Iterator[None]:
    """Make the store, and import what scores and draws, while this process waits for a server.

    An error is not reported here: the recorder opens the store again, and reports it.
    """

    def prepare() -> None:
        with suppress(TrackingError):
            ensure_store(uri)
        for name in ("mlflow.tracking", "scipy.stats", "jinja2"):
            importlib.import_module(name)

    thread = threading.Thread(target=prepare, name="meanwhile")
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _in_threads(suite: Suite, out: Path, pool: WorkerPool) -> PrefectExecutor:
    from prefect.task_runners import ThreadPoolTaskRunner

    from leaseboard.flows.prefect_executor import PrefectExecutor

    runner = ThreadPoolTaskRunner(max_workers=pool.size)
    runs = partial(run_planned, pool, out)
    return PrefectExecutor(runs, runner, 2 * pool.size, suite.data_names, suite.name, pool.stop)


def _on_cluster(
    suite: Suite,
    out: Path,
    options: RunOptions,
    body: Body,
    server: PrefectServer | None,
    address: str,
) -> Outcome:
    """Run the jobs on a Dask cluster, and all other steps here."""
    if importlib.util.find_spec("prefect_dask") is None:
        raise UsageError(f"--cluster needs the extra: {command_for('dask')}")

    from leaseboard.flows.cluster import Cluster

    assert options.cluster is not None
    with Cluster(options.cluster, out, suite.limits, work=options.work) as cluster:
        url = server.wait() if server else address
        cluster.equip(url)
        return _in_flow(suite, url, cluster.executor(suite.data_names, suite.name), body)


def _in_flow(suite: Suite, url: str, executor: PrefectExecutor, body: Body) -> Outcome:
    from leaseboard.flows.prefect_executor import in_one_run

    description = "Fetch, prepare, run, score, record and report."
    work = _flow_work(suite.name, executor, body)
    return in_one_run("benchmark", suite.name, url, work, description)


def _flow_work(suite: str, executor: PrefectExecutor, body: Body) -> FlowWork[Outcome]:
    """Return the work of a flow run, which fails if a job does."""
    from prefect.states import Completed, Failed

    from leaseboard.flows.prefect_events import RUN_ENDED, SUITE, emit
    from leaseboard.flows.prefect_executor import FlowWork

    def ended(made: Outcome) -> State[Any]:
        jobs, skipped = len(made.results), made.skipped
        counts = {"jobs": jobs, "failed": made.failed, "skipped": skipped}
        emit(RUN_ENDED, SUITE, suite, {**counts, "problems": made.problems, **made.about})
        if made.failed:
            return Failed(message=f"{made.failed} of {jobs} jobs failed")
        if made.problems:
            return Failed(message="; ".join(made.problems))
        if jobs and skipped == jobs:
            return Failed(message=f"nothing could run: {jobs} jobs skipped")
        left = f", {skipped} skipped" if skipped else ""
        return Completed(message=f"{jobs - skipped} jobs done{left}")

    return FlowWork(executor, body, ended)
