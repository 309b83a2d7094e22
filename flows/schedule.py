"""Suites and live models by the clock and by a form: Prefect deployments, served from here.

A run's page in Prefect shows its steps, the leaderboard of a suite and the lines of the terminal.
A run with a failed job is a failed run, as in MLflow.
"""

import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, NoReturn
from uuid import UUID

import httpx
from prefect import Flow, flow
from prefect.artifacts import create_markdown_artifact
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import DeploymentUpdate
from prefect.client.schemas.filters import DeploymentFilter, FlowRunFilter
from prefect.client.schemas.objects import FlowRun, State
from prefect.exceptions import ObjectNotFound
from prefect.flows import EntrypointType
from prefect.schedules import Cron
from prefect.settings import PREFECT_API_URL
from prefect.states import Cancelled, Completed, Failed
from pydantic import Field

from leaseboard.algorithms.errors import UsageError
from leaseboard.flows.commands.gate import gate
from leaseboard.flows.console import say
from leaseboard.flows.dispatch import RunOptions, open_suite, perform
from leaseboard.flows.flow_runs import (
    ALONE,
    SUSPENDED,
    TAG,
    as_deployed,
    cause,
    check_kept,
    claim,
    end,
    end_dead_runs,
    ending,
    interruption,
    is_mine,
    named_after,
    take,
    taken,
    unanswered,
)
from leaseboard.flows.live_flow import update_live_model
from leaseboard.flows.server import Service
from leaseboard.tasks.jobs.suites.suite import is_group, suite_names, suite_path
from leaseboard.tasks.jobs.suites.timetable import Schedule, Scheduled
from leaseboard.tasks.steps.prefect_tasks import artifact_key, publish

POLL_SECONDS = 2.0
MISSED = timedelta(minutes=5)
"""Delay beyond which a starting schedule cancels a run of the clock."""


