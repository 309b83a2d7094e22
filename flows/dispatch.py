"""From the name of a suite to its outcome: which executor carries it out, and where.

Whatever the executor, the steps are the same, and a job runs in a process under limits: of a pool
here, or of a pool beside a Dask worker.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.parts import mend
from leaseboard.flows.benchmark import Outcome, benchmark
from leaseboard.flows.commands.options import use_conf
from leaseboard.flows.console import check_writable, terminable
from leaseboard.flows.executor import Executor, JobWaitsError, LocalExecutor, nothing_runs
from leaseboard.flows.server import PrefectServer, server_log
from leaseboard.tasks.folder.results import TABLE, read_table
from leaseboard.tasks.jobs.job import Job, Limits
from leaseboard.tasks.jobs.run import RUN_JOB
from leaseboard.tasks.jobs.suites.plan import check_suite, with_baselines
from leaseboard.tasks.jobs.suites.suite import Suite, check_apart, load_suite, members, suite_path
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.environment import prepare_environment
from leaseboard.tasks.pool.attempts import run_planned
from leaseboard.tasks.pool.workers import WorkerPool

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State

    from leaseboard.flows.prefect_executor import FlowWork, PrefectExecutor

Body = Callable[[Executor], Outcome]
"""What is made of the steps of a run; what it comes to is all that lasts."""


@dataclass(frozen=True, slots=True)
class How:
    """How a suite is run."""

    workers: int | None = None
    """Worker processes; what the suite says, or one a core, by default."""
    local: bool = False
    cluster: str | None = None
    """The address of a Dask scheduler."""
    mirrors: tuple[Path, ...] = ()
    """By default those of ``LEASEBOARD_MIRROR``."""
    tracking_uri: str | None = None
    """By default ``MLFLOW_TRACKING_URI``, or the store of the project."""
    boarded: bool = True
    """With the board, the page, and both in MLflow."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run works."""

    name: str
    out: Path
    size: int
    limits: Limits
    mirrors: tuple[Path, ...] = ()
    local: bool = False
    cluster: str | None = None
    """The address of a Dask scheduler on whose workers the jobs run."""
    work: str = RUN_JOB
    """What runs a job, see `leaseboard.tasks.pool.workers.WorkerPool`."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What Prefect's page calls data, by reference; the reference by default."""


