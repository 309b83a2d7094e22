"""Answers of the server, and refusals: in one line that says what, the rule, how to fix it."""

from __future__ import annotations

import asyncio
import json
import math
import resource
import sqlite3
import time

import pytest

from leaseboard.tasks.live.publication import publish
from leaseboard.tasks.serve import app as serving
from tests.repeated import REPEATED, assert_flat
from tests.tasks.live.shops import LATER


def wait_for(condition):
    """Wait until it holds."""
    deadline = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_row_is_predicted_as_in_the_shadow_and_logged(asker):
    server = asker()
    frame = server.shop.rows(2).drop(columns="revenue")
    rows = [
        {**row, "day": row["day"].isoformat()}
        for row in frame.astype({"rain": bool}).to_dict("records")
    ]
    asked = {"dataframe_records": rows, "params": {"level": 0.9}}
    status, reported = server.ask("POST", "/invocations", asked)
    server.shop.update()

    labelled = server.shop.live.state.labelled_rows(40)
    measured = {row.id: json.loads(row.predictions)["1"] for row in labelled}
    assert status == 200
    assert reported["snapshot"]["version"] == "1"
    assert reported["level"] == 0.9
    found = [[each[part] for part in ("prediction", "low", "high")]
             for each in reported["predictions"]]  # fmt: skip
    assert dict(zip(reported["ids"], found, strict=True)) == measured
    log = server.served()
    assert {each.id: json.loads(each.prediction) for each in log} == measured
    assert {each.snapshot for each in log} == {"sales/1"}


def test_what_comes_at_once_is_answered_and_logged(asker, row):
    server = asker()
    questions = [
        (
            "POST",
            "/invocations",
            {"dataframe_records": [{**row, "order": f"{i}", "price": i / 50}]},
        )
        for i in range(50)
    ]
    found = server.ask_many(questions)
    assert [status for status, _ in found] == [200] * 50
    assert [reported["ids"][0] for _, reported in found] == [str(i) for i in range(50)]
    assert len(server.served()) == 50


def test_it_follows_the_champion(asker, row, uri):
    server = asker()
    before = server.ask("POST", "/invocations", {"dataframe_records": [row]})[1]
    server.shop.update()
    publish(uri, server.shop.live, LATER)
    wait_for(lambda: server.follower.champion.version == "2")
    after = server.ask("POST", "/invocations", {"dataframe_records": [row]})[1]
    assert after["snapshot"]["version"] == "2"
    assert after["predictions"] != before["predictions"]
    assert server.said == [f"predictions come from models:/sales/{each}" for each in (1, 2)]


def test_it_starts_before_there_is_a_champion(asker, row, uri):
    server = asker(learned=False)
    assert server.ask("GET", "/health") == (503, {"status": "no champion yet", "fault": ""})
    status, reported = server.ask("POST", "/invocations", {"dataframe_records": [row]})
    assert (status, reported["error"]) == (
        503, "no champion yet: run `leaseboard live update`"
    )  # fmt: skip
    server.shop.update()
    publish(uri, server.shop.live, LATER)
    wait_for(lambda: server.ask("GET", "/health")[0] == 200)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"price": 1e9}, "row 1: price 1000000000.0 is above 10: fix it, or leave it out (1 of"),
        ({"price": None}, "price is missing"),
        ({"order": None}, "order is missing"),
        ({"order": ""}, "order '' is not an id: write 1 to 500 characters"),
        ({"order": "a\0b"}, "is not an id"),
        ({"price": math.inf}, "price inf is not finite in 32 bits"),
        ({"price": True}, "price True is not a number"),
    ],
)
def test_what_breaks_the_contract_is_refused_with_its_reason(asker, row, change, said):
    server = asker()
    status, reported = server.ask(
        "POST", "/invocations", {"dataframe_records": [{**row, **change}, row]}
    )
    assert status == 400
    assert said in reported["error"]
    assert [each["row"] for each in reported["refused"]] == [1]
    assert server.served() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"{", 400, "Invalid JSON"),
        ({"dataframe_records": []}, 400, "0 rows: send 1 to 1,000 in a request"),
        ({"row": []}, 400, 'row is unknown: remove it: send {"dataframe_records": [{...}]}'),
        ({"dataframe_records": [{}] * 1001}, 400, "1,001 rows: send 1 to 1,000"),
        (
            {"dataframe_records": [{"a": 1}], "params": {"level": 0.42}},
            400,
            "level 0.42: this model has no such",
        ),
        (
            b'{"dataframe_records": [{"a": "' + b"x" * serving.MOST_BYTES + b'"}]}',
            413,
            "more than 2,000,000",
        ),
    ],
)
def test_other_bodies_are_one_line(asker, body, status, said):
    found, reported = asker().ask("POST", "/invocations", body)
    assert found == status
    assert said in reported["error"]
    assert "\n" not in reported["error"]


