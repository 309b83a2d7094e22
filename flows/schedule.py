"""Suites and live models by the clock and by a form: Prefect deployments, served from here.

A run's page in Prefect shows its steps, the board of a suite and all that the terminal shows; a
run with a failed job is a failed run, there as in MLflow.
"""

import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, NoReturn
from uuid import UUID

import httpx
from prefect import Flow, flow
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import DeploymentFilter, FlowRunFilter
from prefect.client.schemas.objects import FlowRun, State
from prefect.exceptions import ObjectNotFound
from prefect.flows import EntrypointType
from prefect.schedules import Cron
from prefect.settings import PREFECT_API_URL
from prefect.states import Cancelled, Crashed
from pydantic import Field

from leaseboard.algorithms.errors import UsageError
from leaseboard.flows.console import say
from leaseboard.flows.dispatch import How, open_suite, perform
from leaseboard.flows.flow_runs import (
    ALONE,
    TAG,
    as_deployed,
    cause,
    check_kept,
    claim,
    end,
    end_dead_runs,
    take,
    taken,
    unanswered,
)
from leaseboard.flows.keep_flow import keep
from leaseboard.flows.server import Service
from leaseboard.tasks.jobs.job import Limits
from leaseboard.tasks.jobs.suites.suite import is_collection, suite_names, suite_path
from leaseboard.tasks.jobs.suites.timetable import Schedule, Scheduled

POLL_SECONDS = 2.0
MISSED = timedelta(minutes=5)
"""A run of the clock that is later than this when the schedule starts is not made up for."""


class Scheduler:
    """Serves deployments from this process: each run in a process of its own, ended with ours.

    Prefect has a runner of its own (tried: 3.8.8 with ``CANCEL_NEW``). It cancels a run with
    "Deployment concurrency limit reached.", without a word about what is in its way; and two
    minutes after a SIGTERM it and the run that slept in it were still there.

    - `names`: the deployments, and what they are called.
    - `say`: shows a line on the terminal.
    """

    def __init__(
        self, client: SyncPrefectClient, names: Mapping[UUID, str], say: Callable[[str], None]
    ) -> None:
        self._client = client
        self._names = names
        self._say = say
        self._running: dict[UUID, tuple[FlowRun, Service]] = {}

    def serve(self, check: Callable[[], None]) -> NoReturn:
        """Start what is due, until interrupted; a server that is away is waited for.

        `check`: raises if there is no use in going on.
        """
        away = missed = False
        while True:
            check()
            try:
                if not missed:
                    self._cancel_missed()
                    missed = True
                self.turn()
            except httpx.HTTPError as error:
                check()
                if not away:
                    self._say(f"Prefect does not answer, trying again: {cause(error)}")
                away = True
            else:
                if away:
                    self._say("Prefect answers again")
                away = False
            time.sleep(POLL_SECONDS)

    def turn(self) -> None:
        """Look once at what has ended, what is cancelled, and what is due."""
        for run, service in list(self._running.values()):
            code = service.exit_code()
            if code is not None:
                self._end(run, Crashed(message=f"its process ended with exit code {code}"))
        for run in self._cancelling():
            self._end(run, Cancelled(message="cancelled in Prefect; its jobs were stopped"))
        for run in self._due(datetime.now(UTC)):
            with suppress(ObjectNotFound):  # deleted in Prefect since it was read
                take(self._client, run)
        # Asked of Prefect, not remembered: what an error kept from starting is among them.
        for run in taken(self._client, self._names):
            if run.id not in self._running:
                self._start(run)

    def stop(self, why: str) -> None:
        """End all runs, side by side, and say in Prefect and here that `why` did."""
        with ThreadPoolExecutor(max_workers=max(1, len(self._running))) as threads:
            list(threads.map(lambda kept: kept[1].stop(), self._running.values()))
        for run, _ in list(self._running.values()):
            try:
                self._end(run, Crashed(message=f"the schedule was stopped by {why}"))
            except httpx.HTTPError as error:
                self._tell(
                    run, f"stopped; the next start tells Prefect, which fails now: {cause(error)}"
                )

    def _due(self, before: datetime) -> list[FlowRun]:
        found = self._client.get_scheduled_flow_runs_for_deployments(
            list(self._names), scheduled_before=before
        )
        return list(found)

    def _cancel_missed(self) -> None:
        """Give up what the clock struck for while nobody served it, as cron does."""
        while missed := [
            run for run in self._due(datetime.now(UTC) - MISSED) if run.auto_scheduled
        ]:
            for run in missed:
                reason = (
                    f"missed: nothing served the schedule at {run.expected_start_time:%F %R %Z}"
                )
                end(self._client, run, Cancelled(message=reason))
                self._tell(run, reason)

    def _start(self, run: FlowRun) -> None:
        """Start the process of `run`, which itself sees whether anything is in its way."""
        claim(self._client, run)
        path = os.pathsep.join(filter(None, sys.path))
        environment = os.environ | {"PREFECT__FLOW_RUN_ID": str(run.id), "PYTHONPATH": path}
        service = Service([sys.executable, "-P", "-m", "prefect.engine"], environment)
        self._running[run.id] = run, service
        self._tell(run, f"run {run.name!r} {run.id} started")

    def _cancelling(self) -> list[FlowRun]:
        """Runs of this process that somebody cancels in Prefect."""
        if not self._running:
            return []
        chosen = {"id": {"any_": list(self._running)}, "state": {"type": {"any_": ["CANCELLING"]}}}
        return self._client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(chosen))

    def _end(self, run: FlowRun, state: State[Any]) -> None:
        """End the process of `run`, and the run with `state` if it has not said itself how."""
        self._running[run.id][1].stop()
        try:
            said = self._client.read_flow_run(run.id).state
            if said is None or not said.is_final() or said.is_crashed():
                end(self._client, run, state)
                said = state
            line = f"{said.name}: {said.message}"
        except ObjectNotFound:
            line = "deleted in Prefect"
        end_dead_runs(self._client)  # of a run that was killed those remain that it had begun
        del self._running[run.id]
        self._tell(run, f"run {run.name!r} {run.id}: {line}")

    def _tell(self, run: FlowRun, line: str) -> None:
        self._say(f"{self._names.get(run.deployment_id or run.id, '')}: {line}")


