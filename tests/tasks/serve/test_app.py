"""What the server answers, and what it refuses: in one line that says what, the rule, the mend."""

from __future__ import annotations

import asyncio
import json
import math
import resource
import sqlite3
import time

import pytest

from leaseboard.tasks.keep.publication import publish
from leaseboard.tasks.serve import app as serving
from tests.repeated import REPEATED, assert_flat


def wait_for(condition):
    """Until it holds."""
    deadline = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_row_is_forecast_as_in_the_shadow_and_logged(asker):
    server = asker()
    frame = server.shop.rows(2).drop(columns="revenue")
    rows = [
        {**row, "day": row["day"].isoformat()}
        for row in frame.astype({"rain": bool}).to_dict("records")
    ]
    status, told = server.ask("POST", "/predict", {"rows": rows})
    server.shop.turn()

    settled = server.shop.kept.state.settled(40)
    measured = {row.id: json.loads(row.forecasts)["1"] for row in settled}
    assert status == 200
    assert told["snapshot"]["version"] == "1"
    assert told["level"] == 0.9
    assert {f["id"]: [f["forecast"], f["low"], f["high"]] for f in told["forecasts"]} == measured
    log = server.served()
    assert {each.id: json.loads(each.forecast) for each in log} == measured
    assert {each.snapshot for each in log} == {"sales/1"}


def test_what_comes_at_once_is_answered_and_logged(asker, row):
    server = asker()
    questions = [
        ("POST", "/predict", {"rows": [{**row, "order": f"{i}", "price": i / 50}]})
        for i in range(50)
    ]
    found = server.ask_many(questions)
    assert [status for status, _ in found] == [200] * 50
    assert [told["forecasts"][0]["id"] for _, told in found] == [str(i) for i in range(50)]
    assert len(server.served()) == 50


def test_it_follows_the_champion(asker, row, uri):
    server = asker()
    before = server.ask("POST", "/predict", {"rows": [row]})[1]
    server.shop.turn()
    publish(uri, server.shop.kept)
    wait_for(lambda: server.follower.champion.version == "2")
    after = server.ask("POST", "/predict", {"rows": [row]})[1]
    assert after["snapshot"]["version"] == "2"
    assert after["forecasts"] != before["forecasts"]
    assert server.said == [f"forecasts come from models:/sales/{each}" for each in (1, 2)]


def test_it_starts_before_there_is_a_champion(asker, row, uri):
    server = asker(learned=False)
    assert server.ask("GET", "/health") == (503, {"status": "no champion yet", "fault": ""})
    status, told = server.ask("POST", "/predict", {"rows": [row]})
    assert (status, told["error"]) == (
        503, "there is no champion yet: take a turn with `leaseboard keep`"
    )  # fmt: skip
    server.shop.turn()
    publish(uri, server.shop.kept)
    wait_for(lambda: server.ask("GET", "/health")[0] == 200)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"price": 1e9}, "row 1: price 1000000000.0 is above 10: mend it, or leave it out (1 of"),
        ({"price": None}, "price is missing"),
        ({"day": "2026-02-30"}, "'2026-02-30' is not a date"),
        ({"rain": "perhaps"}, "neither true nor false"),
        ({"order": None}, "order is missing"),
        ({"order": ""}, "order '' is no id: write 1 to 500 characters"),
        ({"order": "a\0b"}, "is no id"),
        ({"order": "a" * 501}, "is no id"),
        ({"order": ["a"]}, "is neither a text"),
        ({"price": math.nan}, "price is missing"),
        ({"price": math.inf}, "price inf is not a number"),
        ({"price": 10**400}, "is not a number"),
        ({"price": True}, "price True is not a number"),
        ({"shop": {"a": [1]}}, "is neither a text"),
    ],
)
def test_what_breaks_the_contract_is_refused_with_its_reason(asker, row, change, said):
    server = asker()
    status, told = server.ask("POST", "/predict", {"rows": [{**row, **change}, row]})
    assert status == 422
    assert said in told["error"]
    assert [each["row"] for each in told["refused"]] == [1]
    assert server.served() == []


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"{", 422, "Invalid JSON"),
        (b"", 422, "Invalid JSON"),
        ({"rows": []}, 422, "at least 1 item"),
        ({"row": []}, 422, 'rows: Field required: send {"rows": [{...}]}'),
        ({"rows": [1]}, 422, "rows.0: Input should be an object"),
        ({"rows": [{}], "more": 1}, 422, "more: Extra inputs are not permitted"),
        ({"rows": [{}] * 1001}, 422, "at most 1000 items"),
        ({"rows": [{"a": 1}], "level": 0.42}, 422, "level 0.42: this model tells no such"),
        (b'{"rows": [{"a": "' + b"x" * serving.MOST_BYTES + b'"}]}', 413, "more than 2,000,000"),
        (b"[" * 100_000, 422, "recursion limit"),
        (b'{"rows": ' + b'{"a":' * 10_000, 422, "recursion limit"),
        (b'{"rows": [{"order": "\xff"}]}', 422, "Invalid JSON"),
        (b'{"rows": [{"order": "\\ud800"}]}', 422, "Invalid JSON"),
        (b'{"rows": [{"order": ' + b"9" * 5000 + b"}]}", 422, ""),
        (b'{"rows": [{"order": 1}], "level": NaN}', 422, "level nan"),
        (b'{"rows": [{"order": 1}], "level": 1e999}', 422, "level inf"),
    ],
)
def test_other_bodies_are_one_line(asker, body, status, said):
    found, told = asker().ask("POST", "/predict", body)
    assert found == status
    assert said in told["error"]
    assert "\n" not in told["error"]


