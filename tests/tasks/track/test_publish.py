import pytest

from tasks.track import Tracker, TrackingError
from tasks.track.publish import publish
from tasks.track.store import open_store


@pytest.fixture
def uri(tmp_path):
    return f"sqlite:///{tmp_path / 'mlflow.db'}"


def test_the_suites_run_carries_the_board_and_the_report(uri, tmp_path):
    tracker = Tracker(uri, "quick", ["a", "b"])
    tracker.close("FINISHED", {"ok": 2})
    page = tmp_path / "report.html"
    page.write_text("<p>board</p>")
    for board in ("old", "| # | algorithm |"):  # a second run replaces the first's
        publish(uri, "quick", ["b", "a"], board=board, files=[page])
    client = open_store(uri)
    run = client.get_run(tracker.run_id)
    assert run.data.tags["mlflow.note.content"] == "| # | algorithm |"
    assert [f.path for f in client.list_artifacts(tracker.run_id)] == ["report.html"]
    for name in ("quick", "quick/configurations"):
        tags = client.get_experiment_by_name(name).tags
        assert tags["mlflow.experimentKind"] == "custom_model_development"
    assert (
        client.get_experiment_by_name("quick").tags["mlflow.note.content"] == "| # | algorithm |"
    )


def test_a_suite_that_was_never_tracked_is_named(uri):
    with pytest.raises(TrackingError, match="no experiment 'quick'"):
        publish(uri, "quick", ["a"], board="")
    Tracker(uri, "quick", ["a"]).close("FINISHED", {})
    with pytest.raises(TrackingError, match="no run of these jobs of 'quick'"):
        publish(uri, "quick", ["other"], board="")
