"""A result that was edited after its run is named by every command, and run again by the next."""

import json

import pytest

from leaseboard.flows import cli
from leaseboard.tasks.folder import results

SUITE = """
title: One
data: ["synthetic:fried?rows=300&seed=0"]
baselines: false
algorithms: [vanilla]
repetitions: 2
"""


@pytest.fixture
def call(capsys, monkeypatch, tmp_path, environment, empty_store):
    """A function that runs a command line in this process."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlruns").mkdir()
    (tmp_path / "mlruns" / "mlflow.db").write_bytes(empty_store.read_bytes())
    (tmp_path / "one.yaml").write_text(SUITE)

    def run(*words, code=0):
        with pytest.raises(SystemExit) as end:
            cli.main([str(word) for word in words])
        said = capsys.readouterr()
        assert end.value.code == code, said.err + said.out
        return said

    return run


def test_an_edited_score_is_named_by_every_command_and_run_again(call, tmp_path):
    out = tmp_path / "runs" / "one"
    call("run", "one.yaml", "--local")
    first, second = results.read_results(out)
    path = results.job_folder(out, first.key) / results.RESULT
    honest = path.read_text()
    path.write_text(json.dumps(json.loads(honest) | {"score": 0.0001}))
    named = f"leaseboard: {path} was changed after it was written: its job counts as not done"

    said = call("plan", "one.yaml")
    assert named in said.err
    assert "2 jobs: 1 done, 1 to run" in said.out
    for words in (
        ("report", out),
        ("export", out, "a.zip"),
        ("prune", out),
        ("merge", "a.zip", "--out", out),
        ("model", "register", out),
    ):
        said = call(*words, code=64 if words[0] == "model" else 0)
        assert said.err.count(named) == 1, words
        assert "0.0001" not in said.out + said.err
    assert [row.key for row in results.current(out)] == [second.key]

    said = call("accept", "one.yaml", "--local", "--repetitions", "1")
    assert said.err.count(named) == 1
    assert [row.score for row in results.read_results(out)] == [first.score, second.score]
    assert "was changed" not in call("plan", "one.yaml").err
