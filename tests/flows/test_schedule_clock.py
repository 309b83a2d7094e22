"""The clock strikes: tests that wait for a minute to pass."""

import re
import signal
from contextlib import suppress

import psutil
import pytest
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Cancelling

from leaseboard.tasks.folder.results import read_results
from tests.flows.schedules import (
    SCHEDULE,
    make_home,
    schedule,
    state,
    stop,
    trigger,
    until,
)
from tests.flows.waiting import free_port

MINUTELY = """
  - {{name: minutely, cron: "* * * * *", suite: tiny, out: {home}/runs/tiny}}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory, environment, zygote):
    """Start ``leaseboard schedule`` with a server of its own; yield the folder and a client."""
    home = make_home(tmp_path_factory.mktemp("schedule"), SCHEDULE.rstrip() + MINUTELY)
    port = free_port()
    process = schedule(zygote, home, "--port", str(port))
    until(lambda: "serving" in (home / "said.txt").read_text(), home, process)
    address = {PREFECT_API_URL: f"http://127.0.0.1:{port}/api"}
    with temporary_settings(address), get_client(sync_client=True) as client:
        yield home, client
    assert stop(process) == 0


def runs(client, deployment):
    body = {"deployments": {"name": {"any_": [deployment]}}}
    return client.request("POST", "/flow_runs/filter", json=body).json()


@pytest.mark.slow
def test_the_clock_starts_the_next_run_of_a_schedule_that_was_killed_in_one(
    tmp_path, environment, zygote
):
    clock = SCHEDULE.replace('"0 0 1 1 *", suite: slow', '"* * * * *", suite: slow')
    home, port = make_home(tmp_path, clock), free_port()
    address = {PREFECT_API_URL: f"http://127.0.0.1:{port}/api"}
    first = None
    for last in (signal.SIGKILL, signal.SIGTERM):
        process = schedule(zygote, home, "--port", str(port))
        until((home / "asleep").exists, home, process)
        with temporary_settings(address), get_client(sync_client=True) as client:
            (begun,) = (r["id"] for r in runs(client, "slow") if r["state_type"] == "RUNNING")
            if first is not None:
                ended = client.read_flow_run(first).state
                assert ended.is_crashed()
                assert ended.message.startswith("its process is gone (process ")
        assert begun != first
        first = begun
        stop(process, last)
        (home / "asleep").unlink()


@pytest.mark.slow
def test_cron_strikes_and_the_leaderboard_is_on_the_run_s_page(served):
    home, client = served

    def struck():
        return [r for r in runs(client, "minutely") if r["state_type"] == "COMPLETED"]

    until(struck, home)
    (result,) = read_results(home / "runs" / "tiny")
    assert result.status == "ok"
    body = {"flow_runs": {"id": {"any_": [struck()[0]["id"]]}}}
    artifacts = client.request("POST", "/artifacts/filter", json=body).json()
    shown = {artifact["key"]: artifact["data"] for artifact in artifacts}
    assert "vanilla" in shown["tiny-leaderboard"]
    assert "tiny-diagnostics" in shown
    assert re.search(r"http://127.0.0.1:5000/#/experiments/1/runs/\w+/artifacts/report.html",
                     shown["tiny-report"])  # fmt: skip
    assert not any("file://" in str(each) for each in shown.values())


@pytest.mark.slow
def test_runs_do_not_overlap_and_a_cancelled_one_stops_its_jobs(served):
    home, client = served
    first = trigger(client, "slow")
    until((home / "asleep").exists, home)
    second = trigger(client, "slow")
    until(lambda: state(client, second).is_final(), home)

    assert state(client, second).is_cancelled()
    assert state(client, first).is_running()
    assert sleepers()

    client.set_flow_run_state(first.id, Cancelling())
    until(lambda: state(client, first).is_final(), home)
    until(lambda: not sleepers(), home)
    assert read_results(home / "runs" / "slow") == []
    assert not list((home / "runs" / "slow" / "jobs").iterdir())


def sleepers():
    """Return worker processes below this one; a process list shows 15 letters of their module."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if process.name() == "tasks.pool.work":
                found.append(process)
    return found
