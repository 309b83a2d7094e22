"""The answers to any request: a prediction that is logged, or a refusal in one line."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaseboard.tasks.live.rows import features_of, row_reader
from leaseboard.tasks.live.settings import DataSettings
from leaseboard.tasks.serve import invocations
from leaseboard.tasks.serve import service as serving
from leaseboard.tasks.serve.admission import RefusedError
from leaseboard.tasks.serve.champion import RowRules
from leaseboard.tasks.serve.service import Meters, PredictionService
from leaseboard.tasks.store.live_model import State
from tests.tasks.live.shops import CONTRACT

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
    """A champion that predicts a row's price."""

    levels = (0.9,)
    read = staticmethod(row_reader(features_of(CONTRACT, DATA)))

    def predict_rows(self, rows, level):
        return [[row["price"], row["price"] - level, row["price"] + level] for row in rows]


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    return State(tmp_path_factory.mktemp("state") / "state.sqlite", "sales")


@pytest.fixture(scope="module")
def service(state):
    reported = {"model": "sales", "version": "1", "candidate": "1", "digest": "d"}
    champion = SimpleNamespace(
        snapshot=FewWords(),
        name="sales",
        version="1",
        describe=lambda: reported,
        made=NOW.timestamp(),
    )
    follower = SimpleNamespace(
        champion=champion,
        rules=RowRules(CONTRACT, DATA),
        fault="",
        stop=lambda: None,
        report=lambda _: None,
    )
    made = PredictionService(DATA, follower, state, lambda: NOW)
    yield made
    made.stop()


def invoked(service):
    """Return what answers the body of an invocation."""

    async def invoke(body):
        rows, params = invocations.read(body, invocations.JSON, service.follower.rules.columns)
        return invocations.answer(params, await service.predict(rows, params.level))

    return invoke


def answer(asked, body):
    """Return the answer, or the refusal."""
    try:
        return asyncio.run(asked(json.dumps(body).encode()))
    except RefusedError as refused:
        found = refused
    assert found.status == 400
    assert "\n" not in str(found)
    assert len(str(found)) < 1000
    return found


@pytest.mark.slow
@settings(max_examples=300)
@given(
    JSON | st.fixed_dictionaries({"dataframe_records": st.lists(st.dictionaries(COLUMNS, JSON))})
)
def test_any_request_is_answered_or_refused_in_a_line(service, body):
    answer(invoked(service), body)


@pytest.mark.slow
@settings(max_examples=300)
@given(st.dictionaries(COLUMNS, JSON, max_size=2))
def test_any_row_is_logged_or_refused(service, state, changes):
    before = state.counts()["served"]
    found = answer(invoked(service), {"dataframe_records": [{**ROW, **changes}]})
    assert state.counts()["served"] == before + (not isinstance(found, RefusedError))


@pytest.mark.slow
@settings(max_examples=300)
@given(st.lists(st.fixed_dictionaries({"id": PLAIN, "label": JSON}), max_size=3))
def test_any_posted_label_is_kept_or_refused(service, state, body):
    before = state.counts()["posted"]
    found = answer(service.labels, body)
    kept = 0 if isinstance(found, RefusedError) else len(body)
    assert state.counts()["posted"] == before + kept


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("a-1", "a-1"),
        (1, "1"),
        (9007199254740993, "9007199254740993"),
        (7.0, "7"),
        ("000123", "000123"),
    ],
)
def test_an_id_is_the_one_that_a_file_would_have(service, state, sent, kept):
    answer(service.labels, [{"id": sent, "label": 1}])
    assert state.posted()[-1][1] == kept
    found = answer(invoked(service), {"dataframe_records": [{**ROW, "order": sent}]})
    assert found["ids"] == [kept]


def test_one_id_twice_in_a_request_is_refused(service, state):
    before = state.counts()
    twice = [{**ROW, "order": "a"}, {**ROW, "order": "b"}, {**ROW, "order": "a"}]
    labels = [{"id": 9, "label": 1}, {"id": "9", "label": 2}]

    for asked, body in (
        (invoked(service), {"dataframe_records": twice}),
        (service.labels, labels),
    ):
        assert "id '" in (found := str(answer(asked, body)))
        assert "is that of rows 1 and" in found
    assert state.counts() == before


@pytest.mark.parametrize("sent", [None, [1], {}, 2.0**53])
def test_what_is_not_an_id_is_refused(service, sent):
    assert isinstance(answer(service.labels, [{"id": sent, "label": 1}]), RefusedError)


def test_more_rows_than_may_wait_are_refused(service, monkeypatch):
    monkeypatch.setattr(serving, "MOST_WAITING", -1)
    with pytest.raises(RefusedError, match="0 rows wait already: try again in a second") as caught:
        asyncio.run(service.predict([ROW], None))
    assert caught.value.status == 503


def reported_champion(version):
    reported = {"model": "sales", "version": version, "candidate": "1", "digest": "d"}
    return SimpleNamespace(describe=lambda: reported)


def test_the_snapshot_that_predicts_is_the_only_one():
    meters = Meters()
    assert b"leaseboard_snapshot{" not in meters.text(None)
    meters.text(reported_champion("1"))
    text = meters.text(reported_champion("2"))
    assert text.count(b"leaseboard_snapshot{") == 1
    assert b'version="2"} 1.0' in text


def test_each_server_counts_its_own():
    Meters().predictions.inc()
    assert b"leaseboard_predictions_total 0.0" in Meters().text(None)