def test_what_is_not_required_may_be_left_out(asker, row):
    server = asker()
    path = server.shop.kept.keep.contract
    path.write_text(path.read_text().replace("missing: 0.5", "missing: 1, required: false"))
    server.follower.look()
    forecasts = []
    for given in ({**row, "shop": None, "rain": None}, {**row, "shop": None}):
        del given["shop"]
        forecasts.append(server.ask("POST", "/predict", {"rows": [given]})[1]["forecasts"])
    del row["shop"], row["rain"]
    status, told = server.ask("POST", "/predict", {"rows": [row]})
    assert status == 200
    assert told["forecasts"] == forecasts[0]
    assert told["forecasts"] != forecasts[1]


def test_a_kind_that_the_champion_has_not_learned_is_refused(asker, row):
    server = asker()
    path = server.shop.kept.keep.contract
    path.write_text(path.read_text().replace("kind: number, low: -10, high: 10", "kind: text"))
    server.follower.look()
    status, told = server.ask("POST", "/predict", {"rows": [{**row, "price": "cheap"}]})
    assert status == 422
    assert "price 'cheap' is no real, as the model has learned it" in told["error"]
    assert server.ask("POST", "/predict", {"rows": [{**row, "price": "1.25"}]})[0] == 200
    assert len(server.served()) == 1


def test_a_forecast_that_is_no_number_is_null(asker, row, monkeypatch):
    server = asker()
    champion = server.follower.champion
    monkeypatch.setattr(champion.snapshot, "foresee", lambda *_: [math.nan, [1, 2, math.inf]])
    status, told = server.ask("POST", "/predict", {"rows": [row, row | {"order": "a-2"}]})
    assert status == 200
    assert told["forecasts"] == [
        {"id": "a-1", "forecast": None}, {"id": "a-2", "forecast": 1, "low": 2, "high": None}
    ]  # fmt: skip


