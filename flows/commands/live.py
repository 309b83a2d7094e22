"""``leaseboard live``: a live model and its prediction service."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.flows.commands.options import Command, Local, RunDir, Target, arg, group, opt
from leaseboard.flows.console import resumable, say
from leaseboard.tasks.machine import environment

if TYPE_CHECKING:
    from socket import socket

    from leaseboard.tasks.live.model import LiveModel
    from leaseboard.tasks.live.settings import LiveSettings


LiveFile = Annotated[Path, arg("YAML file of the live model.")]
_FILES = "The files with its data, such as 'inbox/*.csv'."
_TIME = "Column with the time of a row (default: guessed)."
_COLUMN = "Column that identifies a row (default: guessed)."
_AT = "Time to use as now, in UTC, such as 2026-11-23T04:00."
_HOST = "Address to listen on; any but the loopback needs the variable LEASEBOARD_TOKEN."
app = group(
    "Operate a live model: it predicts, learns, is monitored, and is replaced on evidence."
)


@app.command("init", cls=Command)
def init(
    file: LiveFile,
    files: Annotated[str | None, opt(_FILES, "PATTERN")] = None,
    target: Target = None,
    time: Annotated[str | None, opt(_TIME, "COLUMN")] = None,
    identity: Annotated[str | None, opt(_COLUMN, "COLUMN", "--id-column")] = None,
) -> int:
    """Write the settings of a live model and its data contract, for you to edit.

    If FILE exists, only the contract is written, so a call that was stopped can be repeated. A
    new FILE needs --files and --target.

    Example: leaseboard live init sales.yaml --files 'inbox/*.csv' --target revenue
    """
    from leaseboard.tasks.live import first_files
    from leaseboard.tasks.live.settings import LiveSettings, read_settings
    from leaseboard.tasks.machine.yaml_files import load_yaml

    asked = {"files": files, "target": target, "time": time, "id-column": identity}
    if not file.exists():
        if files is None or target is None:
            raise UsageError(
                f"{str(file)!r} does not exist: to write it, give --files 'inbox/*.csv' and"
                " --target COLUMN"
            )
        frame = first_files.first_frame(files)
        if target not in frame:
            raise unknown("target column", target, list(frame))
        found = first_files.guess_columns(frame, target)
        time, identity = time or found[0], identity or found[1]
        first_files.write_settings(file, files, target, time, identity)
        say(f"{file}: time {time or 'none'}, id {identity or 'none'}, target {target}: edit it")
    settings, data = read_settings(file), load_yaml(file, LiveSettings).data
    has = {"files": data.pattern, "target": data.target, "time": data.time, "id-column": data.id}
    if other := [name for name in asked if asked[name] not in (None, has[name])]:
        raise UsageError(
            f"--{other[0]} is for a new file, and {str(file)!r} exists: edit it there"
        )
    first_files.write_contract(settings, datetime.now(UTC))
    say(f"{settings.contract}: what rows must look like: read and edit it")
    say(f"next: leaseboard live update {file}")
    return 0


@app.command("update", cls=Command)
def update(
    file: LiveFile,
    run_dir: RunDir = None,
    at: Annotated[datetime | None, opt(_AT, "TIME", parser=datetime.fromisoformat)] = None,
    local: Local = False,
) -> int:
    """Update once: ingest, validate, join labels, monitor, train, evaluate, promote, notify.

    Exits with 0, with 1 if an incident is open, with 3 if there were no new data.

    Example: leaseboard live update sales.yaml
    """
    from leaseboard.flows.live_update import run_update

    now = at or datetime.now(UTC)
    now = now if now.tzinfo else now.replace(tzinfo=UTC)
    settings, home = _opened(file, run_dir)
    with resumable(home, "each batch that was ingested is kept in"):
        result = run_update(
            settings, home, now,
            file=file, local=local, tracking_uri=environment.tracking_uri(),
        )  # fmt: skip
    if result.incidents:
        say(result.still_open())
        return 1
    if not result.batches:
        say("nothing new came")
        return 3
    return 0


@app.command("status", cls=Command)
def status(file: LiveFile, run_dir: RunDir = None) -> None:
    """Print how a live model is doing: champion, quality, drift, incidents.

    Example: leaseboard live status sales.yaml
    """
    from leaseboard.tasks.live.model import state_of
    from leaseboard.tasks.live.page import status as status_of
    from leaseboard.tasks.live.record import ModelRecord

    settings, home = _opened(file, run_dir)
    say(status_of(ModelRecord(settings, state_of(settings, home), datetime.now(UTC))))


def _opened(file: Path, run_dir: Path | None) -> tuple[LiveSettings, Path]:
    """Return the settings of a live model and its folder."""
    from leaseboard.tasks.live.model import home_of
    from leaseboard.tasks.live.settings import read_settings

    if not file.exists():
        raise UsageError(
            f"{str(file)!r} does not exist: name a YAML file, as `leaseboard live init` writes it"
        )
    settings = read_settings(file)
    return settings, home_of(settings.name, run_dir)


PORT = 8507
STOPPING = 30
"""Seconds that requests may take to end once the server is to stop."""
STATE_PATIENCE = 5.0
"""Seconds that a request waits for a state that another process writes to."""


@app.command("serve", cls=Command)
def serve(
    file: LiveFile,
    host: Annotated[str, opt(_HOST, "ADDRESS")] = "127.0.0.1",
    port: Annotated[
        int, opt("Port to listen on; 0: a free one.", "PORT", min=0, max=65535)
    ] = PORT,
    run_dir: RunDir = None,
) -> None:
    """Serve the champion over HTTP, as MLflow does: /invocations, /ping, /metrics.

    A new champion is served without a restart. Each prediction is logged before it is answered.

    Example: leaseboard live serve sales.yaml
    """
    import uvicorn

    from leaseboard.tasks.live.model import state_of
    from leaseboard.tasks.serve.app import TOKEN, Server, application, check_place
    from leaseboard.tasks.serve.champion import Follower

    token = os.environ.get(TOKEN, "")
    check_place(host, token)
    settings, home = _opened(file, run_dir)
    uri = environment.tracking_uri()
    state = state_of(settings, home, STATE_PATIENCE)
    follower = Follower(uri, settings, state, lambda text: say(text, err=True))
    with listening(host, port) as listener:
        follower.start()
        server = Server(follower, state, token, lambda: datetime.now(UTC))
        config = uvicorn.Config(
            application(server), http="h11", ws="none", log_level="warning", access_log=False,
            proxy_headers=False, server_header=False,
            timeout_graceful_shutdown=STOPPING,
        )  # fmt: skip
        config.load()  # no request waits for it
        name = f"[{host}]" if ":" in host else host
        gc.freeze()  # what is loaded by now stays: no request waits while it is looked through
        gc.set_threshold(1000)
        sys.setswitchinterval(0.001)  # who answers waits less for who takes up a champion
        place = f"http://{name}:{listener.getsockname()[1]}"
        say(f"serving {settings.name} on {place}; stop with Ctrl-C", err=True)
        uvicorn.Server(config).run(sockets=[listener])


@contextmanager
def listening(host: str, port: int) -> Iterator[socket]:
    """Return a socket that listens; UsageError if the place is taken."""
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        why = str(error.strerror).partition(" (")[0]  # it goes on with the address
        said = f"--host {host} --port {port} cannot be used ({why}): name another"
        raise UsageError(said) from error
    with listener:
        # An answer is written in two parts: the second does not wait until the first is confirmed.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listener


@app.command("promote", cls=Command)
def promote(
    file: LiveFile,
    force: Annotated[bool, opt("Do it in spite of the evidence.", "", "--force")] = False,
    run_dir: RunDir = None,
) -> int:
    """Make the challenger the champion if the evidence suffices; otherwise exit with 1.

    The evidence is rows that both models have predicted.

    Example: leaseboard live promote sales.yaml
    """
    return _change(file, run_dir, "champion", "is champion now", force=force)


@app.command("rollback", cls=Command)
def rollback(file: LiveFile, run_dir: RunDir = None) -> None:
    """Make the previous champion the champion again; the champion becomes the previous one.

    If it is stopped, the same command again finishes it.

    Example: leaseboard live rollback sales.yaml
    """
    _change(file, run_dir, "rolled back", "is champion")


def _change(file: Path, run_dir: Path | None, kind: str, said: str, *, force: bool = False) -> int:
    """Change the champion by hand, and publish it; return 1 if the evidence does not suffice."""
    from leaseboard.flows.live_update import announce_news
    from leaseboard.tasks.live.candidates import change_by_hand
    from leaseboard.tasks.live.model import home_of
    from leaseboard.tasks.live.page import build
    from leaseboard.tasks.live.record import ModelRecord, publish
    from leaseboard.tasks.store.live_tables import Changes

    live, now, uri = live_of(file, run_dir), datetime.now(UTC), environment.tracking_uri()
    name, at = live.settings.name, now.isoformat(timespec="seconds")
    with live.state.update_lock():
        done, why = change_by_hand(live, at, kind, anyway=force)
        if done:
            version = publish(uri, live, now)["champion"]
            build(ModelRecord(live.settings, live.state, now), home_of(name, run_dir))
            announce_news(live.state, name, at, uri, by_hand=True)
            say(f"{name}: version {version} {said}: {why}")
            live.state.commit(Changes(at, lifecycle={"by_hand": None}))
    if not done:
        say(f"{name}: the challenger stays challenger: {why}; --force promotes it")
    return 0 if done else 1


def live_of(file: Path, run_dir: Path | None) -> LiveModel:
    """Return the live model of a file."""
    from leaseboard.tasks.live.model import LiveModel, state_of

    settings, home = _opened(file, run_dir)
    return LiveModel.read(settings, state_of(settings, home), file)


@app.command("forget", cls=Command)
def forget(
    file: LiveFile,
    reason: Annotated[str, opt("Why, for the record.", "TEXT")],
    identity: Annotated[list[str], opt("Id of a row; several: --id A --id B.", "ID", "--id")],
    run_dir: RunDir = None,
) -> None:
    """Delete all that is stored of rows by their ids, and never learn these ids again.

    Rows, quarantined rows, logged predictions and posted labels are deleted. How many, when, why
    and by whom is in the record; only a digest of each id stays.

    Example: leaseboard live forget sales.yaml --id a-17 --reason 'the customer asked'
    """
    from leaseboard.tasks.live.model import erase

    live = live_of(file, run_dir)
    with live.state.update_lock():
        say(f"{live.settings.name}: {erase(live, identity, reason, datetime.now(UTC))}")
