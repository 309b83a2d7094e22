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

import httpx
import psutil
import pytest
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Cancelling

import flows.schedule
from algorithms.errors import LeaseboardError, UsageError
from flows.commands import operate
from flows.commands import schedule as command
from flows.flow_runs import cause
from flows.server import PrefectServer
from tasks.results import read_results

ROOT = Path(__file__).resolve().parents[2]
OWN = '''
import os, time
from pathlib import Path
from algorithms.chacha.baselines import Vanilla

class Sleeper(Vanilla):
    """Sleep before the work; say in a file who sleeps."""

    def run(self, bench, seed):
        Path("{home}/asleep").write_text(str(os.getpid()))
        time.sleep(600)
        yield from super().run(bench, seed)


class Broken(Vanilla):
    """Has no luck."""

    def run(self, bench, seed):
        raise ValueError("out of luck")
        yield
'''
SUITE = "title: T\ndata: ['synthetic:fried?rows=500&seed=0']\nalgorithms: [{algorithms}]\n"
SCHEDULE = """
schedules:
  - {{name: slow, cron: "0 0 1 1 *", suite: slow, out: {home}/runs/slow, workers: 1}}
  - {{name: mixed, cron: "0 0 1 1 *", suite: mixed, out: {home}/runs/mixed, workers: 1}}
"""
MINUTELY = """
  - {{name: minutely, cron: "* * * * *", suite: tiny, out: {home}/runs/tiny}}
"""
REASONS = {
    signal.SIGINT: "the schedule was stopped by Ctrl-C",
    signal.SIGTERM: "the schedule was stopped by SIGTERM",
    signal.SIGKILL: "its process is gone (process ",
}
COMMAND = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell may have set to ignore
runpy.run_module("flows", run_name="__main__", alter_sys=True)
"""


class Healthy(BaseHTTPRequestHandler):
    """Answers as a Prefect server's ``/health`` does."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def make_home(home, plan=SCHEDULE):
    """A folder with suites, and a schedule of them."""
    (home / "conf" / "suites").mkdir(parents=True)
    own = home / "own.py"
    own.write_text(OWN.format(home=home))
    suites = {"tiny": "vanilla", "slow": f"'{own}:Sleeper'", "mixed": f"vanilla, '{own}:Broken'"}
    for name, algorithms in suites.items():
        path = home / "conf" / "suites" / f"{name}.yaml"
        path.write_text(SUITE.format(algorithms=algorithms))
    (home / "conf" / "schedule.yaml").write_text(plan.format(home=home))
    return home


def schedule(home, *options, **environment):
    """``leaseboard schedule`` in `home`; what it says goes to ``said.txt``."""
    with (home / "said.txt").open("w") as said:
        return subprocess.Popen(
            [sys.executable, "-c", COMMAND, "schedule", *options],
            cwd=home,
            env=os.environ
            | {"PYTHONPATH": str(ROOT), "PREFECT_HOME": str(home / ".prefect")}
            | environment,
            stdout=said,
            stderr=subprocess.STDOUT,
        )


def stop(process, number=signal.SIGTERM):
    """End it with a signal; nothing that it started may be left."""
    family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    process.wait(120)
    _, alive = psutil.wait_procs(family, timeout=60)
    assert not alive
    return process.returncode


@pytest.fixture
def home(tmp_path):
    return make_home(tmp_path)


@pytest.fixture(scope="module")
def server(tmp_path_factory, environment):
    """A Prefect server that outlives those who use it; yields a client of it."""
    made = PrefectServer(tmp_path_factory.mktemp("server") / "server.log", scheduling=True)
    with (
        made,
        temporary_settings({PREFECT_API_URL: made.wait()}),
        get_client(sync_client=True) as client,
    ):
        yield client


