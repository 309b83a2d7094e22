import os
import shutil
from pathlib import Path

import psutil
import pytest
from prefect.events.worker import EventsWorker
from prefect.settings import PREFECT_API_URL, temporary_settings

from leaseboard.flows.cli import main
from leaseboard.flows.server import PrefectServer
from tests.flows.suites import Bench


@pytest.fixture(autouse=True)
def _quiet(environment, forked_workers, forked_services):
    """Every test here may start Prefect, MLflow or workers."""


@pytest.fixture(scope="module")
def url(tmp_path_factory, environment, prefect_tables, forked_services):
    """One Prefect server for all tests of a module, started as a run starts its own."""
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
        pid = server._service.pid
        assert pid in before
    assert not psutil.pid_exists(pid)


@pytest.fixture
def bench(tmp_path, empty_store):
    for name in ("out", "mlruns"):
        (tmp_path / name).mkdir()
    shutil.copy(empty_store, tmp_path / "mlruns" / "mlflow.db")
    return Bench(tmp_path / "out", f"sqlite:///{tmp_path / 'mlruns' / 'mlflow.db'}", ["well"])


@pytest.fixture
def command(tmp_path, monkeypatch, capfd, environment, empty_store):
    """Runs a command in a folder with a suite of vanilla and an own algorithm."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlruns").mkdir()
    shutil.copy(empty_store, tmp_path / "mlruns" / "mlflow.db")
    (tmp_path / "s.yaml").write_text(
        "title: t\ndata: ['synthetic:fried?rows=200&seed=0']\n"
        "baselines: false\nalgorithms: [{name: 'mine.py:Mine', label: mine}, vanilla]\n"
    )

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([*arguments])
        said = capfd.readouterr()
        return stop.value.code, said.out, said.err

    return run


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Runs a command in an empty folder: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(list(map(str, arguments)))
        said = capsys.readouterr()
        return stop.value.code, said.out, said.err

    return run
