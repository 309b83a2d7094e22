"""What a run makes of its jobs, and what is said of each."""

import sqlite3
from contextlib import closing
from functools import partial

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.flows.benchmark import benchmark
from leaseboard.flows.dispatch import RunOptions, dispatch
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs import prepared
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.steps import plain
from leaseboard.tasks.track import tracker
from leaseboard.tasks.track.store import TrackingError

DATA = [f"synthetic:fried?rows={rows}&seed=0" for rows in (200, 210, 220)]


def run(tmp_path, workers=1, tracking_uri=None, **asked):
    suite = Suite(**{"title": "t", "name": "t", "data": DATA} | asked)
    out = tmp_path / "out"
    options = RunOptions(workers, local=True)
    body = partial(benchmark, suite, out, boarded=False, tracking_uri=tracking_uri)
    return dispatch(suite, out, options, suite.jobs(), body)


def counted(monkeypatch, module, name):
    calls = []
    real = getattr(module, name)

    def count(*args, **kwargs):
        calls.append(args)
        return real(*args, **kwargs)

    monkeypatch.setattr(module, name, count)
    return calls


def test_data_are_loaded_once_and_prepared_once_for_all_jobs(tmp_path, monkeypatch):
    loads = counted(monkeypatch, prepared, "load")
    parts = counted(monkeypatch, prepared.environments, "divided")
    outcome = run(tmp_path, 2, algorithms=["vanilla", "random-configs"], repetitions=3)

    assert [row.status for row in outcome.results] == ["ok"] * 18
    assert sorted(reference for (reference,) in loads) == sorted(DATA)
    assert len(parts) == len(DATA)
    assert not list((tmp_path / "out").glob(".data-*"))


def test_a_run_without_work_adds_no_suite_run_and_one_that_was_not_recorded_is(
    tmp_path, monkeypatch
):
    path, out = tmp_path / "store.db", tmp_path / "out"
    suite = Suite(title="t", name="t", data=DATA[:1], algorithms=["vanilla"])
    opened = counted(monkeypatch, tracker, "open_store")
    monkeypatch.setattr("leaseboard.flows.benchmark.ROOT", tmp_path)
    (tmp_path / "tasks").mkdir()

    def again():
        """Return the problems, whether the store was opened, and its suite runs."""
        opened.clear()
        body = partial(benchmark, suite, out, tracking_uri=f"sqlite:///{path}")
        outcome = dispatch(suite, out, RunOptions(1, local=True), suite.jobs(), body)
        with closing(sqlite3.connect(path)) as store:
            wanted = "SELECT COUNT(*) FROM tags WHERE key = 'leaseboard.level' AND value = 'suite'"
            (runs,) = store.execute(wanted).fetchone()
        return len(outcome.problems), bool(opened), runs

    def away(*_, **__):
        raise TrackingError("away")

    assert again() == (0, True, 1)
    for result in out.rglob("result.json"):
        result.unlink()  # its job runs again, under the same key
    with monkeypatch.context() as patch:
        patch.setattr(plain, "publish", away)
        assert again() == (1, True, 2)
    assert again() == (0, True, 2)
    (page,) = out.glob("report.html")
    page.write_text("as it was made")
    assert again() == (0, False, 2)
    (tmp_path / "tasks" / ".tool.cache").mkdir()  # next to the code
    (tmp_path / "tasks" / ".score.py.swp").touch()
    assert again() == (0, False, 2)
    assert page.read_text() == "as it was made"
    page.unlink()
    assert again() == (0, False, 2)
    assert page.exists()
    (tmp_path / "tasks" / "score.py").touch()  # an upgrade
    assert again() == (0, True, 3)
    for damage in ("{", "[]"):
        (out / results.MLFLOW_FILE).write_text(damage)
        assert again()[:2] == (0, True)
    path.unlink()
    assert again()[:2] == (0, True)


def test_a_file_that_is_gone_once_it_was_fetched_is_missed_by_no_job(tmp_path, monkeypatch):
    path = tmp_path / "mine.csv"
    path.write_text("a,y\n" + "".join(f"{i % 7},{i % 5}.5\n" for i in range(90)))
    real = prepared.load

    def load_and_remove(reference, **given):
        data = real(reference, **given)
        path.unlink()
        return data

    monkeypatch.setattr(prepared, "load", load_and_remove)
    outcome = run(tmp_path, data=[str(path)], algorithms=["vanilla"], repetitions=3)

    assert [row.status for row in outcome.results] == ["ok"] * 3


def test_a_preparation_that_dies_costs_the_jobs_that_need_it(tmp_path, monkeypatch):
    real = prepared.environments.divided

    def divided(dataset, job):
        if len(dataset.target) == 210:
            raise MemoryError
        return real(dataset, job)

    monkeypatch.setattr(prepared.environments, "divided", divided)
    outcome = run(tmp_path, algorithms=["vanilla"])

    assert [row.status for row in outcome.results] == ["ok", "memout", "ok"]


def test_a_second_run_leaves_the_first_one_s_jobs_alone(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    with results.locked(out):
        begun = results.begin(out, "unfinished")
        (begun / "events.jsonl.gz").write_bytes(b"")
        with pytest.raises(UsageError, match="another run is working"):
            run(tmp_path, algorithms=["vanilla"])

        assert begun.is_dir()


def test_little_is_prepared_before_it_is_needed(tmp_path, monkeypatch):
    """Parts that depend on the seed are a copy of the data for each repetition."""
    most = []
    real = prepared.environments.divided

    def divided(dataset, job):
        most.append(len(list((tmp_path / "out").glob(".data-*/table-*/holdout-*"))))
        return real(dataset, job)

    monkeypatch.setattr(prepared.environments, "divided", divided)
    outcome = run(tmp_path, data=DATA[:1], algorithms=["linear"], repetitions=12)

    assert [row.status for row in outcome.results] == ["ok"] * 12
    assert len(most) == 12
    assert max(most) <= 3