def test_a_state_that_is_written_to_refuses_with_a_reason_and_recovers(asker, row):
    server = asker(patience=0.05)
    asked = ("POST", "/predict", {"rows": [row]})
    assert server.ask(*asked)[0] == 200
    with sqlite3.connect(server.shop.kept.state.place, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        status, told = server.ask(*asked)
        assert (status, "database is locked" in told["error"]) == (503, True)
        assert server.ask("POST", "/labels", [{"id": "a", "label": 1}])[0] == 503
        status, told = server.ask("GET", "/health")
        assert (status, told["status"]) == (503, "the state cannot be written")
        assert "database is locked" in told["fault"]
        other.execute("ROLLBACK")
    status, told = server.ask("GET", "/health")
    assert (status, told["fault"]) == (200, "")
    assert server.ask(*asked)[0] == 200
    assert len(server.served()) == 2


@pytest.mark.parametrize("path", ["/predict", "/labels"])
def test_a_full_disk_is_seen_in_health_metrics_and_log_until_it_is_over(asker, row, path):
    server = asker()
    asked = ("POST", path, {"rows": [row]} if path == "/predict" else [{"id": "a", "label": 1}])
    assert server.ask(*asked)[0] < 300
    log = server.shop.kept.state.place.with_name("state.sqlite-wal")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (max(log.stat().st_size, 4096), before[1]))
    try:
        assert server.ask(*asked)[0] == 503
        for _ in range(2):
            status, told = server.ask("GET", "/health")
            assert (status, told["status"]) == (503, "the state cannot be written")
            assert told["fault"]
            assert "leaseboard_fault 1.0" in server.ask("GET", "/metrics")[1]
        assert told["fault"] in server.said
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "leaseboard_fault 0.0" in server.ask("GET", "/metrics")[1]
    assert server.ask("GET", "/health")[0] == 200
    assert server.said[-1] == "the state can be written again"
    assert server.ask(*asked)[0] < 300


def test_a_state_that_is_gone_refuses_with_a_reason_and_recovers(asker, row, tmp_path):
    server = asker()
    asked, place = ("POST", "/predict", {"rows": [row]}), server.shop.kept.state.place
    assert server.ask(*asked)[0] == 200
    place.rename(tmp_path / "away")
    status, told = server.ask(*asked)
    assert (status, "the file was removed" in told["error"]) == (503, True)
    status, text = server.ask("GET", "/metrics")
    assert status == 200, "they are wanted now of all times"
    assert "leaseboard_fault 1.0" in text
    (tmp_path / "away").rename(place)
    assert server.ask(*asked)[0] == 200
    assert "leaseboard_fault 0.0" in server.ask("GET", "/metrics")[1]


def test_why_something_is_wrong_is_told_to_those_with_the_token(asker):
    server = asker(token="secret")
    server.shop.kept.keep.contract.write_text("columns: 3")
    server.follower.look()
    assert "fault" not in server.ask("GET", "/health")[1]
    bearer = {"authorization": "Bearer secret"}
    assert "contract.yaml" in server.ask("GET", "/health", headers=bearer)[1]["fault"]


def test_what_is_compressed_is_refused(asker, row):
    status, told = asker().ask(
        "POST", "/predict", {"rows": [row]}, headers={"content-encoding": "gzip"}
    )
    assert (status, told["error"]) == (415, "content encoding 'gzip': send the body as it is")


@pytest.mark.parametrize(
    ("messages", "kind"),
    [
        ([{"type": "http.disconnect"}], "gone"),
        ([{"type": "http.request", "body": b"{", "more_body": True}], "slow"),
    ],
)
def test_who_leaves_or_sends_slowly_is_no_fault_of_ours(asker, monkeypatch, messages, kind):
    server = asker(learned=False)
    monkeypatch.setattr(serving, "PATIENCE", 0.01)
    said = list(server.said)
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/predict", "headers": headers,
             "query_string": b"", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
             "scheme": "http", "root_path": "", "http_version": "1.1"}  # fmt: skip
    sent = []

    async def receive():
        if messages:
            return messages.pop()
        return await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    asyncio.run(server.app(scope, receive, send))
    assert server.said == said
    text = server.ask("GET", "/metrics")[1]
    assert f'leaseboard_refusals_total{{reason="{kind}"}} 1.0' in text
    assert "leaseboard_errors_total 0.0" in text


