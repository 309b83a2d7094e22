"""Who follows the champion: nothing that goes wrong ends it, and each fault is reported once."""

from __future__ import annotations

import pytest

from leaseboard.tasks.live.record import publish
from leaseboard.tasks.serve import champion as following
from leaseboard.tasks.serve.champion import Follower
from leaseboard.tasks.track.store import open_store
from tests.tasks.live.shops import LATER


@pytest.fixture
def published(shop, uri):
    shop.live.settings.contract.write_text(shop.contract().to_yaml())
    shop.update()
    publish(uri, shop.live, LATER)
    return shop


@pytest.fixture
def follower(published, uri):
    """Return a follower that looks only when it is notified."""
    said = []
    made = Follower(uri, published.live.settings, published.live.state, said.append)
    made.said = said
    return made


def test_a_broken_contract_does_not_hold_up_the_champion(follower, published, uri):
    follower.look()
    digest, names = follower.champion.digest, follower.rules.names
    published.update()
    whole = published.live.settings.contract.read_text()
    published.live.settings.contract.write_text("columns: 3")
    for _ in range(3):
        follower.look()
    assert follower.champion.digest != digest
    assert follower.rules.names == names
    assert "contract.yaml" in follower.fault
    assert follower.said.count(follower.fault) == 1
    published.live.settings.contract.unlink()
    follower.look()
    assert "No such file" in follower.fault
    published.live.settings.contract.write_text(whole)
    follower.look()
    assert follower.fault == ""


def test_an_alias_that_is_gone_or_of_others_is_reported_and_the_champion_stays(
    follower, uri, monkeypatch
):
    follower.look()
    client = open_store(uri)
    version = client.get_model_version_by_alias("sales", "champion")
    client.delete_registered_model_alias("sales", "champion")
    follower.look()
    assert follower.fault.startswith("models:/sales@champion is gone: predictions still come from")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    client.create_model_version("sales", version.source)
    client.set_registered_model_alias("sales", "champion", "2")
    follower.look()
    assert follower.fault.startswith("version 2 of sales is not of a candidate of ")
    assert follower.champion.version == "1"


def test_any_error_is_reported_once_and_tried_again(follower, monkeypatch):
    def fails(*_):
        raise KeyError("odd")

    with monkeypatch.context() as patch:
        patch.setattr(following, "load", fails)
        follower.look()
        follower.look()
    assert follower.said == ["internal error: KeyError: 'odd'"]
    follower.look()
    assert (follower.fault, follower.champion.version) == ("", "1")
