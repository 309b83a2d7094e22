"""What is read of a store without MLflow is what MLflow would find there."""

import sqlite3
from contextlib import closing

import pytest

from leaseboard.tasks.track.lookup import StoredSuite, digest_of, lookup, repeat
from leaseboard.tasks.track.publish import publish
from leaseboard.tasks.track.store import TrackingError, open_store
from leaseboard.tasks.track.tracker import Tracker


def test_a_suite_is_whole_with_its_jobs_its_leaderboard_and_nothing_in_writing(
    uri, finished, result, tmp_path
):
    ended = [finished(result(key)) for key in "ab"]
    ran = [made for made, _ in ended]
    page = tmp_path / "report.html"
    page.write_text("<p>board</p>")
    assert lookup(uri, "s", ran) is None  # the store does not have it
    tracker = Tracker(uri, "s", ["a", "b"])
    for each in ended:
        assert lookup(uri, "s", ran) is None  # the suite's run goes on
        tracker.log(*each)
    tracker.close("FINISHED", {"ok": 2})
    assert lookup(uri, "s", ran) is None  # without a leaderboard
    publish(uri, "s", ran, board="| # |", files=[page])

    found = lookup(uri, "s", ran)
    places = {key: tracker.place[key] for key in ("jobs", "configurations")}
    kept = open_store(uri).get_run(tracker.run_id).info.artifact_uri
    assert found == StoredSuite(places, tracker.run_id, kept, digest_of(page))
    assert lookup(uri, "s", ran[:1]) is None  # a suite of other jobs
    assert lookup(uri, "other", ran) is None
    assert lookup(f"{uri}.other", "s", ran) is None


def test_a_repeated_suite_run_is_the_next_night_of_the_same_leaderboard(
    uri, finished, result, runs, tmp_path
):
    made, folder = finished(result("a"))
    page = tmp_path / "report.html"
    page.write_text("<p>board</p>")
    tracker = Tracker(uri, "s", ["a"])
    tracker.log(made, folder)
    tracker.close("FINISHED", {"ok": 1})
    link = "http://127.0.0.1:4200/runs/flow-run/1"
    publish(
        uri, "s", [made], board="| # |", standings={"score": {"a*b/c": 0.5, "d": 2.0}},
        files=[page], tags={"leaseboard.flow_run": link},
    )  # fmt: skip
    for night in (2, 3):
        new = repeat(uri, "s", lookup(uri, "s", [made]))
        assert lookup(uri, "s", [made]).run_id == new, night

    client = open_store(uri)
    *again, first = sorted(
        runs(uri, "s", "tags.leaseboard.level = 'suite'"),
        key=lambda run: run.data.tags["leaseboard.night"], reverse=True,
    )  # fmt: skip
    assert first.info.run_id == tracker.run_id
    for night, run in zip((3, 2), again, strict=True):
        assert (run.info.status, run.info.run_name) == (
            "FINISHED",
            run.data.tags["mlflow.runName"],
        )
        assert run.info.start_time >= first.info.start_time
        assert run.data.metrics == first.data.metrics
        points = client.get_metric_history(run.info.run_id, "score/d")
        assert [(point.step, point.value) for point in points] == [(night, 2.0)]
        assert run.inputs.dataset_inputs == first.inputs.dataset_inputs
        (listed,) = client.list_artifacts(run.info.run_id)
        assert listed.path == page.name
        note = first.data.tags["mlflow.note.content"].replace(tracker.run_id, run.info.run_id)
        tags = {"leaseboard.night": str(night), "mlflow.runName": run.info.run_name}
        tags["mlflow.note.content"] = note.replace(f"\n[The flow run in Prefect]({link}).\n", "")
        kept = {
            key: value for key, value in first.data.tags.items() if not key.endswith("flow_run")
        }
        assert run.data.tags == kept | tags
        assert link not in run.data.tags["mlflow.note.content"]


def test_a_repetition_that_fails_leaves_nothing(uri, finished, result, tmp_path):
    made, folder = finished(result("a"))
    tracker = Tracker(uri, "s", ["a"])
    tracker.log(made, folder)
    tracker.close("FINISHED", {"ok": 1})
    publish(uri, "s", [made], board="| # |", files=[folder / "events.jsonl.gz"])
    found = lookup(uri, "s", [made])
    artifacts = {*tmp_path.rglob("artifacts/s/*")}
    with closing(sqlite3.connect(uri.removeprefix("sqlite:///"))) as connection:
        connection.execute("DROP TABLE input_tags")
    with pytest.raises(TrackingError, match="no such table: input_tags"):
        repeat(uri, "s", found)

    assert {*tmp_path.rglob("artifacts/s/*")} == artifacts
    assert lookup(uri, "s", [made]) == found


def test_what_is_deleted_or_damaged_is_not_there(uri, finished, result):
    job, folder = finished(result("a"))
    tracker = Tracker(uri, "s", ["a"])
    tracker.log(job, folder)
    tracker.close("FINISHED", {"ok": 1})
    publish(uri, "s", [job], board="| # |")
    assert lookup(uri, "s", [job]) is not None

    client = open_store(uri)
    (run,) = client.search_runs([tracker.place["jobs"]], "tags.leaseboard.level = 'job'")
    client.delete_run(run.info.run_id)
    assert lookup(uri, "s", [job]) is None
    client.restore_run(run.info.run_id)
    assert lookup(uri, "s", [job]) is not None
    client.delete_experiment(tracker.place["configurations"])
    assert lookup(uri, "s", [job]) is None
    with closing(sqlite3.connect(uri.removeprefix("sqlite:///"))) as connection:
        connection.execute("DROP TABLE tags")
    assert lookup(uri, "s", [job]) is None
