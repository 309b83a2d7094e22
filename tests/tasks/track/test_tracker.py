"""A suite in MLflow: written once, whole or removed, by the client and in bulk."""

import json
import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from leaseboard.algorithms.audit import configurations
from leaseboard.algorithms.events import read_log
from leaseboard.tasks.folder import results
from leaseboard.tasks.machine.disk import BEAT, GRACE
from leaseboard.tasks.machine.environment import tracking_uri
from leaseboard.tasks.track import writers
from leaseboard.tasks.track.records import HEARTBEAT, OWNER, job_record
from leaseboard.tasks.track.store import TrackingError, open_store
from leaseboard.tasks.track.tracker import Tracker, log_all
from leaseboard.tasks.track.writers import ClientWriter


@pytest.fixture(params=["client", "bulk"])
def through_client(request):
    return request.param == "client"


def test_both_ways_of_writing_read_the_same(uri, finished, tmp_path, make_store, result, contents):
    other = make_store(tmp_path / "other" / "mlruns")
    jobs = [finished(result("k1"), 6), finished(result("k2", status="crash"), 5),
            finished(result("k3", data="openml:215"), 5)]  # fmt: skip
    for address, through_client in ((uri, False), (other, True)):
        tracker = Tracker(address, "s", ["k1", "k2", "k3"], through_client=through_client)
        assert isinstance(tracker.writer, writers.BulkWriter) is not through_client
        for made, folder in jobs:
            tracker.log(made, folder)
        tracker.close("FINISHED", {"ok": 3})

    in_bulk = contents(uri, "s")
    assert len(in_bulk) == 3 + 6 + 5 + 5
    assert in_bulk == contents(other, "s")


def test_a_job_can_be_listed_through_the_client_alone(uri, finished, race, result, runs):
    made, folder = finished(result())
    tracker = Tracker(uri, "s", ["k1"])
    tracker.log(made, folder)
    tracker.close("FINISHED", {"ok": 1})
    client = open_store(uri)

    (job,) = runs(uri, "s", "tags.leaseboard.level = 'job'")
    considered = runs(uri, "s/configurations", f"tags.leaseboard.job = '{made.key}'")
    expected = {str(c.configuration): c for c in configurations(race())}
    assert len(considered) == len(expected)
    for run in considered:
        known = expected[run.data.tags["leaseboard.configuration"]]
        assert run.data.tags["mlflow.parentRunId"] == job.info.run_id
        assert run.data.tags["leaseboard.outcome"] == known.outcome
        assert run.data.metrics.get("score") == known.score
        leases = client.get_metric_history(run.info.run_id, "lease")
        assert [(m.step, m.value) for m in leases] == [(x.at, x.amount) for x in known.leases]

    assert job.data.metrics["score"] == 0.25
    assert job.inputs.dataset_inputs[0].dataset.name == "synthetic:fried"
    note = job.data.tags["mlflow.note.content"]
    assert "in squared units of the target" in note
    assert f"tags.leaseboard.job%20%3D%20%27{made.key}%27" in note
    assert f"[5 configurations](#/experiments/{considered[0].info.experiment_id}/" in note
    path = client.download_artifacts(job.info.run_id, results.EVENTS, str(folder.parent))
    assert list(read_log(path)) == list(race())
    path = client.download_artifacts(job.info.run_id, "configurations.json", str(folder.parent))
    assert len(json.loads(Path(path).read_text())["data"]) == 5
    (suite,) = runs(uri, "s", "tags.leaseboard.level = 'suite'")
    assert job.data.tags["mlflow.parentRunId"] == suite.info.run_id
    assert (suite.info.status, suite.data.metrics) == ("FINISHED", {"jobs.ok": 1.0})


def test_nothing_is_logged_twice_also_by_two_who_looked_before_either_wrote(
    uri, finished, through_client, result, runs
):
    made, folder = finished(result())
    for count in (2, 1):
        trackers = [Tracker(uri, "s", ["k1"], through_client=through_client) for _ in range(count)]
        for tracker in trackers * 2:
            tracker.log(made, folder)
        for tracker in trackers:
            tracker.close("FINISHED", {"ok": 1})

    assert len(runs(uri, "s", "tags.leaseboard.level = 'job'")) == 1
    assert len(runs(uri, "s/configurations")) == 5


