"""Where the steps of a run are made: from threads here, or as the tasks of a Prefect flow run.

Either way they are the same steps, and a job runs in a process under limits: of a pool here, or of
a pool beside a Dask worker.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.parts import mend
from leaseboard.flows.interruption import terminable
from leaseboard.flows.jobs import Outcome
from leaseboard.flows.server import PrefectServer, server_log
from leaseboard.flows.steps import JobWaitsError, Locally, Steps, nothing_runs
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.limits import Limits
from leaseboard.tasks.jobs.run import RUN_JOB
from leaseboard.tasks.pool.attempts import Here
from leaseboard.tasks.pool.workers import WorkerPool

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State

    from leaseboard.flows.orchestrate import AsTasks


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


def dispatch(place: Place, expected: Collection[Job], body: Callable[[Steps], Outcome]) -> Outcome:
    """What `body` makes of the steps of a run, which an interruption ends.

    - `expected`: jobs that will probably run: their workers start to import while others begin.
    - `body`: takes the steps, and what they come to is all that lasts.
    """
    address = os.environ.get("PREFECT_API_URL", "")
    if not (expected or address or place.cluster):  # a server would be started for nothing
        with suppress(JobWaitsError):
            return Locally(nothing_runs, 1).perform(body, lambda: None)
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
            return Locally(Here(pool, place.out), place.size).perform(body, pool.stop)

        from leaseboard.flows.orchestrate import in_flow

        steps = _as_tasks(place, pool)
        return in_flow(place.name, server.wait() if server else address, steps, body, pool.stop)


def dispatch_here(
    place: Place, expected: Collection[Job], body: Callable[[Steps], Outcome]
) -> State[Any]:
    """`dispatch` as tasks of the flow run that this is called in; returns how that ends."""
    from leaseboard.flows.orchestrate import RunPerformance

    with terminable(), _pool(place, expected) as pool:
        return RunPerformance(_as_tasks(place, pool), body, pool.stop).perform()


@contextmanager
def _pool(place: Place, expected: Collection[Job]) -> Iterator[WorkerPool]:
    given = {"mirrors": place.mirrors, "work": place.work}
    with WorkerPool(place.size, place.limits, **given) as pool:
        pool.warm(expected)
        yield pool


def _as_tasks(place: Place, pool: WorkerPool) -> AsTasks:
    from prefect.task_runners import ThreadPoolTaskRunner

    from leaseboard.flows.orchestrate import AsTasks

    runner = ThreadPoolTaskRunner(max_workers=place.size)
    return AsTasks(Here(pool, place.out), runner, 2 * place.size, place.names)


def _on_cluster(place: Place, url: Callable[[], str], body: Callable[[Steps], Outcome]) -> Outcome:
    """The same with the jobs on a Dask cluster; all other steps are made here."""
    if importlib.util.find_spec("prefect_dask") is None:
        raise UsageError(f"--cluster needs the extra: {mend('dask')}")

    from leaseboard.flows.cluster import Cluster, OnCluster
    from leaseboard.flows.orchestrate import in_flow

    assert place.cluster is not None
    with Cluster(place.cluster, place.out, place.limits, work=place.work) as cluster:
        server = url()
        cluster.equip(server)
        return in_flow(place.name, server, OnCluster(cluster, place.names), body, lambda: None)
