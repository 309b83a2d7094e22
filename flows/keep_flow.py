"""Updates of live models as flow runs of Prefect's, of the command and of the clock."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from prefect import flow
from prefect.artifacts import create_markdown_artifact
from prefect.client.schemas.objects import State
from prefect.events import emit_event
from prefect.states import Completed
from pydantic import Field

from leaseboard.flows.console import say, terminable
from leaseboard.flows.flow_runs import as_deployed, check_kept
from leaseboard.flows.keep import Body, Turned, held_turn, summary
from leaseboard.flows.prefect_executor import FlowWork, PrefectExecutor, in_one_run
from leaseboard.tasks.keep.opening import home_of
from leaseboard.tasks.keep.settings import read_keep
from leaseboard.tasks.keep.shadow import CHAMPION
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.environment import prepare_environment
from leaseboard.tasks.store.live_tables import Happened

EVENTS = {
    "opened": "leaseboard.keep.incident.opened",
    "resolved": "leaseboard.keep.incident.resolved",
    CHAMPION: "leaseboard.keep.promotion",
}
"""By what happened; the rest, such as who is retired, is of the page alone."""


def announce(keep: str, news: Sequence[Happened], page: str) -> None:
    """Have Prefect know what happened, each as an event and as an artifact of the flow run.

    The event is of the resource ``leaseboard.keep.NAME``, for automations to listen to. What
    Prefect does not take is said: the page and those who are told have it.

    - `page`: the address of the keep's page.
    """
    for each in news:
        if each.kind not in EVENTS:
            continue
        told = {"subject": each.subject, "what": each.what, "at": each.at, "page": page}
        emit_event(
            EVENTS[each.kind],
            resource={
                "prefect.resource.id": f"leaseboard.keep.{keep}",
                "prefect.resource.name": keep,
            },
            payload=told,
        )
        try:
            create_markdown_artifact(
                key=f"keep-{re.sub('[^a-z0-9]+', '-', keep)}-{each.kind}",
                markdown=_markdown(each, page),
                description=f"{keep}: {_title(each)}",
            )
        except httpx.HTTPError as error:
            say(f"leaseboard: Prefect took no artifact of {each.what!r}: {error}", err=True)


def _title(each: Happened) -> str:
    if each.kind == CHAMPION:
        return f"lineage {each.subject} is champion"
    return f"incident {each.kind}: {each.subject}"


def _markdown(each: Happened, page: str) -> str:
    said = "".join(f"\\{c}" if c in "\\`*_[]<>#|" else c for c in each.what)
    return f"## {_title(each)}\n\n{said}\n\nSince {each.at}. [The page]({page})\n"


@flow(name="keep", flow_run_name="{file}", persist_result=False)
def keep(
    file: str = Field(description="FILE.yaml, as of `leaseboard keep`."),
    out: str | None = Field(None, description="Of state and page; runs/keep/NAME by default."),
) -> State[Any]:
    """Take a turn of a keep, as `leaseboard keep FILE.yaml` does.

    The MLflow store is that of MLFLOW_TRACKING_URI, and what FILE.yaml names by a variable is of
    the environment: Prefect shows the parameters of a flow to everybody.
    """
    return as_deployed(lambda: _scheduled(Path(file), Path(out) if out else None))


def in_flow(name: str, file: Path | None, url: str, body: Body) -> Turned:
    """What `body` makes of its steps as tasks of one flow run on the server at `url`."""
    return in_one_run("keep", name, url, _work(body, file))


def _work(body: Body, file: Path | None) -> FlowWork[Turned]:
    """An update within a flow run; its state is the record."""
    return FlowWork(
        PrefectExecutor(),
        lambda executor: body(executor.make),
        lambda made: Completed(message=summary(made, file)),
    )


def _scheduled(file: Path, out: Path | None) -> State[Any]:
    """Take the turn in the flow run that this is called in."""
    prepare_environment()
    check_kept(str(out) if out else None)
    settings = read_keep(file)
    ended: list[State[Any]] = []

    def carried(body: Body) -> Turned:
        here = _work(body, file)
        ended.append(here.perform())
        return here.outcome()

    with terminable():
        held_turn(
            settings, home_of(settings.name, out), datetime.now(UTC), carried,
            file=file, tracking_uri=paths.tracking_uri(),
        )  # fmt: skip
    return ended[0]
