"""Incidents and promotions of a keep as events and artifacts of the flow run that met them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import httpx
from prefect.artifacts import create_markdown_artifact
from prefect.events import emit_event

from leaseboard.flows.terminal import say
from leaseboard.tasks.keep.shadow import CHAMPION
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
