"""Old runs of a real MLflow store go for good, and nothing else does."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from functools import partialmethod
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from leaseboard.tasks.machine.owners import owner
from leaseboard.tasks.tend import stores
from leaseboard.tasks.tend.folders import Rule
from leaseboard.tasks.track import Tracker
from leaseboard.tasks.track.store import open_store


@pytest.fixture
def logged(uri, finished, result):
    """A function that logs the jobs of one run of a suite."""

    def log(*jobs):
        tracker = Tracker(uri, "s", [made.key for made in jobs])
        for made in jobs:
            tracker.log(*finished(made))
        tracker.close("FINISHED", {"ok": len(jobs)})
        return tracker.run_id

    return log


@pytest.fixture
def twice(logged, result):
    """A suite's run, and another one after its code has changed."""
    first = logged(result("k1", started="2026-01-01T00:00:00+00:00"))
    second = logged(result("k2", started="2026-02-01T00:00:00+00:00"))
    return first, second


def artifacts(uri):
    folder = Path(uri.removeprefix("sqlite:///")).parent / "artifacts"
    return sorted({path.parent for path in folder.rglob("*") if path.is_file()})


def test_the_older_one_goes_with_rows_and_artifacts(uri, twice, runs, contents):
    first, second = twice
    kept = {key: value for key, value in contents(uri, "s").items() if "k1" not in key}
    old = stores.surplus(uri, Rule())
    assert [run.data.tags["leaseboard.key"] for run in old.jobs] == ["k1"]
    assert (len(old.configurations), old.deleted) == (5, [])
    assert [run.info.run_id for run in old.suites] == [first]
    assert old.size > 500
    assert len(artifacts(uri)) == 2

    told = []
    assert stores.remove(uri, old, lambda: told.append(1))
    assert len(told) == 7
    assert contents(uri, "s") == kept
    assert [run.info.run_id for run in runs(uri, "s", "tags.leaseboard.level = 'suite'")] == [
        second
    ]
    assert len(artifacts(uri)) == 1
    with closing(sqlite3.connect(uri.removeprefix("sqlite:///"))) as database:
        for table, count in (("runs", 7), ("tags", None), ("metrics", None)):
            (rows,) = database.execute(f"SELECT count(DISTINCT run_uuid) FROM {table}").fetchone()
            assert rows == (count or rows) <= 7
        assert database.execute("PRAGMA freelist_count").fetchone() == (0,)
    assert not stores.surplus(uri, Rule()).runs


def test_age_protects(uri, twice):
    assert not stores.surplus(uri, Rule(before=datetime(2025, 12, 1, tzinfo=UTC))).runs
    assert len(stores.surplus(uri, Rule(0, datetime(2026, 1, 15, tzinfo=UTC))).jobs) == 1


def test_a_suite_stays_with_its_jobs_and_a_live_run_stays(uri, logged, result):
    logged(result("k1"))
    logged(result("k1"), result("k2", data="e"))
    client = open_store(uri)
    (experiment,) = [e for e in client.search_experiments() if e.name == "s"]
    tags = {"leaseboard.level": "job", "leaseboard.key": "k3", "leaseboard.owner": owner()}
    live = client.create_run(experiment.experiment_id, tags=tags, start_time=0)

    assert not stores.surplus(uri, Rule()).runs
    assert live.info.run_id not in {r.info.run_id for r in stores.surplus(uri, Rule(keep=0)).jobs}
    client.set_terminated(live.info.run_id)


def test_a_run_with_a_registered_model_stays(uri, twice):
    client = open_store(uri)
    (old,) = stores.surplus(uri, Rule()).jobs
    client.create_registered_model("m")
    client.create_model_version("m", source=old.info.artifact_uri, run_id=old.info.run_id)

    found = stores.surplus(uri, Rule())
    assert (found.jobs, found.configurations, found.suites) == ([], [], [])


def test_models_and_experiments_behind_the_first_page_count_too(uri, twice, monkeypatch):
    client = open_store(uri)
    (old,) = stores.surplus(uri, Rule()).jobs
    for name in ("search_experiments", "search_model_versions"):
        whole = getattr(MlflowClient, name)
        monkeypatch.setattr(MlflowClient, name, partialmethod(whole, max_results=1))
    assert stores.surplus(uri, Rule()).jobs

    client.create_registered_model("m")
    for run in (old.info.run_id, client.create_run("0").info.run_id):
        client.create_model_version("m", source=old.info.artifact_uri, run_id=run)
    assert not stores.surplus(uri, Rule()).jobs


def test_runs_that_somebody_deleted_go_for_good(uri, twice, runs):
    client = open_store(uri)
    for run in runs(uri, "s", "tags.leaseboard.key = 'k2'"):
        client.delete_run(run.info.run_id)
    foreign = client.create_run("0")
    client.delete_run(foreign.info.run_id)
    old = stores.surplus(uri, Rule())

    assert ([len(part) for part in (old.jobs, old.deleted)]) == [0, 1]
    stores.remove(uri, old)
    assert not stores.surplus(uri, Rule()).deleted
    assert client.get_run(foreign.info.run_id).info.lifecycle_stage == "deleted"
