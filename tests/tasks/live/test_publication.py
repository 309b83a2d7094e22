"""What MLflow holds of a live model: versions of its roles, and a run of its closed days."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import mlflow
import numpy as np
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.live.promotion import roll_back
from leaseboard.tasks.live.publication import KEPT, closed_days, log_days, publish
from leaseboard.tasks.live.record import ROLES
from leaseboard.tasks.live.shadow import CHALLENGER, CHAMPION, PREVIOUS, RETIRED
from leaseboard.tasks.models.registry import live_file, promote
from leaseboard.tasks.store.live_tables import Changes, HistoryEntry, in_role
from leaseboard.tasks.track.client import every
from leaseboard.tasks.track.store import open_store
from tests.tasks.live.shops import BEGAN, LATER, Shop

AT = "2026-02-01T00:00:00+00:00"


def aliases(uri):
    found = open_store(uri).get_registered_model("sales").aliases
    return {alias: str(version) for alias, version in found.items()}


def versions(uri):
    return [str(v.version) for v in every(open_store(uri).search_model_versions, "name='sales'")]


def test_what_was_learned_is_published_once(shop, uri):
    assert publish(uri, shop.live, LATER) == {}
    shop.update()
    assert publish(uri, shop.live, LATER) == {"champion": "1"}
    assert publish(uri, shop.live, LATER) == {"champion": "1"}
    champion = in_role(shop.live.state.candidates(), CHAMPION)
    assert champion.published == champion.model
    shop.update(bear=True)
    assert publish(uri, shop.live, LATER, flow_run="f-1") == {"champion": "2", "challenger": "3"}
    assert aliases(uri) == {"champion": "2", "challenger": "3"}
    stored = list(Path(uri.removeprefix("sqlite:///")).parent.rglob("*"))
    assert sum(each.name == "MLmodel" for each in stored) == 3
    assert not any("example" in each.name for each in stored)  # a row would outlast its deletion
    tags = open_store(uri).get_model_version("sales", "2").tags
    assert tags["leaseboard.flow_run"] == "f-1"
    assert tags["leaseboard.data"] == "2 batches to 2026-01-02.csv"
    assert tags["leaseboard.rows"] == "80"
    assert "mae" in tags["leaseboard.score"]
    assert len(tags["leaseboard.code"]) >= 8


def test_what_apple_learned_is_published_and_predicts_alike(tmp_path, uri, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    shop = Shop(tmp_path, algorithm="apple").update()
    assert publish(uri, shop.live, LATER) == {"champion": "1"}
    rows = shop.rows(3).drop(columns=["order", "revenue"])
    rows["day"] = rows["day"].dt.tz_localize(None)
    reported = mlflow.pyfunc.load_model("models:/sales@champion").predict(rows)
    assert np.abs(reported - shop.rows(3)["revenue"]).mean() < 1


def test_roles_move_without_new_snapshots(tmp_path, state_place, uri):
    shop = Shop(tmp_path, place=state_place, b=3)
    shop.update(bear=True)
    publish(uri, shop.live, LATER)
    shop.update(move=[(CHAMPION, PREVIOUS), (CHALLENGER, CHAMPION)])
    assert publish(uri, shop.live, LATER) == {"champion": "3", "previous": "4"}
    assert aliases(uri) == {"champion": "3", "previous": "4"}
    reported = roll_back(shop.live.state, AT)
    assert reported == "candidate 1 again, in place of 4: by hand"
    assert publish(uri, shop.live, LATER) == {"champion": "4", "previous": "3"}
    assert [each.kind for each in shop.live.state.history()[-2:]] == ["previous", "champion"]
    for version in open_store(uri).search_model_versions("name='sales'"):
        texts = [version.description, *version.tags.values(), *version.tags]
        assert not [each for each in ROLES if each in " ".join(texts)], "aliases say it"


def test_the_gate_leaves_them_alone(shop, uri):
    shop.update(bear=True)
    publish(uri, shop.live, LATER)
    with pytest.raises(UsageError, match="sales is a live model: its updates promote on evidence"):
        promote(uri, "sales")
    assert live_file(uri, "sales") == str(shop.file)


def test_a_rollback_needs_a_previous_version(shop):
    shop.update()
    with pytest.raises(UsageError, match="no previous champion to go back to"):
        roll_back(shop.live.state, AT)


def test_what_a_stopped_call_left_half_is_removed(shop, uri):
    shop.update()
    publish(uri, shop.live, LATER)
    client = open_store(uri)
    place = client.get_experiment_by_name("live/sales").experiment_id
    client.create_logged_model(place, name="sales")
    publish(uri, shop.live, LATER)
    assert len(client.search_logged_models([place])) == 1


@pytest.mark.slow
def test_old_snapshots_go_with_their_artifacts(shop, uri, tmp_path):
    shop.update(bear=True)
    for _ in range(KEPT + 3):
        shop.update()
        publish(uri, shop.live, LATER)
    assert len(versions(uri)) == 2 * KEPT
    assert len(list(tmp_path.rglob("MLmodel"))) == 2 * KEPT
    shop.update(move=[(CHALLENGER, RETIRED)])
    publish(uri, shop.live, LATER)
    assert aliases(uri).keys() == {"champion"}
    assert len(versions(uri)) == 2 * KEPT


def test_the_pyfunc_predicts_raw_rows_as_the_shadow_did(shop, uri, monkeypatch, tmp_path):
    shop.update()
    publish(uri, shop.live, LATER)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    loaded = mlflow.pyfunc.load_model("models:/sales@champion")
    sent = shop.rows(1).drop(columns=["order", "revenue"])
    sent["day"] = sent["day"].dt.tz_localize(None)
    reported = loaded.predict(sent)
    shop.update()
    measured = [
        json.loads(row.predictions)["1"][0] for row in shop.live.state.labelled_rows(len(sent))
    ]
    assert reported.tolist() == measured
    assert not list(tmp_path.rglob("*.pkl"))


def test_a_model_of_another_user_is_not_touched(shop, uri, tmp_path):
    shop.update()
    client = open_store(uri)
    client.create_registered_model("sales")
    with pytest.raises(
        UsageError, match="'sales' is not of a live model: give yours another name"
    ):
        publish(uri, shop.live, LATER)
    client.set_registered_model_tag("sales", "leaseboard.live", str(tmp_path / "gone.yaml"))
    assert publish(uri, shop.live, LATER) == {"champion": "1"}
    (tmp_path / "other.yaml").touch()
    client.set_registered_model_tag("sales", "leaseboard.live", str(tmp_path / "other.yaml"))
    with pytest.raises(UsageError, match=r"is of the live model in .*other\.yaml"):
        publish(uri, shop.live, LATER)


@pytest.fixture
def lived(shop):
    """Return three days, of which the last is not over."""
    for _ in range(3):
        shop.update()
    return shop


NOW = BEGAN + timedelta(days=2, hours=4)


def series(uri, name):
    client = open_store(uri)
    place = client.get_experiment_by_name("live/sales").experiment_id
    (run,) = client.search_runs([place])
    assert run.info.status == "FINISHED"
    points = client.get_metric_history(run.info.run_id, name)
    return run.data, [(point.step, point.value) for point in points]


def test_each_closed_day_is_a_step_of_the_live_models_run(lived, uri):
    assert log_days(uri, lived.live, NOW, flow_run="f-1") == ["2026-01-02"], (
        "the first champion predicts no row of the first day before it was made"
    )
    data, points = series(uri, "rows")
    assert points == [(1, 40)]
    assert set(data.metrics) == {"loss", "mae", "rmse", "coverage", "skill", "rows", "incidents"}
    assert data.tags["leaseboard.flow_run"] == "f-1"
    assert len(data.tags["leaseboard.last_batch_digest"]) == 64
    later = NOW + timedelta(days=1)
    assert log_days(uri, lived.live, later) == ["2026-01-02", "2026-01-03"]
    assert log_days(uri, lived.live, later) == []
    assert series(uri, "rows")[1] == [(1, 40), (2, 40)]


def test_an_incident_that_is_reported_later_is_logged_with_its_day(lived, uri):
    log_days(uri, lived.live, NOW)
    at = "2026-01-02T10:00:00+00:00"
    lived.live.state.commit(Changes(at, history=[HistoryEntry(at, "opened", "a", "it is wrong")]))
    assert log_days(uri, lived.live, NOW) == ["2026-01-02"]
    assert series(uri, "incidents")[0].metrics["incidents"] == 1


def test_a_day_that_waits_for_labels_is_not_closed(lived, monkeypatch):
    assert list(closed_days(lived.record(NOW))) == ["2026-01-02"]
    monkeypatch.setattr(type(lived.live.state), "waiting", lambda _: {"2026-01-02": 3})
    assert closed_days(lived.record(NOW)) == {}
