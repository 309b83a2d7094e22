"""``leaseboard keep``, ``serve`` and ``schedule``: a live model, behind HTTP and by the clock."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leaseboard.algorithms.errors import UsageError
from leaseboard.flows.commands.options import Conf, Local, TrackingUri
from leaseboard.flows.console import SIGTERM_EXIT, resumable, say, terminable
from leaseboard.flows.server import PrefectServer, server_log
from leaseboard.tasks.machine import paths

if TYPE_CHECKING:
    from uvicorn import Server

    from leaseboard.tasks.jobs.suites.timetable import Schedule
    from leaseboard.tasks.keep.settings import Keep


File = Annotated[Path, typer.Argument(help="What is kept: a YAML file.")]


def keep(
    file: File,
    init: Annotated[
        bool,
        typer.Option(
            "--init", help="Write the contract from the first data, and FILE if it is absent."
        ),
    ] = False,
    status: Annotated[
        bool, typer.Option("--status", help="Say how the model stands; take no turn.")
    ] = False,
    card: Annotated[
        bool, typer.Option("--card", help="Print the champion's model card; take no turn.")
    ] = False,
    data: Annotated[
        str | None, typer.Option(help="With --init: the files, such as 'inbox/*.csv'.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="With --init: the column that is forecast.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="With --init: the column that says when (default: guessed).")
    ] = None,
    identity: Annotated[
        str | None,
        typer.Option("--id", help="With --init: the column that tells rows apart (guessed)."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Of state and page (default: runs/keep/NAME).")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(help="What this turn takes for now, in UTC, such as 2026-11-23T04:00."),
    ] = None,
    local: Local = False,
    tracking_uri: TrackingUri = None,
) -> int:
    """Update once: ingest, validate, join labels, monitor, train, evaluate, promote, notify.

    Exits with 0, with 1 if something is wrong that should be looked at, with 3 if nothing came.

    Example: leaseboard keep sales.yaml
    """
    from leaseboard.tasks.keep.opening import home_of, state_of
    from leaseboard.tasks.keep.settings import read_keep

    now = datetime.now(UTC) if at is None else _moment(at)
    if init:
        return _begin(file, data, target, time, identity, now)
    given = {"--data": data, "--target": target, "--time": time, "--id": identity}
    for option, value in given.items():
        if value is not None:
            raise UsageError(f"{option} is of --init: {str(file)!r} says it from then on")
    settings = read_keep(file)
    home = home_of(settings.name, out)
    if status:
        from leaseboard.tasks.keep.page import status as page_status

        say(page_status(state_of(settings, home), settings, now))
        return 0
    if card:
        return _print_card(settings, home)
    from leaseboard.flows.keep import run_turn, still_open

    with resumable(home, "each batch that was taken in is kept in"):
        turned = run_turn(
            settings, home, now,
            file=file, local=local, tracking_uri=paths.tracking_uri(tracking_uri),
        )  # fmt: skip
    if turned.open_incidents:
        say(still_open(turned, file))
        return 1
    if not turned.batches:
        say("nothing new came")
        return 3
    return 0


def _begin(
    file: Path,
    data: str | None,
    target: str | None,
    time: str | None,
    identity: str | None,
    now: datetime,
) -> int:
    from leaseboard.tasks.keep.beginning import first_frame, guessed, write_contract, write_keep
    from leaseboard.tasks.keep.settings import read_keep

    if not file.exists():
        if data is None or target is None:
            raise UsageError(
                f"{str(file)!r} is not there: to have it written, give --data 'inbox/*.csv' and"
                " --target COLUMN"
            )
        found = guessed(first_frame(data), target)
        time, identity = time or found[0], identity or found[1]
        write_keep(file, data, target, time, identity)
        say(f"{file}: time {time or 'none'}, id {identity or 'none'}, target {target}: edit it")
    settings = read_keep(file)
    write_contract(settings, now)
    say(f"{settings.contract}: what rows must look like: read it, it is yours")
    say(f"next: leaseboard keep {file}")
    return 0


def _print_card(settings: Keep, home: Path) -> int:
    from leaseboard.tasks.keep.card import TrackRecord, card
    from leaseboard.tasks.keep.contract import read_contract
    from leaseboard.tasks.keep.opening import state_of
    from leaseboard.tasks.keep.shadow import CHAMPION
    from leaseboard.tasks.store.live_tables import in_role

    contract = read_contract(settings.contract, settings.data)
    record = TrackRecord.of(settings, contract, state_of(settings, home))
    champion = in_role(record.lineages, CHAMPION)
    if champion is None:
        say(f"{settings.name}: there is no champion yet: the first is made when labels have come")
        return 3
    say(card(record, champion).rstrip())
    return 0


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"--at {text!r} is no moment: write it as 2026-11-23T04:00") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


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


def schedule(
    conf: Conf = None,
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Of the Prefect server, on loopback.")
    ] = 4200,
    tracking_uri: TrackingUri = None,
) -> int:
    """Serve the schedules of conf/schedule.yaml until interrupted.

    With PREFECT_API_URL set it uses that server, otherwise one of its own, with its UI.

    Example: leaseboard schedule --conf conf
    """
    from leaseboard.tasks.jobs.suites.timetable import load_schedule

    folder = paths.conf_dir(conf)
    loaded = load_schedule(folder)
    for entry in loaded.schedules:
        if entry.keep is not None:
            _check_keep(Path(entry.keep))
    if tracking_uri is not None:  # the runs' processes inherit it, and Prefect does not show it
        os.environ["MLFLOW_TRACKING_URI"] = tracking_uri
    for entry in loaded.schedules:
        say(f"{entry.name}: {entry.what} at {entry.cron!r} ({entry.timezone})")

    try:
        with terminable():
            _serve(loaded, folder, port)
    except KeyboardInterrupt:
        pass
    except SystemExit as stop:
        if stop.code != SIGTERM_EXIT:
            raise
    say("the schedule is stopped")
    return 0


def _check_keep(file: Path) -> None:
    """UsageError for a keep that could not take a turn."""
    from leaseboard.tasks.keep.contract import read_contract
    from leaseboard.tasks.keep.opening import recipe_of
    from leaseboard.tasks.keep.settings import read_keep

    keep = read_keep(file)
    recipe_of(keep, read_contract(keep.contract, keep.data))


def _serve(loaded: Schedule, folder: Path, port: int) -> None:

    if os.environ.get("PREFECT_API_URL"):
        from leaseboard.flows.schedule import serve_schedules

        serve_schedules(loaded, folder, lambda: None)
        return
    with PrefectServer(server_log(), port=port, scheduling=True) as server:
        os.environ["PREFECT_API_URL"] = server.wait()
        say(f"Prefect: http://127.0.0.1:{port}")
        from leaseboard.flows.schedule import serve_schedules

        serve_schedules(loaded, folder, server.check)
