"""``leaseboard ui``, ``doctor``, ``check``, ``schedule``: what keeps an installation going."""

import os
import sys
from contextlib import ExitStack
from functools import partial

from leaseboard.algorithms.errors import LeaseboardError, UsageError, UserFileError
from leaseboard.flows.commands.options import AlgorithmName, Port
from leaseboard.flows.console import SIGTERM_EXIT, say, terminable
from leaseboard.tasks.machine import environment
from leaseboard.tasks.machine.terminal import counted


def ui(port: Port = 5000) -> None:
    """Serve the MLflow user interface, on this machine only.

    Example: leaseboard ui --port 5001
    """
    from leaseboard.flows.server import SAFE_PATH, Service, answers
    from leaseboard.tasks.track.store import artifact_root, ensure_store

    if answers(port):
        raise UsageError(f"port {port} is taken: name another --port")
    uri = environment.tracking_uri()
    ensure_store(uri)
    # By the environment: other users can read arguments, and it may hold a password.
    store = {"MLFLOW_BACKEND_STORE_URI": uri}
    command = [
        sys.executable, "-P", "-m", "mlflow", "ui",
        "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
        # What is logged through this server is where what is logged to the store itself is.
        "--no-serve-artifacts", "--default-artifact-root", artifact_root(uri),
    ]  # fmt: skip
    with terminable(), Service(command, os.environ | store | SAFE_PATH) as server:
        say(f"http://127.0.0.1:{port}/#/experiments?workflowType=machine_learning")
        code = server.join()
    raise LeaseboardError(f"MLflow's server ended with exit code {code}")


def doctor() -> int:
    """Check the installation, MLflow, and packages that clash with ours.

    Example: leaseboard doctor
    """
    from leaseboard.tasks.archive.doctor import examine

    troubled = False
    for finding in examine(environment.tracking_uri()):
        troubled |= not finding.healthy
        say(f"{'ok ' if finding.healthy else 'BAD'}  {finding.name}: {finding.detail}")
    return 2 if troubled else 0


LIMITS = {"wall_seconds": 600, "cpu_seconds": 300, "memory_mb": 8000}
"""Limits of one check, each of which runs in a process of its own."""


def check(algorithm: AlgorithmName) -> int:
    """Run the checks that every algorithm must pass over one of your own.

    Example: leaseboard check my_algorithm.py:MyAlgorithm
    """
    from leaseboard.algorithms import registry
    from leaseboard.algorithms.checks import broken, checks
    from leaseboard.tasks.jobs.described import describe, in_fork
    from leaseboard.tasks.processes.child import Limits

    describe(algorithm, {})
    files = registry.files_of(algorithm)
    failed = 0
    for name, rule in counted(checks().items(), "check", "rules"):
        try:
            fault = in_fork(partial(broken, algorithm, name), files, Limits(**LIMITS))
        except UserFileError as error:  # its process ended
            fault = str(error)
        if fault:
            failed += 1
            say(f"FAILED  {name}: {fault}")
        else:
            say(f"ok      {name}: {(rule.__doc__ or '').strip()}")
    say(f"{len(checks()) - failed} checks passed, {failed} failed")
    return 1 if failed else 0


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
    from leaseboard.flows.server import PrefectServer, Service, check_answers, server_log
    from leaseboard.tasks.jobs.suites.suite import load_schedule

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
            check_answers(os.environ["PREFECT_API_URL"])
            # Prefect's runner ends itself alone; a service, all that it has started.
            path = os.pathsep.join(filter(None, sys.path))
            command = [sys.executable, "-P", "-c", _SERVE, str(folder)]
            runner = Service(command, os.environ | {"PYTHONPATH": path})
            code = stack.enter_context(runner).join()
    except KeyboardInterrupt:
        pass
    except SystemExit as stop:
        if stop.code != SIGTERM_EXIT:
            raise
    else:
        raise LeaseboardError(f"Prefect's runner ended with exit code {code}: start it again")
    say("the schedule is stopped")
    return 0
