"""A result that was edited after its run is named by every command, and run again by the next."""

import json
import shutil

from leaseboard.tasks.folder import results

SUITE = """
title: One
data: ["synthetic:fried?rows=300&seed=0"]
baselines: false
algorithms: [vanilla]
repetitions: 2
"""


def test_an_edited_score_is_named_by_every_command_and_run_again(leaseboard, store, tmp_path):
    (tmp_path / "one.yaml").write_text(SUITE)
    out = tmp_path / "runs" / "one"
    leaseboard("run", "one.yaml", "--local")
    first, second = results.read_results(out)
    path = results.job_folder(out, first.key) / results.RESULT
    honest = path.read_text()
    path.write_text(json.dumps(json.loads(honest) | {"score": 0.0001}))
    named = f"leaseboard: {path} was changed after it was written: its job is not done"

    said = leaseboard("run", "one.yaml", "--dry-run")
    assert named in said.err
    assert "2 jobs: 1 done, 1 to run" in said.out
    shutil.copytree(out, "copy")
    for words in (
        ("report", out),
        ("results", "prune", out),
        ("results", "merge", "copy", "--run-dir", out),
    ):
        code = 0 if words[1] == "prune" else 2
        said = leaseboard(*words, code=code)
        assert said.err.count(named) == 1, words
        assert "0.0001" not in said.out + said.err
        assert {row.status for row in results.rows(out)} == {"ok", "not done"}, words
    assert [row.key for row in results.current(out)] == [second.key]

    said = leaseboard("gate", "one.yaml", "--update-baseline", "--local", "--repetitions", "1")
    assert said.err.count(named) == 1
    assert [row.score for row in results.read_results(out)] == [first.score, second.score]
    assert "was changed" not in leaseboard("run", "one.yaml", "--dry-run").err
