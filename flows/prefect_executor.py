"""The executor of Prefect: steps as the tasks of one flow run, jobs in threads here or on Dask.

Prefect's history is a convenience; the run folder, MLflow and the state of a live model are the
record. So nothing is persisted or cached here, and a job that fails is a failed task, never a
failed flow run engine.
"""

from __future__ import annotations

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
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Completed
from prefect.utilities.annotations import quote
from typing_extensions import override

from leaseboard.flows.console import say
from leaseboard.flows.executor import Executor, Step
from leaseboard.flows.flow_runs import end_dead_runs, logged, owner_tags, unanswered
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.pool.attempts import Attempt, RunsJobs
from leaseboard.tasks.steps import prefect_tasks

PROGRESS_SECONDS = 2.0
"""How often the progress on a run's page is brought up to date."""
LEFT_SECONDS = 5.0
"""How long what an earlier flow left is waited for."""
DRAIN_SECONDS = 30.0
"""How long a server may record nothing new before it is left alone."""
_ENDED = ["COMPLETED", "FAILED", "CRASHED", "CANCELLED"]

Made = TypeVar("Made")


class PrefectExecutor(Executor):
    """Carries out steps as tasks of the flow run that it is used in.

    Prefect sends the flow along with each task that goes to another process; this stays behind.

    - `runs`: runs a job where `runner` runs its task; None where no jobs run.
    - `runner`: of threads, or of a cluster.
    - `ahead`: see `Executor`.
    - `names`: what the page calls data, by reference.
    """

    def __init__(
        self,
        runs: RunsJobs | None = None,
        runner: AbstractContextManager[Any] | None = None,
        ahead: int = 0,
        names: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(ahead)
        self._runs = runs
        self.runner: Any = nullcontext() if runner is None else runner
        self.tasks = 0
        self._names = names or {}
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

        Prefect would guess after which tasks it comes: two that are given one text come one after
        the other to it. So it is shown nothing: all that is given is quoted, and `after` is said.
        """
        made = prefect_tasks.TASKS.get(step)
        known = made is not None
        made = made or prefect_tasks.as_task(step, word, task_run_name=word)

        def call(*given: Any, **named: Any) -> Any:
            self.tasks += 1
            quoted = {name: quote(value) for name, value in named.items()}
            if known:
                quoted["called"] = quote(self._called(given))
            state = made(
                *map(quote, given), **quoted, wait_for=self._states(after), return_state=True
            )
            value = state.result()
            if known:
                self._remember(value, state.state_details.task_run_id)
            return value

        return call

    def _called(self, given: Iterable[Any]) -> str:
        """Return what the page calls the data of a step's arguments; empty: by the reference."""
        references = (getattr(each, "reference", getattr(each, "data", each)) for each in given)
        known = (each for each in references if isinstance(each, str))
        return next((self._names[each] for each in known if each in self._names), "")

    def _remember(self, value: Any, task_run: UUID | None) -> None:
        """Keep which task made `value`; that is held, so that no other gets its id."""
        self._makers[id(value)] = value, task_run

    def _states(self, made: Iterable[object]) -> list[State[Any]]:
        """Return states that name the tasks which made values, and hold nothing to look into."""
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
            if self._progress is None:
                self._progress = create_progress_artifact(
                    percent, key="progress", description=f"of {total} jobs"
                )
            else:
                update_progress_artifact(self._progress, percent)
        except (httpx.HTTPError, PrefectException) as error:  # history is a convenience
            self._showing = False
            say(f"leaseboard: Prefect is not told the progress: {type(error).__name__}", err=True)

    def deliver(self, data: Prepared) -> Prepared:
        """Return where the jobs find what was prepared: here."""
        return data

    def hide(self, given: Any) -> Any:
        """Return what a job's task is given, where Prefect does not look into it."""
        return quote(given)

    def cancel(self) -> None:
        """Run nothing that has not begun."""
        for future in self._running.values():
            future.wrapped_future.cancel()

    @override
    def submit(self, job: Job, key: str, data: Prepared | None) -> Any:
        self.tasks += 1
        there = None if data is None else self.deliver(data)
        given = {"job": self.hide(job), "data": self.hide(there), "key": key}
        given |= {"limits": None, "out": None, "workers": self._runs}
        given |= {"called": self.hide(self._called([job]))}
        return self.runner.submit(prefect_tasks.run, given, wait_for=self._states([data]))

    @override
    def outcome_of(self, future: PrefectWrappedFuture[Any, Any]) -> Attempt | None:
        """The attempt, None if Dask gave it up because one worker after the other died of it."""
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
    """What a flow run does in its own process, with what came of it; it stays behind, too.

    - `executor`: carries out its steps.
    - `body`: what is made of them.
    - `ended`: how the flow run ends by what was made.
    - `interrupt`: called when it is cancelled or interrupted: makes every running job return.
    """

    _made: Made | None = None
    _error: BaseException | None = None

    def __init__(
        self,
        executor: PrefectExecutor,
        body: Callable[[Executor], Made],
        ended: Callable[[Made], State[Any]],
        interrupt: Callable[[], None] = lambda: None,
    ) -> None:
        self.executor = executor
        self._body = body
        self._ended = ended
        self._interrupt = interrupt

    def __reduce__(self) -> tuple[Any, ...]:
        return object, ()

    def perform(self) -> State[Any]:
        """Do it, within the flow run, which ends as the state says."""
        try:
            with TagsContext(current_tags=set()), self.executor.runner:
                try:
                    self._made = made = self._body(self.executor)
                except BaseException:
                    self._interrupt()
                    self.executor.cancel()
                    raise
        except BaseException as error:
            self._error = error
            raise
        return self._ended(made)

    def outcome(self) -> Made:
        """What came of it; what it was interrupted by is raised, of which Prefect made a state."""
        if self._error is not None:
            raise self._error
        assert self._made is not None
        return self._made


def in_one_run(
    called: str, name: str, url: str, work: FlowWork[Made], description: str = ""
) -> Made:
    """What comes of `work` in one run `name` of the flow `called`, on the server at `url`."""

    @flow(
        name=called, flow_run_name=name, description=description, persist_result=False,
        validate_parameters=False,
    )  # fmt: skip
    def made(name: str) -> State[Any]:
        del name
        with logged(get_run_context().flow_run.id):
            return work.perform()

    with temporary_settings({PREFECT_API_URL: url}), get_client(sync_client=True) as client:
        try:
            end_dead_runs(client)
        except httpx.HTTPError as error:
            raise unanswered(error, url) from error
        # What an earlier flow of this process left may talk to a server that is gone.
        ConcurrencySlotAcquisitionWithLeaseService.drain_all(timeout=LEFT_SECONDS)
        with tags(*owner_tags(), name):
            state = made(name, return_state=True)
        outcome = work.outcome()
        _drain(client, str(state.state_details.flow_run_id), work.executor.tasks)
    return outcome


def _drain(client: SyncPrefectClient, flow_run: str, expected: int) -> None:
    """Wait until the server has recorded the end of every task; it records them from events.

    A busy server is waited for as long as it gets on: events that are left over when it stops
    would be sent to nobody, again and again, and keep this process from ending.
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
