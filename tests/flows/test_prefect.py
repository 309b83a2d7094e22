"""A run really is a flow run with the installed versions of Prefect and what it needs."""

import json
import os
import re
import runpy
import shutil
import signal
import sys
import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_KEY, PREFECT_API_URL, temporary_settings
from sqlalchemy import create_engine

from benchmarks.drill import Webhook
from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.flows import server as service
from leaseboard.flows.server import PrefectServer
from leaseboard.tasks.folder import results
from leaseboard.tasks.track.store import open_store
from tests.docs import pages
from tests.flows.schedules import ROOT, jobs, make_home
from tests.flows.waiting import free_port, until
from tests.tasks.live.world import BEGIN, World

CHILD = Path(__file__).with_name("child.py")
CONFIGURATIONS = 3  # of each stand-in job
PAGE = pages.DOCS / "guides/schedule.md"
MOST_LINES = 25


@pytest.fixture(scope="module", autouse=True)
def _events_are_kept():
    """Keep events, as a permanent server does; one that ends with its run does not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(service._UNUSED, "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED")
        yield


@pytest.fixture
def found(url):
    """Return a function that returns the flow run that a test has made, and a client."""
    with get_client(sync_client=True) as client:
        known = {run.id for run in client.read_flow_runs()}

        def find():
            (run,) = (run for run in client.read_flow_runs() if run.id not in known)
            return run, client

        yield find


def test_every_job_is_a_task_and_all_of_it_is_recorded(runner, found, zygote, tmp_path):
    # In a process of its own: Prefect sends a process's events to the first server that it met.
    done = zygote.run([CHILD, runner.out, runner.uri, "well", "raise:no"], cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().split() == ["ok"] * 3 + ["crash"] * 3
    assert len(runner.runs("job")) == 6
    run, client = found()
    assert re.fullmatch(r"standins \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", run.name)
    assert run.state.is_failed()
    assert run.state.message == "3 of 6 jobs failed"
    expected = {
        f"{name} on {name}, repetition {seed}": state
        for name, state in (("raise:no", "FAILED"), ("well", "COMPLETED"))
        for seed in (1, 2, 3)
    }
    until(lambda: jobs(client, run) == expected)  # the server records them from events
    body = {"logs": {"flow_run_id": {"any_": [str(run.id)]}}, "sort": "TIMESTAMP_ASC"}
    lines = client.request("POST", "/logs/filter", json=body).json()
    shown = [line["message"] for line in lines
             if not line["task_run_id"] and line["message"].startswith("[")]  # fmt: skip
    assert shown == [line for line in done.stderr.decode().splitlines() if line.startswith("[")]
    assert sum("crash: ValueError: no" in line for line in shown) == 3
    mine = {"flow_runs": {"id": {"any_": [str(run.id)]}}}
    tasks = client.request("POST", "/task_runs/filter", json=mine).json()
    messages = [each["state"]["message"] or "" for each in tasks]
    for said in ("ok: progressive_mse", "ValueError: no"):
        assert sum(said in each for each in messages) == 3


def test_an_interrupted_flow_stops_its_jobs_and_is_seen_as_ended(runner, found, zygote, tmp_path):
    with (tmp_path / "said").open("w") as said:
        words = [CHILD, runner.out, runner.uri, "well", "sleep:30"]
        process = zygote.start(words, cwd=tmp_path, out=said, err=said)
    # Whole repetitions go first: after two jobs both workers sleep.
    until(lambda: len(list(runner.out.glob("jobs/*/result.json"))) == 2)
    family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGTERM)
    process.wait(240)

    assert process.returncode != 0
    _, alive = psutil.wait_procs(family, timeout=240)
    assert not alive
    assert [result.name for result in results.read_results(runner.out)] == ["well", "well"]
    assert len(list(runner.out.glob("jobs/*"))) == 2
    assert found()[0].state.is_final()


@pytest.mark.parametrize("port", [free_port, lambda: "hunter2port"])
def test_a_server_that_does_not_answer_is_named_without_its_password(runner, monkeypatch, port):
    monkeypatch.setenv("PREFECT_API_URL", f"http://me:hunter2@127.0.0.1:{port()}/api")
    with pytest.raises(LeaseboardError, match=r"does not answer.*: start it, or unset") as raised:
        runner.run(local=False)
    assert "hunter2" not in str(raised.value)


class Guarded(BaseHTTPRequestHandler):
    """Answers who has the key."""

    def do_GET(self):
        self.send_response(200 if self.headers["Authorization"] == "Bearer key" else 401)
        self.end_headers()


def test_events_go_to_a_server_that_asks_for_a_key(monkeypatch):
    sent = []
    monkeypatch.setattr("prefect.events.emit_event", lambda event, **_: sent.append(event))
    with HTTPServer(("127.0.0.1", 0), Guarded) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/api"
        monkeypatch.setenv("PREFECT_API_URL", url)
        with temporary_settings({PREFECT_API_KEY: "key", PREFECT_API_URL: url}):
            service.emit(service.RUN_ENDED, service.SUITE, "nightly", {})
            assert service.fault_of(f"http://127.0.0.1:{free_port()}/api")
        server.shutdown()
    assert sent == [service.RUN_ENDED]


def test_a_server_that_goes_away_costs_one_short_line_and_no_result(
    tmp_path, zygote, prefect_tables, empty_store, monkeypatch
):
    home = make_home(tmp_path)
    monkeypatch.setenv("PREFECT_HOME", str(home / ".prefect"))
    prefect_tables(home / ".prefect")
    store = f"sqlite:///{home / 'mlflow.db'}"
    (home / "mlflow.db").write_bytes(empty_store.read_bytes())
    with PrefectServer(home / "server.log") as server:
        own = {"PREFECT_API_URL": server.wait(), "PYTHONPATH": str(ROOT)}
        words = ["-m", "leaseboard", "run", home / "conf" / "suites" / "waiting.yaml"]
        with (home / "out.txt").open("w") as out, (home / "err.txt").open("w") as err:
            command = [*words, "--workers", "1", "--tracking-uri", store]
            process = zygote.start(command, cwd=home, out=out, err=err, env=os.environ | own)
        until((home / "waits").exists, process, (home / "err.txt").read_text)
    (home / "go").touch()
    assert process.wait(240) == 0, (home / "err.txt").read_text()

    said = (home / "err.txt").read_text().splitlines()
    found = [each for each in said if not each.startswith("[")]
    assert len(found) == 1, said
    assert found[0].startswith("leaseboard: Prefect does not answer: its page will miss a part;")
    assert len(said) == 3  # two jobs, and the line
    assert "mlflow: " in (home / "out.txt").read_text()


@pytest.mark.parametrize(
    ("code", "seconds", "said"),
    [
        ("raise SystemExit(3)", 60, r"exit code 3: see .*server\.log.*--local"),
        ("import time; time.sleep(60)", 0, "did not answer in time"),
    ],
)
def test_a_server_of_our_own_in_trouble_is_named(tmp_path, monkeypatch, code, seconds, said):
    start = service.Service.__init__
    monkeypatch.setattr(
        service.Service, "__init__",
        lambda made, _, *given: start(made, [sys.executable, "-c", code], *given),
    )  # fmt: skip
    with (
        PrefectServer(tmp_path / "server.log") as server,
        pytest.raises(LeaseboardError, match=said),
    ):
        server.wait(seconds)


def test_an_incident_is_an_event_and_the_state_of_its_flow_run(call, store, tmp_path, url):
    world = World(tmp_path)
    first, second = (f"{BEGIN + timedelta(days=n, hours=4):%Y-%m-%dT%H:%M}" for n in (1, 2))
    code, _, err = call("live", "update", "sales.yaml", "--at", first)
    assert (code, err) == (0, "")
    world.deliver(1, world.day(1).drop(columns="a"))
    assert call("live", "update", "sales.yaml", "--at", second)[0] == 1
    asked = {"filter": {"event": {"prefix": ["leaseboard.incident."]}}}
    with get_client(sync_client=True) as client:

        def find_events():
            found = client.request("POST", "/events/filter", json=asked).json()["events"]
            return [each for each in found if "no column 'a'" in each["payload"]["what"]]

        events = until(find_events)
        runs = [run for run in client.read_flow_runs() if run.name.startswith("sales ")]
    assert {run.state.name for run in runs} >= {"Completed", "Incident"}
    assert len({run.name for run in runs}) == len(runs)
    (event,) = events
    assert event["event"] == "leaseboard.incident.opened"
    assert event["resource"]["prefect.resource.id"] == "leaseboard.model.sales"


def test_the_flow_of_the_page_runs(tmp_path, monkeypatch, url, empty_store):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    shutil.copy(empty_store, tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"visits": rng.normal(size=60), "day": np.arange(60)})
    table["revenue"] = 3 * table["visits"] + rng.normal(size=60)
    database = f"sqlite:///{tmp_path / 'shop.db'}"
    table.to_sql("orders", create_engine(database), index=False)
    (tmp_path / "nightly.py").write_text(code)
    compare = runpy.run_path("nightly.py")["compare"]

    monkeypatch.setenv("SALES_DATABASE", database)
    query = "SELECT * FROM orders"
    with Webhook() as webhook:
        monkeypatch.setenv("SALES_WEBHOOK", webhook.address)
        compare(query)
        webhook.shutdown()

    assert len([line for line in code.splitlines() if line]) <= MOST_LINES
    (message,) = webhook.reported
    assert "online-automl" in message["text"]
    assert "All 4 jobs finished." in message["text"]
    client = open_store(f"sqlite:///{tmp_path / 'mlflow.db'}")
    jobs = client.search_runs(
        [client.get_experiment_by_name("sales").experiment_id], "tags.leaseboard.level = 'job'"
    )
    assert len(jobs) == 4
    with get_client(sync_client=True) as prefect_client:
        (run,) = [
            each
            for each in prefect_client.read_flow_runs()
            if each.parameters.get("query") == query
        ]
        mine = {"flow_runs": {"id": {"any_": [str(run.id)]}}}
        ran = {f"online-automl on file:sales.parquet?target=revenue, repetition {seed}"
               for seed in range(2)}  # fmt: skip

        def recorded():
            found = prefect_client.request("POST", "/task_runs/filter", json=mine).json()
            return {each["name"] for each in found}

        # Prefect's server takes what it is sent when it has time.
        until(lambda: recorded() >= ran | {"fetch file:sales.parquet?target=revenue"})
        assert run.state.is_completed()
        artifacts = prefect_client.request("POST", "/artifacts/filter", json=mine).json()
    assert "compare-leaderboard" in {artifact["key"] for artifact in artifacts}


class Machines:
    """A scheduler and its workers, each with a cache and a folder of its own."""

    def __init__(self, zygote, folder):
        self._zygote = zygote
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.workers = []
        self._started = 0
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
            "--scheduler-file", self.file,
        )  # fmt: skip
        until(lambda: self.file.exists() and parsed(self.file))  # it is there before its content
        self.address = parsed(self.file)["address"]

    def add_worker(self):
        self._started += 1
        cache = self.folder / f"cache-{self._started}"
        worker = self._start(
            "worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard",
            "--name", f"worker-{self._started}", "--local-directory", cache,
            LEASEBOARD_CACHE=str(cache),
        )  # fmt: skip
        self.workers.append((worker, cache))
        return worker

    def wait_for(self, count):
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=240)

    def _start(self, what, *arguments, **extra):
        root = str(CHILD.parents[2])
        with (self.folder / f"{what}-{self._started}.log").open("w") as log:
            return self._zygote.start(
                ["-m", f"distributed.cli.dask_{what}", *arguments],
                cwd=Path.cwd(), out=log, err=log,
                env=os.environ | {"PYTHONPATH": root} | extra,
            )  # fmt: skip

    def close(self):
        for process, _ in self.workers:
            process.terminate()
            process.wait(240)
        self.scheduler.terminate()
        self.scheduler.wait(240)


@pytest.fixture(scope="module")
def machines(tmp_path_factory, url, zygote):
    made = Machines(zygote, tmp_path_factory.mktemp("machines"))
    for _ in range(2):
        made.add_worker()
    made.wait_for(2)
    yield made
    made.close()


def parsed(file):
    """Return the content of a file of JSON; None while it is not written to its end."""
    try:
        return json.loads(file.read_text())
    except json.JSONDecodeError:
        return None


def running(machines):
    """Return the processes that run jobs, by the Dask worker that they belong to."""
    found = {}
    for process, _ in machines.workers:
        if process.poll() is None:
            below = psutil.Process(process.pid).children(recursive=True)
            found[process.pid] = [p for p in below if p.name() == "tasks.processes"]
    return found


@pytest.mark.dask
def test_a_lost_worker_costs_only_its_job_which_another_does(machines, runner, tmp_path):
    runner.reference = "sklearn:diabetes"
    gate = tmp_path / "gate"
    runner.data, runner.seeds = [f"wait:{gate}", "well", "raise:no"], (1, 2, 3)
    killed = []

    def kill():
        # One job is on each worker, and stays there until the gate opens.
        until(lambda: len(list(tmp_path.glob("gate.*"))) == 2)
        victim, _ = machines.workers[0]
        killed.extend(running(machines)[victim.pid])
        victim.kill()
        victim.wait()
        gate.touch()

    murder = threading.Thread(target=kill)
    murder.start()
    outcome = runner.run(local=False, workers=None, cluster=machines.address)
    murder.join()
    machines.workers.pop(0)
    machines.add_worker()
    machines.wait_for(2)

    assert [r.status for r in outcome.results] == ["ok"] * 6 + ["crash"] * 3
    assert outcome.problems == []
    assert {r.data for r in outcome.results} == {"sklearn:diabetes"}
    assert all(r.reason == "ValueError: no" for r in outcome.results[6:])
    assert len(list(runner.out.glob("jobs/*/events.jsonl.gz"))) == 9
    assert (
        "in misbehave"
        in next(runner.out.glob(f"jobs/{outcome.results[6].key}/log.txt")).read_text()
    )
    assert len(runner.runs("job")) == 9
    assert len(runner.runs("configuration")) == 9 * CONFIGURATIONS
    assert not runner.runs("job", "attributes.status = 'RUNNING'")
    _, alive = psutil.wait_procs(killed, timeout=240)
    assert not alive  # the job of a killed Dask worker ends with it


@pytest.mark.dask
def test_what_is_wrong_with_a_cluster_is_one_line(call, runner, monkeypatch, tmp_path, zygote):
    runner.reference = "sklearn:diabetes"
    suite = tmp_path / "s.yaml"
    suite.write_text("title: t\ndata: ['sklearn:diabetes']\nalgorithms: [vanilla]\n")
    with monkeypatch.context() as patch:
        patch.setattr("leaseboard.flows.prefect_executor.CONNECT_SECONDS", 0.5)
        said = call("run", suite, "--cluster", "tcp://127.0.0.1:9", code=2).err
    assert "no Dask scheduler answers at 'tcp:" in said
    lonely = Machines(zygote, tmp_path)
    try:
        with pytest.raises(LeaseboardError, match="has no workers: start some with `dask worker"):
            runner.run(local=False, workers=None, cluster=lonely.address)
    finally:
        lonely.close()
