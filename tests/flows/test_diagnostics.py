"""Diagnostics on the command line: the files, ignore, and codes that do not exist."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from leaseboard.tasks.track.store import open_store

SUITE = """
title: leak
data: ["file:sales.csv?target=y"]
algorithms: [vanilla]
tracking: {configurations: none}
"""


@pytest.fixture
def leaking(tmp_path, monkeypatch, empty_store, call):
    """Return `call`, next to a suite on data of which one column is the target."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{shutil.copy(empty_store, tmp_path)}")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    y = 2 * x[:, 0] + rng.normal(size=400)
    pd.DataFrame({"a": x[:, 0], "refund": np.exp(y), "y": y}).to_csv("sales.csv", index=False)
    (tmp_path / "leak.yaml").write_text(SUITE)
    return call


def codes(printed):
    return [row["code"] for row in json.loads(printed) if row["severity"] == "alarm"]


def test_a_leak_from_the_run_to_the_report(leaking, tmp_path):
    run = "run", "leak.yaml", "--local", "--workers", "1"
    found = tmp_path / "runs" / "leak" / "diagnostics.json"

    printed = leaking(*run, code=0)
    assert "LB002 alarm: on file:sales.csv?target=y the column refund alone" in printed.out
    client = open_store(f"sqlite:///{tmp_path / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("leak").experiment_id
    (suite,) = client.search_runs([experiment], "tags.`leaseboard.level` = 'suite'")
    artifacts = {each.path for each in client.list_artifacts(suite.info.run_id)}
    assert {"report.html", "diagnostics.json"} <= artifacts
    found.unlink()
    leaking("report", "runs/leak", code=0)
    assert "LB002" in codes(found.read_text())
    assert "refund" in (tmp_path / "runs" / "leak" / "report.html").read_text()

    (tmp_path / "leak.yaml").write_text(SUITE + "ignore: [LB002]\n")
    leaking(*run, code=0)
    assert "LB002" not in found.read_text()


def test_a_race_is_diagnosed_too(leaking):
    raced = leaking("race", "vanilla", "sales.csv", "--target", "y", code=0).out
    assert "LB002 alarm: on sales.csv?target=y the column refund alone" in raced
    raced = leaking("race", "vanilla", "sales.csv", "--target", "y", "--json", code=0).out
    assert "LB002" in codes(json.dumps(json.loads(raced.splitlines()[-1])["diagnostics"]))
