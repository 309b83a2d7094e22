"""What MLflow holds of a live model: a version and a run of each candidate, with its days."""

import json
from datetime import timedelta
from pathlib import Path

import mlflow
import numpy as np
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.live.candidates import (
    CHALLENGER,
    CHAMPION,
    PREVIOUS,
    ROLLED_BACK,
    change_by_hand,
)
from leaseboard.tasks.live.record import LIVE, ROLES, closed_days, publish
from leaseboard.tasks.track.store import open_store
from tests.tasks.live.shops import BEGAN, LATER, Shop

AT = "2026-02-01T00:00:00+00:00"
NOW = BEGAN + timedelta(days=2, hours=4)


def aliases(uri):
    found = open_store(uri).get_registered_model("sales").aliases
    return {alias: str(version) for alias, version in found.items()}


def test_a_candidate_is_one_version(shop, uri):
    assert publish(uri, shop.live, LATER) == {}
    shop.update()
    assert publish(uri, shop.live, LATER) == {"champion": "1"}
    shop.update(bear=True)
    both = {"champion": "1", "challenger": "2"}
    for _ in range(2):
        assert publish(uri, shop.live, LATER, flow_run="f-1") == both == aliases(uri)
    stored = list(Path(uri.removeprefix("sqlite:///")).parent.rglob("*"))
    assert sum(each.name == "MLmodel" for each in stored) == 2
    assert not any("example" in each.name for each in stored)  # a row would outlast its deletion
    first, second = (open_store(uri).get_model_version("sales", n).tags for n in "12")
    assert (first["leaseboard.rows"], second["leaseboard.flow_run"]) == ("40", "f-1")
    assert second["leaseboard.data"] == "2 batches to 2026-01-02.csv"
    assert len(first["leaseboard.code"]) >= 8
    assert open_store(uri).get_registered_model("sales").tags[LIVE] == str(shop.file)


def test_what_a_policy_found_is_published_and_predicts_alike(tmp_path, uri, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    found = {"max_trials": 1, "arms": ["ridge"]}
    shop = Shop(tmp_path, algorithm="rising-bandits-cost", **found).update()
    assert publish(uri, shop.live, LATER) == {"champion": "1"}
    rows = shop.rows(3).drop(columns=["order", "revenue"])
    rows["day"] = rows["day"].dt.tz_localize(None)
    reported = mlflow.pyfunc.load_model("models:/sales@champion").predict(rows)
    assert np.abs(reported - shop.rows(3)["revenue"]).mean() < 1


def test_roles_are_aliases_that_move(tmp_path, state_place, uri):
    shop = Shop(tmp_path, place=state_place, b=3)
    with pytest.raises(UsageError, match="has no previous: "):
        change_by_hand(shop.live, AT, ROLLED_BACK)
    shop.update(bear=True)
    publish(uri, shop.live, LATER)
    shop.update(move=[(CHAMPION, PREVIOUS), (CHALLENGER, CHAMPION)])
    assert publish(uri, shop.live, LATER) == {"champion": "2", "previous": "1"} == aliases(uri)
    said = "candidate 1 again, in place of 4: by hand"
    assert change_by_hand(shop.live, AT, ROLLED_BACK) == (True, said)
    assert publish(uri, shop.live, LATER) == {"champion": "1", "previous": "2"} == aliases(uri)
    for version in open_store(uri).search_model_versions("name='sales'"):
        texts = [version.description, *version.tags.values(), *version.tags]
        assert not [each for each in ROLES if each in " ".join(texts)], "aliases say it"


def test_the_pyfunc_predicts_raw_rows_as_the_shadow_did(shop, uri, monkeypatch, tmp_path):
    shop.update()
    publish(uri, shop.live, LATER)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    sent = shop.rows(1).drop(columns=["order", "revenue"])
    sent["day"] = sent["day"].dt.tz_localize(None)
    reported = mlflow.pyfunc.load_model("models:/sales@champion").predict(sent)
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
    with pytest.raises(UsageError, match="'sales' is not of a live model: give yours another"):
        publish(uri, shop.live, LATER)
    client.set_registered_model_tag("sales", "leaseboard.live", str(tmp_path / "gone.yaml"))
    assert publish(uri, shop.live, LATER) == {"champion": "1"}
    (tmp_path / "other.yaml").touch()
    client.set_registered_model_tag("sales", "leaseboard.live", str(tmp_path / "other.yaml"))
    with pytest.raises(UsageError, match=r"is of the live model in .*other\.yaml"):
        publish(uri, shop.live, LATER)


def test_each_closed_day_is_a_step_of_its_candidates_run(shop, uri, monkeypatch):
    for _ in range(3):
        shop.update()

    def steps():
        client = open_store(uri)
        place = client.get_experiment_by_name("live/sales").experiment_id
        (run,) = client.search_runs([place])
        assert run.info.status == "FINISHED"
        assert run.info.run_name == "online-automl 1"
        points = client.get_metric_history(run.info.run_id, "rows")
        return run.data.metrics.keys(), [(point.step, point.value) for point in points]

    for _ in range(2):
        publish(uri, shop.live, NOW)
        names, points = steps()
        assert points == [(1, 40)], "no row of the first day was predicted before it was made"
    assert names == {"loss", "mae", "rmse", "coverage", "skill", "rows"}
    publish(uri, shop.live, NOW + timedelta(days=1))
    assert steps()[1] == [(1, 40), (2, 40)]
    assert list(closed_days(shop.record(NOW), 1)) == ["2026-01-02"]
    monkeypatch.setattr(type(shop.live.state), "waiting", lambda _: {"2026-01-02": 3})
    assert closed_days(shop.record(NOW), 1) == {}
