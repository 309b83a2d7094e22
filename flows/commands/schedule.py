"""``leaseboard schedule``: suites and live models that run by the clock."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from leaseboard.flows.commands.options import Conf, Port, TrackingUri
from leaseboard.flows.console import SIGTERM_EXIT, say, terminable
from leaseboard.flows.server import PrefectServer, server_log
from leaseboard.tasks.machine import paths

if TYPE_CHECKING:
    from leaseboard.tasks.jobs.suites.timetable import Schedule


def schedule(
    conf: Conf = None,
    port: Port = 4200,
    tracking_uri: TrackingUri = None,
) -> int:
    """Run suites and live models by the clock, as conf/schedule.yaml says, until interrupted.

    It uses the Prefect server of PREFECT_API_URL if that is set, otherwise one of its own.

    - `port`: that of its own Prefect server, on the loopback.

    Example: leaseboard schedule --conf conf
    """
    from leaseboard.tasks.jobs.suites.timetable import load_schedule

    folder = paths.conf_dir(conf)
    loaded = load_schedule(folder)
    for entry in loaded.schedules:
        if entry.live is not None:
            _check_live(Path(entry.live))
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


def _check_live(file: Path) -> None:
    """Raise UsageError for a live model that could not be updated."""
    from leaseboard.tasks.live.contract import read_contract
    from leaseboard.tasks.live.model import recipe_of
    from leaseboard.tasks.live.settings import read_settings

    settings = read_settings(file)
    recipe_of(settings, read_contract(settings.contract, settings.data))


def _serve(loaded: Schedule, folder: Path, port: int) -> None:
    from prefect.settings import PREFECT_API_URL, temporary_settings

    from leaseboard.flows.schedule import serve_schedules

    if os.environ.get("PREFECT_API_URL"):
        serve_schedules(loaded, folder, lambda: None)
        return
    with PrefectServer(server_log(), port=port, scheduling=True) as server:
        url = server.wait()
        os.environ["PREFECT_API_URL"] = url  # for the processes of the runs
        # For this one: Prefect has read its settings when it was imported.
        with temporary_settings({PREFECT_API_URL: url}):
            say(f"Prefect: http://127.0.0.1:{port}")
            serve_schedules(loaded, folder, server.check)