def test_what_is_not_required_may_be_left_out(asker, row):
    server = asker()
    path = server.shop.live.settings.contract
    path.write_text(path.read_text().replace("missing: 0.5", "missing: 1, required: false"))
    server.follower.look()
    predictions = []
    for given in ({**row, "shop": None, "rain": None}, {**row, "shop": None}):
        del given["shop"]
        predictions.append(
            server.ask("POST", "/invocations", {"dataframe_records": [given]})[1]["predictions"]
        )
    del row["shop"], row["rain"]
    status, reported = server.ask("POST", "/invocations", {"dataframe_records": [row]})
    assert status == 200
    assert reported["predictions"] == predictions[0]
    assert reported["predictions"] != predictions[1]


def test_a_kind_that_the_champion_has_not_learned_is_refused(asker, row):
    server = asker()
    path = server.shop.live.settings.contract
    path.write_text(path.read_text().replace("kind: number, low: -10, high: 10", "kind: text"))
    server.follower.look()
    status, reported = server.ask(
        "POST", "/invocations", {"dataframe_records": [{**row, "price": "cheap"}]}
    )
    assert status == 400
    assert "price 'cheap' is not of kind number, as the model has learned it" in reported["error"]
    assert (
        server.ask("POST", "/invocations", {"dataframe_records": [{**row, "price": "1.25"}]})[0]
        == 200
    )
    assert len(server.served()) == 1


def test_a_prediction_that_is_not_a_number_is_null(asker, row, monkeypatch):
    server = asker()
    champion = server.follower.champion
    monkeypatch.setattr(champion.snapshot, "predict_rows", lambda *_: [math.nan, [1, 2, math.inf]])
    asked = {"dataframe_records": [row, row | {"order": "a-2"}], "params": {"level": 0.9}}
    status, reported = server.ask("POST", "/invocations", asked)
    assert status == 200
    assert reported["predictions"] == [
        {"prediction": None}, {"prediction": 1, "low": 2, "high": None}
    ]  # fmt: skip


def test_a_state_that_is_written_to_refuses_with_a_reason_and_recovers(asker, row):
    server = asker(patience=0.05)
    asked = ("POST", "/invocations", {"dataframe_records": [row]})
    assert server.ask(*asked)[0] == 200
    with sqlite3.connect(server.shop.live.state.place, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        status, reported = server.ask(*asked)
        assert (status, "database is locked" in reported["error"]) == (503, True)
        assert server.ask("POST", "/labels", [{"id": "a", "label": 1}])[0] == 503
        status, reported = server.ask("GET", "/health")
        assert (status, reported["status"]) == (503, "the state cannot be written")
        assert "database is locked" in reported["fault"]
        other.execute("ROLLBACK")
    status, reported = server.ask("GET", "/health")
    assert (status, reported["fault"]) == (200, "")
    assert server.ask(*asked)[0] == 200
    assert len(server.served()) == 2


@pytest.mark.parametrize("path", ["/invocations", "/labels"])
def test_a_full_disk_is_seen_in_health_metrics_and_log_until_it_is_over(asker, row, path):
    server = asker()
    asked = (
        "POST",
        path,
        {"dataframe_records": [row]} if path == "/invocations" else [{"id": "a", "label": 1}],
    )
    assert server.ask(*asked)[0] < 300
    log = server.shop.live.state.place.with_name("state.sqlite-wal")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (max(log.stat().st_size, 4096), before[1]))
    try:
        assert server.ask(*asked)[0] == 503
        for _ in range(2):
            status, reported = server.ask("GET", "/health")
            assert (status, reported["status"]) == (503, "the state cannot be written")
            assert reported["fault"]
            assert "leaseboard_fault 1.0" in server.ask("GET", "/metrics")[1]
        assert reported["fault"] in server.said
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "leaseboard_fault 0.0" in server.ask("GET", "/metrics")[1]
    assert server.ask("GET", "/health")[0] == 200
    assert server.said[-1] == "the state can be written again"
    assert server.ask(*asked)[0] < 300


def test_a_state_that_is_gone_refuses_with_a_reason_and_recovers(asker, row, tmp_path):
    server = asker()
    asked, place = (
        ("POST", "/invocations", {"dataframe_records": [row]}),
        server.shop.live.state.place,
    )
    assert server.ask(*asked)[0] == 200
    place.rename(tmp_path / "away")
    status, reported = server.ask(*asked)
    assert (status, "the file was removed" in reported["error"]) == (503, True)
    status, text = server.ask("GET", "/metrics")
    assert status == 200, "they are wanted now of all times"
    assert "leaseboard_fault 1.0" in text
    (tmp_path / "away").rename(place)
    assert server.ask(*asked)[0] == 200
    assert "leaseboard_fault 0.0" in server.ask("GET", "/metrics")[1]


