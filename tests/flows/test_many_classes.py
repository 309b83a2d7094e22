"""A suite of streams with three classes: run, ranked, reported, recorded, gated."""

import shutil

import pandas as pd
import pytest
from mlflow.tracking import MlflowClient

from leaseboard.flows.cli import main

SUITE = """
title: Three kinds
data: ["synthetic:waveform?rows=400&seed=0"]
baselines: false
algorithms:
  - {name: chacha, settings: {b: 3}}
  - vanilla
  - running-mean
  - chacha-paper
"""
REASON = "chacha-paper forecasts numbers or two classes, and the stream has 3: leave it out"


@pytest.fixture
def call(capsys, monkeypatch, tmp_path, empty_store):
    monkeypatch.chdir(tmp_path)
    store = f"sqlite:///{shutil.copy(empty_store, tmp_path)}"
    (tmp_path / "kinds.yaml").write_text(SUITE)

    def run(command, *arguments):
        with pytest.raises(SystemExit) as stop:
            main([command, "kinds.yaml", *arguments, "--local", "--tracking-uri", store])
        return stop.value.code, capsys.readouterr()

    run.store = store
    return run


def test_a_suite_of_three_classes_goes_the_whole_way(call, tmp_path):
    code, said = call("run", "--out", "out")
    rows = pd.read_parquet(tmp_path / "out" / "results.parquet").set_index("label")
    client = MlflowClient(call.store)
    experiments = {each.name: each.experiment_id for each in client.search_experiments()}
    ids = [experiments["kinds/configurations"]]
    champions = client.search_runs(ids, "tags.leaseboard.champion_of != ''")

    assert code == 0
    assert rows["status"].to_dict() == {
        "chacha": "ok", "vanilla": "ok", "running-mean": "ok", "chacha-paper": "skipped"
    }  # fmt: skip
    assert rows["score"]["chacha"] < rows["score"]["vanilla"] < rows["score"]["running-mean"]
    assert REASON in said.out + said.err
    assert REASON in (tmp_path / "out" / "report.html").read_text()
    assert len({run.data.tags["leaseboard.champion_of"] for run in champions}) == 2
    assert all("class" in run.data.params for run in champions)

    by_kappa = call("run", "--out", "out", "--metric", "kappa")[1].out
    assert by_kappa.split("\n")[0].rstrip() == "Three kinds, by kappa"
    assert call("accept", "--out", "out")[0] == 0
    code, said = call("gate", "--out", "out")
    assert code == 0
    assert "chacha" in said.out
