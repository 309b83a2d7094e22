"""The schedule on a real server: what is due is started, and nothing is left behind."""

import os
import re
import signal
from http.server import BaseHTTPRequestHandler, HTTPServer

import psutil
import pytest
from prefect.states import Cancelling

from leaseboard.algorithms.errors import UsageError
from leaseboard.flows.commands import operate as command
from leaseboard.flows.schedule import _deployments
from leaseboard.tasks.folder.results import read_results
from leaseboard.tasks.jobs.suites.suite import load_schedule
from tests.flows.schedules import jobs, logs, schedule, state, stop, trigger, until
from tests.flows.waiting import free_port
from tests.tasks.live.world import World

PLAN = """
schedules:
  - {{name: slow, cron: "0 0 1 1 *", suite: slow, out: {home}/runs/slow, workers: 1}}
  - {{name: mixed, cron: "0 0 1 1 *", suite: mixed, out: {home}/runs/mixed, workers: 1}}
  - {{name: waiting, cron: "0 0 1 1 *", suite: waiting, out: {home}/runs/waiting, workers: 1}}
"""
LIVE = '  - {name: sales, cron: "0 0 1 1 *", live: sales.yaml}\n'
STEPS = {"ingest", "validate", "join labels", "monitor", "train", "evaluate", "promote", "publish",
         "notify"}  # fmt: skip


def test_prefect_does_not_get_the_address_of_the_store(home, monkeypatch):
    """An address may hold a password, and Prefect shows the parameters of a flow."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://me:hunter2@db/x")
    conf = home / "conf"
    made = [*_deployments(load_schedule(conf).schedules, conf)]
    assert [each.name for each in made] == ["slow", "mixed", "waiting"]
    assert "hunter2" not in str([each.model_dump() for each in made])


def test_the_server_of_another_program_is_not_taken_for_ours(home, monkeypatch):
    """4200 is Prefect's own default, so another one may well be there."""
    monkeypatch.chdir(home)
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as theirs:
        port = theirs.server_port
        with pytest.raises(UsageError, match=f"port {port} is taken: set PREFECT_API_URL"):
            command.schedule(port=port)
    assert "PREFECT_API_URL" not in os.environ


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_schedule_that_is_stopped_while_its_server_starts_leaves_nothing(home, zygote, number):
    process = schedule(zygote, home, "--port", str(free_port()))
    log = home / ".prefect" / "server.log"

    def starting():
        below = psutil.Process(process.pid).children()
        return log.exists() and "prefect" in [each.name() for each in below]

    until(starting, home, process)
    assert stop(process, number) == (-number if number == signal.SIGKILL else 0)


def test_a_run_that_a_killed_schedule_left_is_run_again(home, server, scheduling):
    asleep = home / "asleep"
    process = scheduling()
    first = trigger(server, "slow")
    until(asleep.exists, home, process)
    named = server.read_flow_run(first.id).name
    assert re.fullmatch(r"slow \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", named)
    second = trigger(server, "slow")  # runs of a schedule do not overlap
    until(lambda: state(server, second).is_final(), home, process)
    assert state(server, second).is_cancelled()
    assert state(server, first).is_running()
    assert stop(process, signal.SIGKILL) == -signal.SIGKILL
    asleep.unlink()
    process = scheduling()
    until(asleep.exists, home, process)
    assert state(server, first).is_running()
    assert "was left: it runs again" in (home / "said.txt").read_text()
    assert stop(process, signal.SIGTERM) == 0
    assert state(server, first).is_running()  # left again


def test_runs_show_their_leaderboard_and_steps_fail_with_a_job_and_are_cancelled(
    home, server, scheduling
):
    World(home)
    with (home / "conf" / "schedule.yaml").open("a") as plan:
        plan.write(LIVE)
    process = scheduling()
    run, live = trigger(server, "mixed"), trigger(server, "sales", "live-update")
    until(lambda: state(server, run).is_final(), home, process)
    assert state(server, run).message == "1 of 2 jobs failed"
    until(lambda: any("out of luck" in line for line in logs(server, run.id)), home, process)
    body = {"flow_runs": {"id": {"any_": [str(run.id)]}}}
    artifacts = server.request("POST", "/artifacts/filter", json=body).json()
    shown = {artifact["key"]: artifact["data"] for artifact in artifacts}
    assert "vanilla" in shown["mixed-leaderboard"]
    assert re.search(r"http://127.0.0.1:5000/#/experiments/\d+/runs/\w+/artifacts/report.html",
                     shown["mixed-report"])  # fmt: skip

    run = trigger(server, "waiting")
    until((home / "waits").exists, home, process)
    server.set_flow_run_state(run.id, Cancelling())
    until(lambda: state(server, run).is_final(), home, process)
    assert state(server, run).is_cancelled()
    assert [each.name for each in read_results(home / "runs" / "waiting")] == ["vanilla"]

    until(lambda: state(server, live).is_final(), home, process)
    assert state(server, live).is_completed()
    assert state(server, live).message.startswith("1 batch: ")
    until(lambda: jobs(server, live).keys() == STEPS, home, process)