@pytest.fixture
def scheduling(home, server):
    """Starts ``leaseboard schedule`` on `server`; it serves when this returns."""
    started = []

    def start():
        process = schedule(home, PREFECT_API_URL=str(server.api_url))
        started.append(process)
        until(lambda: "serving" in (home / "said.txt").read_text(), home, process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            stop(process)


def trigger(client, name):
    deployment = client.read_deployment_by_name(f"scheduled/{name}")
    return client.create_flow_run_from_deployment(deployment.id)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def served(tmp_path_factory, environment):
    """``leaseboard schedule`` with a server of its own; yields the folder and a client."""
    home = make_home(tmp_path_factory.mktemp("schedule"), SCHEDULE.rstrip() + MINUTELY)
    port = free_port()
    process = schedule(home, "--port", str(port))
    until(lambda: "serving" in (home / "said.txt").read_text(), home, process)
    address = {PREFECT_API_URL: f"http://127.0.0.1:{port}/api"}
    with temporary_settings(address), get_client(sync_client=True) as client:
        yield home, client
    assert stop(process) == 0


def runs(client, deployment):
    body = {"deployments": {"name": {"any_": [deployment]}}}
    return client.request("POST", "/flow_runs/filter", json=body).json()


def until(holds, home, process=None, within=240):
    deadline = time.monotonic() + within
    while not holds():
        said = (home / "said.txt").read_text()
        assert process is None or process.poll() is None, said
        assert time.monotonic() < deadline, said
        time.sleep(0.2)


def test_prefect_is_not_told_the_address_of_the_store(monkeypatch, server):
    """An address may hold a password, and Prefect shows the parameters of a flow."""
    secret = "postgresql://me:hunter2@db/x"
    given = []
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "")
    monkeypatch.setenv("PREFECT_API_URL", str(server.api_url))
    monkeypatch.setattr(flows.schedule.Scheduler, "serve", lambda *_: given.append(1))
    command.schedule(conf=ROOT / "conf", tracking_uri=secret)

    assert given
    assert "hunter2" not in str(server.request("POST", "/deployments/filter", json={}).json())
    assert os.environ["MLFLOW_TRACKING_URI"] == secret


def test_a_server_that_does_not_answer_is_named_without_its_password(
    home, monkeypatch, environment
):
    address = f"http://me:hunter2@127.0.0.1:{free_port()}/api"
    monkeypatch.chdir(home)
    monkeypatch.setenv("PREFECT_API_URL", address)
    with (
        temporary_settings({PREFECT_API_URL: address}),
        pytest.raises(LeaseboardError, match="does not answer") as raised,
    ):
        command.schedule(conf=home / "conf")
    (found,) = operate.stuck_flow_runs(mend=False)

    assert not found.healthy
    assert "does not answer" in found.detail
    assert "hunter2" not in f"{raised.value} {found.detail}"


def test_an_answer_that_is_an_error_is_told_without_the_address():
    address = "http://me:hunter2@db/api"
    request = httpx.Request("GET", address)
    answer = httpx.Response(503, request=request)
    with pytest.raises(httpx.HTTPStatusError) as raised:
        answer.raise_for_status()

    assert cause(raised.value) == "status 503"


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


def test_the_page_asks_the_server_that_it_came_from(server):
    """Whatever the port, and under whatever name a browser reaches it."""
    page = str(server.api_url).removesuffix("/api/").removesuffix("/api")
    for place in (page, page.replace("127.0.0.1", "localhost")):
        with urllib.request.urlopen(f"{place}/ui-settings", timeout=30) as answer:
            asked = urljoin(f"{place}/dashboard", json.load(answer)["api_url"])
        assert asked == f"{place}/api"


def logs(client, *found):
    """The lines of the logs of flow runs, in order."""
    lines, body = [], {"logs": {"flow_run_id": {"any_": [str(run) for run in found]}}}
    while page := client.request(
        "POST", "/logs/filter", json=body | {"offset": len(lines), "sort": "TIMESTAMP_ASC"}
    ).json():
        lines += [line["message"] for line in page]
    return "\n".join(lines).splitlines()