def test_why_something_is_wrong_is_reported_to_those_with_the_token(asker):
    server = asker(token="secret")
    server.shop.live.settings.contract.write_text("columns: 3")
    server.follower.look()
    assert "fault" not in server.ask("GET", "/health")[1]
    bearer = {"authorization": "Bearer secret"}
    assert "contract.yaml" in server.ask("GET", "/health", headers=bearer)[1]["fault"]


def test_a_caller_who_leaves_is_not_a_fault_of_ours(asker):
    server = asker(learned=False)
    said = list(server.said)
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/invocations", "headers": headers,
             "query_string": b""}  # fmt: skip

    async def receive():
        return {"type": "http.disconnect"}

    async def send(_):
        pass

    asyncio.run(server.app(scope, receive, send))
    assert server.said == said
    text = server.ask("GET", "/metrics")[1]
    assert 'leaseboard_refusals_total{reason="gone"} 1.0' in text
    assert "leaseboard_errors_total 0.0" in text


def test_the_level_of_intervals_is_the_callers(asker, row):
    server = asker()
    narrow, wide = (
        server.ask(
            "POST", "/invocations", {"dataframe_records": [row], "params": {"level": level}}
        )[1]["predictions"][0]
        for level in (0.5, 0.8)
    )
    assert wide["low"] <= narrow["low"] <= narrow["prediction"] <= narrow["high"] <= wide["high"]
    with server.shop.live.state.connected() as connection:
        found = connection.exec_driver_sql("select level from live_sales_served order by number")
        assert found.scalars().all() == [0.5, 0.8]


def test_labels_wait_for_the_next_update(asker):
    server = asker()
    status, reported = server.ask("POST", "/labels", [{"id": "0-1", "label": 3}])
    assert (status, reported) == (202, {"posted": 1})
    assert server.shop.live.state.posted() == [(1, "0-1", "3.0")]
    for label, said in ((None, "revenue is missing"), ("many", "'many' is not a number")):
        status, reported = server.ask("POST", "/labels", [{"id": "0-1", "label": label}])
        assert status == 400
        assert said in reported["error"]


def test_an_edited_contract_counts_at_once_and_a_broken_one_is_reported(asker, row):
    server = asker()
    path = server.shop.live.settings.contract
    path.write_text(path.read_text().replace("high: 10", "high: 1"))
    server.follower.look()
    assert server.ask("POST", "/invocations", {"dataframe_records": [row]})[0] == 400
    path.write_text("columns: 3")
    server.follower.look()
    status, reported = server.ask("GET", "/health")
    assert status == 200
    assert "contract.yaml" in reported["fault"]
    assert server.said[-1] == reported["fault"]
    assert server.ask("POST", "/invocations", {"dataframe_records": [row]})[0] == 400


def test_metrics_count_what_was_answered_and_refused(asker, row):
    server = asker()
    server.shop.update()
    server.ask("POST", "/invocations", {"dataframe_records": [row, row | {"order": "a-2"}]})
    server.ask("POST", "/invocations", {"dataframe_records": [{}]})
    status, text = server.ask("GET", "/metrics")
    assert status == 200
    for line in (
        'leaseboard_requests_total{path="/invocations",status="200"} 1.0',
        'leaseboard_refusals_total{reason="contract"} 1.0',
        "leaseboard_predictions_total 2.0",
        'leaseboard_request_seconds_count{path="/invocations"} 2.0',
        'leaseboard_snapshot{candidate="1",digest="',
        'model="sales",version="1"} 1.0',
    ):
        assert line in text


def test_no_traceback_is_a_callers(asker, row, monkeypatch):
    server = asker()

    def fails(*_):
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(server.follower.champion.snapshot, "predict_rows", fails)
    status, reported = server.ask("POST", "/invocations", {"dataframe_records": [row]})
    assert status == 500
    assert reported == {"error": "internal error: the server's output says more"}
    assert server.said[-1] == "internal error: ZeroDivisionError: secret"
    monkeypatch.undo()
    assert server.ask("POST", "/invocations", {"dataframe_records": [row]})[0] == 200


@REPEATED
def test_requests_leave_no_file_open_and_no_memory(asker, row, times):
    server = asker()

    def request(number):
        asked = {"dataframe_records": [{**row, "order": f"{number}"}]}
        assert server.ask("POST", "/invocations", asked)[0] == 200
        assert server.ask("POST", "/invocations", {"dataframe_records": [{}]})[0] == 400
        assert server.ask("GET", "/health")[0] == 200

    assert_flat(request, times)


def test_other_paths_and_hosts_are_refused(asker):
    server = asker()
    assert server.ask("GET", "/admin") == (404, {"error": "Not Found"})
    assert server.ask("GET", "/invocations") == (405, {"error": "Method Not Allowed"})
    assert server.ask("GET", "/health", host="evil.example")[0] == 403
