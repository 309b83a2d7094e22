"""A suite of streams with three classes: run, ranked, reported, recorded, gated."""

import pandas as pd
import pytest
from mlflow.tracking import MlflowClient

pytestmark = pytest.mark.slow

SUITE = """
title: Three kinds
data: ["synthetic:waveform?rows=400&seed=0"]
baselines: false
algorithms:
  - {algorithm: online-automl, settings: {b: 3}}
  - vanilla
  - running-mean
  - chacha-literal
"""
REASON = "chacha-literal predicts numbers or two classes, and the stream has 3: leave it out"


def test_a_suite_of_three_classes_goes_the_whole_way(call, store, tmp_path):
    (tmp_path / "kinds.yaml").write_text(SUITE)
    asked = ("kinds.yaml", "--run-dir", "out", "--local")
    code, *said = call("run", *asked)
    rows = pd.read_parquet(tmp_path / "out" / "results.parquet").set_index("name")
    client = MlflowClient(store)
    experiments = {each.name: each.experiment_id for each in client.search_experiments()}
    ids = [experiments["kinds/configurations"]]
    champions = client.search_runs(ids, "tags.leaseboard.champion_of != ''")

    assert code == 0
    assert rows["status"].to_dict() == {
        "online-automl": "ok", "vanilla": "ok", "running-mean": "ok", "chacha-literal": "skipped"
    }  # fmt: skip
    assert (
        rows["score"]["online-automl"] < rows["score"]["vanilla"] < rows["score"]["running-mean"]
    )
    assert REASON in "".join(said)
    assert REASON in (tmp_path / "out" / "report.html").read_text()
    assert len({run.data.tags["leaseboard.champion_of"] for run in champions}) == 2
    assert all("class" in run.data.params for run in champions)

    assert call("report", "out", "--metric", "kappa").code == 0
    assert call("gate", *asked, "--update-baseline").code == 0
    assert "3 scenarios compared (1 new, 3 same)" in call("gate", *asked, code=0).out
