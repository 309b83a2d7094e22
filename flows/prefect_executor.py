"""The executor of Prefect: steps as the tasks of one flow run, jobs in threads here or on Dask.

Prefect's history is a convenience; the run folder, MLflow and the state of a live model are the
record. So nothing is persisted or cached here, and a job that fails is a failed task.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar
from uuid import UUID

import httpx
from prefect import flow, tags
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import State, StateDetails
from prefect.concurrency.services import ConcurrencySlotAcquisitionWithLeaseService
from prefect.context import TagsContext, get_run_context
from prefect.exceptions import PrefectException
from prefect.futures import PrefectWrappedFuture
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings
from prefect.states import Completed
from prefect.utilities.annotations import quote
from typing_extensions import override

from leaseboard.flows.console import report_outage
from leaseboard.flows.executor import Executor, Step
from leaseboard.flows.flow_runs import (
    end_dead_runs,
    interruptible,
    logged,
    owner_tags,
    run_name,
    unanswered,
    watched,
)
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.pool.attempts import Attempt, RunsJobs
from leaseboard.tasks.steps import prefect_tasks

PROGRESS_SECONDS = 2.0
"""Least time between two updates of the progress on a run's page."""
LEFT_SECONDS = 5.0
"""Time to wait for what an earlier flow left."""
DRAIN_SECONDS = 30.0
"""Time without a new record after which a server is waited for no longer."""
_ENDED = ["COMPLETED", "FAILED", "CRASHED", "CANCELLED"]

Made = TypeVar("Made")


