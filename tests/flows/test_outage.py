"""A Prefect server that goes away while a suite runs: one line, and all results."""

import os

import pytest

from leaseboard.flows.server import PrefectServer
from tests.flows.schedules import ROOT, make_home
from tests.flows.waiting import until


@pytest.mark.slow
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
    said = [each for each in said if "compiling kernels" not in each]
    (line,) = (each for each in said if not each.startswith("["))
    assert line.startswith("leaseboard: Prefect does not answer: its page will miss a part;")
    assert len(said) == 3  # two jobs, and the line
    assert "mlflow: " in (home / "out.txt").read_text()
