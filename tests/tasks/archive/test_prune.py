"""Old results are removed, and nothing else is."""

from datetime import UTC, datetime, timedelta

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.archive import runs as prune
from leaseboard.tasks.folder import results
from leaseboard.tasks.folder.results import rows
from leaseboard.tasks.score.frame import as_frame

DAY = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(("keep", "shown", "gone"), [
    (1, (), [0, 1, 2]),
    (2, (), [0, 1]),
    (9, (), []),
    (0, (), [0, 1, 2, 3]),
    (1, (0,), [1, 2]),
    (1, (0, 3), [1, 2]),
    (0, (0,), [0, 1, 2, 3]),
])  # fmt: skip
def test_the_newest_of_each_scenario_stay_and_what_is_shown(tmp_path, put_job, keep, shown, gone):
    for day in (2, 0, 3, 1):
        put_job(tmp_path, f"k{day}", started=(DAY + timedelta(days=day)).isoformat())
    put_job(tmp_path, "other", name="another", started=(DAY + timedelta(days=9)).isoformat())
    found = results.read_results(tmp_path)
    results.assemble(tmp_path, [r for r in found if r.key in {f"k{day}" for day in shown}])

    surplus = prune.surplus_jobs(tmp_path, keep)
    assert [job.key for job in surplus if job.key != "other"] == [f"k{day}" for day in gone]


@pytest.fixture
def run(tmp_path, put_job):
    """Return two jobs, of which one has two results of older code."""
    out = tmp_path / "runs" / "s"
    for i in range(3):
        put_job(out, f"k{i}", started=f"2026-01-0{i + 1}T00:00:00+00:00", version=f"v{i}")
    put_job(out, "other", name="chacha", started="2025-01-01T00:00:00+00:00")
    results.assemble(out, [r for r in results.read_results(out) if r.key in ("k2", "other")])
    for name in (results.SUITE_FILE, results.PAGE, results.DIAGNOSTICS):
        (out / name).write_text("{}")
    return out


def pruned(run, keep=1):
    old = prune.surplus_jobs(run, keep)
    prune.remove_jobs(run, old)
    return old


def test_results_of_older_code_are_removed_and_the_leaderboard_stays(run):
    before = list(as_frame(rows(run))["key"])
    assert [job.key for job in pruned(run)] == ["k0", "k1"]
    assert sorted(path.name for path in (run / "jobs").iterdir()) == ["k2", "other"]
    assert list(as_frame(rows(run))["key"]) == before
    assert prune.surplus_jobs(run) == []


def test_rows_are_removed_with_their_jobs_and_a_run_without_jobs_whole(run):
    pruned(run, 0)
    assert [path.name for path in run.iterdir()] == ["jobs"]
    assert list((run / "jobs").iterdir()) == []


def test_a_damaged_job_stays_on_the_leaderboard_as_not_done(run):
    (results.job_folder(run, "k2") / results.EVENTS).write_text("edited")
    pruned(run, 0)
    assert [(row.key, row.status) for row in results.rows(run)] == [("k2", "not done")]


def test_run_folders_are_found_below_a_place(run, tmp_path):
    (tmp_path / "runs" / "empty" / "jobs").mkdir(parents=True)

    assert prune.run_folders([tmp_path / "runs"]) == prune.run_folders([run]) == [run]
    with pytest.raises(UsageError, match="is not a folder"):
        prune.run_folders([tmp_path / "nowhere"])
