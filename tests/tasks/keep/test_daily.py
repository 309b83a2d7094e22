"""A keep's days in MLflow: one run each, the series above them, and none twice."""

from __future__ import annotations

from datetime import timedelta

import pytest

from leaseboard.tasks.keep import publication
from leaseboard.tasks.keep.publication import closed_days, log_days
from leaseboard.tasks.store.live_tables import Changes, Happened
from leaseboard.tasks.track.client import PARENT, search
from leaseboard.tasks.track.store import open_store
from tests.tasks.keep.shops import BEGAN

VERSIONS = {"champion": "7"}


def runs(uri, level="day"):
    client = open_store(uri)
    place = client.get_experiment_by_name("keep/sales").experiment_id
    return sorted(
        search(client, place, f"tags.`leaseboard.level` = '{level}'"),
        key=lambda run: run.info.start_time,
    )


@pytest.fixture
def lived(shop):
    """Three days, of which the last is not over."""
    for _ in range(3):
        shop.turn()
    return shop


NOW = BEGAN + timedelta(days=2, hours=4)


def test_runs_of_days_long_ago_are_not_read_again(lived, uri, monkeypatch):
    log_days(uri, lived.kept, VERSIONS, NOW + timedelta(days=1))
    monkeypatch.setattr(publication, "MOST_DAYS", 1)
    read = []

    def seen(*given):
        found = list(search(*given))
        read.extend(run.info.run_name for run in found)
        return found

    monkeypatch.setattr(publication, "search", seen)
    assert log_days(uri, lived.kept, VERSIONS, NOW + timedelta(days=1)) == []
    assert read == ["sales 2026-01-03"]


def test_each_closed_day_is_a_run_and_a_step_of_the_keeps(lived, uri):
    assert log_days(uri, lived.kept, VERSIONS, NOW, flow_run="f-1") == ["2026-01-02"], (
        "the first champion forecast no row of the first day before it was made"
    )
    assert log_days(uri, lived.kept, VERSIONS, NOW + timedelta(days=1)) == ["2026-01-03"]
    first, second = runs(uri)
    assert first.info.run_name == "sales 2026-01-02"
    assert first.info.status == "FINISHED"
    assert set(first.data.metrics) == {
        "loss", "mae", "rmse", "coverage", "skill", "rows", "incidents"
    }  # fmt: skip
    assert first.data.metrics["rows"] == 40
    tags = first.data.tags
    assert tags["leaseboard.flow_run"] == "f-1"
    assert tags["leaseboard.lineage"] == "1"
    assert tags["leaseboard.model_version"] == "7"
    assert len(tags["leaseboard.last_batch_digest"]) == 64
    (parent,) = runs(uri, "keep")
    assert {tags[PARENT], second.data.tags[PARENT]} == {parent.info.run_id}
    series = open_store(uri).get_metric_history(parent.info.run_id, "mae")
    assert [(m.step, m.value) for m in series] == [
        (1, first.data.metrics["mae"]), (2, second.data.metrics["mae"])
    ]  # fmt: skip


@pytest.mark.parametrize("calls", [0, 1, 2])
@pytest.mark.parametrize("after", [False, True])
def test_whatever_stops_it_the_next_turn_finishes_it_and_no_day_is_there_twice(
    lived, uri, monkeypatch, calls, after
):
    real, made = publication._fill, []

    def stopped(*given):
        made.append(given)
        if len(made) > calls and not after:
            raise KeyboardInterrupt
        real(*given)
        if len(made) > calls:
            raise KeyboardInterrupt

    later = NOW + timedelta(days=1)
    monkeypatch.setattr(publication, "_fill", stopped)
    with pytest.raises(KeyboardInterrupt):
        log_days(uri, lived.kept, VERSIONS, later)
    monkeypatch.undo()
    log_days(uri, lived.kept, VERSIONS, later)
    assert [run.data.tags["leaseboard.day"] for run in runs(uri)] == ["2026-01-02", "2026-01-03"]
    assert {run.info.status for run in runs(uri)} == {"FINISHED"}
    (parent,) = runs(uri, "keep")
    series = open_store(uri).get_metric_history(parent.info.run_id, "mae")
    assert [m.step for m in series] == [1, 2]


def test_an_incident_that_is_told_later_changes_the_run_of_its_day(lived, uri):
    log_days(uri, lived.kept, VERSIONS, NOW)
    at = "2026-01-02T10:00:00+00:00"
    lived.kept.state.commit(Changes(at, happened=[Happened(at, "opened", "a", "it is wrong")]))
    assert log_days(uri, lived.kept, VERSIONS, NOW) == ["2026-01-02"]
    (run,) = runs(uri)
    assert run.data.metrics["incidents"] == 1


def test_a_day_that_waits_for_labels_is_not_closed(lived, monkeypatch):
    assert [each.day for each in closed_days(lived.kept, NOW)] == ["2026-01-02"]
    monkeypatch.setattr(type(lived.kept.state), "waiting", lambda _: {"2026-01-02": 3})
    assert closed_days(lived.kept, NOW) == []
