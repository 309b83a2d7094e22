"""Deployments of ``conf/schedule.yaml``: what the file says, and what users changed in Prefect.

What the file said when it was applied last is in a variable of Prefect's. A value that the file
has not changed since stays as users have set it in Prefect; one that it has changed is applied.
Pauses, schedules in addition to the file's, and limits are never touched.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import DeploymentUpdate, VariableCreate, VariableUpdate
from prefect.client.schemas.objects import DeploymentSchedule
from prefect.client.schemas.responses import DeploymentResponse
from prefect.client.schemas.schedules import CronSchedule
from prefect.deployments.runner import RunnerDeployment
from prefect.exceptions import ObjectNotFound


def deploy(
    client: SyncPrefectClient, made: RunnerDeployment, cron: CronSchedule | None, own: set[str]
) -> tuple[UUID, list[str]]:
    """Create or update a deployment; return its id, and what differs from the file.

    - `cron`: the schedule of the file.
    - `own`: tags by which its runs are found, and which it always has.
    """
    wanted = {f"parameter {name}": value for name, value in made.parameters.items()}
    wanted["schedule"] = cron and _written(cron)
    wanted |= {f"tag {tag}": True for tag in made.tags}
    try:
        found = client.read_deployment_by_name(made.full_name)
    except ObjectNotFound:
        place = made.apply()
        made_of = [str(each.id) for each in client.read_deployment(place).schedules]
        remember(client, place, {"file": wanted, "schedule": "".join(made_of)})
        return place, []
    before = recorded(client, found.id)
    last = before.get("file", {})
    changed = {name for name in {*wanted, *last} if wanted.get(name) != last.get(name)}
    ours = next((each for each in found.schedules if str(each.id) == before.get("schedule")), None)
    there = _present(found, ours)
    lines = list(_differences(wanted, there, last, changed))
    if before.get("removed"):
        client.resume_deployment(found.id)
        lines.append("resumed: the file has it again")
    elif found.paused:
        lines.append(f"paused in Prefect; `leaseboard schedule resume {made.name}` resumes it")
    parameters = {n: v for n, v in made.parameters.items() if f"parameter {n}" in changed}
    new = {tag for tag in made.tags if f"tag {tag}" in changed}
    gone = {name.removeprefix("tag ") for name in changed if name not in wanted}
    client.update_deployment(
        found.id,
        DeploymentUpdate(
            parameters=found.parameters | parameters,
            tags=sorted({*found.tags} - gone | new | own),
            description=made.description,
            entrypoint=made.entrypoint,
            parameter_openapi_schema=made._parameter_openapi_schema.model_dump(exclude_unset=True),  # noqa: SLF001
        ),
    )
    if cron is not None and "schedule" in changed:
        if ours is None:
            (ours,) = client.create_deployment_schedules(found.id, [(cron, True)])
            before["schedule"] = str(ours.id)
        else:
            client.update_deployment_schedule(found.id, ours.id, schedule=cron)
    remember(client, found.id, before | {"file": wanted, "removed": False})
    return found.id, lines


def recorded(client: SyncPrefectClient, deployment: UUID) -> dict[str, Any]:
    """Return what `remember` has recorded of a deployment."""
    found = client.read_variable_by_name(_variable(deployment))
    return found.value if found is not None and isinstance(found.value, dict) else {}


def remember(client: SyncPrefectClient, deployment: UUID, record: Mapping[str, Any]) -> None:
    """Record something of a deployment, in place of what was recorded."""
    name, value = _variable(deployment), dict(record)
    if client.read_variable_by_name(name) is None:
        client.create_variable(VariableCreate(name=name, value=value, tags=["leaseboard"]))
    else:
        client.update_variable(VariableUpdate(name=name, value=value))


def _variable(deployment: UUID) -> str:
    return f"leaseboard-schedule-{deployment}"


def _present(found: DeploymentResponse, ours: DeploymentSchedule | None) -> dict[str, Any]:
    """Return what Prefect has of a deployment, by the names that the file's values have.

    - `ours`: its schedule that the file says.
    """
    there: dict[str, Any] = {f"parameter {n}": value for n, value in found.parameters.items()}
    there |= {f"tag {tag}": True for tag in found.tags}
    more = len(found.schedules)
    if ours is not None:
        more -= 1
        cron = ours.schedule
        there["schedule"] = _written(cron) if isinstance(cron, CronSchedule) else str(cron)
        if not ours.active:
            there["schedule"] += ", not active"
    if more:
        there["schedules in addition"] = more
    if found.global_concurrency_limit is not None:
        there["concurrency limit"] = found.global_concurrency_limit.limit
    return there


def _differences(
    wanted: Mapping[str, Any], there: Mapping[str, Any], last: Mapping[str, Any], changed: set[str]
) -> Iterator[str]:
    """Yield in words what users have set in Prefect: what is replaced, and what stays."""
    for name in dict.fromkeys((*wanted, *there)):
        value, there_is = wanted.get(name), there.get(name)
        words = f"{name}: {_said(there_is)} (Prefect)"
        if name in changed:
            if there_is not in (last.get(name), value):
                yield f"{words} is replaced; the file now has {_said(value)}"
        elif there_is != value:
            yield f"{words} stays; the file has {_said(value)}"


def _written(cron: CronSchedule) -> str:
    return f"{cron.cron} {cron.timezone or 'UTC'}"


def _said(value: Any) -> str:
    return "none" if value is None else "yes" if value is True else str(value)
