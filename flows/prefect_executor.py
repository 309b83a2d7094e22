"""The executor of Prefect: steps as the tasks of one flow run, jobs in threads here or on Dask.

Prefect's history is a convenience; the run folder, MLflow and the state of a live model are the
record. So nothing is persisted or cached here, and a job that fails is a failed task.
"""

import logging
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic

import httpx
from prefect import flow
from prefect.client.schemas.objects import State
from prefect.concurrency.services import ConcurrencySlotAcquisitionWithLeaseService
from prefect.context import get_run_context
from prefect.events.clients import PrefectEventsClient
from prefect.events.worker import EventsWorker, emit_events_to_cloud
from prefect.logging import get_run_logger
from prefect.runtime import flow_run
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings
from prefect.utilities.annotations import quote
from typing_extensions import override

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.flows.benchmark import Executor, Value
from leaseboard.flows.console import listening, report_outage, terminable
from leaseboard.flows.server import check_answers
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.jobs.run import failed
from leaseboard.tasks.pool.workers import Attempt, lasting_pool
from leaseboard.tasks.processes.child import Limits
from leaseboard.tasks.steps import prefect_tasks
from leaseboard.tasks.store.database import Store

LEFT_SECONDS = 5.0
"""Time to wait for what an earlier flow left."""
DRAIN_SECONDS = 30.0
"""Time in which a server may take the events of a run."""


class PrefectExecutor(Executor):
    """Executor of the tasks of the flow run that it is used in.

    Arguments are quoted: Prefect would look for the results of other tasks in all of them.

    Its runner is one of Prefect, of threads or of a cluster.
    """

    @override
    def call(self, step: Callable[..., Value], *given: Any, **named: Any) -> Value:
        made: Value = self.make(getattr(prefect_tasks, step.__name__))(*given, **named)
        return made

    def make(self, task: Any) -> Callable[..., Any]:
        """Return a function that runs a task of this run."""

        def run(*given: Any, **named: Any) -> Any:
            return task(*map(quote, given), **{name: quote(each) for name, each in named.items()})

        return run

    @override
    def submit(self, job: Job, key: str, data: Prepared | None) -> Future[Attempt]:
        given = {"job": job, "data": data, "key": key, "workers": self.runs}
        given |= {"limits": None, "out": None}
        task, ended = self.runner.submit(prefect_tasks.run, given), Future[Attempt]()

        def hand_over(_: Any) -> None:
            try:
                made = task.result(raise_on_failure=False)
            except BaseException as error:  # noqa: BLE001  (of the runner itself)
                made = error
            if type(made).__name__ == "KilledWorker":  # no import: Dask is an extra
                reason = "one Dask worker after the other died while it ran"
                made = failed(job, "crash", reason, key=key)
            if isinstance(made, BaseException):
                ended.set_exception(made)
            else:
                ended.set_result(made if isinstance(made, Attempt) else Attempt(made))

        task.add_done_callback(hand_over)
        return ended


class _Work(Generic[Value]):
    """Work of a flow run, and its value; left out where Prefect sends flows with their tasks."""

    def __init__(self, perform: Callable[[], Value]) -> None:
        self._perform = perform
        self.made: list[Value] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return object, ()

    def __call__(self) -> Value:
        with terminable():
            self.made.append(self._perform())
        return self.made[0]


def in_one_run(
    called: str,
    name: str,
    url: str,
    executor: PrefectExecutor,
    body: Callable[[Any], Value],
    ended: Callable[[Value], State[Any]],
) -> Value:
    """Return the value of `body` in a run `name` of the flow `called` on the server at `url`.

    - `ended`: returns the state in which the flow run ends.
    """
    work = _Work(lambda: executor.perform(body))

    @flow(
        name=called, flow_run_name=run_name(name), persist_result=False,
        description="Fetch, prepare, run, score, record and report.",
    )  # fmt: skip
    def made() -> State[Any]:
        with logged():
            return ended(work())

    # A server that is gone is asked again for a quarter of a minute, not for a whole one.
    chosen = {PREFECT_API_URL: url, PREFECT_CLIENT_MAX_RETRIES: 3}
    check_answers(url)
    with temporary_settings(chosen):
        # What an earlier flow of this process left may talk to a server that is gone.
        ConcurrencySlotAcquisitionWithLeaseService.drain_all(timeout=LEFT_SECONDS)
        try:
            state = made(return_state=True)
            if not work.made:
                state.result()  # raises what ended it
            # Events that are left when a server stops would be sent again and again to no server.
            EventsWorker.drain_all(timeout=DRAIN_SECONDS)
        except httpx.HTTPError:  # of Prefect's own, once the work is done
            if not work.made:
                raise
            report_outage()
    return work.made[0]


def run_name(name: str, at: datetime | None = None) -> str:
    """Return the name of a flow run: of a suite or live model, or its file, and when it is due."""
    due = (at or datetime.now(UTC)).astimezone()
    return f"{Path(name).name.removesuffix('.yaml')} {due:%F %T}"


def named_after(parameter: str) -> Callable[[], str]:
    """Return a function that names a flow run after one of its parameters, in a schedule."""

    def name() -> str:
        return run_name(flow_run.parameters[parameter], flow_run.scheduled_start_time)

    return name


@contextmanager
def logged() -> Iterator[None]:
    """Send the lines that `say` prints meanwhile to the page of the current flow run."""
    for kind in ("flow_runs", "task_runs"):  # on the page, and the terminal if asked
        logger = logging.getLogger(f"prefect.{kind}")
        logger.propagate = logging.getLogger("prefect").isEnabledFor(logging.INFO)
        logger.setLevel(logging.INFO)
    # An event that is not taken is tried again with the next, and not for ten seconds. Each would
    # be a line of 2 KB; `report_outage` prints one.
    if not emit_events_to_cloud():  # which has a client of its own, with a key
        EventsWorker.set_client_override(PrefectEventsClient, reconnection_attempts=2)
    logging.raiseExceptions = False
    for name in ("EventsWorker", "prefect.events.clients", "prefect._internal.concurrency"):
        logging.getLogger(name).addFilter(lambda _: False)
    lines = get_run_logger(get_run_context())
    with listening(lambda text: lines.info("%s", text)):
        yield


CONNECT_SECONDS = 10


class DaskExecutor(PrefectExecutor):
    """Executor of steps as tasks of a flow run, and of jobs on the workers of a cluster.

    A job loads and encodes its data where it runs.

    - `address`: of the scheduler, such as ``tcp://10.0.0.1:8786``; with ``tls://`` Dask's own
      settings name the certificates.
    - `work`: see `leaseboard.tasks.pool.workers.WorkerPool`.
    """

    shares = False

    def __init__(self, address: str, limits: Limits, work: str) -> None:
        from prefect_dask.task_runners import DaskTaskRunner

        runner = DaskTaskRunner(address=address, client_kwargs={"timeout": CONNECT_SECONDS})
        super().__init__(Remote(limits, work, _shared()), runner=runner)
        self._address = address

    @override
    def perform(self, body: Callable[[Any], Value]) -> Value:
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

    def __call__(self, job: Job, key: str, _: None) -> Attempt:
        """Run the job in a temporary folder."""
        with tempfile.TemporaryDirectory(prefix="leaseboard-") as name:
            home = Path(name)
            result = lasting_pool(self.limits, self.work, self.store).run(job, key, home)
            files = {path.name: path.read_bytes() for path in home.iterdir() if path.is_file()}
        return Attempt(result, files=files)
