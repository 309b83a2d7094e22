"""``leaseboard ui``, ``doctor``, ``check``: the MLflow UI, the installation, an algorithm."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from leaseboard.algorithms.errors import LeaseboardError, UsageError, UserFileError
from leaseboard.flows.commands.options import Port, TrackingUri, complete_algorithms
from leaseboard.flows.console import say, terminable
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.addresses import remember_ui
from leaseboard.tasks.machine.progress import counted

if TYPE_CHECKING:
    from leaseboard.tasks.archive.doctor import Finding


def ui(port: Port = 5000, tracking_uri: TrackingUri = None) -> None:
    """Serve the MLflow user interface, on this machine only.

    Example: leaseboard ui --port 5001
    """
    import os
    import sys

    from leaseboard.flows.server import SAFE_PATH, Service, answers
    from leaseboard.tasks.track.store import artifact_root, ensure_store

    if answers(port):
        raise UsageError(f"port {port} is taken: name another --port")
    uri = paths.tracking_uri(tracking_uri)
    ensure_store(uri)
    # By the environment: other users can read arguments, and it may hold a password.
    store = {"MLFLOW_BACKEND_STORE_URI": uri}
    command = [
        sys.executable, "-P", "-m", "mlflow", "ui",
        "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
        # What is logged through this server is where what is logged to the store itself is.
        "--no-serve-artifacts", "--default-artifact-root", artifact_root(uri),
    ]  # fmt: skip
    with terminable():
        server = Service(command, os.environ | store | SAFE_PATH)
        try:
            remember_ui(uri, f"http://127.0.0.1:{port}")
            say(f"http://127.0.0.1:{port}/#/experiments?workflowType=machine_learning")
            code = server.wait()
        finally:
            server.stop()
    raise LeaseboardError(f"MLflow's server ended with exit code {code}")


def doctor(fix: bool = False, tracking_uri: TrackingUri = None) -> int:
    """Check the installation, MLflow, packages that clash with ours, and stuck runs.

    - `fix`: Fix what can be fixed.

    Example: leaseboard doctor --fix
    """
    from leaseboard.tasks.archive.doctor import examine

    troubled = False
    found = examine(paths.tracking_uri(tracking_uri), fix=fix)
    for finding in chain(found, stuck_flow_runs(fix=fix)):
        troubled |= not finding.healthy
        say(f"{'ok ' if finding.healthy else 'BAD'}  {finding.name}: {finding.detail}")
    return 2 if troubled else 0


def stuck_flow_runs(*, fix: bool) -> Iterator[Finding]:
    """Yield findings on flow runs that Prefect shows as running though their process is gone.

    They are read from the server of ``PREFECT_API_URL``, else from the history of our own servers
    in ``PREFECT_HOME``.
    """
    import os
    from contextlib import ExitStack
    from importlib.util import find_spec

    from leaseboard.flows.server import PrefectServer, server_log
    from leaseboard.tasks.archive.doctor import Finding

    name = "stuck flow runs"
    if find_spec("prefect") is None:
        yield Finding(name, True, "none: Prefect is not installed")
        return
    with ExitStack() as stack:
        url = os.environ.get("PREFECT_API_URL", "")
        if not url:
            if not server_log().with_name("prefect.db").is_file():
                yield Finding(name, True, "none: Prefect has recorded nothing here")
                return
            try:
                url = stack.enter_context(PrefectServer(server_log())).wait()
            except (LeaseboardError, OSError) as error:
                yield Finding(name, False, str(error))
                return

        import httpx
        from prefect.client.orchestration import get_client
        from prefect.settings import PREFECT_API_URL, temporary_settings

        from leaseboard.flows.flow_runs import cause, dead_runs, end_dead_runs

        stack.enter_context(temporary_settings({PREFECT_API_URL: url}))
        try:
            client = stack.enter_context(get_client(sync_client=True))
            stuck = end_dead_runs(client) if fix else dead_runs(client)
        except httpx.HTTPError as error:
            yield Finding(name, False, f"Prefect's server does not answer: {cause(error)}")
            return
        detail = ", ".join(f"{run.name!r} {run.id}" for run in stuck) or "none"
        if stuck:
            detail += (
                ": ended"
                if fix
                else ": their processes are gone; end them with `leaseboard doctor --fix`"
            )
        yield Finding(name, fix or not stuck, detail)


LIMITS = {"wall_seconds": 600, "cpu_seconds": 300, "memory_mb": 8000}
"""Limits of one check, each of which runs in a process of its own."""


def check(
    algorithm: Annotated[str, typer.Argument(autocompletion=complete_algorithms)],
) -> int:
    """Run the checks that every algorithm must pass over one of your own.

    - `algorithm`: FILE.py:CLASS, a name of `leaseboard list algorithms`, or that of a plugin.

    Example: leaseboard check my_algorithm.py:MyAlgorithm
    """
    from leaseboard.algorithms import registry
    from leaseboard.algorithms.checks import checks
    from leaseboard.tasks.jobs import sandbox
    from leaseboard.tasks.jobs.described import CHECK, describe
    from leaseboard.tasks.processes.limits import Limits

    found = describe(algorithm, {})
    failed = 0
    for name, rule in counted(checks().items(), "check", "rules"):
        try:
            broken = sandbox.ask(
                CHECK, registry.file_of(algorithm), algorithm, name,
                limits=Limits(**LIMITS),
            )  # fmt: skip
        except UserFileError as error:  # its process ended
            broken = str(error)
        if broken:
            failed += 1
            say(f"FAILED  {name}: {broken}")
        else:
            say(f"ok      {name}: {(rule.__doc__ or '').strip()}")
    if found.oracle_baseline:
        say("note    an oracle baseline: look_ahead is not checked, and leaderboards mark it")
    say(f"{len(checks()) - failed} checks passed, {failed} failed")
    return 1 if failed else 0
