"""A service ends with all that it started, and with the process that it belongs to."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from leaseboard.flows import server as service
from leaseboard.flows.server import Service
from tests.flows.waiting import free_port, until

ROOT = Path(__file__).resolve().parents[2]
LISTENER = """
import socket, sys, time
with socket.create_server(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1]))):
    time.sleep(600)
"""
LEADER = f"""
import subprocess, sys
raise SystemExit(subprocess.call([sys.executable, "-c", {LISTENER!r}, *sys.argv[1:]]))
"""
"""Passes no signal on to the process that listens, as MLflow's command does not."""

COMMAND = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell may have set to ignore
runpy.run_module("leaseboard", run_name="__main__", alter_sys=True)
"""


@pytest.fixture
def port():
    return free_port()


def serve(code, port):
    made = Service([sys.executable, "-c", code, "--port", str(port)], os.environ)
    until(lambda: service.answers(port))
    return made, psutil.Process(made.pid).children(recursive=True)


ELSEWHERE = "http://127.0.0.1:9"
"""A store that the command need not make, for which it would need the real MLflow."""


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_the_ui_s_server_ends_with_the_command(tmp_path, port, number, status):
    """MLflow's place is taken by a command that passes no signal on, which is what matters."""
    (tmp_path / "mlflow").mkdir()
    (tmp_path / "mlflow" / "__init__.py").touch()
    (tmp_path / "mlflow" / "__main__.py").write_text(LEADER)
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "ui", "--port", str(port), "--tracking-uri", ELSEWHERE],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until(lambda: service.answers(port) or process.poll() is not None)
    family = psutil.Process(process.pid).children(recursive=True)
    assert len(family) == 3  # the leash, and the server's two
    process.send_signal(number)
    _, complained = process.communicate(timeout=240)

    assert process.returncode == status, complained
    _, alive = psutil.wait_procs(family, timeout=240)
    assert not alive
    assert not service.answers(port)