def test_of_two_who_write_at_once_one_goes_on(uri, finished, result, runs, monkeypatch):
    """The other's run appears between the look and the writing, with a lower number."""
    made, _ = finished(result())
    writer = Tracker(uri, "s", ["k1"], through_client=True).writer
    record, create = job_record(made, []), writer.create
    others = []

    def create_both(experiment, run):
        others.extend(create(experiment, run) for _ in range(8))
        return create(experiment, run)

    monkeypatch.setattr(writer, "create", create_both)
    kept = writer.write(record, [], [])

    left = [run.info.run_id for run in runs(uri, "s", "tags.leaseboard.level = 'job'")]
    assert kept in left
    assert kept == min(left)


def test_what_a_killed_container_left_is_completed_once_its_heartbeats_end(
    uri, finished, result, runs
):
    made, folder = finished(result())
    first = Tracker(uri, "s", ["k1"], through_client=True)
    first.log(made, folder)
    client, (job,) = first._client, runs(uri, "s", "tags.leaseboard.level = 'job'")
    for run_id in (first.run_id, job.info.run_id):
        client.set_tag(run_id, OWNER, "container 7 1.00 another")
    client.update_run(job.info.run_id, status="RUNNING")
    for age, status, ended in ((BEAT, "RUNNING", "RUNNING"), (GRACE, "FINISHED", "KILLED")):
        client.set_tag(first.run_id, HEARTBEAT, str(time.time() - age))
        Tracker(uri, "s", ["k1"], through_client=True).log(made, folder)
        (job,) = runs(uri, "s", "tags.leaseboard.level = 'job'")
        assert job.info.status == status
        assert client.get_run(first.run_id).info.status == ended


def test_a_suite_shows_that_its_process_lives_until_it_ends(uri, monkeypatch):
    monkeypatch.setattr("leaseboard.tasks.track.tracker.BEAT", 0.001)
    tracker = Tracker(uri, "s", ["k1"])
    before = beat = tracker._client.get_run(tracker.run_id).data.tags[HEARTBEAT]
    while beat == before:
        beat = tracker._client.get_run(tracker.run_id).data.tags[HEARTBEAT]
    tracker.close("FINISHED", {})
    assert tracker._ended.is_set()


def test_a_job_that_is_refused_costs_no_other(uri, finished, result, runs, tmp_path, monkeypatch):
    monkeypatch.setattr("leaseboard.tasks.track.tracker.RETRY_SECONDS", (0.0,))
    jobs = [finished(result(key, name="n" * 300)) for key in ("k0", "k1", "k2", "k3")]
    for _, folder in jobs[:2]:
        (folder / "more").mkdir()
    (jobs[2][1] / results.EVENTS).write_bytes(b"no log")
    log, busy = Tracker.log, ["k3"]

    def log_later(tracker, made, folder):
        if made.key in busy:
            busy.remove(made.key)
            raise TrackingError("busy")
        log(tracker, made, folder)

    monkeypatch.setattr(Tracker, "log", log_later)
    monkeypatch.setattr("leaseboard.tasks.track.tracker.MOST_NAMED", 1)
    with pytest.raises(
        TrackingError, match=r"^n+ on synthetic:fried is not in MLflow: .*; 2 more"
    ):
        log_all([made for made, _ in jobs], tmp_path, "s", uri)
    (job,) = runs(uri, "s", "tags.leaseboard.level = 'job'")
    assert (job.data.tags["leaseboard.key"], len(job.info.run_name)) == ("k3", 250)


def test_a_job_that_failed_gives_way_to_its_repeat(uri, finished, through_client, result, runs):
    for status, started in (("crash", "2026-01-01T00:00:00+00:00"),
                            ("ok", "2026-01-03T00:00:00+00:00")):  # fmt: skip
        made, folder = finished(result(status=status, started=started))
        tracker = Tracker(uri, "s", ["k1"], through_client=through_client)
        tracker.log(made, folder)
        tracker.close("FINISHED", {})

    jobs = runs(uri, "s", "tags.leaseboard.level = 'job'")
    assert [run.data.tags["leaseboard.status"] for run in jobs] == ["ok"]
    assert len(runs(uri, "s/configurations")) == 5


