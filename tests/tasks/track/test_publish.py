"""The leaderboard on the suite's run and its experiment."""

from types import SimpleNamespace

import pytest

from leaseboard.tasks.track.store import TrackingError, open_store
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
