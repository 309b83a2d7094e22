"""What the server answers, and what it refuses: in one line that says what, the rule, the mend."""

from __future__ import annotations

import json
import time

import pytest

from tasks.keep.publish import publish
from tasks.serve import app as serving


def wait_for(condition):
    """Until it holds."""
    deadline = time.monotonic() + 60
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
        ({"day": "2026-02-30"}, "'2026-02-30' is no date"),
        ({"rain": "perhaps"}, "neither true nor false"),
        ({"order": None}, "order is missing"),
    ],
)
def test_what_breaks_the_contract_is_refused_with_its_reason(asker, row, change, said):
    server = asker()
    status, told = server.ask("POST", "/predict", {"rows": [{**row, **change}, row]})
    assert status == 422
    assert said in told["error"]
    assert [each["row"] for each in told["refused"]] == [1]
    assert server.served() == []


def test_a_column_that_lacks_is_named(asker, row):
    server = asker()
    del row["price"]
    assert "no column 'price'" in server.ask("POST", "/predict", {"rows": [row]})[1]["error"]


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
    ],
)
def test_other_bodies_are_one_line(asker, body, status, said):
    found, told = asker().ask("POST", "/predict", body)
    assert found == status
    assert said in told["error"]
    assert "\n" not in told["error"]


def test_the_level_of_intervals_is_the_callers(asker, row):
    server = asker()
    narrow, wide = (
        server.ask("POST", "/predict", {"rows": [row], "level": level})[1]["forecasts"][0]
        for level in (0.5, 0.8)
    )
    assert wide["low"] <= narrow["low"] <= narrow["forecast"] <= narrow["high"] <= wide["high"]


def test_labels_wait_for_the_next_turn(asker):
    server = asker()
    status, told = server.ask("POST", "/labels", [{"id": "0-1", "label": 3}])
    assert (status, told) == (202, {"posted": 1})
    assert server.shop.kept.state.posted() == [(1, "0-1", "3.0")]
    for label, said in ((None, "revenue is missing"), ("many", "'many' is no number")):
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
    server.ask("POST", "/predict", {"rows": [row, row]})
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


def test_what_is_no_json_is_refused_by_its_type(asker, row):
    status, told = asker().ask(
        "POST", "/predict", {"rows": [row]}, headers={"content-type": "text/plain"}
    )
    assert (status, told["error"]) == (415, "content type 'text/plain': send application/json")
