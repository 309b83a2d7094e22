"""A Prefect server of our own on loopback, and any server in a process that ends with ours."""

import fcntl
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.flows.console import report_outage
from leaseboard.tasks.machine.addresses import redacted, scrubbed
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

    def join(self) -> int:
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def answers(port: int) -> bool:
    """Return whether a process listens at `port` of loopback."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
    except OSError:
        return False
    return True


START_SECONDS = 180.0
"""A fresh home on a quiet machine takes 9 s, on a loaded one half a minute and more."""
ANSWER_SECONDS = 10.0
"""Time that a server may take to answer, and Prefect's client to connect, which tries 4 times."""
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


class PrefectServer(Service):
    """Prefect server that is ready when `wait` returns, and ends with the run.

    Raises UsageError if another server answers at the port.

    - `log`: gets the server's output.
    - `port`: a free one by default.
    - `scheduling`: also schedule deployments and serve the UI.
    """

    def __init__(self, log: Path, *, port: int | None = None, scheduling: bool = False) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = port or probe.getsockname()[1]
        if answers(port):
            raise UsageError(
                f"port {port} is taken: set PREFECT_API_URL to use that server,"
                " or name another --port"
            )
        self.url, self._port, self._log = f"http://127.0.0.1:{port}/api", port, log
        own = {k: v for k, v in os.environ.items() if k != "PREFECT_API_URL"}
        own |= _BATCHED | SAFE_PATH
        own = _PAGE | own if scheduling else own | _UNUSED
        command = [sys.executable, "-P", "-m", "prefect", "server", "start",
                   "--host", "127.0.0.1", "--port", str(port)]  # fmt: skip
        log.parent.mkdir(parents=True, exist_ok=True)
        # Of two servers that make their database at once one fails: they start one by one.
        self._starting = log.with_suffix(".lock").open("w")
        fcntl.flock(self._starting, fcntl.LOCK_EX)
        with log.open("ab") as output:
            super().__init__(command, own, output)

    def wait(self, seconds: float = START_SECONDS) -> str:
        """Wait until the server answers, and return its address.

        Raises LeaseboardError if it ends, or does not answer in time.
        """
        deadline = time.monotonic() + seconds
        while not answers(self._port) or fault_of(self.url):
            code = self.exit_code()
            if code is not None or time.monotonic() > deadline:
                what = "did not answer in time" if code is None else f"ended with exit code {code}"
                raise LeaseboardError(
                    f"the Prefect server {what}: see {self._log}, or run without it: --local"
                )
            time.sleep(0.1)
        self._starting.close()
        return self.url

    def stop(self) -> None:
        """End the server; another one may start."""
        super().stop()
        self._starting.close()


def server_log() -> Path:
    """Return the log of our own server, next to its database."""
    return Path(os.environ.get("PREFECT_HOME", ".prefect")) / "server.log"


def fault_of(url: str) -> Exception | None:
    """Return why Prefect's server at `url` does not answer, with the key that Prefect knows."""
    import httpx
    from prefect import settings
    from prefect.client.orchestration import get_client

    try:
        httpx.URL(url)
    except httpx.InvalidURL as error:
        return error
    asked = {settings.PREFECT_API_URL: url, settings.PREFECT_CLIENT_MAX_RETRIES: 0}
    # Options of its own make it another client than that of the flow run that this is called in.
    own = {"timeout": httpx.Timeout(ANSWER_SECONDS, connect=ANSWER_SECONDS / 5)}
    with (
        settings.temporary_settings(asked),
        get_client(httpx_settings=own, sync_client=True) as client,
    ):
        return client.api_healthcheck()


def check_answers(url: str) -> None:
    """Raise LeaseboardError if Prefect's server at `url` does not answer."""
    if error := fault_of(url):
        cause = scrubbed(str(error) or type(error).__name__, [url]).partition("\n")[0]
        raise LeaseboardError(
            f"Prefect's server at {redacted(url)} does not answer ({cause}): start it, or unset"
            " PREFECT_API_URL"
        )


SUITE, MODEL = "leaseboard.suite", "leaseboard.model"
"""Resources: ``leaseboard.suite.NAME`` and ``leaseboard.model.NAME``."""
RUN_ENDED = "leaseboard.run.ended"
REGRESSION = "leaseboard.regression.found"
PROMOTED, ROLLED_BACK = "leaseboard.model.promoted", "leaseboard.model.rolled-back"


def emit(
    event: str, kind: str, name: str, payload: Mapping[str, Any], once: str | None = None
) -> None:
    """Send an event of the suite or model `name`, if Prefect is there.

    - `kind`: of the resource, `SUITE` or `MODEL`.
    - `once`: what is its own; a server stores one event of it, however often it is sent. It is
      waited for: the caller notes that it was sent, and may be killed after that.
    """
    url = os.environ.get("PREFECT_API_URL", "")
    if not url:
        return
    if fault_of(url):  # the end of this process would wait for it
        report_outage()
        return
    from prefect.events import emit_event
    from prefect.events.worker import EventsWorker

    # It warns of what it still sends at the end of a command.
    logging.getLogger("EventsWorker").setLevel(logging.ERROR)
    resource = {"prefect.resource.id": f"{kind}.{name}", "prefect.resource.name": name}
    identity = once and uuid.uuid5(uuid.NAMESPACE_URL, f"{kind}.{name} {once}")
    emit_event(event, resource=resource, payload={"name": name, **payload}, id=identity or None)
    if once:
        sent = threading.Thread(target=EventsWorker.instance().wait_until_empty, daemon=True)
        sent.start()
        sent.join(10)  # a server may go


def current_run() -> str:
    """Return the identifier of the flow run that this is called in; empty without Prefect."""
    if "prefect" not in sys.modules:
        return ""
    from prefect.runtime import flow_run

    return str(flow_run.id or "")
