"""A run of the command line that users cancel in Prefect, as they would one of a deployment."""

import os

import pytest
from prefect.states import Cancelling

from tests.flows.schedules import ROOT, state, states, unfinished, until


@pytest.mark.slow
def test_a_run_is_cancelled_in_prefect_and_can_be_resumed(home, server, zygote):
    def start():
        words = ["-m", "leaseboard", "run", "waiting", "--run-dir", "out", "--workers", "1"]
        own = {"PYTHONPATH": str(ROOT), "PREFECT_API_URL": str(server.api_url)}
        with (home / "said.txt").open("w") as said:
            return zygote.start(words, cwd=home, out=said, err=said, env=os.environ | own)

    process = start()
    until((home / "waits").exists, home, process)
    (run,) = [each for each in server.read_flow_runs() if each.state.is_running()]
    server.set_flow_run_state(run.id, Cancelling())
    code = process.wait(240)
    said = (home / "said.txt").read_text()

    assert code == 143, said
    assert "cancelled in Prefect; its jobs were stopped" in said
    assert "1 finished job kept in" in said.splitlines()[-1]
    assert states(server, run)[-3:] == ["Running", "Cancelling", "Cancelled"]
    assert state(server, run).is_cancelled()
    assert not unfinished(server)

    (home / "go").touch()
    assert start().wait(240) == 0, (home / "said.txt").read_text()
    assert len(list((home / "out" / "jobs").glob("*/result.json"))) == 2
