"""The Prefect flow of a suite: one task a job, run from threads here or on a Dask cluster.

Prefect's history is a convenience; the run folder and MLflow are the record. So nothing is
persisted or cached here, and a job that fails is a failed task, never a failed flow run engine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from queue import SimpleQueue
from typing import Any
from uuid import UUID

import httpx
from prefect import flow, tags, task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import State
from prefect.context import TagsContext, get_run_context
from prefect.futures import PrefectWrappedFuture
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Completed, Failed
from prefect.task_runners import TaskRunner

from flows.flow_log import logged
from flows.flow_runs import end_dead_runs, owner_tags, unanswered
from tasks.jobs.job import Result
from tasks.pool.workers import Attempt

DRAIN_SECONDS = 30.0
"""How long a server may record nothing new before it is left alone."""
_ENDED = ["COMPLETED", "FAILED", "CRASHED", "CANCELLED"]


class Here:
    """What a flow works with in its own process.

    Prefect sends the flow along with each task that goes to another process; this stays behind.

    Parameters
    ----------
    titles : dict of str to str
        The jobs: key to title.
    settle : callable
        Takes the key and the attempt of each job that is over, None if its worker was lost.
    interrupt : callable
        Called when the flow is cancelled or interrupted: makes every running attempt return.
    kept : ExitStack
        Holds what lasts longer than the flow: its log goes on until the run has been summed up.
    """

    def __init__(
        self,
        titles: dict[str, str],
        settle: Callable[[str, Attempt | None], Result],
        interrupt: Callable[[], None],
        kept: ExitStack,
    ) -> None:
        self.titles = titles
        self.settle = settle
        self.interrupt = interrupt
        self.kept = kept
        self.error: BaseException | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return object, ()


def run_flow(
    suite: str,
    attempt: Callable[[str], Attempt],
    here: Here,
    *,
    runner: TaskRunner[Any],
    url: str,
) -> None:
    """Run every job as a task of one flow run on the server at `url`.

    Parameters
    ----------
    suite : str
        The flow run's name.
    attempt : callable
        Runs the job of a key to its end, wherever `runner` runs its tasks.
    here : Here
    runner : TaskRunner
        Of threads, or of a cluster.
    url : str
        The server's address.
    """

    @task(cache_policy=NO_CACHE, persist_result=False, task_run_name="{title}")
    def job(key: str, title: str) -> State[Any]:
        del title
        made = attempt(key)
        result = made.result
        if result.status in {"ok", "skipped"}:
            score = "" if result.score is None else f"{result.metric} {result.score:.6g}"
            return Completed(message=f"{result.status} {result.reason or score}", data=made)
        return Failed(message=f"{result.status}: {result.reason}", data=made)

    @flow(
        name="suite",
        flow_run_name=suite,
        task_runner=runner,
        persist_result=False,
        validate_parameters=False,
    )
    def jobs(suite: str, jobs: int) -> State[Any]:
        del suite, jobs
        here.kept.enter_context(logged(get_run_context().flow_run.id))
        ended: SimpleQueue[PrefectWrappedFuture[Any, Any]] = SimpleQueue()
        keys: dict[UUID, str] = {}
        futures: dict[UUID, PrefectWrappedFuture[Any, Any]] = {}
        failed = 0
        try:
            with TagsContext(current_tags=set()):  # a task with tags asks for the limits of each
                for key, title in here.titles.items():
                    future = job.submit(key, title)
                    keys[future.task_run_id] = key
                    futures[future.task_run_id] = future
                    future.add_done_callback(ended.put)
            while futures:  # what has been settled is let go of, here and on its worker
                future = futures.pop(ended.get().task_run_id)
                result = here.settle(keys[future.task_run_id], _outcome(future))
                failed += result.status not in {"ok", "skipped"}
        except BaseException as error:
            here.error = error
            here.interrupt()
            for future in futures.values():
                future.wrapped_future.cancel()
            raise
        if failed:
            return Failed(message=f"{failed} of {len(keys)} jobs failed")
        return Completed(message=f"{len(keys)} jobs done")

    here.kept.enter_context(temporary_settings({PREFECT_API_URL: url}))
    with get_client(sync_client=True) as client:
        try:
            end_dead_runs(client)
        except httpx.HTTPError as error:
            raise unanswered(error, url) from error
        with tags(*owner_tags()):
            state = jobs(suite, len(here.titles), return_state=True)
        if here.error is not None:  # which Prefect has made a state of
            raise here.error
        _drain(client, str(state.state_details.flow_run_id), len(here.titles))


def _outcome(future: PrefectWrappedFuture[Any, Any]) -> Attempt | None:
    """The attempt, None if Dask gave it up because one worker after the other died of it.

    What else a task raised, such as that it was interrupted, is raised here.
    """
    lost = future.wrapped_future.exception()
    if type(lost).__name__ == "KilledWorker":  # no import: Dask is an extra
        return None
    made = future.result(raise_on_failure=False)
    if isinstance(made, BaseException):
        raise made
    attempt: Attempt = made
    return attempt


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
