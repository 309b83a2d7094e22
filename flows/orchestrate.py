"""The Prefect flow of a suite: one task a job, run by the worker pool from threads.

Prefect's history is a convenience; the run folder and MLflow are the record. So nothing is
persisted or cached here, and a job that fails is a failed task, never a failed flow run engine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import psutil
from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterState, FlowRunFilterTags
from prefect.client.schemas.objects import State
from prefect.context import get_run_context
from prefect.futures import PrefectFuture
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Completed, Crashed, Failed
from prefect.task_runners import ThreadPoolTaskRunner

from tasks.jobs import Result

DRAIN_SECONDS = 30.0
_ENDED = ["COMPLETED", "FAILED", "CRASHED", "CANCELLED"]
_TAG = "leaseboard"


def run_flow(
    suite: str,
    titles: dict[str, str],
    run: Callable[[str], Result],
    *,
    workers: int,
    url: str,
    interrupt: Callable[[], None],
) -> None:
    """Run every job of `titles` (key to title) as a task of one flow run on the server at `url`.

    Parameters
    ----------
    suite : str
        The flow run's name.
    titles : dict of str to str
    run : callable
        Runs the job of a key to its end; called from `workers` threads.
    workers : int
    url : str
        The server's address.
    interrupt : callable
        Called when the flow is cancelled or interrupted: makes every `run` return.
    """

    @task(cache_policy=NO_CACHE, persist_result=False, task_run_name="{title}")
    def job(key: str, title: str) -> State[Any]:
        del title
        result = run(key)
        if result.status in {"ok", "skipped"}:
            score = "" if result.score is None else f"{result.metric} {result.score:.6g}"
            return Completed(message=f"{result.status} {result.reason or score}")
        return Failed(message=f"{result.status}: {result.reason}")

    @flow(
        name="suite",
        flow_run_name=suite,
        task_runner=ThreadPoolTaskRunner(max_workers=workers),
        persist_result=False,
        validate_parameters=False,
    )
    def jobs(suite: str, jobs: int) -> State[Any]:
        del suite, jobs
        # Not with `prefect.tags`: tasks would inherit them, and each ask for their limits.
        client.update_flow_run(get_run_context().flow_run.id, tags=[_TAG, *_owner(os.getpid())])
        futures: list[PrefectFuture[Any]] = []
        try:
            futures = [job.submit(key, title) for key, title in titles.items()]
            for future in futures:
                future.wait()
        except BaseException:
            interrupt()
            raise
        failed = sum(not future.state.is_completed() for future in futures)
        if failed:
            return Failed(message=f"{failed} of {len(futures)} jobs failed")
        return Completed(message=f"{len(futures)} jobs done")

    with temporary_settings({PREFECT_API_URL: url}), get_client(sync_client=True) as client:
        bury_dead_runs(client)
        state = jobs(suite, len(titles), return_state=True)
        _drain(client, str(state.state_details.flow_run_id), len(titles))


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
    return host, f"process:{pid}@{psutil.Process(pid).create_time():.2f}"


def _alive(tags: list[str]) -> bool:
    owner = next((tag for tag in tags if tag.startswith("process:")), "")
    pid = int(owner.removeprefix("process:").partition("@")[0] or 0)
    return bool(pid) and psutil.pid_exists(pid) and _owner(pid)[1] == owner


def _drain(client: SyncPrefectClient, flow_run: str, expected: int) -> None:
    """Wait until the server has recorded the end of every task; it records them from events."""
    deadline = time.monotonic() + DRAIN_SECONDS
    filters = {
        "flow_runs": {"id": {"any_": [flow_run]}},
        "task_runs": {"state": {"type": {"any_": _ENDED}}},
    }
    while time.monotonic() < deadline:
        recorded = client.request("POST", "/task_runs/count", json=filters).json()
        if recorded >= expected:
            return
        time.sleep(0.25)