def test_the_level_of_intervals_is_the_callers(asker, row):
    server = asker()
    narrow, wide = (
        server.ask("POST", "/predict", {"rows": [row], "level": level})[1]["forecasts"][0]
        for level in (0.5, 0.8)
    )
    assert wide["low"] <= narrow["low"] <= narrow["forecast"] <= narrow["high"] <= wide["high"]
    with server.shop.kept.state.begun() as connection:
        found = connection.exec_driver_sql("select level from keep_sales_served order by number")
        assert found.scalars().all() == [0.5, 0.8]


def test_labels_wait_for_the_next_turn(asker):
    server = asker()
    status, told = server.ask("POST", "/labels", [{"id": "0-1", "label": 3}])
    assert (status, told) == (202, {"posted": 1})
    assert server.shop.kept.state.posted() == [(1, "0-1", "3.0")]
    for label, said in ((None, "revenue is missing"), ("many", "'many' is not a number")):
        status, told = server.ask("POST", "/labels", [{"id": "0-1", "label": label}])
        assert status == 422
        assert said in told["error"]


def test_an_edited_contract_counts_at_once_and_a_broken_one_is_told(asker, row):
    server = asker()
    path = server.shop.kept.keep.contract
    path.write_text(path.read_text().replace("high: 10", "high: 1"))
    server.follower.look()
    assert server.ask("POST", "/predict", {"rows": [row]})[0] == 422
    path.write_text("columns: 3")
    server.follower.look()
    status, told = server.ask("GET", "/health")
    assert status == 200
    assert "contract.yaml" in told["fault"]
    assert server.said[-1] == told["fault"]
    assert server.ask("POST", "/predict", {"rows": [row]})[0] == 422


def test_metrics_count_what_was_answered_and_refused(asker, row):
    server = asker()
    server.shop.turn()
    server.ask("POST", "/predict", {"rows": [row, row | {"order": "a-2"}]})
    server.ask("POST", "/predict", {"rows": [{}]})
    status, text = server.ask("GET", "/metrics")
    assert status == 200
    for line in (
        'leaseboard_requests_total{path="/predict",status="200"} 1.0',
        'leaseboard_refusals_total{reason="contract"} 1.0',
        "leaseboard_forecasts_total 2.0",
        'leaseboard_request_seconds_count{path="/predict"} 2.0',
        "leaseboard_labels_waiting 0.0",
        'lineage="1",model="sales",version="1"} 1.0',
    ):
        assert line in text
    assert "leaseboard_snapshot_age_seconds" in text


def test_no_traceback_is_a_callers(asker, row, monkeypatch):
    server = asker()

    def fails(*_):
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(server.follower.champion.snapshot, "foresee", fails)
    status, told = server.ask("POST", "/predict", {"rows": [row]})
    assert status == 500
    assert told == {"error": "internal error: the server's output says more"}
    assert server.said[-1] == "internal error: ZeroDivisionError: secret"
    monkeypatch.undo()
    assert server.ask("POST", "/predict", {"rows": [row]})[0] == 200


def test_nothing_is_told_that_cannot_be_logged(asker, row):
    server = asker()
    assert server.ask("POST", "/predict", {"rows": [row]})[0] == 200
    with server.shop.kept.state.begun() as connection:
        connection.exec_driver_sql("drop table keep_sales_served")
    status, told = server.ask("POST", "/predict", {"rows": [row]})
    assert status == 503
    assert "cannot be used: no such table" in told["error"]


@pytest.mark.parametrize("path", ["/", "/docs", "/predict/"])
def test_other_paths_say_which_there_are(asker, path):
    status, told = asker().ask("GET", path)
    assert status in (404, 405)
    assert "POST /predict, POST /labels, GET /health" in told["error"]


@REPEATED
def test_requests_leave_no_file_open_and_no_memory(asker, row, times):
    server = asker()

    def request(number):
        asked = {"rows": [{**row, "order": f"{number}"}]}
        assert server.ask("POST", "/predict", asked)[0] == 200
        assert server.ask("POST", "/predict", {"rows": [{}]})[0] == 422
        assert server.ask("GET", "/health")[0] == 200

    assert_flat(request, times)
