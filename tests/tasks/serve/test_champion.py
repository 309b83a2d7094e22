"""Who follows the champion: nothing that goes wrong ends it, and each fault is reported once."""

from __future__ import annotations

import socket

import pytest

from leaseboard.tasks.live.publication import publish
from leaseboard.tasks.serve import champion as following
from leaseboard.tasks.serve.champion import Follower
from leaseboard.tasks.track.store import open_store
from tests.tasks.live.shops import LATER


@pytest.fixture
def follower(shop_published, uri):
    """Return a follower that looks only when it is notified."""
    kept, said = shop_published.live, []
    made = Follower(uri, kept.settings, said.append)
    made.said = said
    return made


@pytest.fixture
def shop_published(shop, uri):
    shop.live.settings.contract.write_text(shop.contract().to_yaml())
    shop.update()
    publish(uri, shop.live, LATER)
    return shop


def test_a_broken_contract_does_not_hold_up_the_champion(follower, shop_published, uri):
    shop, rules = shop_published, follower.rules
    follower.look()
    shop.update()
    publish(uri, shop.live, LATER)
    whole = shop.live.settings.contract.read_text()
    shop.live.settings.contract.write_text("columns: 3")
    for _ in range(3):
        follower.look()
    assert follower.champion.version == "2"
    assert follower.rules.columns == rules.columns
    assert "contract.yaml" in follower.fault
    assert follower.said.count(follower.fault) == 1
    shop.live.settings.contract.unlink()
    follower.look()
    assert "No such file" in follower.fault
    shop.live.settings.contract.write_text(whole)
    follower.look()
    assert follower.fault == ""


def test_an_alias_that_is_gone_is_reported_and_the_champion_stays(follower, uri):
    follower.look()
    open_store(uri).delete_registered_model_alias("sales", "champion")
    follower.look()
    assert follower.champion.version == "1"
    assert follower.fault.startswith("models:/sales@champion is gone: predictions still come from")


def test_a_model_that_was_made_again_is_another_though_its_version_is_the_same(
    follower, shop_published, uri
):
    follower.look()
    before = follower.champion
    open_store(uri).delete_registered_model("sales")
    shop_published.update()
    publish(uri, shop_published.live, LATER)
    follower.look()
    assert follower.champion.version == before.version
    assert follower.champion.digest != before.digest


def test_any_error_is_reported_once_and_tried_again(follower, monkeypatch):
    def fails(*_):
        raise KeyError("odd")

    monkeypatch.setattr(following, "load_file", fails)
    follower.look()
    follower.look()
    assert follower.said == ["internal error: KeyError: 'odd'"]
    monkeypatch.undo()
    follower.look()
    assert (follower.fault, follower.champion.version) == ("", "1")


def test_a_version_of_another_user_is_not_served(follower, uri, monkeypatch):
    client = open_store(uri)
    version = client.get_model_version_by_alias("sales", "champion")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    client.create_model_version("sales", version.source)
    client.set_registered_model_alias("sales", "champion", "2")
    follower.look()
    assert follower.champion is None
    assert follower.fault.startswith("version 2 of sales is not of a live model")


def test_a_registry_that_is_away_holds_up_no_start(shop, monkeypatch):
    shop.live.settings.contract.write_text(shop.contract().to_yaml())
    monkeypatch.setattr(following, "FIRST_LOOK", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = f"http://127.0.0.1:{silent.getsockname()[1]}"
        follower = Follower(uri, shop.live.settings, lambda _: None)
        follower.start()
        assert follower.champion is None
        monkeypatch.setattr(following, "LAST_LOOK", 0.01)
        follower.stop()