@pytest.mark.parametrize("calls", [0, 2, 9])
def test_a_writer_cut_off_anywhere_leaves_no_trace(
    uri, finished, monkeypatch, calls, result, runs
):
    """The client's calls are counted, and the store dies at one of them."""
    made, folder = finished(result())
    tracker = Tracker(uri, "s", ["k1"], through_client=True)
    left = calls

    def dying(method):
        def call(*arguments, **keywords):
            nonlocal left
            if not left:
                raise KeyboardInterrupt
            left -= 1
            return method(*arguments, **keywords)

        return call

    with monkeypatch.context() as patch:
        for name in ("create_run", "log_batch", "log_inputs", "set_terminated"):
            patch.setattr(tracker.writer.client, name, dying(getattr(tracker.writer.client, name)))
        with pytest.raises(KeyboardInterrupt):
            tracker.log(made, folder)
    # The process that wrote is gone now.
    monkeypatch.setattr("leaseboard.tasks.track.writers.is_alive", lambda *_: False)
    again = Tracker(uri, "s", ["k1"], through_client=True)
    again.log(made, folder)
    again.close("FINISHED", {"ok": 1})

    assert len(runs(uri, "s", "tags.leaseboard.level = 'job'")) == 1
    assert len(runs(uri, "s/configurations")) == 5
    for name in ("s", "s/configurations"):
        assert not runs(uri, name, "attributes.status = 'RUNNING'")


def test_in_bulk_all_or_nothing(uri, finished, monkeypatch, result, runs):
    made, folder = finished(result())
    tracker = Tracker(uri, "s", ["k1"])

    def fail(*_):
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(writers.BulkWriter, "_insert_data", fail)
        with pytest.raises(TrackingError, match="disk I/O error"):
            tracker.log(made, folder)
    assert not runs(uri, "s", "tags.leaseboard.level = 'job'")
    assert not runs(uri, "s/configurations")

    tracker.log(made, folder)
    assert len(runs(uri, "s/configurations")) == 5


def test_another_version_of_mlflow_is_written_through_the_client(uri, monkeypatch):
    monkeypatch.setattr(writers, "CHECKED_VERSIONS", ("0.0.1",))
    assert type(Tracker(uri, "s", []).writer) is ClientWriter


def test_a_store_that_cannot_be_used_is_one_line(uri, tmp_path, monkeypatch):
    (tmp_path / "file.db").write_text("not a database " * 100)
    Tracker(uri, "s", [])
    client = open_store(uri)
    client.delete_experiment(client.get_experiment_by_name("s").experiment_id)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    for address, why in (
        (f"sqlite:///{tmp_path / 'file.db'}", "not a database"),
        (f"sqlite:///{tmp_path / 'file.db' / 'mlflow.db'}", "failed"),
        (uri, "restore it with"),
        ("https://me:hunter2@localhost:1/", "Connection refused"),
    ):
        with pytest.raises(TrackingError, match=why) as caught:
            Tracker(address, "s", [])
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(("name", "by_client"), [("a#b", True), ("größe ☃ a?b%20c", False)])
def test_a_store_stays_in_its_folder_for_any_name(
    tmp_path, empty_store, finished, result, runs, monkeypatch, name, by_client
):
    home = tmp_path / "here" / name
    (home / "mlruns").mkdir(parents=True)
    shutil.copy(empty_store, home / "mlruns" / "mlflow.db")
    monkeypatch.chdir(home)
    made, folder = finished(result())
    tracker = Tracker(tracking_uri(), f"suite {name}", ["k1"], through_client=by_client)
    tracker.log(made, folder)
    tracker.close("FINISHED", {"ok": 1})

    assert [path.name for path in (tmp_path / "here").iterdir()] == [name]
    kept = [path.name for path in (home / "mlruns" / "artifacts").rglob("*") if path.is_file()]
    assert sorted(kept) == ["configurations.json", "events.jsonl.gz"]
    (job,) = runs(tracking_uri(), f"suite {name}", "tags.leaseboard.level = 'job'")
    listed = open_store(tracking_uri()).list_artifacts(job.info.run_id)
    assert {file.path for file in listed} == set(kept)
