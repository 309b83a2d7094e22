"""The Prefect flow of a suite: one task a job, run from threads here or on a Dask cluster.

Prefect's history is a convenience; the run folder and MLflow are the record. So nothing is
persisted or cached here, and a job that fails is a failed task, never a failed flow run engine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any
from uuid import UUID

import psutil
from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterState, FlowRunFilterTags
from prefect.client.schemas.objects import State
from prefect.context import get_run_context
from prefect.futures import PrefectWrappedFuture
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Completed, Crashed, Failed
from prefect.task_runners import TaskRunner

from flows.workers import Attempt
from tasks.jobs import Result
from tasks.track.records import started

DRAIN_SECONDS = 30.0
"""How long a server may record nothing new before it is left alone."""
_ENDED = ["COMPLETED", "FAILED", "CRASHED", "CANCELLED"]
_TAG = "leaseboard"


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
    """

    def __init__(
        self,
        titles: dict[str, str],
        settle: Callable[[str, Attempt | None], Result],
        interrupt: Callable[[], None],
    ) -> None:
        self.titles = titles
        self.settle = settle
        self.interrupt = interrupt
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
        # Not with `prefect.tags`: tasks would inherit them, and each ask for their limits.
        with get_client(sync_client=True) as client:
            tags = [_TAG, *_owner(os.getpid())]
            client.update_flow_run(get_run_context().flow_run.id, tags=tags)
        ended: SimpleQueue[PrefectWrappedFuture[Any, Any]] = SimpleQueue()
        keys: dict[UUID, str] = {}
        futures: dict[UUID, PrefectWrappedFuture[Any, Any]] = {}
        failed = 0
        try:
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

    with temporary_settings({PREFECT_API_URL: url}), get_client(sync_client=True) as client:
        bury_dead_runs(client)
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


def bury_dead_runs(client: SyncPrefectClient) -> int:
    """Mark flow runs as crashed whose process was killed; returns how many there were."""
    running = client.read_flow_runs(
        flow_run_filter=FlowRunFilter(
            state=FlowRunFilterState.model_validate({"type": {"any_": ["RUNNING"]}}),
            tags=FlowRunFilterTags(all_=[_TAG, _owner(0)[0]]),
        )
    )
    dead = [run for run in running if not _alive(run.tags)]
    for run in dead:
        client.set_flow_run_state(run.id, Crashed(message="its process is gone"), force=True)
    return len(dead)


def _owner(pid: int) -> tuple[str, str]:
    """Tags that name the process of a flow run, and its start: pids come again."""
    host = f"host:{os.uname().nodename}"
    if not pid:
        return host, ""
    return host, f"process:{pid}@{started(pid):.2f}"


def _alive(tags: list[str]) -> bool:
    owner = next((tag for tag in tags if tag.startswith("process:")), "")
    pid = int(owner.removeprefix("process:").partition("@")[0] or 0)
    return bool(pid) and psutil.pid_exists(pid) and _owner(pid)[1] == owner


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
