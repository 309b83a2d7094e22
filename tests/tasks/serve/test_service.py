"""The answers, to whatever is asked: a forecast that is logged, or a refusal in one line."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaseboard.tasks.keep.rows import features_of, row_reader
from leaseboard.tasks.keep.settings import DataSettings
from leaseboard.tasks.serve import service as serving
from leaseboard.tasks.serve.admission import RefusedError
from leaseboard.tasks.serve.champion import RowRules
from leaseboard.tasks.serve.service import ForecastService, Meters
from leaseboard.tasks.store.live_model import State
from tests.tasks.keep.shops import CONTRACT

NOW = datetime(2026, 2, 1, tzinfo=UTC)
DATA = DataSettings(source="folder:*.csv", time="day", id="order", target="revenue")
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
JSON = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
COLUMNS = st.sampled_from([*CONTRACT.columns])
ROW = {"order": "a", "day": "2026-01-02", "price": 1.0, "rain": True, "shop": "x"}


class FewWords:
    """A champion that forecasts a row's price."""

    living = SimpleNamespace(levels=(0.9,))
    read = staticmethod(row_reader(features_of(CONTRACT, DATA)))

    def foresee(self, rows, level):
        return [[row["price"], row["price"] - level, row["price"] + level] for row in rows]


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    return State(tmp_path_factory.mktemp("state") / "state.sqlite", "sales")


@pytest.fixture(scope="module")
def service(state):
    told = {"model": "sales", "version": "1", "lineage": "1", "digest": "d"}
    champion = SimpleNamespace(
        snapshot=FewWords(), name="sales", version="1", told=lambda: told, made=NOW.timestamp()
    )
    follower = SimpleNamespace(
        champion=champion,
        rules=RowRules(CONTRACT, DATA),
        fault="",
        stop=lambda: None,
        tell=lambda _: None,
    )
    made = ForecastService(DATA, follower, state, lambda: NOW)
    yield made
    made.stop()


def answer(asked, body):
    """What is told, or the refusal."""
    try:
        return asyncio.run(asked(json.dumps(body).encode()))
    except RefusedError as refused:
        found = refused
    assert found.status == 422
    assert "\n" not in str(found)
    assert len(str(found)) < 1000
    return found


@settings(max_examples=300)
@given(JSON | st.fixed_dictionaries({"rows": st.lists(st.dictionaries(COLUMNS, JSON))}))
def test_whatever_is_asked_is_answered_or_refused_in_a_line(service, body):
    answer(service.predict, body)


@settings(max_examples=300)
@given(st.dictionaries(COLUMNS, JSON, max_size=2))
def test_whatever_a_row_holds_it_is_logged_or_refused(service, state, changes):
    before = state.holds()["served"]
    found = answer(service.predict, {"rows": [{**ROW, **changes}]})
    assert state.holds()["served"] == before + (not isinstance(found, RefusedError))


@settings(max_examples=300)
@given(st.lists(st.fixed_dictionaries({"id": PLAIN, "label": JSON}), max_size=3))
def test_whatever_label_is_posted_is_kept_or_refused(service, state, body):
    before = state.holds()["posted"]
    found = answer(service.labels, body)
    kept = 0 if isinstance(found, RefusedError) else len(body)
    assert state.holds()["posted"] == before + kept


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("a-1", "a-1"),
        (1, "1"),
        (1.5, "1.5"),
        (True, "True"),
        (9007199254740993, "9007199254740993"),
        (7.0, "7"),
        ("000123", "000123"),
        ("1e3", "1e3"),
    ],
)
def test_an_id_is_the_one_that_a_file_would_have(service, state, sent, kept):
    answer(service.labels, [{"id": sent, "label": 1}])
    assert state.posted()[-1][1] == kept
    row = answer(service.predict, {"rows": [{**ROW, "order": sent}]})["forecasts"][0]
    assert row["id"] == kept


def test_one_id_twice_in_a_request_is_refused(service, state):
    before = state.holds()
    twice = [{**ROW, "order": "a"}, {**ROW, "order": "b"}, {**ROW, "order": "a"}]
    labels = [{"id": 9, "label": 1}, {"id": "9", "label": 2}]

    for asked, body in ((service.predict, {"rows": twice}), (service.labels, labels)):
        assert "id '" in (found := str(answer(asked, body)))
        assert "is that of rows 1 and" in found
    assert state.holds() == before


@pytest.mark.parametrize("sent", [None, [1], {}, 2.0**53])
def test_what_is_no_id_is_refused(service, sent):
    assert isinstance(answer(service.labels, [{"id": sent, "label": 1}]), RefusedError)


def test_more_rows_than_may_wait_are_refused(service, monkeypatch):
    monkeypatch.setattr(serving, "MOST_WAITING", -1)
    with pytest.raises(RefusedError, match="0 rows wait already: try again in a second") as caught:
        asyncio.run(service.predict(json.dumps({"rows": [ROW]}).encode()))
    assert caught.value.status == 503


def told_champion(version):
    told = {"model": "sales", "version": version, "lineage": "1", "digest": "d"}
    return SimpleNamespace(told=lambda: told)


def test_the_snapshot_that_forecasts_is_the_only_one():
    meters = Meters()
    assert b"leaseboard_snapshot{" not in meters.text(None)
    meters.text(told_champion("1"))
    text = meters.text(told_champion("2"))
    assert text.count(b"leaseboard_snapshot{") == 1
    assert b'version="2"} 1.0' in text


def test_each_server_counts_its_own():
    Meters().forecasts.inc()
    assert b"leaseboard_forecasts_total 0.0" in Meters().text(None)
