"""What MLflow holds of a live model: versions of its roles, and a run of each closed day."""

from __future__ import annotations

import json
from datetime import timedelta

import mlflow
import numpy as np
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.keep import publication
from leaseboard.tasks.keep.promotion import roll_back
from leaseboard.tasks.keep.publication import KEPT, closed_days, log_days, publish
from leaseboard.tasks.keep.shadow import CHALLENGER, CHAMPION, PREVIOUS, RETIRED
from leaseboard.tasks.models.registry import keep_of, listed, promote
from leaseboard.tasks.store.live_tables import Changes, Happened, in_role
from leaseboard.tasks.track.client import PARENT, every, search
from leaseboard.tasks.track.store import open_store
from tests.tasks.keep.shops import BEGAN, Shop

AT = "2026-02-01T00:00:00+00:00"


def aliases(uri):
    found = open_store(uri).get_registered_model("sales").aliases
    return {alias: str(version) for alias, version in found.items()}


def versions(uri):
    return [str(v.version) for v in every(open_store(uri).search_model_versions, "name='sales'")]


def test_what_was_learned_is_published_once(shop, uri):
    assert publish(uri, shop.kept) == {}
    shop.turn()
    assert publish(uri, shop.kept) == {"champion": "1"}
    assert publish(uri, shop.kept) == {"champion": "1"}
    champion = in_role(shop.kept.state.lineages(), CHAMPION)
    assert champion.published == champion.model
    shop.turn(bear=True)
    assert publish(uri, shop.kept, flow_run="f-1") == {"champion": "2", "challenger": "3"}
    assert aliases(uri) == {"champion": "2", "challenger": "3"}
    tags = open_store(uri).get_model_version("sales", "2").tags
    assert tags["leaseboard.flow_run"] == "f-1"
    assert tags["leaseboard.data"] == "2 batches to 2026-01-02.csv"
    assert tags["leaseboard.rows"] == "80"
    assert "mae" in tags["leaseboard.score"]
    assert len(tags["leaseboard.code"]) >= 8


def test_what_apple_learned_is_published_and_forecasts_alike(tmp_path, uri, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    shop = Shop(tmp_path, algorithm="apple").turn()
    assert publish(uri, shop.kept) == {"champion": "1"}
    rows = shop.rows(3).drop(columns=["order", "revenue"])
    rows["day"] = rows["day"].dt.tz_localize(None)
    told = mlflow.pyfunc.load_model("models:/sales@champion").predict(rows)
    assert np.abs(told - shop.rows(3)["revenue"]).mean() < 1


def test_roles_move_without_new_snapshots(tmp_path, state_place, uri):
    shop = Shop(tmp_path, place=state_place, b=3)
    shop.turn(bear=True)
    publish(uri, shop.kept)
    shop.turn(move=[(CHAMPION, PREVIOUS), (CHALLENGER, CHAMPION)])
    assert publish(uri, shop.kept) == {"champion": "3", "previous": "4"}
    assert aliases(uri) == {"champion": "3", "previous": "4"}
    told = roll_back(shop.kept.state, AT)
    assert told == "lineage 1 again, in the place of 4: by hand"
    assert publish(uri, shop.kept) == {"champion": "4", "previous": "3"}
    assert [each.kind for each in shop.kept.state.history()[-2:]] == ["previous", "champion"]


def test_the_list_shows_them_and_the_gate_leaves_them_alone(shop, uri):
    shop.turn(bear=True)
    publish(uri, shop.kept)
    found = {row["alias"]: row for row in listed(uri)}
    assert found["champion"]["data"] == "1 batches to 2026-01-01.csv"
    assert found["challenger"]["gate"] == "lineage 4 of a keep"
    with pytest.raises(UsageError, match="sales is kept: its turns promote on evidence"):
        promote(uri, "sales")
    assert keep_of(uri, "sales") == str(shop.file)


def test_without_a_previous_there_is_no_way_back(shop):
    shop.turn()
    with pytest.raises(UsageError, match="no previous champion to go back to"):
        roll_back(shop.kept.state, AT)


STEPS = ["log", "_point", "_remove_old"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("after", [False, True])
def test_whatever_stops_it_the_next_call_finishes_it(shop, uri, monkeypatch, step, after):
    shop.turn(bear=True)
    real = getattr(publication, step)

    def stopped(*given):
        if after:
            real(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(publication, step, stopped)
    with pytest.raises(KeyboardInterrupt):
        publish(uri, shop.kept)
    monkeypatch.undo()
    assert publish(uri, shop.kept) == {"champion": "1", "challenger": "2"}
    assert aliases(uri) == {"champion": "1", "challenger": "2"}
    assert versions(uri) == ["2", "1"]


def test_what_a_stopped_call_left_half_is_removed(shop, uri):
    shop.turn()
    publish(uri, shop.kept)
    client = open_store(uri)
    place = client.get_experiment_by_name("keep/sales").experiment_id
    client.create_logged_model(place, name="sales")
    publish(uri, shop.kept)
    assert len(client.search_logged_models([place])) == 1


def test_old_snapshots_go_with_their_artifacts(shop, uri, tmp_path):
    shop.turn(bear=True)
    for _ in range(KEPT + 3):
        shop.turn()
        publish(uri, shop.kept)
    assert len(versions(uri)) == 2 * KEPT
    assert len(list(tmp_path.rglob("MLmodel"))) == 2 * KEPT
    shop.turn(move=[(CHALLENGER, RETIRED)])
    publish(uri, shop.kept)
    assert aliases(uri).keys() == {"champion"}
    assert len(versions(uri)) == 2 * KEPT


def test_the_pyfunc_forecasts_raw_rows_as_the_shadow_did(shop, uri, monkeypatch, tmp_path):
    shop.turn()
    publish(uri, shop.kept)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    loaded = mlflow.pyfunc.load_model("models:/sales@champion")
    sent = shop.rows(1).drop(columns=["order", "revenue"])
    sent["day"] = sent["day"].dt.tz_localize(None)
    told = loaded.predict(sent)
    shop.turn()
    measured = [json.loads(row.forecasts)["1"][0] for row in shop.kept.state.settled(len(sent))]
    assert told.tolist() == measured
    assert not list(tmp_path.rglob("*.pkl"))


def test_a_model_of_somebody_else_is_not_touched(shop, uri, tmp_path):
    shop.turn()
    client = open_store(uri)
    client.create_registered_model("sales")
    with pytest.raises(UsageError, match="'sales' is of no keep: give your keep another name"):
        publish(uri, shop.kept)
    client.set_registered_model_tag("sales", "leaseboard.keep", str(tmp_path / "gone.yaml"))
    assert publish(uri, shop.kept) == {"champion": "1"}
    (tmp_path / "other.yaml").touch()
    client.set_registered_model_tag("sales", "leaseboard.keep", str(tmp_path / "other.yaml"))
    with pytest.raises(UsageError, match=r"is of the keep in .*other\.yaml"):
        publish(uri, shop.kept)


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