_CAUSES = {KeyboardInterrupt: "Ctrl-C", SystemExit: "SIGTERM"}


ANY = "any-suite"
"""The deployment that runs what its form asks for, when somebody presses the button."""


@flow(name="benchmark", flow_run_name="{suite}", persist_result=False)
def benchmark(
    suite: str = Field(description="A name of conf/suites."),
    conf: str = Field("conf", description="The configuration folder."),
    out: str | None = Field(None, description="The run folder; runs/NAME by default."),
    workers: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Worker processes; what the suite says, or one a core, by default."
    ),
    limits: Limits | None = Field(  # noqa: B008  (as the others, which its own model hides)
        None, description="Of each job; the suite's by default."
    ),
) -> State[Any]:
    """Fetch, prepare, run, score, report and record a suite, as `leaseboard run` does.

    A run that is repeated goes on where it was stopped: finished jobs are in its folder. The
    MLflow store is that of MLFLOW_TRACKING_URI: an address may hold a password, and Prefect shows
    the parameters of a flow to everybody.
    """

    def work() -> State[Any]:
        check_kept(out)
        loaded, home = open_suite(suite, Path(out) if out else None, Path(conf))
        if limits is not None:
            loaded = loaded.model_copy(update={"limits": limits})
        return perform(loaded, home, How(workers))

    return as_deployed(work)


