"""Old results, races and MLflow runs are removed, and nothing else is."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partialmethod
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.archive import prune
from leaseboard.tasks.archive.prune import Aged, Rule
from leaseboard.tasks.folder import results
from leaseboard.tasks.folder.results import shown_at
from leaseboard.tasks.machine.owners import owner
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.track.store import open_store
from leaseboard.tasks.track.tracker import Tracker

DAY = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_rule_keeps_the_newest_of_each_scenario_and_what_is_used():
    def aged(used):
        return [Aged(d, ("s",), DAY + timedelta(days=d), d in used) for d in (2, 0, 3, 1)]

    for rule, used, gone in (
        (Rule(), (), [0, 1, 2]),
        (Rule(keep=2), (), [0, 1]),
        (Rule(keep=9), (), []),
        (Rule(keep=0), (), [0, 1, 2, 3]),
        (Rule(before=DAY + timedelta(days=1)), (), [0]),
        (Rule(), (0,), [1, 2]),
        (Rule(), (0, 3), [1, 2]),
        (Rule(keep=0), (0,), [0, 1, 2, 3]),
    ):
        assert rule.surplus(aged(used)) == gone
    assert Rule().surplus([*aged(()), Aged("other", ("t",), DAY)]) == [0, 1, 2]


@pytest.fixture
def run(tmp_path, put_job):
    """Return two jobs, of which one has two results of older code."""
    out = tmp_path / "runs" / "s"
    for i in range(3):
        put_job(out, f"k{i}", started=f"2026-01-0{i + 1}T00:00:00+00:00", version=f"v{i}")
    put_job(out, "other", name="chacha", started="2025-01-01T00:00:00+00:00")
    results.assemble(out, [r for r in results.read_results(out) if r.key in ("k2", "other")])
    for name in (results.SUITE_FILE, *prune.PAGES):
        (out / name).write_text("{}")
    return out


def pruned(run, rule):
    old = prune.surplus_jobs(run, rule)
    prune.remove_jobs(run, old.items)
    return old


def test_results_of_older_code_are_removed_and_the_leaderboard_stays(run):
    before = list(as_frame(shown_at(run))["key"])
    old = pruned(run, Rule())

    assert ([job.key for job in old.items], old.of) == (["k0", "k1"], 4)
    assert old.size > 1000
    assert sorted(path.name for path in (run / "jobs").iterdir()) == ["k2", "other"]
    assert list(as_frame(shown_at(run))["key"]) == before
    assert prune.surplus_jobs(run, Rule()).items == []


def test_rows_are_removed_with_their_jobs_and_a_run_without_jobs_whole(run):
    pruned(run, Rule(keep=0, before=datetime(2026, 1, 2, tzinfo=UTC)))
    assert list(as_frame(shown_at(run))["key"]) == ["k2"]
    assert [r.key for r in results.read_results(run)] == ["k1", "k2"]

    pruned(run, Rule(keep=0))
    assert [path.name for path in run.iterdir()] == ["jobs"]
    assert list((run / "jobs").iterdir()) == []


def test_a_damaged_job_stays_on_the_leaderboard_as_not_done(run):
    (results.job_folder(run, "k2") / results.EVENTS).write_text("edited")
    pruned(run, Rule(keep=0))
    assert [(row.key, row.status) for row in results.rows(run)] == [("k2", "not done")]


def test_run_folders_are_found_below_a_place(run, tmp_path):
    (tmp_path / "runs" / "empty" / "jobs").mkdir(parents=True)

    assert prune.run_folders([tmp_path / "runs"]) == prune.run_folders([run]) == [run]
    with pytest.raises(UsageError, match="is not a folder"):
        prune.run_folders([tmp_path / "nowhere"])


def test_a_job_that_never_began_is_as_old_as_its_result(run, put_job):
    put_job(run, "never", "skipped", started="", name="x")
    soon = datetime.now(UTC) + timedelta(hours=1)

    assert "never" not in {j.key for j in prune.surplus_jobs(run, Rule(0, DAY)).items}
    assert "never" in {j.key for j in prune.surplus_jobs(run, Rule(0, soon)).items}


@pytest.fixture
def logged(uri, finished):
    """Return a function that logs the jobs of one run of a suite."""

    def log(*jobs):
        tracker = Tracker(uri, "s", [made.key for made in jobs])
        for made in jobs:
            tracker.log(*finished(made))
        tracker.close("FINISHED", {"ok": len(jobs)})
        return tracker.run_id

    return log


@pytest.fixture
def twice(logged, result):
    """Return a suite's run, and another one after its code has changed."""
    first = logged(result("k1", started="2026-01-01T00:00:00+00:00"))
    second = logged(result("k2", started="2026-02-01T00:00:00+00:00"))
    return first, second


