"""The champion of a server, and the one thread that predicts."""

import asyncio
import json
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.live.record import publish
from leaseboard.tasks.serve import champion as following
from leaseboard.tasks.serve.champion import Desk, Follower
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


NOW = datetime(2026, 2, 1, tzinfo=UTC)


def champion(prefetch):
    """Return a champion that predicts so."""
    return SimpleNamespace(
        name="sales", version="7", snapshot=SimpleNamespace(predict_rows=prefetch)
    )


GOOD = champion(lambda rows: [[row["a"], 0.5, 2.0] for row in rows])


@pytest.fixture
def desk(state):
    made = Desk(state, lambda: NOW)
    yield made
    made.stop()


def ask(desk, *questions):
    """Return the answers to questions that are asked at once."""

    async def all_of_them():
        return await asyncio.wait_for(
            asyncio.gather(*(desk.ask(*each) for each in questions), return_exceptions=True), 60
        )

    return asyncio.run(all_of_them())


def question(number, who=GOOD):
    return who, [f"r{number}"], [{"a": number}]


def logged(state):
    with state.connected() as connection:
        query = "select id, at, snapshot, prediction from live_sales_served order by number"
        return [(*row[:3], json.loads(row[3])) for row in connection.exec_driver_sql(query).all()]


def test_what_is_reported_is_in_the_log(desk, state):
    assert ask(desk, question(1), question(2)) == [[[1, 0.5, 2.0]], [[2, 0.5, 2.0]]]
    at = "2026-02-01T00:00:00.000+00:00"
    assert logged(state) == [
        ("r1", at, "sales/7", [1, 0.5, 2.0]), ("r2", at, "sales/7", [2, 0.5, 2.0])
    ]  # fmt: skip


def test_a_model_s_fault_is_its_callers(desk, state):
    def fails(rows):
        raise ZeroDivisionError

    silent = champion(lambda *_: [])
    found = ask(desk, question(1, champion(fails)), question(2), question(3, silent))
    assert isinstance(found[0], ZeroDivisionError)
    assert found[1] == [[2, 0.5, 2.0]]
    assert str(found[2]).startswith("version 7 of sales has learned nothing yet")
    assert [each[0] for each in logged(state)] == ["r2"]


@pytest.mark.parametrize("error", [ValueError("NUL\nin it"), LeaseboardError("locked")])
def test_nothing_is_reported_that_was_not_logged_and_the_thread_goes_on(
    desk, state, monkeypatch, error
):
    def fails(_):
        raise error

    monkeypatch.setattr(state, "log_served", fails)
    assert ask(desk, question(1), question(2)) == [error, error]
    monkeypatch.undo()
    assert ask(desk, question(3)) == [[[3, 0.5, 2.0]]]
    assert [each[0] for each in logged(state)] == ["r3"]
