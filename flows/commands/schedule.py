"""``leaseboard schedule``: run suites, and take turns of keeps, by the clock."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leaseboard.flows.commands.options import Conf, TrackingUri
from leaseboard.flows.terminal import say

if TYPE_CHECKING:
    from leaseboard.tasks.jobs.suites.timetable import Schedule


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
    from leaseboard.tasks.machine import paths

    folder = paths.conf_dir(conf)
    loaded = load_schedule(folder)
    for entry in loaded.schedules:
        if entry.keep is not None:
            _check_keep(Path(entry.keep))
    if tracking_uri is not None:  # the runs' processes inherit it, and Prefect does not show it
        os.environ["MLFLOW_TRACKING_URI"] = tracking_uri
    for entry in loaded.schedules:
        say(f"{entry.name}: {entry.what} at {entry.cron!r} ({entry.timezone})")
    from leaseboard.flows.interruption import SIGTERM_EXIT, terminable

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
    from leaseboard.flows.server import PrefectServer, server_log

    if os.environ.get("PREFECT_API_URL"):
        from leaseboard.flows.schedule import serve_schedules

        serve_schedules(loaded, folder, lambda: None)
        return
    with PrefectServer(server_log(), port=port, scheduling=True) as server:
        os.environ["PREFECT_API_URL"] = server.wait()
        say(f"Prefect: http://127.0.0.1:{port}")
        from leaseboard.flows.schedule import serve_schedules

        serve_schedules(loaded, folder, server.check)
