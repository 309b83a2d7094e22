"""Suites and live models by the clock: Prefect's deployments, served by Prefect.

A run's page in Prefect shows its steps, the leaderboard of a suite and the lines of the terminal.
A run with a failed job is a failed run, as in MLflow.
"""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from prefect import Flow, flow, serve
from prefect.artifacts import create_markdown_artifact
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import ConcurrencyLimitConfig, State
from prefect.schedules import Cron
from prefect.states import Cancelled, Completed, Failed, Scheduled
from prefect.types.entrypoint import EntrypointType
from pydantic import Field

from leaseboard.flows.console import say
from leaseboard.flows.dispatch import RunOptions, execute, final_state, open_suites
from leaseboard.flows.gate import Gate
from leaseboard.flows.live_update import flow_state, run_update
from leaseboard.flows.prefect_executor import logged, named_after
from leaseboard.tasks.jobs.suites.suite import Scheduled as Entry
from leaseboard.tasks.jobs.suites.suite import load_schedule
from leaseboard.tasks.live.model import home_of
from leaseboard.tasks.live.settings import read_settings
from leaseboard.tasks.machine import environment
from leaseboard.tasks.score.verdict import headline, markdown
from leaseboard.tasks.steps.prefect_tasks import artifact_key, publish

Suite = Annotated[str, Field(description="A name of conf/suites, or a YAML file.")]
Conf = Annotated[str | None, Field(description="The configuration folder; ./conf by default.")]
Out = Annotated[str | None, Field(description="The run folder; runs/NAME by default.")]
Workers = Annotated[
    int | None, Field(ge=1, description="Worker processes; one a core by default.")
]


@flow(name="benchmark", flow_run_name=named_after("suite"), persist_result=False)
def benchmark(
    suite: Suite, conf: Conf = None, out: Out = None, workers: Workers = None
) -> State[Any]:
    """Fetch, prepare, run, score, report and record a suite, as `leaseboard run` does.

    A repeated run goes on where it was stopped: finished jobs are in its folder. The MLflow store
    is that of MLFLOW_TRACKING_URI: an address may hold a password, and Prefect shows the
    parameters of a flow to all users.
    """
    with logged():
        environment.use_conf(conf)
        opened = open_suites(suite, Path(out) if out else None)
        ends = [final_state(each.name, execute(each, home, RunOptions(workers)))
                for each, home in opened]  # fmt: skip
        return next(filter(State.is_failed, ends), ends[-1])


@flow(name="gate", flow_run_name=named_after("suite"), persist_result=False)
def gate_suite(
    suite: Suite, conf: Conf = None, out: Out = None, workers: Workers = None
) -> State[Any]:
    """Compare a suite with its accepted scores, as `leaseboard gate` does."""
    with logged():
        environment.use_conf(conf)
        made = Gate(suite, Path(out) if out else None, RunOptions(workers, boarded=False))
        verdict = made.compare()
        page, message = markdown(verdict), headline(verdict)
        say(page)
        publish(create_markdown_artifact, page, artifact_key(made.name, "gate"), message)
        return Failed(message=message) if verdict.exit_code else Completed(message=message)


@flow(name="live-update", flow_run_name=named_after("file"), persist_result=False)
def update_live_model(
    file: str = Field(description="FILE.yaml, as of `leaseboard live update`."),
    out: str | None = Field(None, description="Of state and page; runs/live/NAME by default."),
) -> State[Any]:
    """Update a live model, as `leaseboard live update FILE.yaml` does.

    The MLflow store is that of MLFLOW_TRACKING_URI, and what FILE.yaml names by a variable is of
    the environment: Prefect shows the parameters of a flow to everyone.
    """
    environment.prepare_environment()
    settings, uri = read_settings(Path(file)), environment.tracking_uri()
    home = home_of(settings.name, Path(out) if out else None)
    with logged():
        result = run_update(settings, home, datetime.now(UTC), file=Path(file), tracking_uri=uri)
        return flow_state(settings.name, uri, result)


def serve_schedules(conf: Path) -> None:
    """Serve every schedule of a folder by Prefect's runner, until this process is ended.

    What an earlier process left is run again: no other serves a deployment of that name.
    """
    environment.prepare_environment()
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # of a runner that is ended
    entries = load_schedule(conf).schedules
    deployments = [*_deployments(entries, conf)]
    with get_client(sync_client=True) as client:
        left = {"deployment_id": {"any_": [each.apply() for each in deployments]},
                "state": {"type": {"any_": ["PENDING", "RUNNING", "CANCELLING"]}}}  # fmt: skip
        for run in client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(left)):
            cancelled = run.state is not None and run.state.is_cancelling()
            client.set_flow_run_state(run.id, Cancelled() if cancelled else Scheduled())
            say(f"run {run.name!r} was left: it {'is cancelled' if cancelled else 'runs again'}")
    say(f"serving {len(entries)} schedule{'s' * (len(entries) != 1)}")
    serve(*deployments, pause_on_shutdown=False, print_starting_message=False)


def _deployments(entries: list[Entry], conf: Path) -> Iterator[Any]:
    """Yield the deployment of each schedule, whose runs do not overlap."""
    for entry in entries:
        performed: Flow[Any, Any] = gate_suite if entry.gate else benchmark
        given = {"suite": entry.suite, "conf": str(conf), "out": entry.out,
                 "workers": entry.workers}  # fmt: skip
        if entry.live is not None:
            performed, given = update_live_model, {"file": entry.live, "out": entry.out}
        yield performed.to_deployment(
            entry.name,
            schedule=Cron(entry.cron, timezone=entry.timezone),
            parameters=given,
            description=f"The {entry.what} at {entry.cron!r} ({entry.timezone}).",
            concurrency_limit=ConcurrencyLimitConfig(limit=1, collision_strategy="CANCEL_NEW"),
            entrypoint_type=EntrypointType.MODULE_PATH,
        )
