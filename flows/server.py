"""A Prefect server of our own, on loopback, for as long as one run lasts."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from algorithms.errors import LeaseboardError, UsageError
from flows.leash import Leash

START_SECONDS = 180.0
"""A fresh home on a quiet machine takes 9 s, on a loaded one half a minute and more."""
STOP_SECONDS = 15.0
COMMAND = ("-m", "prefect", "server", "start")
_BATCHED = {
    # By default each change of a task's state is a transaction of its own, with a look through all
    # task runs that there ever were: the cost of a job would grow with the history.
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
}
_UNUSED = {
    # Nothing is scheduled on a server that goes away with its run, and no automation waits there.
    "PREFECT_SERVER_SERVICES_SCHEDULER_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_LATE_RUNS_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "false",
    # Task runs and their states are kept; the events say the same once more.
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED": "false",
    "PREFECT_SERVER_UI_ENABLED": "false",
}


class PrefectServer:
    """Starts at once, is ready when `wait` returns, and ends with the run.

    Parameters
    ----------
    log : Path
        Gets what the server says.
    port : int, optional
        A free one by default.
    scheduling : bool
        Also schedule deployments and serve the UI.

    Attributes
    ----------
    url : str
        The address for ``PREFECT_API_URL``.
    """

    def __init__(self, log: Path, *, port: int | None = None, scheduling: bool = False) -> None:
        self._log = log
        self._port = port
        self._scheduling = scheduling
        self._leash: Leash | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def start(self) -> None:
        """Start the process; it does not hold up the caller.

        Raises
        ------
        UsageError
            If something else answers at the port: it would be taken for ours.
        """
        port = self._port or _free_port()
        if _answers(port):
            raise UsageError(
                f"port {port} is taken: set PREFECT_API_URL to use that server,"
                " or name another --port"
            )
        self.url = f"http://127.0.0.1:{port}/api"
        self._leash = Leash()
        command = [sys.executable, *COMMAND, "--host", "127.0.0.1", "--port", str(port)]
        environment = {k: v for k, v in os.environ.items() if k != "PREFECT_API_URL"} | _BATCHED
        if not self._scheduling:
            environment |= _UNUSED
        with self._open_log() as log:
            self._process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._leash.watch(self._process.pid)

    def wait(self, seconds: float = START_SECONDS) -> str:
        """The address, once the server answers.

        Raises
        ------
        LeaseboardError
            If it ends, or does not answer in time.
        """
        process = self._process
        if process is None:
            raise LeaseboardError("the Prefect server was not started")
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise LeaseboardError(
                    f"the Prefect server ended with exit code {process.returncode}:"
                    f" see {self._log}, or run without it: --local"
                )
            if is_healthy(self.url):
                return self.url
            time.sleep(0.1)
        raise LeaseboardError(
            f"the Prefect server did not answer within {seconds:g} s:"
            f" see {self._log}, or run without it: --local"
        )

    def stop(self) -> None:
        """End exactly the process that `start` started."""
        if self._process is None or self._leash is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=STOP_SECONDS)
            self._leash.forget(self._process.pid)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._leash.close()
        self._process = self._leash = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _open_log(self) -> IO[bytes]:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        return self._log.open("wb")


def server_log() -> Path:
    """Where our own server's log goes, beside its database."""
    return Path(os.environ.get("PREFECT_HOME", ".prefect")) / "server.log"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
    except OSError:
        return False
    return True


def is_healthy(url: str) -> bool:
    """Whether a Prefect server answers at `url`."""
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=2) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