def test_a_schedule_that_is_stopped_in_a_run_goes_on_when_it_starts_again(
    home, server, scheduling, monkeypatch
):
    monkeypatch.setenv("PREFECT_API_URL", str(server.api_url))
    asleep = home / "asleep"
    process = scheduling()
    first = trigger(server, "slow")
    until(asleep.exists, home, process)
    second = trigger(server, "slow")
    reason = f"not started: run 'slow' {first.id} still runs (process "
    until(lambda: reason in (home / "said.txt").read_text(), home, process)
    assert state(server, second).is_cancelled()
    assert state(server, second).message.startswith(reason)
    assert logs(server, second.id)[0].startswith(reason)

    assert stop(process, signal.SIGKILL) == -signal.SIGKILL
    assert state(server, first).is_running()
    (found,) = operate.stuck_flow_runs(mend=False)
    assert not found.healthy
    assert str(first.id) in found.detail
    assert "leaseboard doctor --mend" in found.detail

    asleep.unlink()
    process = scheduling()
    assert state(server, first).is_crashed()
    assert state(server, first).message.startswith("its process is gone (process ")
    assert unfinished(server) == []
    third = trigger(server, "slow")
    until(asleep.exists, home, process)
    assert state(server, third).is_running()

    assert stop(process, signal.SIGTERM) == 0
    assert state(server, third).is_crashed()
    assert state(server, third).message == "the schedule was stopped by SIGTERM"
    assert unfinished(server) == []
    assert "Crashed: the schedule was stopped by SIGTERM" in (home / "said.txt").read_text()


def unfinished(client):
    """Flow runs and task runs that are said to run."""
    body = {"state": {"type": {"any_": ["PENDING", "RUNNING", "CANCELLING"]}}}
    return [
        found["name"]
        for kind in ("flow_runs", "task_runs")
        for found in client.request("POST", f"/{kind}/filter", json={kind: body}).json()
    ]


def test_a_run_s_log_is_what_the_terminal_shows(home, server, scheduling):
    process = scheduling()
    run = trigger(server, "mixed")
    until(lambda: state(server, run).is_final(), home, process)
    stop(process)

    assert state(server, run).is_failed()
    told = logs(server, run.id)
    assert any("crash: ValueError: out of luck" in line for line in told)
    assert any(line.startswith("report:") for line in told)
    inner = {"parent_flow_run_id": {"any_": [str(run.id)]}}
    (below,) = server.request("POST", "/flow_runs/filter", json={"flow_runs": inner}).json()
    assert logs(server, below["id"]) == told
    said = (home / "said.txt").read_text().splitlines()
    printed = [line for line in said if line.startswith(("[", "report:", "results:", "mlflow:"))]
    assert [line for line in told if line in printed] == printed


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_schedule_that_is_stopped_while_its_server_starts_leaves_nothing(home, number):
    process = schedule(home, "--port", str(free_port()))
    log = home / ".prefect" / "server.log"
    until(lambda: log.exists() and len(psutil.Process(process.pid).children()) == 2, home, process)

    assert stop(process, number) == (-number if number == signal.SIGKILL else 0)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_clock_starts_the_next_run_of_a_schedule_that_was_stopped_in_one(
    tmp_path, environment, number
):
    clock = SCHEDULE.replace('"0 0 1 1 *", suite: slow', '"* * * * *", suite: slow')
    home, port = make_home(tmp_path, clock), free_port()
    address = {PREFECT_API_URL: f"http://127.0.0.1:{port}/api"}
    first = None
    for last in (number, signal.SIGTERM):
        process = schedule(home, "--port", str(port))
        until((home / "asleep").exists, home, process)
        with temporary_settings(address), get_client(sync_client=True) as client:
            (begun,) = (r["id"] for r in runs(client, "slow") if r["state_type"] == "RUNNING")
            if first is not None:
                ended = client.read_flow_run(first).state
                assert ended.is_crashed()
                assert ended.message.startswith(REASONS[number])
        assert begun != first
        first = begun
        stop(process, last)
        (home / "asleep").unlink()


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
    first = trigger(client, "slow")
    until((home / "asleep").exists, home)
    second = trigger(client, "slow")
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
