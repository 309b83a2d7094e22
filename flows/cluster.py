"""Jobs on the workers of a Dask cluster, each by the same pool of processes as here.

The task of a job gets its prepared inputs as bytes, which Dask brings to a worker once, and
returns what the job left behind. So the run folder and MLflow are written here alone, and a job
that Dask runs again, because its worker died, is recorded once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prefect_dask.task_runners import DaskTaskRunner
from typing_extensions import override

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.flows.benchmark import Executor, Value
from leaseboard.flows.prefect_executor import PrefectExecutor
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.prepared import FILE, Prepared
from leaseboard.tasks.pool.workers import Attempt, lasting_pool
from leaseboard.tasks.processes.child import Limits
from leaseboard.tasks.store.recorded import Store

CONNECT_SECONDS = 10
TABLE, PARTS = "table", "parts"


class DaskExecutor(PrefectExecutor):
    """Executor of steps as tasks of a flow run, and of jobs on the workers of a cluster.

    - `address`: of the scheduler, such as ``tcp://10.0.0.1:8786``; with ``tls://`` Dask's own
      settings name the certificates.
    - `work`: see `leaseboard.tasks.pool.workers.WorkerPool`.
    """

    def __init__(self, address: str, limits: Limits, work: str) -> None:
        runner = DaskTaskRunner(address=address, client_kwargs={"timeout": CONNECT_SECONDS})
        super().__init__(Remote(limits, work, _shared()), runner=runner)
        self._address = address
        self._sent: dict[Path, Any] = {}

    @override
    def perform(self, body: Callable[[Executor], Value]) -> Value:
        def checked(executor: Executor) -> Value:
            threads = self._connect().nthreads()
            self.ahead = 2 * sum(threads.values()) + 8
            return body(executor)

        return super().perform(checked)

    def _connect(self) -> Any:
        """Return the client; raise LeaseboardError if no scheduler or worker can be used."""
        try:
            client = self.runner.client
        except (OSError, ValueError) as error:
            raise LeaseboardError(
                f"no Dask scheduler answers at {self._address!r} ({error}): start one with"
                f" `dask scheduler`, and workers with `dask worker {self._address}`"
            ) from error
        if not client.nthreads():
            raise LeaseboardError(
                f"the Dask scheduler at {self._address!r} has no workers: start some with"
                f" `dask worker {self._address}`"
            )
        return client

    @override
    def submit(self, job: Job, key: str, data: Prepared | None) -> Future[Attempt]:
        sent = {}
        if data is not None:
            folders = {TABLE: data.table} | ({PARTS: data.parts} if data.parts else {})
            for name, folder in folders.items():
                if folder not in self._sent:
                    self._sent[folder] = self.runner.client.scatter((folder / FILE).read_bytes())
                sent[name] = self._sent[folder]
        return self.started(job, key, {"job": job, "data": sent, "key": key})

    @override
    def release(self, data: Prepared) -> None:
        if data.parts is not None:
            self._sent.pop(data.parts, None)


def _shared() -> str:
    """Return the address of the store of trials, which the jobs need, unless it is a file here."""
    place = Store().place
    return "" if isinstance(place, Path) else place


@dataclass(frozen=True)
class Remote:
    """Runs a job on a Dask worker; returns its result with its files' contents."""

    limits: Limits
    work: str
    store: str

    def __call__(self, job: Job, key: str, sent: dict[str, bytes]) -> Attempt:
        """Run the job in a temporary folder, on the inputs that were sent."""
        with tempfile.TemporaryDirectory(prefix="leaseboard-") as name:
            folder = Path(name)
            for each, files in sent.items():
                (folder / each).mkdir()
                (folder / each / FILE).write_bytes(files)
            given = Prepared(folder / TABLE, folder / PARTS if PARTS in sent else None)
            home = folder / "job"
            home.mkdir()
            pool = lasting_pool(self.limits, self.work, self.store)
            result = pool.run(job, key, home, given if sent else None)
            files_of_job = {
                path.name: path.read_bytes() for path in home.iterdir() if path.is_file()
            }
        return Attempt(result, files=files_of_job)
