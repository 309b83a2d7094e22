"""Runs of a schedule that users cancel or suspend in Prefect: none of them ends in a crash."""

import pytest
from prefect.flow_runs import resume_flow_run, suspend_flow_run
from prefect.states import Cancelling

from tests.flows.schedules import jobs, state, states, trigger, unfinished, until

PLAN = """
schedules:
  - {{name: waiting, cron: "0 0 1 1 *", suite: waiting, out: {home}/runs/waiting, workers: 1}}
"""


@pytest.mark.slow
def test_a_run_is_cancelled_and_its_jobs_too_without_a_crash(home, server, scheduling):
    process = scheduling()
    run = trigger(server, "waiting")
    until((home / "waits").exists, home, process)
    server.set_flow_run_state(run.id, Cancelling())
    until(lambda: state(server, run).is_final(), home, process)

    assert states(server, run)[-3:] == ["Running", "Cancelling", "Cancelled"]
    assert state(server, run).message == "cancelled in Prefect; its jobs were stopped"
    until(lambda: not unfinished(server), home, process)
    ended = jobs(server, run)
    assert sorted(kind for name, kind in ended.items() if "repetition" in name) == [
        "CANCELLED", "COMPLETED",
    ]  # fmt: skip
    assert not {"FAILED", "CRASHED"} & set(ended.values())
    line = "Cancelled: cancelled in Prefect"
    until(lambda: line in (home / "said.txt").read_text(), home, process)


@pytest.mark.slow
def test_a_run_that_is_cancelled_before_its_process_begins_does_not_crash(
    home, server, scheduling
):
    process = scheduling()
    run = trigger(server, "waiting")
    until(lambda: f"{run.id} started" in (home / "said.txt").read_text(), home, process)
    server.set_flow_run_state(run.id, Cancelling())
    until(lambda: state(server, run).is_final(), home, process)

    assert "Crashed" not in states(server, run)
    assert state(server, run).is_cancelled()
    assert not (home / "runs").exists()


@pytest.mark.slow
def test_a_suspended_run_stops_and_continues_when_it_is_resumed(home, server, scheduling):
    process = scheduling()
    run = trigger(server, "waiting")
    until((home / "waits").exists, home, process)
    suspend_flow_run(flow_run_id=run.id)
    until(lambda: f"{run.id}: Suspended" in (home / "said.txt").read_text(), home, process)
    assert state(server, run).is_paused()
    (finished,) = (home / "runs" / "waiting" / "jobs").glob("*/result.json")
    stamp = finished.stat().st_mtime_ns

    (home / "go").touch()
    resume_flow_run(run.id)
    until(lambda: state(server, run).is_final(), home, process)
    assert state(server, run).is_completed()
    assert "Crashed" not in states(server, run)
    assert finished.stat().st_mtime_ns == stamp
    assert len(list((home / "runs" / "waiting" / "jobs").glob("*/result.json"))) == 2