def serve_schedules(schedule: Schedule, conf: Path, check: Callable[[], None]) -> None:
    """Serve every schedule until this process is interrupted; then end the runs that go on.

    `check`: raises if there is no use in going on.
    """
    try:
        names = _deployed(schedule, conf)
    except httpx.HTTPError as error:
        raise unanswered(error, PREFECT_API_URL.value() or "") from error
    with get_client(sync_client=True) as client:
        for name in _pause_others(client, names, conf):
            say(f"paused {name!r}: it is not in {conf / 'schedule.yaml'}")
        for run in end_dead_runs(client):
            say(f"ended run {run.name!r} {run.id}: its process is gone")
        count = len(schedule.schedules)
        say(f"serving {count} schedule{'s' * (count != 1)} and the form of {ANY!r}")
        scheduler = Scheduler(client, names, say)
        try:
            scheduler.serve(check)
        except BaseException as error:
            scheduler.stop(_CAUSES.get(type(error)) or f"an error ({type(error).__name__})")
            raise


def _deployed(schedule: Schedule, conf: Path) -> dict[UUID, str]:
    """The deployment of each schedule, and that of any suite, with their names."""
    names = {}
    for entry in schedule.schedules:
        if entry.name == ANY:
            raise UsageError(f"a schedule is called {ANY!r}, as the form is: name it otherwise")
        performed, parameters = _asked(entry, conf)
        _check_free(f"{performed.name}/{entry.name}")
        made = performed.to_deployment(
            entry.name,
            schedule=Cron(entry.cron, timezone=entry.timezone),
            parameters=parameters,
            tags=[
                TAG,
                ALONE,
                _served_from(conf),
            ],  # ours from the start, so that no run can be left unseen
            description=f"The {entry.what} at {entry.cron!r} ({entry.timezone}).",
            paused=False,
            concurrency_limit=None,  # ours says what is in the way, see leaseboard.flows.flow_runs
            entrypoint_type=EntrypointType.MODULE_PATH,
        )
        names[made.apply()] = entry.name
    offered = [name for name in suite_names(conf) if not is_collection(suite_path(name, conf))]
    made = benchmark.to_deployment(
        ANY,
        parameters={"conf": str(conf)},
        tags=[TAG],
        description="Any suite of this server, when somebody asks for it.",
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    # What a form offers is known here alone; Prefect has no public way to say it.
    made._parameter_openapi_schema.properties["suite"]["enum"] = offered  # noqa: SLF001
    names[made.apply()] = ANY
    return names


def _served_from(conf: Path) -> str:
    """Return the tag of the deployments of one schedule.yaml, by machine and folder."""
    return f"schedule:{platform.node()}:{conf.resolve()}"


def _check_free(name: str) -> None:
    """Raise UsageError for a deployment that a worker runs: both would overwrite each other."""
    with get_client(sync_client=True) as client, suppress(ObjectNotFound):
        found = client.read_deployment_by_name(name)
        if found.work_pool_name or found.pull_steps:
            raise UsageError(
                f"the deployment {name!r} is one of the work pool {found.work_pool_name!r}: give"
                f" the schedule another name, or run `prefect deployment delete {name}` first"
            )


def _pause_others(client: SyncPrefectClient, names: Mapping[UUID, str], conf: Path) -> list[str]:
    """Pause what an earlier schedule.yaml of the same folder deployed; returns the names."""
    tags = DeploymentFilter.model_validate({"tags": {"all_": [_served_from(conf)]}})
    found = client.read_deployments(deployment_filter=tags, limit=200)
    gone = [each for each in found if each.id not in names and not each.paused]
    for each in gone:
        client.pause_deployment(each.id)  # Prefect drops the runs that it has planned
    return [each.name for each in gone]


def _asked(entry: Scheduled, conf: Path) -> tuple[Flow[Any, Any], dict[str, Any]]:
    """The flow of a schedule, and what it is told; nothing of it may be a secret."""
    if entry.keep is not None:
        return keep, {"file": entry.keep, "out": entry.out}
    return benchmark, {
        "suite": entry.suite,
        "conf": str(conf),
        "out": entry.out,
        "workers": entry.workers,
        "limits": entry.limits.model_dump() if entry.limits else None,
    }
