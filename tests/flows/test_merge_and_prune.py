"""``leaseboard results merge`` and ``prune``, with a real MLflow store."""

from pathlib import Path

import pytest

from leaseboard.tasks.folder import results
from leaseboard.tasks.report import build
from leaseboard.tasks.track.store import TrackingError, open_store


@pytest.fixture
def done(runner):
    runner.run()
    build.build(runner.out, runner.suite)
    return runner


def keys(uri):
    client = open_store(uri)
    found = client.get_experiment_by_name("standins")
    runs = client.search_runs([found.experiment_id], "tags.leaseboard.level = 'job'")
    return sorted(run.data.tags["leaseboard.key"] for run in runs)


def test_a_run_moves_to_another_machine(leaseboard, done, tmp_path, store):
    for new in (2, 0):
        said = leaseboard(
            "results", "merge", done.out, "--run-dir", "runs/m", "--tracking-uri", store
        ).out
        assert f"merged:  2 jobs, {new} of them new" in said
    assert results.read_results(Path("runs/m")) == results.read_results(done.out)
    assert (tmp_path / "runs" / "m" / "report.html").stat().st_size > 100_000
    assert keys(store) == sorted(row.key for row in results.read_results(done.out))


def test_a_leaderboard_that_the_store_refuses_is_a_failed_merge(leaseboard, done, monkeypatch):
    def refuse(*_, **__):
        raise TrackingError("no space")

    monkeypatch.setattr("leaseboard.tasks.steps.plain.publish", refuse)
    said = leaseboard(
        "results", "merge", done.out, "--run-dir", "m", "--tracking-uri", done.uri, code=2
    )

    assert "the leaderboard is not in MLflow: no space" in said.err
    assert "merged:  2 jobs" in said.out


def test_wrong_usage_leaves_nothing(leaseboard, tmp_path):
    (tmp_path / "bad").mkdir()
    for words in (("merge", "bad", "--run-dir", "m"), ("merge", "absent", "--run-dir", "m"),
                  ("prune", "nowhere")):  # fmt: skip
        said = leaseboard("results", *words, code=64)
        assert len(said.err.strip().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["bad"]


def test_pruning_says_first_and_does_then(leaseboard, done):
    words = ("results", "prune", done.out, "--keep", "0")
    said = leaseboard(*words).out
    assert f"{done.out}: 2 of 2 jobs\n" in said
    assert "nothing was removed: add --yes" in said
    assert len(results.read_results(done.out)) == 2

    assert leaseboard(*words, "--yes").out.endswith("removed\n")
    assert "nothing to remove" in leaseboard(*words).out
