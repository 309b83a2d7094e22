"""What the terminal shows of a run, in the log of its flow run: see `flows.terminal`."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from prefect.logging.handlers import APILogHandler

from flows.terminal import overheard


@contextmanager
def logged(flow_run: UUID) -> Iterator[None]:
    """Send what is said meanwhile to the flow run's page; all of it is there at the end."""
    # At a flow's end it warns on the terminal of what it is about to send, and then sends it.
    logging.getLogger("EventsWorker").setLevel(logging.ERROR)
    handler = APILogHandler()
    # No child of Prefect's logger: ours is heard whatever level Prefect's own lines have.
    logger = logging.Logger("leaseboard", logging.INFO)
    logger.addHandler(handler)
    told = logging.LoggerAdapter(logger, {"flow_run_id": str(flow_run)})
    try:
        with overheard(lambda text: told.info("%s", text)):
            yield
    finally:
        handler.flush()
