"""A run really is a flow run with the installed versions of Prefect and what it needs."""

import os
import re
import signal
import sys
from pathlib import Path

import psutil
import pytest
from prefect.client.orchestration import get_client

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.flows import server as service
from leaseboard.flows.server import PrefectServer
from leaseboard.tasks.folder import results
from tests.flows.schedules import ROOT, jobs, make_home
from tests.flows.waiting import free_port, until

CHILD = Path(__file__).with_name("child.py")


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


def test_a_server_that_does_not_answer_is_named_without_its_password(runner, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", f"http://me:hunter2@127.0.0.1:{free_port()}/api")
    with pytest.raises(LeaseboardError, match=r"does not answer.*: start it, or unset") as raised:
        runner.run(local=False)
    assert "hunter2" not in str(raised.value)


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
