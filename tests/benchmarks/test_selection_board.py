"""The table of a run of selections, as text."""

import shutil

from benchmarks.selection_board import main
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import run_job

DATA = "synthetic:waveform?rows=600&seed=0"


def test_a_run_is_a_table_with_a_row_for_each_algorithm(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path / "cache"))
    out = tmp_path / "run"
    for name in ("full-run", "successive-halving"):
        job = Job(name, DATA, 1, 7, environment={"configurations": 2, "initial_rows": 100})
        result, _ = run_job(job, tmp_path)
        shutil.copy(tmp_path / "events.jsonl.gz", results.begin(out, result.key))
        results.finish(out, result.kept_for(job))
    results.assemble(out, results.read_results(out))

    assert main([str(out)]) == 0
    head, rule, *rows = capsys.readouterr().out.splitlines()
    assert head.count("|") == rule.count("|") == rows[0].count("|")
    assert sorted(row.split(" | ")[0] for row in rows) == ["| full-run", "| successive-halving"]
    assert "1 % may be lost" in head


def test_a_run_of_anything_else_has_none(tmp_path, capsys):
    results.assemble(tmp_path, [])
    assert main([str(tmp_path)]) == 1
    assert "next to Full-run" in capsys.readouterr().out