def artifacts(uri):
    folder = Path(uri.removeprefix("sqlite:///")).parent / "artifacts"
    return sorted({path.parent for path in folder.rglob("*") if path.is_file()})


def test_the_older_run_is_removed_with_rows_and_artifacts(uri, twice, runs, contents):
    first, second = twice
    kept = {key: value for key, value in contents(uri, "s").items() if "k1" not in key}
    old = prune.surplus_runs(uri, Rule())
    assert [run.data.tags["leaseboard.key"] for run in old.jobs] == ["k1"]
    assert (len(old.configurations), old.deleted) == (5, [])
    assert [run.info.run_id for run in old.suites] == [first]
    assert old.size > 500
    assert len(artifacts(uri)) == 2

    assert prune.remove_runs(uri, old)
    assert contents(uri, "s") == kept
    suites = runs(uri, "s", "tags.leaseboard.level = 'suite'")
    assert [run.info.run_id for run in suites] == [second]
    assert len(artifacts(uri)) == 1
    with closing(sqlite3.connect(uri.removeprefix("sqlite:///"))) as database:
        for table, count in (("runs", 7), ("tags", None), ("metrics", None)):
            (rows,) = database.execute(f"SELECT count(DISTINCT run_uuid) FROM {table}").fetchone()
            assert rows == (count or rows) <= 7
        assert database.execute("PRAGMA freelist_count").fetchone() == (0,)
    assert not prune.surplus_runs(uri, Rule()).runs


def test_a_suites_run_with_a_leaderboard_is_history_and_stays_until_its_age_is_named(uri, twice):
    open_store(uri).set_tag(twice[0], "leaseboard.night", "1")

    assert prune.surplus_runs(uri, Rule()).suites == []
    old = prune.surplus_runs(uri, Rule(before=datetime(2100, 1, 1, tzinfo=UTC))).suites
    assert [run.info.run_id for run in old] == [twice[0]]


def test_age_protects(uri, twice):
    assert not prune.surplus_runs(uri, Rule(before=datetime(2025, 12, 1, tzinfo=UTC))).runs
    assert len(prune.surplus_runs(uri, Rule(0, datetime(2026, 1, 15, tzinfo=UTC))).jobs) == 1


def test_a_suite_stays_with_its_jobs_and_a_live_run_stays(uri, logged, result):
    logged(result("k1"))
    logged(result("k1"), result("k2", data="e"))
    client = open_store(uri)
    (experiment,) = [e for e in client.search_experiments() if e.name == "s"]
    tags = {"leaseboard.level": "job", "leaseboard.key": "k3", "leaseboard.owner": owner()}
    live = client.create_run(experiment.experiment_id, tags=tags, start_time=0).info.run_id

    assert not prune.surplus_runs(uri, Rule()).runs
    assert live not in {r.info.run_id for r in prune.surplus_runs(uri, Rule(keep=0)).jobs}
    client.set_terminated(live)


def test_a_run_with_a_registered_model_stays_also_behind_the_first_page(uri, twice, monkeypatch):
    client = open_store(uri)
    (old,) = prune.surplus_runs(uri, Rule()).jobs
    for name in ("search_experiments", "search_model_versions"):
        whole = getattr(MlflowClient, name)
        monkeypatch.setattr(MlflowClient, name, partialmethod(whole, max_results=1))
    assert prune.surplus_runs(uri, Rule()).jobs

    client.create_registered_model("m")
    for run in (old.info.run_id, client.create_run("0").info.run_id):
        client.create_model_version("m", source=old.info.artifact_uri, run_id=run)
    found = prune.surplus_runs(uri, Rule())
    assert (found.jobs, found.configurations, found.suites) == ([], [], [])


def test_runs_that_a_user_deleted_are_removed_for_good(uri, twice, runs):
    client = open_store(uri)
    for run in runs(uri, "s", "tags.leaseboard.key = 'k2'"):
        client.delete_run(run.info.run_id)
    foreign = client.create_run("0").info.run_id
    client.delete_run(foreign)
    old = prune.surplus_runs(uri, Rule())

    assert ([len(part) for part in (old.jobs, old.deleted)]) == [0, 1]
    prune.remove_runs(uri, old)
    assert not prune.surplus_runs(uri, Rule()).deleted
    assert client.get_run(foreign).info.lifecycle_stage == "deleted"
