"""The schedule on a real server: it strikes, does not overlap, and can be cancelled."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import urljoin

import psutil
import pytest
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Cancelling

import flows.schedule
from algorithms.errors import UsageError
from flows.commands import schedule as command
from tasks.results import read_results

ROOT = Path(__file__).resolve().parents[2]
SLEEPER = '''
import time
from algorithms.chacha.baselines import Vanilla

class Sleeper(Vanilla):
    """Sleep before the work."""

    def run(self, bench, seed):
        time.sleep(120)
        yield from super().run(bench, seed)
'''
SUITE = "title: T\ndata: ['synthetic:fried?rows=500&seed=0']\nalgorithms: [{algorithms}]\n"
SCHEDULE = """
schedules:
  - {{name: minutely, cron: "* * * * *", suite: tiny, out: {out}/tiny}}
  - {{name: yearly, cron: "0 0 1 1 *", suite: slow, out: {out}/slow, workers: 1}}
"""


class Healthy(BaseHTTPRequestHandler):
    """Answers as a Prefect server's ``/health`` does."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def served(tmp_path_factory, environment):
    """``leaseboard schedule`` in a folder of its own; yields the folder and a client."""
    home = tmp_path_factory.mktemp("schedule")
    (home / "conf" / "suites").mkdir(parents=True)
    (home / "sleeper.py").write_text(SLEEPER)
    suites = {"tiny": "vanilla", "slow": f"'{home / 'sleeper.py'}:Sleeper'"}
    for name, algorithms in suites.items():
        path = home / "conf" / "suites" / f"{name}.yaml"
        path.write_text(SUITE.format(algorithms=algorithms))
    (home / "conf" / "schedule.yaml").write_text(SCHEDULE.format(out=home / "runs"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (home / "said.txt").open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "flows", "schedule", "--port", str(port)],
            cwd=home,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PREFECT_HOME": str(home / ".prefect")},
            stdout=said,
            stderr=subprocess.STDOUT,
        )
    with temporary_settings({PREFECT_API_URL: f"http://127.0.0.1:{port}/api"}):
        with get_client(sync_client=True) as client:
            until(lambda: deployments(client) == {"minutely", "yearly"}, home, process)
            yield home, client
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    _, alive = psutil.wait_procs(family, timeout=20)
    assert not alive


def deployments(client):
    try:
        answer = client.request("POST", "/deployments/filter", json={}).json()
    except OSError:
        return set()
    except Exception as error:
        if "ConnectError" in type(error).__name__:
            return set()
        raise
    return {found["name"] for found in answer}


def runs(client, deployment):
    body = {"deployments": {"name": {"any_": [deployment]}}}
    return client.request("POST", "/flow_runs/filter", json=body).json()


def until(holds, home, process=None, within=180):
    deadline = time.monotonic() + within
    while not holds():
        said = (home / "said.txt").read_text()
        assert process is None or process.poll() is None, said
        assert time.monotonic() < deadline, said
        time.sleep(0.5)


def test_prefect_is_not_told_the_address_of_the_store(monkeypatch, environment):
    """An address may hold a password, and Prefect shows the parameters of a flow."""
    secret = "postgresql://me:hunter2@db/x"
    given = []
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "")
    monkeypatch.setattr(flows.schedule, "serve", lambda *made, **_: given.extend(made))
    command.schedule(conf=ROOT / "conf", tracking_uri=secret)

    assert given
    assert "hunter2" not in str([deployment.model_dump() for deployment in given])
    assert os.environ["MLFLOW_TRACKING_URI"] == secret


def test_a_server_of_somebody_else_is_not_taken_for_ours(monkeypatch, tmp_path, environment):
    """4200 is Prefect's own default, so another one may well be there."""
    served = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.setattr(flows.schedule, "serve_schedules", lambda *_: served.append(1))
    with HTTPServer(("127.0.0.1", 0), Healthy) as theirs:
        threading.Thread(target=theirs.serve_forever, daemon=True).start()
        port = theirs.server_port
        with pytest.raises(UsageError, match=f"port {port} is taken: set PREFECT_API_URL"):
            command.schedule(conf=ROOT / "conf", port=port)
        theirs.shutdown()

    assert served == []
    assert "PREFECT_API_URL" not in os.environ


def test_the_page_asks_the_server_that_it_came_from(served):
    """Whatever the port, and under whatever name a browser reaches it."""
    _, client = served
    page = str(client.api_url).removesuffix("/api/").removesuffix("/api")
    for place in (page, page.replace("127.0.0.1", "localhost")):
        with urllib.request.urlopen(f"{place}/ui-settings", timeout=30) as answer:
            asked = urljoin(f"{place}/dashboard", json.load(answer)["api_url"])
        assert asked == f"{place}/api"


@pytest.mark.slow
def test_cron_strikes_and_the_board_is_on_the_run_s_page(served):
    home, client = served

    def struck():
        return [r for r in runs(client, "minutely") if r["state_type"] == "COMPLETED"]

    until(struck, home)
    (result,) = read_results(home / "runs" / "tiny")
    assert result.status == "ok"
    body = {"flow_runs": {"id": {"any_": [struck()[0]["id"]]}}}
    artifacts = client.request("POST", "/artifacts/filter", json=body).json()
    shown = {artifact["key"]: artifact["data"] for artifact in artifacts}
    assert "vanilla" in shown["board"]
    assert "report.html" in shown["report"]


@pytest.mark.slow
def test_runs_do_not_overlap_and_a_cancelled_one_stops_its_jobs(served):
    home, client = served
    deployment = client.read_deployment_by_name("scheduled/yearly")
    first = client.create_flow_run_from_deployment(deployment.id)
    until(lambda: list((home / "runs").glob("slow/jobs/*")), home)
    second = client.create_flow_run_from_deployment(deployment.id)
    until(lambda: state(client, second).is_final(), home)

    assert state(client, second).is_cancelled()
    assert state(client, first).is_running()

    client.set_flow_run_state(first.id, Cancelling())
    until(lambda: state(client, first).is_final(), home)
    until(lambda: not sleepers(), home)
    assert read_results(home / "runs" / "slow") == []
    assert not list((home / "runs" / "slow" / "jobs").iterdir())


def state(client, run):
    return client.read_flow_run(run.id).state


def sleepers():
    """Worker processes below this one."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if "flows.worker" in process.cmdline():
                found.append(process)
        except psutil.Error:
            continue
    return found