class Scheduler:
    """Scheduler of deployments: each run in a process of its own, ended with this one.

    Prefect has a runner of its own (tried: 3.8.8 with ``CANCEL_NEW``). It cancels a run with
    "Deployment concurrency limit reached.", without naming the run in its way; and two minutes
    after a SIGTERM it and the run that slept in it still ran.

    - `names`: the deployments, and their names.
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
        """Start what is due, until interrupted; a server that does not answer is waited for.

        - `check`: raises an error to end the schedule.
        """
        away = missed = False
        while True:
            check()
            try:
                if not missed:
                    self._cancel_missed()
                    missed = True
                self.update()
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

    def update(self) -> None:
        """Handle once the runs that have ended, are cancelled, or are due."""
        for run, service in list(self._running.values()):
            code = service.exit_code()
            if code is not None:
                self._end(run, f"its process ended with exit code {code}")
        for run in self._interrupted():
            self._end(run, "stopped in Prefect")
        for run in self._due(datetime.now(UTC)):
            with suppress(ObjectNotFound):  # deleted in Prefect since it was read
                take(self._client, run)
        # Prefect knows them: also those that an error kept from starting.
        for run in taken(self._client, self._names):
            if run.id not in self._running:
                self._start(run)

    def stop(self, why: str) -> None:
        """End all runs, in parallel, and say in Prefect and here that `why` did."""
        with ThreadPoolExecutor(max_workers=max(1, len(self._running))) as threads:
            list(threads.map(lambda each: each[1].stop(), self._running.values()))
        for run, _ in list(self._running.values()):
            try:
                self._end(run, f"the schedule was stopped by {why}")
            except httpx.HTTPError as error:
                self._report(
                    run, f"stopped; the next start records it, as Prefect fails: {cause(error)}"
                )

    def _due(self, before: datetime) -> Sequence[FlowRun]:
        return self._client.get_scheduled_flow_runs_for_deployments(
            list(self._names), scheduled_before=before
        )

    def _cancel_missed(self) -> None:
        """Cancel what was due while the schedule was not served, as cron does."""
        while missed := [
            run
            for run in self._due(datetime.now(UTC) - MISSED)
            if run.auto_scheduled and not run.run_count  # else it was resumed, or is repeated
        ]:
            for run in missed:
                reason = (
                    f"missed: nothing served the schedule at {run.expected_start_time:%F %R %Z}"
                )
                end(self._client, run, Cancelled(message=reason))
                self._report(run, reason)

    def _start(self, run: FlowRun) -> None:
        """Start the process of `run`, which itself checks that no other run is in its way."""
        claim(self._client, run)
        path = os.pathsep.join(filter(None, sys.path))
        environment = os.environ | {"PREFECT__FLOW_RUN_ID": str(run.id), "PYTHONPATH": path}
        service = Service([sys.executable, "-P", "-m", "prefect.engine"], environment)
        self._running[run.id] = run, service
        self._report(run, f"run {run.name!r} {run.id} started")

    def _interrupted(self) -> list[FlowRun]:
        """Return the runs of this process that are cancelled or suspended in Prefect.

        Those whose processes have not claimed them yet see it themselves: before that, a signal
        would be a crash to Prefect.
        """
        if not self._running:
            return []
        states = {"type": {"any_": ["CANCELLING", "PAUSED"]}}
        chosen = {"id": {"any_": list(self._running)}, "state": states}
        found = self._client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(chosen))
        return [run for run in found if interruption(run.state) and not is_mine(run)]

    def _end(self, run: FlowRun, why: str) -> None:
        """End the process of `run`, and the run because of `why` unless it has ended itself."""
        begun, service = self._running[run.id]
        service.stop()
        try:
            said = self._client.read_flow_run(run.id).state
            assert said is not None
            # Suspended, or resumed since: taken again, perhaps, but in a state of its own.
            goes_on = said.is_scheduled() or (said.is_pending() and said != begun.state)
            if not (interruption(said) == SUSPENDED or goes_on) and (
                not said.is_final() or said.is_crashed()
            ):
                said = ending(said, why)
                end(self._client, run, said)
            line = f"{said.name}: {said.message}".removesuffix(": None")
        except ObjectNotFound:
            line = "deleted in Prefect"
        end_dead_runs(self._client)  # those that a killed run had begun
        del self._running[run.id]
        self._report(run, f"run {run.name!r} {run.id}: {line}")

    def _report(self, run: FlowRun, line: str) -> None:
        self._say(f"{self._names.get(run.deployment_id or run.id, '')}: {line}")


_CAUSES = {KeyboardInterrupt: "Ctrl-C", SystemExit: "SIGTERM"}


ANY = "any-suite"
"""Deployment that runs the suite of its form."""


@flow(name="benchmark", flow_run_name=named_after("suite"), persist_result=False)
def benchmark(
    suite: str = Field(description="A name of conf/suites."),
    conf: str | None = Field(None, description="The configuration folder; ./conf by default."),
    out: str | None = Field(None, description="The run folder; runs/NAME by default."),
    workers: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Worker processes; one a core by default."
    ),
) -> State[Any]:
    """Fetch, prepare, run, score, report and record a suite, as `leaseboard run` does.

    A repeated run goes on where it was stopped: finished jobs are in its folder. The MLflow store
    is that of MLFLOW_TRACKING_URI: an address may hold a password, and Prefect shows the
    parameters of a flow to all users.
    """

    def work() -> State[Any]:
        check_kept(out)
        loaded, home = open_suite(suite, out and Path(out), conf and Path(conf))
        return perform(loaded, home, RunOptions(workers))

    return as_deployed(work)


@flow(name="gate", flow_run_name=named_after("suite"), persist_result=False)
def gate_suite(
    suite: str = Field(description="A name of conf/suites."),
    conf: str | None = Field(None, description="The configuration folder; ./conf by default."),
    out: str | None = Field(None, description="The run folder; runs/NAME by default."),
    workers: Annotated[int, Field(ge=1)] | None = None,
) -> State[Any]:
    """Compare a suite with its accepted scores, as `leaseboard gate` does."""

    def work() -> State[Any]:
        check_kept(out)
        with tempfile.TemporaryDirectory() as scratch:
            page, home = Path(scratch) / "verdict.md", conf and Path(conf)
            folder = out and Path(out)
            code = gate(suite, markdown=page, run_dir=folder, workers=workers, conf=home)
            key, text = artifact_key(Path(suite).stem, "gate"), page.read_text(encoding="utf-8")
        publish(create_markdown_artifact, text, key, _GATES[code])
        return Failed(message=_GATES[code]) if code else Completed(message=_GATES[code])

    return as_deployed(work)


_GATES = {
    0: "the gate passed", 1: "a regression was found", 2: "a job failed",
    3: "nothing was compared",
}  # fmt: skip


def serve_schedules(schedule: Schedule, conf: Path, check: Callable[[], None]) -> None:
    """Serve every schedule until this process is interrupted; then end the runs that go on.

    - `check`: raises an error to end the schedule.
    """
    with get_client(sync_client=True) as client:
        try:
            names = _deployed(client, schedule, conf)
        except httpx.HTTPError as error:
            raise unanswered(error, PREFECT_API_URL.value() or "") from error
        for name in _end_others(client, names, conf):
            say(f"{name!r} has no schedule any more: it is not in {conf / 'schedule.yaml'}")
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


def _deployed(client: SyncPrefectClient, schedule: Schedule, conf: Path) -> dict[UUID, str]:
    """Deploy each schedule, as the file has it, and the form; return the names of both.

    A deployment that users have paused in Prefect stays paused.
    """
    names = dict[UUID, str]()
    for entry in schedule.schedules:
        if entry.name == ANY:
            raise UsageError(f"a schedule is called {ANY!r}, as the form is: give it another name")
        performed, parameters = _asked(entry, conf)
        made = performed.to_deployment(
            entry.name,
            schedule=Cron(entry.cron, timezone=entry.timezone),
            parameters=parameters,
            # Ours from the start, so that every run is found.
            tags=[TAG, ALONE, _served_from(conf)],
            description=f"The {entry.what} at {entry.cron!r} ({entry.timezone}).",
            paused=_is_paused(client, f"{performed.name}/{entry.name}"),
            entrypoint_type=EntrypointType.MODULE_PATH,
        )
        names[made.apply()] = entry.name
    offered = [name for name in suite_names(conf) if not is_group(suite_path(name, conf))]
    made = benchmark.to_deployment(
        ANY,
        parameters={"conf": str(conf)},
        tags=[TAG],
        description="Any suite of this server, on request.",
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    # Prefect has no public way to set the choices of a form.
    made._parameter_openapi_schema.properties["suite"]["enum"] = offered  # noqa: SLF001
    names[made.apply()] = ANY
    return names


def _served_from(conf: Path) -> str:
    """Return the tag of the deployments of one schedule.yaml, by machine and folder."""
    return f"schedule:{platform.node()}:{conf.resolve()}"


def _is_paused(client: SyncPrefectClient, name: str) -> bool:
    """Return whether users have paused the deployment.

    Raises UsageError if a worker runs it: both would overwrite each other.
    """
    try:
        found = client.read_deployment_by_name(name)
    except ObjectNotFound:
        return False
    if found.work_pool_name or found.pull_steps:
        raise UsageError(
            f"the deployment {name!r} is one of the work pool {found.work_pool_name!r}: give"
            f" the schedule another name, or run `prefect deployment delete {name}` first"
        )
    return found.paused


def _end_others(client: SyncPrefectClient, names: Mapping[UUID, str], conf: Path) -> list[str]:
    """End the schedules that an earlier schedule.yaml of the folder had; return their names."""
    tags = DeploymentFilter.model_validate({"tags": {"all_": [_served_from(conf)]}})
    found = client.read_deployments(deployment_filter=tags, limit=200)
    gone = [each for each in found if each.id not in names and each.schedules]
    for each in gone:  # Prefect drops the runs that it has planned
        client.update_deployment(each.id, DeploymentUpdate(schedules=[]))
    return [each.name for each in gone]


def _asked(entry: Scheduled, conf: Path) -> tuple[Flow[Any, Any], dict[str, Any]]:
    """Return the flow of a schedule and its parameters, which all users see."""
    if entry.live is not None:
        return update_live_model, {"file": entry.live, "out": entry.out}
    given = {"suite": entry.suite, "conf": str(conf), "out": entry.out, "workers": entry.workers}
    return (gate_suite if entry.gate else benchmark), given
