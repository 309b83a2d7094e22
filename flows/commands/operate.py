"""``leaseboard ui`` and ``doctor``: look at the record, look after the installation."""

from __future__ import annotations

from typing import Annotated

import typer

from algorithms.errors import LeaseboardError, UsageError
from flows.commands.options import TrackingUri
from flows.terminal import say


def ui(
    port: Annotated[int, typer.Option(min=1, max=65535, help="On loopback.")] = 5000,
    tracking_uri: TrackingUri = None,
) -> None:
    """Open the MLflow UI on the local store, on loopback only.

    Example: leaseboard ui --port 5001
    """
    import os
    import sys

    from flows.interruption import terminable
    from flows.service import Service, answers
    from tasks import paths
    from tasks.environment import prepare_environment
    from tasks.track.store import ensure_store

    prepare_environment()
    if answers(port):
        raise UsageError(f"port {port} is taken: name another --port")
    uri = paths.tracking_uri(tracking_uri)
    ensure_store(uri)
    # By the environment: anybody can read a process's arguments, and it may hold a password.
    store = {"MLFLOW_BACKEND_STORE_URI": uri}
    command = [sys.executable, "-m", "mlflow", "ui", "--host", "127.0.0.1", "--port", str(port)]
    with terminable():
        server = Service([*command, "--workers", "1"], os.environ | store)
        try:
            say(f"http://127.0.0.1:{port}/#/experiments?workflowType=machine_learning")
            code = server.wait()
        finally:
            server.stop()
    raise LeaseboardError(f"MLflow's server ended with exit code {code}")


def doctor(
    mend: Annotated[bool, typer.Option("--mend", help="Mend what can be mended.")] = False,
    tracking_uri: TrackingUri = None,
) -> int:
    """Check the installation, the stores, packages that clash with ours, stuck runs.

    Example: leaseboard doctor --mend
    """
    from tasks import paths
    from tasks.doctor import examine
    from tasks.environment import prepare_environment

    prepare_environment()
    troubled = False
    for finding in examine(paths.tracking_uri(tracking_uri), mend=mend):
        troubled |= not finding.healthy
        say(f"{'ok ' if finding.healthy else 'BAD'}  {finding.name}: {finding.detail}")
    return 2 if troubled else 0
