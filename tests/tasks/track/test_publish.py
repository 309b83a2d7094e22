"""The leaderboard on the suite's run; a SQLite store is made whole or not at all."""

import sqlite3
from contextlib import closing, contextmanager
from types import SimpleNamespace

import pytest
import sqlalchemy

from leaseboard.tasks.track.store import TrackingError, ensure_store, open_store
from leaseboard.tasks.track.tracker import Tracker, publish


def put(uri, *keys, board="| # |", standings=(), files=()):
    results = [SimpleNamespace(key=key) for key in keys]
    return publish(uri, "quick", results, board=board, standings=dict(standings), files=files)


def test_the_suites_run_carries_the_leaderboard_and_the_report(uri, tmp_path):
    tracker = Tracker(uri, "quick", ["a", "b"])
    tracker.close("FINISHED", {"ok": 2})
    page = tmp_path / "report.html"
    page.write_text("<p>board</p>")
    for board in ("old", "| # | algorithm |\n" * 2000):  # a second run replaces the first's
        place = put(uri, "b", "a", board=board, files=[page])
    client = open_store(uri)
    run = client.get_run(tracker.run_id)
    note = run.data.tags["mlflow.note.content"]
    assert "| # | algorithm |\n\nThe report has the other rows.\n" in note
    assert len(note) < 8000  # which the store takes
    assert f"[The report]({place.report})" in note
    assert f"[All jobs]({place.jobs})" in note
    assert "orderByKey=params" in place.jobs
    listed = [file.path for file in client.list_artifacts(run.info.run_id)]
    assert listed == ["report.html"]
    for name in ("quick", "quick/configurations"):
        tags = client.get_experiment_by_name(name).tags
        assert tags["mlflow.experimentKind"] == "custom_model_development"
    tags = client.get_experiment_by_name("quick").tags
    assert note.startswith(tags["mlflow.note.content"])


def test_each_run_adds_a_suite_run_whose_standings_make_a_line(uri, runs):
    """A run of the same jobs again is another night; what a kill cut off is the same one."""
    for night in (1, 2):
        Tracker(uri, "quick", ["a"])  # killed before it had a leaderboard
        Tracker(uri, "quick", ["a"]).close("FINISHED", {"ok": 1})
        for _ in range(2):  # killed within, and published again
            standings = {"score/a*b_c": 0.5 * night, "score/none": float("nan")}
            put(uri, "a", standings=standings)

    suites = runs(uri, "quick", "tags.leaseboard.level = 'suite'")
    client, points = open_store(uri), []
    for run in suites:
        points += client.get_metric_history(run.info.run_id, "score/a_b_c")
        assert run.info.status == "FINISHED"
        assert run.data.metrics.keys() == {"jobs.ok", "score/a_b_c"}
    assert sorted(point.value for point in points) == [0.5, 1.0]


def test_a_suite_that_was_never_tracked_is_named(uri):
    Tracker(uri, "quick", ["a"]).close("FINISHED", {})
    with pytest.raises(TrackingError, match="no run of these jobs of 'quick'"):
        put(uri, "other")


@contextmanager
def a_disk_of(pages):
    """Let SQLite find the disk full after so many pages of 4 kB; a store needs some 230."""

    def limit(connection, _):
        connection.execute(f"PRAGMA max_page_count = {pages}")

    sqlalchemy.event.listen(sqlalchemy.engine.Engine, "connect", limit)
    try:
        yield
    finally:
        sqlalchemy.event.remove(sqlalchemy.engine.Engine, "connect", limit)


def test_a_full_disk_leaves_nothing(tmp_path):
    with a_disk_of(120), pytest.raises(TrackingError, match="disk is full"):
        open_store(f"sqlite:///{tmp_path / 'mlflow.db'}")
    assert [path.name for path in tmp_path.iterdir()] == [".mlflow.db.lock"]


@pytest.mark.parametrize("make", [ensure_store, open_store])
def test_a_store_with_options_in_its_address_is_refused_and_leaves_no_file(tmp_path, make):
    with pytest.raises(TrackingError, match=r"a\?b\.db cannot be read: a file has no \?"):
        make(f"sqlite:///{tmp_path / 'a?b.db'}")
    assert not list(tmp_path.iterdir())


def test_another_programs_database_is_left_alone(tmp_path):
    path = tmp_path / "notes.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE notes (text TEXT)")
    before = path.read_bytes()

    with pytest.raises(TrackingError, match=r"notes.db failed: it is another program's"):
        open_store(f"sqlite:///{path}")
    assert path.read_bytes() == before
