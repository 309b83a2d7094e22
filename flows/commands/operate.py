"""``leaseboard ui``, ``doctor``, ``check``: the record, the installation, an algorithm."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from leaseboard.algorithms.errors import LeaseboardError, UsageError, UserFileError
from leaseboard.flows.commands.options import TrackingUri
from leaseboard.flows.console import say, terminable
from leaseboard.flows.server import SAFE_PATH, PrefectServer, Service, answers, server_log
from leaseboard.tasks.machine import paths

if TYPE_CHECKING:
    from leaseboard.tasks.tend.doctor import Finding


def ui(
    port: Annotated[int, typer.Option(min=1, max=65535, help="On loopback.")] = 5000,
    tracking_uri: TrackingUri = None,
) -> None:
    """Open the MLflow UI on the local store, on loopback only.

    Example: leaseboard ui --port 5001
    """
    import os
    import sys

    from leaseboard.tasks.track.store import ensure_store

    if answers(port):
        raise UsageError(f"port {port} is taken: name another --port")
    uri = paths.tracking_uri(tracking_uri)
    ensure_store(uri)
    # By the environment: anybody can read a process's arguments, and it may hold a password.
    store = {"MLFLOW_BACKEND_STORE_URI": uri}
    command = [
        sys.executable,
        *["-P", "-m", "mlflow", "ui", "--host", "127.0.0.1", "--port"],
        str(port),
    ]
    with terminable():
        server = Service([*command, "--workers", "1"], os.environ | store | SAFE_PATH)
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
    from leaseboard.tasks.tend.doctor import examine

    troubled = False
    found = examine(paths.tracking_uri(tracking_uri), mend=mend)
    for finding in chain(found, stuck_flow_runs(mend=mend)):
        troubled |= not finding.healthy
        say(f"{'ok ' if finding.healthy else 'BAD'}  {finding.name}: {finding.detail}")
    return 2 if troubled else 0


def stuck_flow_runs(*, mend: bool) -> Iterator[Finding]:
    """Flow runs that Prefect says are running though their process is gone.

    They are looked for on the server of ``PREFECT_API_URL``, else in the history that our own
    servers keep in ``PREFECT_HOME``.
    """
    import os
    from contextlib import ExitStack

    from leaseboard.tasks.tend.doctor import Finding

    name = "stuck flow runs"
    with ExitStack() as kept:
        url = os.environ.get("PREFECT_API_URL", "")
        if not url:
            if not server_log().with_name("prefect.db").is_file():
                yield Finding(name, True, "none: Prefect has recorded nothing here")
                return
            try:
                url = kept.enter_context(PrefectServer(server_log())).wait()
            except (LeaseboardError, OSError) as error:
                yield Finding(name, False, str(error))
                return

        import httpx
        from prefect.client.orchestration import get_client
        from prefect.settings import PREFECT_API_URL, temporary_settings

        from leaseboard.flows.flow_runs import cause, dead_runs, end_dead_runs

        kept.enter_context(temporary_settings({PREFECT_API_URL: url}))
        try:
            client = kept.enter_context(get_client(sync_client=True))
            stuck = end_dead_runs(client) if mend else dead_runs(client)
        except httpx.HTTPError as error:
            yield Finding(name, False, f"Prefect's server does not answer: {cause(error)}")
            return
        detail = ", ".join(f"{run.name!r} {run.id}" for run in stuck) or "none"
        if stuck:
            detail += (
                ": ended"
                if mend
                else ": their processes are gone; end them with `leaseboard doctor --mend`"
            )
        yield Finding(name, mend or not stuck, detail)


LIMITS = {"wall_seconds": 600, "cpu_seconds": 300, "memory_mb": 8000}
"""What one promise may take to check: each is checked in a process of its own."""


def check(
    algorithm: Annotated[
        str, typer.Argument(help="A name of `leaseboard list`, or file.py:Class.")
    ],
) -> int:
    """Run the common checks over an algorithm of your own or of ours.

    Example: leaseboard check my_algorithm.py:MyAlgorithm
    """
    from leaseboard.algorithms.checks import checks
    from leaseboard.algorithms.user_files import file_of
    from leaseboard.tasks.jobs import quarantine
    from leaseboard.tasks.jobs.described import PROMISE, describe
    from leaseboard.tasks.jobs.job import Limits

    found = describe(algorithm, {})
    failed = 0
    for name, promise in checks().items():
        try:
            broken = quarantine.ask(
                PROMISE, file_of(algorithm), algorithm, name,
                limits=Limits(**LIMITS), follow=False,
            )  # fmt: skip
        except UserFileError as error:  # it did not live to tell
            broken = str(error)
        if broken:
            failed += 1
            say(f"FAILED  {name}: {broken}")
        else:
            say(f"ok      {name}: {(promise.__doc__ or '').strip()}")
    if found.hindsight:
        say("note    it declares hindsight: look_ahead was not asked of it, and boards mark it")
    say(f"{len(checks()) - failed} promises kept, {failed} broken")
    return 1 if failed else 0
