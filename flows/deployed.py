"""What the runs of all deployments have in common: owned, one at a time, logged, failed in a line.

A run that would overlap with one of the same schedule is cancelled, and says what is in its way.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.context import get_run_context
from prefect.states import Cancelled, Failed

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.flows.flow_runs import claim, in_the_way, logged
from leaseboard.flows.terminal import say

ALONE = "one at a time"
"""The tag of a deployment whose runs must not overlap: the clock may strike too early."""


def check_kept(out: str | None) -> None:
    """Raise UsageError where the run folder would be deleted with a worker's temporary folder.

    A worker of Prefect runs in one, ``…prefect``, unless its deployment says where to work.
    """
    here = Path.cwd()
    temporary = Path(tempfile.gettempdir()).resolve()
    if here.resolve().is_relative_to(temporary) and here.name.endswith("prefect") and (
        out is None or not Path(out).is_absolute() or "MLFLOW_TRACKING_URI" not in os.environ
    ):  # fmt: skip
        raise UsageError(
            f"the worker runs in {here}, which it deletes with all results: let the deployment"
            " pull with set_working_directory, as `prefect deploy` in the project does, or set"
            " `out` to an absolute path and MLFLOW_TRACKING_URI in the worker's environment"
        )


def as_deployed(work: Callable[[], State[Any]]) -> State[Any]:
    """Do the work of the flow run that this is called in, if nothing is in its way."""
    run = get_run_context().flow_run
    with get_client(sync_client=True) as client:
        claim(client, run)
        reason = in_the_way(client, run) if ALONE in run.tags else None
    with logged(run.id):
        if reason is not None:
            say(reason)
            return Cancelled(message=reason)
        try:
            return work()
        except LeaseboardError as error:
            say(f"leaseboard: {error}", err=True)
            return Failed(message=str(error))