class PrefectExecutor(Executor):
    """Executor of the tasks of the flow run that it is used in.

    Prefect sends the flow along with each task that goes to another process; this is left out.

    - `runs`: runs a job where `runner` runs its task; None where no jobs run.
    - `runner`: of threads, or of a cluster.
    - `ahead`: see `Executor`.
    - `names`: what the page calls data, by reference.
    - `suite`: names artifacts, and is a tag of each job.
    - `interrupt`: see `Executor`.
    """

    def __init__(
        self,
        runs: RunsJobs | None = None,
        runner: AbstractContextManager[Any] | None = None,
        ahead: int = 0,
        names: Mapping[str, str] | None = None,
        suite: str = "",
        interrupt: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(ahead, interrupt)
        self._runs = runs
        self.runner: Any = nullcontext() if runner is None else runner
        self.tasks = 0
        self._names = names or {}
        self._suite = suite
        # The task run that made a result, by its key, or another value, by its id.
        self._makers: dict[str | int, tuple[Any, UUID | None]] = {}
        self._shown = 0.0
        self._progress: Any = None
        self._showing = True

    def __reduce__(self) -> tuple[Any, ...]:
        return object, ()

    @override
    def make(self, word: str, step: Step, *, after: Iterable[object] = ()) -> Step:
        """Return a call of the step's task.

        Prefect guesses after which tasks it comes: two that get equal text seem to depend on each
        other. So everything is quoted, and `after` says the order.
        """
        made = prefect_tasks.TASKS.get(step)
        known = made is not None
        made = made or prefect_tasks.as_task(step, word, task_run_name=word)

        def call(*given: Any, **named: Any) -> Any:
            self.tasks += 1
            if known:
                named |= {"called": self._called(given), "tagged": (self._suite,)}
            quoted = {name: quote(value) for name, value in named.items()}
            state = made(
                *map(quote, given), **quoted, wait_for=self._states(after), return_state=True
            )
            value = state.result()
            if known:  # the value is kept, so that no other gets its id
                self._makers[id(value)] = value, state.state_details.task_run_id
            return value

        return call

    def _called(self, given: Iterable[Any]) -> str:
        """Return what the page calls the data of a step's arguments; empty: by the reference."""
        references = (getattr(each, "reference", getattr(each, "data", each)) for each in given)
        known = (each for each in references if isinstance(each, str))
        return next((self._names[each] for each in known if each in self._names), "")

    def _states(self, made: Iterable[object]) -> list[State[Any]]:
        """Return states that name the tasks of values, and hold nothing that Prefect inspects."""
        keys = (value.key if isinstance(value, Result) else id(value) for value in made)
        runs = (self._makers[key][1] for key in keys if key in self._makers)
        details = (StateDetails(task_run_id=run) for run in runs)
        return [Completed(data=True, state_details=each) for each in details]

    @override
    def show_progress(self, done: int, total: int) -> None:
        percent, now = 100.0 * done / max(1, total), time.monotonic()
        due = done == total or now > self._shown + PROGRESS_SECONDS
        if not (due and self._showing):
            return
        self._shown = now
        try:
            with prefect_tasks.once():
                if self._progress is None:
                    self._progress = create_progress_artifact(
                        percent,
                        key=prefect_tasks.artifact_key(self._suite, "progress"),
                        description=f"of {total} jobs",
                    )
                else:
                    update_progress_artifact(self._progress, percent)
        except (httpx.HTTPError, PrefectException):  # history is a convenience
            self._showing = False
            report_outage()

    def deliver(self, data: Prepared) -> Prepared:
        """Return where the jobs find prepared inputs: here."""
        return data

    def hide(self, given: Any) -> Any:
        """Return an argument of a job's task so that Prefect does not look into it."""
        return quote(given)

    def cancel(self) -> None:
        """Stop what runs, and run nothing that has not begun."""
        self.interrupt()
        for future in self._running.values():
            future.wrapped_future.cancel()

    @override
    def submit(self, job: Job, key: str, data: Prepared | None) -> Any:
        self.tasks += 1
        there = None if data is None else self.deliver(data)
        called = self._called([job])
        given = {
            "job": self.hide(job),
            "data": self.hide(there),
            "key": key,
            "limits": None,
            "out": None,
            "workers": self._runs,
            "called": self.hide(called),
            "tagged": (self._suite, job.name or job.algorithm, called or job.data),
        }
        return self.runner.submit(prefect_tasks.run, given, wait_for=self._states([data]))

    @override
    def outcome_of(self, future: PrefectWrappedFuture[Any, Any]) -> Attempt | None:
        """Return the attempt, None if Dask gave it up because several workers died of it."""
        lost = future.wrapped_future.exception()
        if type(lost).__name__ == "KilledWorker":  # no import: Dask is an extra
            return None
        made = future.result(raise_on_failure=False)
        if isinstance(made, BaseException):
            raise made
        attempt = made if isinstance(made, Attempt) else Attempt(made)
        self._makers[attempt.result.key] = None, future.task_run_id
        return attempt


class FlowWork(Generic[Made]):
    """Work of a flow run in its own process, and its outcome; left out where Prefect sends flows.

    - `executor`: carries out its steps, and stops them when the run is cancelled.
    - `body`: chains the steps.
    - `ended`: returns the state in which the flow run ends.
    """

    _made: Made | None = None
    _error: BaseException | None = None

    def __init__(
        self,
        executor: PrefectExecutor,
        body: Callable[[Executor], Made],
        ended: Callable[[Made], State[Any]],
    ) -> None:
        self.executor = executor
        self._body = body
        self._ended = ended

    def __reduce__(self) -> tuple[Any, ...]:
        return object, ()

    def perform(self) -> State[Any]:
        """Do the work within the flow run, and return the state in which that ends."""
        try:
            with TagsContext(current_tags=set()), self.executor.runner:
                try:
                    self._made = made = self._body(self.executor)
                except BaseException:
                    self.executor.cancel()
                    raise
        except BaseException as error:
            self._error = error
            raise
        return self._ended(made)

    def outcome(self, lost: Exception | None = None) -> Made:
        """Return the value of the body, or raise its error, of which Prefect made a state.

        - `lost`: is raised if there is neither.
        """
        if self._error is not None:
            raise self._error
        if self._made is None:
            raise lost or AssertionError
        return self._made


def in_one_run(
    called: str, name: str, url: str, work: FlowWork[Made], description: str = ""
) -> Made:
    """Return the outcome of `work` in a run `name` of the flow `called` on the server at `url`."""

    @flow(
        name=called, flow_run_name=run_name(name), description=description,
        persist_result=False, validate_parameters=False,
    )  # fmt: skip
    def made(name: str) -> State[Any]:
        del name
        run = get_run_context().flow_run
        with logged(run.id), watched(run):
            return interruptible(run, work.perform)

    # A server that is gone is asked again for a quarter of a minute, not for a whole one.
    chosen = {PREFECT_API_URL: url, PREFECT_CLIENT_MAX_RETRIES: 3}
    with temporary_settings(chosen), get_client(sync_client=True) as client:
        try:
            end_dead_runs(client)
        except httpx.HTTPError as error:
            raise unanswered(error, url) from error
        # What an earlier flow of this process left may talk to a server that is gone.
        ConcurrencySlotAcquisitionWithLeaseService.drain_all(timeout=LEFT_SECONDS)
        try:
            with tags(*owner_tags(), name):
                state = made(name, return_state=True)
            outcome = work.outcome()
            _drain(client, str(state.state_details.flow_run_id), work.executor.tasks)
        except httpx.HTTPError as error:  # of Prefect's own, once the work is done
            outcome = work.outcome(error)
            report_outage()
    return outcome


def _drain(client: SyncPrefectClient, flow_run: str, expected: int) -> None:
    """Wait until the server has recorded the end of every task; it records them from events.

    A busy server is waited for as long as it makes progress: events that are left when it stops
    would be sent again and again to no server, and keep this process from ending.
    """
    filters = {
        "flow_runs": {"id": {"any_": [flow_run]}},
        "task_runs": {"state": {"type": {"any_": _ENDED}}},
    }
    before, deadline = -1, 0.0
    while True:
        recorded = client.request("POST", "/task_runs/count", json=filters).json()
        if recorded > before:
            before, deadline = recorded, time.monotonic() + DRAIN_SECONDS
        if recorded >= expected or time.monotonic() > deadline:
            return
        time.sleep(0.25)
