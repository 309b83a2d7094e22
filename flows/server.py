"""A Prefect server of our own on loopback, and any server in a process that ends with ours."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Self

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.tasks.processes.watchdog import Watchdog, descendants, is_over, kill_tree

STOP_SECONDS = 15.0
"""Time that a server may take to end in good order."""
SAFE_PATH = {"PYTHONSAFEPATH": "1"}
"""For a server's environment: no process of it takes a module from the folder that we are in."""
_POLL_SECONDS = 0.05


class Service:
    """Process that starts at once; `stop` ends it, and a watchdog if this process is killed.

    - `environment`: the whole environment of the new process.
    - `log`: gets the server's output; by default it goes where ours goes.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], log: IO[bytes] | None = None
    ) -> None:
        self._watchdog = Watchdog()
        # A session of its own: Ctrl-C in a terminal must not reach it before we end it.
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT if log else None,
            start_new_session=True,
        )
        self.pid, self._stopped = self._process.pid, False
        self._watchdog.add(self.pid)

    def exit_code(self) -> int | None:
        """Return the exit code of the server's first process; None while it runs."""
        return self._process.poll()

    def wait(self) -> int:
        """Wait for its end, and return its exit code."""
        return self._process.wait()

    def stop(self) -> None:
        """End it with all that it started: in good order, then by force.

        The first process gets a signal alone, for it may end the others in its own order; those
        that remain get one next. A second call does nothing.
        """
        if self._stopped:
            return
        self._stopped = True
        family = [self.pid, *descendants(self.pid)]
        deadline = time.monotonic() + STOP_SECONDS
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_SECONDS)
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)
            while not all(map(is_over, family)) and time.monotonic() < deadline:
                time.sleep(_POLL_SECONDS)
        if self._process.poll() is None:
            kill_tree(self.pid)
            self._process.wait()
        self._watchdog.remove(self.pid)
        self._watchdog.close()


def answers(port: int) -> bool:
    """Return whether a process listens at `port` of loopback."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
    except OSError:
        return False
    return True


START_SECONDS = 180.0
"""A fresh home on a quiet machine takes 9 s, on a loaded one half a minute and more."""
_BATCHED = {
    # By default each change of a task's state is a transaction of its own, which searches all task
    # runs of the past: the cost of a job would grow with the history.
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
}
_UNUSED = {
    # A server that ends with its run has no schedules and no automations.
    "PREFECT_SERVER_SERVICES_SCHEDULER_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_LATE_RUNS_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "false",
    # Task runs and their states are stored; the events say the same again.
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED": "false",
    "PREFECT_SERVER_UI_ENABLED": "false",
}
_PAGE = {
    # Relative, so that the page asks the server that it came from: at any port, and also
    # through a tunnel or a proxy. Prefect's own default is port 4200, wherever it listens.
    "PREFECT_UI_API_URL": "/api",
    # Prefect's newer page asks a third party for a configuration, for any setting of telemetry;
    # it stays one click away.
    "PREFECT_SERVER_UI_V2_ENABLED": "false",
}


class PrefectServer:
    """Prefect server that is ready when `wait` returns, and ends with the run.

    - `log`: gets the server's output.
    - `port`: a free one by default.
    - `scheduling`: also schedule deployments and serve the UI.
    """

    def __init__(self, log: Path, *, port: int | None = None, scheduling: bool = False) -> None:
        self._log, self._port, self.url = log, port, ""
        self._service: Service | None = None
        self._environment = {k: v for k, v in os.environ.items() if k != "PREFECT_API_URL"}
        self._environment |= _BATCHED | SAFE_PATH
        if scheduling:
            self._environment = _PAGE | self._environment
        else:
            self._environment |= _UNUSED

    def start(self) -> None:
        """Start the process, without waiting for it.

        Raises UsageError if another server answers at the port.
        """
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = self._port or probe.getsockname()[1]
        if answers(port):
            raise UsageError(
                f"port {port} is taken: set PREFECT_API_URL to use that server,"
                " or name another --port"
            )
        self.url = f"http://127.0.0.1:{port}/api"
        command = [sys.executable, "-P", "-m", "prefect", "server", "start",
                   "--host", "127.0.0.1", "--port", str(port)]  # fmt: skip
        self._log.parent.mkdir(parents=True, exist_ok=True)
        # Of two servers that make their database at once one fails: they start one by one.
        self._starting = self._log.with_suffix(".lock").open("w")
        fcntl.flock(self._starting, fcntl.LOCK_EX)
        with self._log.open("ab") as log:
            self._service = Service(command, self._environment, log)

    def wait(self, seconds: float = START_SECONDS) -> str:
        """Wait until the server answers, and return its address.

        Raises LeaseboardError if it ends, or does not answer in time.
        """
        deadline = time.monotonic() + seconds
        while not is_healthy(self.url):
            code = None if self._service is None else self._service.exit_code()
            if code is not None or time.monotonic() > deadline:
                what = "did not answer in time" if code is None else f"ended with exit code {code}"
                raise LeaseboardError(
                    f"the Prefect server {what}: see {self._log}, or run without it: --local"
                )
            time.sleep(0.1)
        self._starting.close()
        return self.url

    def stop(self) -> None:
        """End what `start` started."""
        if self._service is not None:
            self._service.stop()
            self._service = None
            self._starting.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def server_log() -> Path:
    """Return the log of our own server, next to its database."""
    return Path(os.environ.get("PREFECT_HOME", ".prefect")) / "server.log"


def is_healthy(url: str) -> bool:
    """Return whether a Prefect server answers at `url`."""
    import urllib.error  # with ssl: half of the time of `--help`
    import urllib.request

    try:
        with urllib.request.urlopen(f"{url}/health", timeout=2) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
