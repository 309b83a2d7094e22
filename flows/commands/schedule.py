"""``leaseboard schedule``: suites and live models that run by the clock."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.flows.commands.options import Port
from leaseboard.flows.console import SIGTERM_EXIT, say, terminable
from leaseboard.flows.server import PrefectServer, Service, server_log
from leaseboard.tasks.machine import environment

_SERVE = (
    "import sys, pathlib; from leaseboard.flows.schedule import serve_schedules;"
    " serve_schedules(pathlib.Path(sys.argv[1]))"
)


def schedule(port: Port = 4200) -> int:
    """Run suites and live models by the clock, as conf/schedule.yaml says, until interrupted.

    It uses the Prefect server of PREFECT_API_URL if that is set, otherwise one of its own on the
    loopback, at --port. What a schedule that was killed has left is run again.

    Example: leaseboard schedule --conf conf
    """
    from leaseboard.tasks.jobs.suites.timetable import load_schedule

    folder = environment.conf_dir()
    for entry in load_schedule(folder).schedules:
        say(f"{entry.name}: {entry.what} at {entry.cron!r} ({entry.timezone})")
    try:
        with terminable(), ExitStack() as stack:
            if not os.environ.get("PREFECT_API_URL"):
                server = PrefectServer(server_log(), port=port, scheduling=True)
                stack.enter_context(server)
                os.environ["PREFECT_API_URL"] = server.wait()
                say(f"Prefect: http://127.0.0.1:{port}")
            from leaseboard.flows.prefect_executor import check_answers

            check_answers(os.environ["PREFECT_API_URL"])
            # Prefect's runner ends itself alone; a service, all that it has started.
            path = os.pathsep.join(filter(None, sys.path))
            runner = Service(
                [sys.executable, "-P", "-c", _SERVE, str(folder)],
                os.environ | {"PYTHONPATH": path},
            )
            stack.callback(runner.stop)
            code = runner.wait()
    except KeyboardInterrupt:
        pass
    except SystemExit as stop:
        if stop.code != SIGTERM_EXIT:
            raise
    else:
        raise LeaseboardError(f"Prefect's runner ended with exit code {code}: start it again")
    say("the schedule is stopped")
    return 0
