import gc
import importlib
import os
import shutil
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
from prefect.client.orchestration import get_client
from prefect.events.worker import EventsWorker
from prefect.settings import PREFECT_API_URL, temporary_settings

from leaseboard.flows.cli import main
from leaseboard.flows.server import PrefectServer
from leaseboard.tasks.machine import terminal
from tests.flows.schedules import SCHEDULE, make_home, schedule, stop, until
from tests.flows.suites import SuiteRunner
from tests.flows.swept import IMPORTS, Live, update


@pytest.fixture(autouse=True)
def _quiet(environment, forked_workers, forked_services, monkeypatch):
    """Keep Prefect, MLflow and workers silent, and no place that an option of a test has set."""
    for name in ("LEASEBOARD_CONF", "LEASEBOARD_MIRROR", "MLFLOW_TRACKING_URI"):
        before = os.environ.get(name)
        monkeypatch.setenv(name, before or "")
        if before is None:
            del os.environ[name]


@pytest.fixture(scope="module")
def url(tmp_path_factory, environment, prefect_tables, forked_services):
    """Yield one Prefect server for all tests of a module, started as a run starts its own."""
    prefect_tables(Path(os.environ["PREFECT_HOME"]))
    server = PrefectServer(tmp_path_factory.mktemp("server") / "server.log")
    with server:
        address = server.wait()
        before = {process.pid for process in psutil.Process().children()}
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PREFECT_API_URL", address)
            with temporary_settings({PREFECT_API_URL: address}):
                yield address
                # One worker sends a process's events, to the first server that it met.
                EventsWorker.drain_all(timeout=10, at_exit=False)
        pid = server.pid
        assert pid in before
    assert not psutil.pid_exists(pid)


@pytest.fixture
def home(request, tmp_path, empty_store):
    """Return a folder with suites and a schedule: the module's ``PLAN``, if it has one."""
    (tmp_path / "mlruns").mkdir()
    shutil.copy(empty_store, tmp_path / "mlruns" / "mlflow.db")
    return make_home(tmp_path, getattr(request.module, "PLAN", SCHEDULE))


@pytest.fixture(scope="module")
def server(tmp_path_factory, environment, prefect_tables, forked_services):
    """Yield a client of a Prefect server that outlives those who use it."""
    prefect_tables(Path(os.environ["PREFECT_HOME"]))
    made = PrefectServer(tmp_path_factory.mktemp("server") / "server.log", scheduling=True)
    with (
        made,
        temporary_settings({PREFECT_API_URL: made.wait()}),
        get_client(sync_client=True) as client,
    ):
        yield client


@pytest.fixture
def scheduling(home, server, zygote):
    """Start ``leaseboard schedule`` on `server`; it serves when this returns."""
    started = []

    def start():
        process = schedule(zygote, home, PREFECT_API_URL=str(server.api_url))
        started.append(process)
        until(lambda: "serving" in (home / "said.txt").read_text(), home, process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            stop(process)


@pytest.fixture
def runner(tmp_path, empty_store):
    for name in ("out", "mlruns"):
        (tmp_path / name).mkdir()
    shutil.copy(empty_store, tmp_path / "mlruns" / "mlflow.db")
    return SuiteRunner(
        tmp_path / "out", f"sqlite:///{tmp_path / 'mlruns' / 'mlflow.db'}", ["well"]
    )


@pytest.fixture
def store(tmp_path, monkeypatch, empty_store):
    """Return the MLflow store of all commands of a test."""
    uri = f"sqlite:///{shutil.copy(empty_store, tmp_path)}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    return uri


class Ended(NamedTuple):
    """End of a command: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


@pytest.fixture
def call(tmp_path, monkeypatch, capsys, environment):
    """Run a command in an empty folder, and compare its exit code if one is given."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LEASEBOARD_CONF", "")
    monkeypatch.setattr(terminal, "PATIENCE", 1e6)  # however slow the machine is

    def run(*arguments, code=None):
        with pytest.raises(SystemExit) as stop:
            main(list(map(str, arguments)))
        ended = Ended(stop.value.code, *capsys.readouterr())
        assert code in (None, ended.code), ended
        return ended

    return run


@pytest.fixture
def leaseboard(call):
    """Run a command, which succeeds unless another exit code is given."""
    return lambda *arguments, code=0: call(*arguments, code=code)


@pytest.fixture
def command(call, store, tmp_path):
    """Run a command in a folder with a suite of vanilla and an own algorithm."""
    (tmp_path / "s.yaml").write_text(
        "title: t\ndata: ['synthetic:fried?rows=200&seed=0']\n"
        "baselines: false\nalgorithms: [{algorithm: 'mine.py:Mine', name: mine}, vanilla]\n"
    )
    return call


@pytest.fixture(scope="module")
def swept(tmp_path_factory, empty_store):
    """Yield a live model for a sweep; forks of this process find loaded what it needs."""
    for name in IMPORTS:
        importlib.import_module(name)
    warm = Live(empty_store, tmp_path_factory.mktemp("warm"))
    warm.described()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(warm.home)
        with pytest.raises(SystemExit):
            main(update(0))
    warm.close()
    gc.freeze()
    made = Live(empty_store, tmp_path_factory.mktemp("swept"))
    yield made
    made.close()