def open_suite(
    name: str, out: Path | None, conf: Path | None, *, baselines: bool = True
) -> tuple[Suite, Path]:
    """The suite, checked, and its output folder, which need not be there yet.

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
    """`open_suite` of each suite that `name` stands for; those of a collection under `out`."""
    use_conf(conf)
    names = members(name, paths.conf_dir(conf))
    if names == [name]:
        return [open_suite(name, out, conf, baselines=baselines)]
    opened = [
        open_suite(one, out / Path(one).stem if out else None, conf, baselines=baselines)
        for one in names
    ]
    check_apart([suite for suite, _ in opened])
    return opened


def execute(suite: Suite, out: Path, how: How) -> Outcome:
    """Run a suite to its end, and print what comes of it."""
    return dispatch(*_asked(suite, out, how))


def perform(suite: Suite, out: Path, how: How) -> State[Any]:
    """`execute` within the flow run that this is called in; returns how that ends."""
    place, waiting, body = _asked(suite, out, how)
    with terminable(), _pool(place, waiting) as pool:
        return _flow_work(_in_threads(place, pool), body, pool.stop).perform()


def _asked(suite: Suite, out: Path, how: How) -> tuple[Place, list[Job], Body]:
    """Where the suite is run, the jobs that will probably run, and what is made of its steps."""
    prepare_environment()
    check_writable(out)
    mirrors, waiting = paths.mirrors(how.mirrors), expected(suite, out)
    asked = suite.workers(how.workers) or os.cpu_count() or 1
    place = Place(
        name=suite.name,
        out=out,
        size=max(1, min(asked, len(waiting))),
        limits=suite.limits,
        mirrors=mirrors,
        local=how.local,
        cluster=how.cluster,
        names=suite.data_names,
    )
    uri = paths.tracking_uri(how.tracking_uri)
    given: dict[str, Any] = {"mirrors": mirrors, "tracking_uri": uri, "boarded": how.boarded}
    return place, waiting, partial(benchmark, suite, out, **given)


def expected(suite: Suite, out: Path) -> list[Job]:
    """The jobs without a finished result in the table of `out`; the keys alone know for sure."""
    jobs = suite.jobs()
    if not (out / TABLE).is_file():
        return jobs
    table = read_table(out / TABLE)
    done = table[table["status"] == "ok"]
    known = set(zip(done["label"], done["data"], done["repetition"], strict=True))
    return [job for job in jobs if (job.label, job.data, job.repetition) not in known]


def exit_code(outcome: Outcome) -> int:
    """0 if every job that could run is ok, 2 if one failed, 3 if none could run."""
    statuses = {result.status for result in outcome.results}
    if outcome.problems or outcome.failed:
        return 2
    return 0 if "ok" in statuses else 3


def dispatch(place: Place, expected: Collection[Job], body: Body) -> Outcome:
    """What `body` makes of the steps of a run, which an interruption ends.

    `expected`: jobs that will probably run: their workers start to import while others begin.
    """
    address = os.environ.get("PREFECT_API_URL", "")
    if not (expected or address or place.cluster):  # a server would be started for nothing
        with suppress(JobWaitsError):
            return LocalExecutor(nothing_runs, 1).perform(body, lambda: None)
    unserved = (place.local and place.cluster is None) or address
    server = None if unserved else PrefectServer(server_log())
    with ExitStack() as stack:
        stack.enter_context(terminable())
        if server is not None:
            stack.enter_context(server)
        if place.cluster is not None:
            return _on_cluster(place, server.wait if server else lambda: address, body)
        pool = stack.enter_context(_pool(place, expected))
        if place.local:
            runs = partial(run_planned, pool, place.out)
            return LocalExecutor(runs, place.size).perform(body, pool.stop)
        executor = _in_threads(place, pool)
        return _in_flow(place, server.wait() if server else address, executor, body, pool.stop)


@contextmanager
def _pool(place: Place, expected: Collection[Job]) -> Iterator[WorkerPool]:
    given = {"mirrors": place.mirrors, "work": place.work}
    with WorkerPool(place.size, place.limits, **given) as pool:
        pool.warm(expected)
        yield pool


def _in_threads(place: Place, pool: WorkerPool) -> PrefectExecutor:
    from prefect.task_runners import ThreadPoolTaskRunner

    from leaseboard.flows.prefect_executor import PrefectExecutor

    runner = ThreadPoolTaskRunner(max_workers=place.size)
    runs = partial(run_planned, pool, place.out)
    return PrefectExecutor(runs, runner, 2 * place.size, place.names)


def _on_cluster(place: Place, url: Callable[[], str], body: Body) -> Outcome:
    """The same with the jobs on a Dask cluster; all other steps are made here."""
    if importlib.util.find_spec("prefect_dask") is None:
        raise UsageError(f"--cluster needs the extra: {mend('dask')}")

    from leaseboard.flows.cluster import Cluster, DaskExecutor

    assert place.cluster is not None
    with Cluster(place.cluster, place.out, place.limits, work=place.work) as cluster:
        server = url()
        cluster.equip(server)
        executor = DaskExecutor(cluster, place.names)
        return _in_flow(place, server, executor, body, lambda: None)


def _in_flow(
    place: Place, url: str, executor: PrefectExecutor, body: Body, stop: Callable[[], None]
) -> Outcome:
    from leaseboard.flows.prefect_executor import in_one_run

    description = "Fetch, prepare, run, score, record and report."
    work = _flow_work(executor, body, stop)
    return in_one_run("benchmark", place.name, url, work, description)


def _flow_work(
    executor: PrefectExecutor, body: Body, interrupt: Callable[[], None]
) -> FlowWork[Outcome]:
    """The steps within a flow run, which fails if a job does."""
    from prefect.states import Completed, Failed

    from leaseboard.flows.prefect_executor import FlowWork

    def ended(made: Outcome) -> State[Any]:
        jobs, skipped = len(made.results), made.skipped
        if made.failed:
            return Failed(message=f"{made.failed} of {jobs} jobs failed")
        if made.problems:
            return Failed(message="; ".join(made.problems))
        if jobs and skipped == jobs:
            return Failed(message=f"nothing could run: {jobs} jobs skipped")
        left = f", {skipped} skipped" if skipped else ""
        return Completed(message=f"{jobs - skipped} jobs done{left}")

    return FlowWork(executor, body, ended, interrupt)
