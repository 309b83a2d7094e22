"""Jobs on the workers of a Dask cluster, each by the same pool of processes as here.

A run registers a `Crew` with every Dask worker, also with those that come later: the processes
that run its jobs under the suite's limits. Prepared inputs are sent once to each worker, as the
files that jobs map here. What a job leaves behind comes back with its result, so the run folder
and MLflow are written here alone, and a job that Dask runs again, because its worker died, is
recorded once.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from distributed import Client, Worker, get_worker
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.security import Security
from prefect_dask import DaskTaskRunner
from typing_extensions import override

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.flows.prefect_executor import PrefectExecutor
from leaseboard.flows.server import is_healthy
from leaseboard.tasks.fetch.cached import FILE, receive
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.machine.addresses import redacted
from leaseboard.tasks.machine.environment import prepare_environment
from leaseboard.tasks.pool.attempts import Attempt
from leaseboard.tasks.pool.workers import WorkerPool
from leaseboard.tasks.processes.limits import Limits
from leaseboard.tasks.store.recorded import Store

CONNECT_SECONDS = 10
IDLE_SECONDS = 10.0
"""Time after which a crew without work ends its processes: its run may have been killed."""
_CREWS: dict[str, Crew] = {}
"""On a Dask worker: its crews by the name of their run."""


class Cluster:
    """Cluster for the time of one run.

    Raises LeaseboardError if the scheduler does not answer or has no workers.

    - `address`: of the scheduler, such as ``tcp://10.0.0.1:8786``; with ``tls://`` Dask's own
      settings name the certificates.
    - `home`: the run folder, by which a repeated run replaces what a killed one left on the
      workers.
    - `work`: see `leaseboard.tasks.pool.workers.WorkerPool`.
    """

    def __init__(self, address: str, home: Path, limits: Limits, *, work: str) -> None:
        self.address = address
        self._name = f"leaseboard-{hashlib.sha256(str(home).encode()).hexdigest()[:12]}"
        self._limits = limits
        self._work = work
        self._plugins: list[str] = []

    def __enter__(self) -> Self:
        try:
            certified = Security().get_connection_args("client")["ssl_context"]
            if self.address.startswith("tls:") and not certified:
                raise ValueError("Dask's settings name no certificates")  # noqa: TRY301
            self._client = Client(self.address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise LeaseboardError(
                f"no Dask scheduler answers at {self.address!r} ({error}): start one with"
                f" `dask scheduler`, and workers with `dask worker {self.address}`"
            ) from error
        if not self._client.nthreads():
            self._client.close()
            raise LeaseboardError(
                f"the Dask scheduler at {self.address!r} has no workers: start some with"
                f" `dask worker {self.address}`"
            )
        return self

    def __exit__(self, *_: object) -> None:
        for name in reversed(self._plugins):
            self._client.unregister_worker_plugin(name)
        self._client.close()

    def equip(self, url: str) -> None:
        """Register a crew with every worker; `url` is Prefect's, which all must reach.

        Raises LeaseboardError if a worker does not reach the Prefect server.
        """
        reached = self._client.run(is_healthy, url)
        for worker in (worker for worker, healthy in reached.items() if not healthy):
            raise LeaseboardError(
                f"the Dask worker {worker} does not reach the Prefect server at {redacted(url)}:"
                " start one with `prefect server start --host ADDRESS`, and set PREFECT_API_URL to"
                " it"
            )
        self._register(self._name, Crew(self._name, self._limits, self._work, _shared()))

    def executor(self, names: Mapping[str, str], suite: str) -> DaskExecutor:
        """Return the executor that runs jobs on the workers, named as in `PrefectExecutor`."""
        threads = sum(self._client.nthreads().values())
        runner = DaskTaskRunner(address=self.address)
        return DaskExecutor(self, Remote(self._name), runner, 2 * threads + 8, names, suite)

    def deliver(self, prepared: Prepared) -> Prepared:
        """Send the files to every worker without them; return their names there."""
        there = []
        for folder in filter(None, [prepared.table, prepared.parts]):
            name = self._called(prepared, folder)
            if name not in self._plugins:
                self._register(name, Delivery(name, (folder / FILE).read_bytes()))
            there.append(Path(name))
        return Prepared(*there)

    def withdraw(self, prepared: Prepared) -> None:
        """Remove the parts from the workers and the scheduler."""
        if prepared.parts is not None:
            name = self._called(prepared, prepared.parts)
            self._plugins.remove(name)
            self._client.unregister_worker_plugin(name)

    def _called(self, prepared: Prepared, folder: Path) -> str:
        return f"{self._name}/{folder.relative_to(prepared.table.parent)}"

    def _register(self, name: str, plugin: WorkerPlugin) -> None:
        self._plugins.append(name)
        for worker, answer in self._client.register_plugin(plugin, name=name).items():
            if answer["status"] != "OK":
                raise LeaseboardError(f"the Dask worker {worker}: {answer.get('exception')}")


def _shared() -> dict[str, str]:
    """Return the variables that the workers' jobs need: the store, unless it is a file here."""
    place = Store().place
    return {} if isinstance(place, Path) else {"LEASEBOARD_STORE": place}


