"""``leaseboard serve``: the champion of a keep behind HTTP, on loopback by default."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leaseboard.flows.commands.options import TrackingUri
from leaseboard.flows.terminal import say

if TYPE_CHECKING:
    from uvicorn import Server

PORT = 8507
STOPPING = 30
"""Seconds that requests may take to end once the server is to stop."""
CONNECTIONS = 900
"""At once; a process may have 1,024 files open, as most systems are set up."""
STATE_PATIENCE = 5.0
"""Seconds that a request waits for a state that somebody else writes to."""


def serve(
    file: Annotated[Path, typer.Argument(help="FILE.yaml of the keep, as of `leaseboard keep`.")],
    host: Annotated[
        str, typer.Option(help="Where to listen; any but loopback needs LEASEBOARD_TOKEN.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: one that is free.")] = PORT,
    rate: Annotated[
        float, typer.Option(min=1, help="Requests a second that one client may make.")
    ] = 1000.0,
    out: Annotated[
        Path | None, typer.Option("--out", help="The keep's folder (default: runs/keep/NAME).")
    ] = None,
    tracking_uri: TrackingUri = None,
) -> None:
    """Serve the champion of a keep: POST /predict and /labels, GET /health and /metrics.

    It follows the alias champion of the keep's model without a restart. Each forecast is logged in
    the keep's state before it is told.

    Example: leaseboard serve sales.yaml
    """
    import os
    import time

    import uvicorn

    from leaseboard.tasks.keep.opening import home_of, state_of
    from leaseboard.tasks.keep.settings import read_keep
    from leaseboard.tasks.machine import paths
    from leaseboard.tasks.serve.admission import TOKEN, Admission, check_place
    from leaseboard.tasks.serve.app import PatientProtocol, application
    from leaseboard.tasks.serve.champion import Follower
    from leaseboard.tasks.serve.service import ForecastService

    token = os.environ.get(TOKEN, "")
    check_place(host, token)
    keep = read_keep(file)
    follower = Follower(paths.tracking_uri(tracking_uri), keep, lambda text: say(text, err=True))
    state = state_of(keep, home_of(keep.name, out), STATE_PATIENCE)
    with _listening(host, port) as listener:
        follower.start()
        service = ForecastService(keep.data, follower, state, lambda: datetime.now(UTC))
        app = application(service, Admission(token, rate, time.monotonic))
        config = uvicorn.Config(
            app, http=PatientProtocol, ws="none", log_level="warning", access_log=False,
            proxy_headers=False, server_header=False, limit_concurrency=CONNECTIONS,
            timeout_graceful_shutdown=STOPPING,
        )  # fmt: skip
        server = uvicorn.Server(config)
        name = f"[{host}]" if ":" in host else host
        sys.setswitchinterval(0.001)  # who answers waits less for who takes up a champion
        with _stopped_politely(server):
            place = f"http://{name}:{listener.getsockname()[1]}"
            say(f"serving {keep.name} on {place}; stop with Ctrl-C", err=True)
            server.run(sockets=[listener])


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens; UsageError if the place is taken."""
    from leaseboard.algorithms.errors import UsageError

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        why = str(error.strerror).partition(" (")[0]  # it goes on with the address
        said = f"--host {host} --port {port} cannot be used ({why}): name another"
        raise UsageError(said) from error
    with listener:
        yield listener


@contextmanager
def _stopped_politely(server: Server) -> Iterator[None]:
    """To be stopped by a signal is no failure: uvicorn raises it again when all is answered.

    Before uvicorn listens for signals itself, ours have it end at once.
    """

    def stop(_signal: int, _frame: object) -> None:
        server.should_exit = True

    before = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
