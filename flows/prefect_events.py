"""Events in Prefect: what happened to a suite or a model, for automations to react to.

They go to a server that lasts, the one of ``PREFECT_API_URL``, and are sent by a thread of their
own. They are news and not the record: a server that does not answer costs one line.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import uuid
from collections.abc import Mapping
from typing import Any

from leaseboard.flows.console import report_outage

SUITE, MODEL = "leaseboard.suite", "leaseboard.model"
"""Resources: ``leaseboard.suite.NAME`` and ``leaseboard.model.NAME``."""
RUN_ENDED = "leaseboard.run.ended"
REGRESSION = "leaseboard.regression.found"
PROMOTED, ROLLED_BACK = "leaseboard.model.promoted", "leaseboard.model.rolled-back"


def emit(
    event: str, kind: str, name: str, payload: Mapping[str, Any], once: str | None = None
) -> None:
    """Send an event of the suite or model `name`, if Prefect is there.

    - `kind`: of the resource, `SUITE` or `MODEL`.
    - `once`: what is its own; a server stores one event of it, however often it is sent. It is
      waited for: the caller notes that it was sent, and may be killed after that.
    """
    url = os.environ.get("PREFECT_API_URL", "")
    if not url:
        return
    import httpx
    from prefect.events import emit_event
    from prefect.events.worker import EventsWorker

    try:  # or else the end of this process would wait for it
        httpx.get(f"{url.rstrip('/')}/health", timeout=2)
    except httpx.HTTPError:
        report_outage()
        return
    # It warns of what it still sends at the end of a command.
    logging.getLogger("EventsWorker").setLevel(logging.ERROR)
    resource = {"prefect.resource.id": f"{kind}.{name}", "prefect.resource.name": name}
    identity = once and uuid.uuid5(uuid.NAMESPACE_URL, f"{kind}.{name} {once}")
    emit_event(event, resource=resource, payload={"name": name, **payload}, id=identity or None)
    if once:
        sent = threading.Thread(target=EventsWorker.instance().wait_until_empty, daemon=True)
        sent.start()
        sent.join(10)  # a server may go


def current_run() -> str:
    """Return the identifier of the flow run that this is called in; empty without Prefect."""
    if "prefect" not in sys.modules:
        return ""
    from prefect.runtime import flow_run

    return str(flow_run.id or "")