class DaskExecutor(PrefectExecutor):
    """Executor of steps as tasks of a flow run, and of jobs on the workers of a cluster."""

    def __init__(self, cluster: Cluster, *given: Any) -> None:
        super().__init__(*given)
        self._cluster = cluster

    @override
    def release(self, data: Prepared) -> None:
        self._cluster.withdraw(data)

    @override
    def deliver(self, data: Prepared) -> Prepared:
        return self._cluster.deliver(data)

    @override
    def hide(self, given: Any) -> Any:
        return given  # Dask makes a plain tuple of what is quoted


@dataclass(frozen=True)
class Remote:
    """Reference to the crew of a task's worker; all that is sent with a task."""

    name: str

    def __call__(self, job: Job, key: str, prepared: Prepared | None) -> Attempt:
        """Run the job on this worker; returns its result with its files' contents."""
        return _CREWS[self.name].perform(job, key, prepared)


class Delivery(WorkerPlugin):
    """Folder that is sent to a worker, whose own folder holds it until the worker ends."""

    def __init__(self, name: str, content: bytes) -> None:
        self._name = name
        self._content = content

    async def setup(self, worker: Worker) -> None:
        """Write the files, once for each time that the worker starts."""
        self._folder = Path(worker.local_directory) / self._name
        await asyncio.to_thread(receive, self._content, self._folder)
        self._content = b""

    async def teardown(self, worker: Worker) -> None:
        """Remove the files; jobs that map them keep their pages."""
        del worker
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)


class Crew(WorkerPlugin):
    """Processes that run a run's jobs on one Dask worker, as many as it has threads."""

    def __init__(self, name: str, limits: Limits, work: str, shared: dict[str, str]) -> None:
        self._name = name
        self._limits = limits
        self._work = work
        self._shared = shared

    def setup(self, worker: Worker) -> None:
        """Set up the pool; its processes start with the first task."""
        self._home = Path(worker.local_directory)
        prepare_environment(self._home)
        self._size = worker.state.nthreads
        self._free = threading.Semaphore(self._size)
        self._running: set[str] = set()
        self._pool = WorkerPool(
            self._size, self._limits, work=self._work, environment=self._shared
        )
        self._idle = threading.Timer(0, self._pool.cool)
        _CREWS[self._name] = self

    async def teardown(self, worker: Worker) -> None:
        """Stop what still runs, and end the processes."""
        del worker
        if _CREWS.get(self._name) is self:
            del _CREWS[self._name]
        self._pool.stop()
        await asyncio.to_thread(self._close)
        await asyncio.to_thread(shutil.rmtree, self._home / self._name, ignore_errors=True)

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        """Stop a running task whose run is gone, which Dask cannot do."""
        del start
        if key in self._running and finish == "released":
            self._pool.stop()

    def perform(self, job: Job, key: str, prepared: Prepared | None) -> Attempt:
        """Run a job in a temporary folder, on delivered inputs; return the folder's content."""
        if prepared is not None:
            there = [prepared.table, *filter(None, [prepared.parts])]
            prepared = Prepared(*(self._home / folder for folder in there))
        task = get_worker().get_current_task()
        with self._free, tempfile.TemporaryDirectory(prefix="leaseboard-") as name:
            folder = Path(name)
            self._idle.cancel()
            self._running.add(task)
            try:
                result = self._pool.run(job, key, folder, prepared)
            finally:
                self._running.discard(task)
                self._rest()
            files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        return Attempt(result, files=files)

    def _rest(self) -> None:
        self._idle.cancel()
        self._idle = threading.Timer(IDLE_SECONDS, self._pool.cool)
        self._idle.daemon = True
        self._idle.start()

    def _close(self) -> None:
        for _ in range(self._size):  # until no job runs
            self._free.acquire()
        self._idle.cancel()
        self._pool.close()
