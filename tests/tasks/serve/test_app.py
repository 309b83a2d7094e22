"""Answers of the server, and refusals: in one line that says what, the rule, how to fix it."""

import json
import math
import sqlite3

import mlflow
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mlflow.deployments import PredictionsResponse
from mlflow.models.utils import convert_input_example_to_serving_input
from mlflow.utils.proto_json_utils import dump_input_data

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.live.record import publish
from leaseboard.tasks.serve.app import check_place
from tests.repeated import REPEATED, assert_flat
from tests.tasks.live.shops import CONTRACT, LATER, Shop
from tests.tasks.serve.conftest import Asker

COLUMNS = [name for name in CONTRACT.columns if name != "revenue"]
ROWS = [
    {"order": "a", "day": "2026-01-02", "price": 1.25, "rain": True, "shop": "x"},
    {"order": "b", "day": "2026-01-03", "price": -2.0, "rain": None, "shop": None},
]
FRAME = pd.DataFrame(ROWS)
VALUES = [list(row.values()) for row in ROWS]
ROW = ROWS[0]
RECORDS = "dataframe_records"
FORMS = [
    {"dataframe_records": ROWS},
    {"dataframe_split": {"columns": COLUMNS, "data": VALUES, "index": [7, 8]}},
    dump_input_data(FRAME.astype(object).where(FRAME.notna(), None)),
]


def test_a_row_is_predicted_as_in_the_shadow_and_logged(asker):
    server = asker()
    frame = server.shop.rows(2).drop(columns="revenue")
    rows = [
        {**row, "day": row["day"].isoformat()}
        for row in frame.astype({"rain": bool}).to_dict("records")
    ]
    asked = {"dataframe_records": rows, "params": {"temperature": 1}}
    status, reported = server.ask("POST", "/invocations", asked)
    server.shop.update()

    labelled = server.shop.live.state.labelled_rows(40)
    measured = {row.id: json.loads(row.predictions)["1"] for row in labelled}
    assert (status, reported["snapshot"]["version"], reported["level"]) == (200, "1", 0.9)
    pairs = zip(reported["predictions"], reported["intervals"], strict=True)
    found = [[middle, *ends] for middle, ends in pairs]
    assert dict(zip(reported["ids"], found, strict=True)) == measured
    log = server.served()
    assert {each.id: json.loads(each.prediction) for each in log} == measured
    assert {each.snapshot for each in log} == {"sales/1"}


def test_every_form_of_mlflow_s_protocol_is_the_same_rows(asker):
    server = asker()
    answers = [server.ask("POST", "/invocations", body) for body in FORMS]
    assert [status for status, _ in answers] == [200] * len(answers)
    predictions = [reported["predictions"] for _, reported in answers]
    assert all(each == predictions[0] for each in predictions)
    assert PredictionsResponse(answers[0][1]).get_predictions().dtypes.tolist() == [np.float64]
    assert [row.id for row in server.served()] == ["a", "b"] * len(answers)
    model = server.follower.champion.snapshot
    sent = FRAME.assign(day=pd.to_datetime(FRAME["day"]))
    assert predictions[0] == model.predict(sent).tolist()
    example = convert_input_example_to_serving_input(FRAME[:1])
    assert server.ask("POST", "/invocations", example)[1]["predictions"] == predictions[0][:1]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"{", 400, "JSON"),
        ({RECORDS: []}, 400, "0 rows: send 1 to 1,000 in a request"),
        ({"row": []}, 400, 'row: Extra inputs are not permitted: send {"dataframe_records"'),
        ({RECORDS: [ROW] * 1001}, 400, "1,001 rows: send 1 to 1,000"),
        (b" " * 2_000_001, 413, "more than 2,000,000"),
        ({**FORMS[0], **FORMS[1]}, 400, "send one form of rows"),
        ({"dataframe_records": 3}, 400, "dataframe_records"),
        ({"dataframe_split": {"columns": COLUMNS, "data": [[1]]}}, 400, "one value for each"),
        ({"dataframe_split": {"columns": ["a", "a"], "data": [[1, 2]]}}, 400, "is there once"),
        ({RECORDS: [{**ROW, "price": 1e9}]}, 400, "row 1: price 1000000000.0 is above 10: "),
        ({RECORDS: [{**ROW, "price": None}]}, 400, "price is missing"),
        ({RECORDS: [{**ROW, "price": math.inf}]}, 400, "price inf is not a number that is finite"),
        ({RECORDS: [{**ROW, "price": True}]}, 400, "price True is not a number"),
        ({RECORDS: [{**ROW, "order": None}]}, 400, "order is missing"),
        ({RECORDS: [{**ROW, "order": 2.0**53}]}, 400, "order 9007199254740992.0 is neither"),
        ({RECORDS: [ROW, {**ROW, "price": 2}]}, 400, "id 'a' is that of several rows"),
        ({RECORDS: [{n: v for n, v in ROW.items() if n != "day"}]}, 400, "no column 'day'"),
    ],
)  # fmt: skip
def test_another_body_is_refused_in_a_line(shared, body, status, said):
    found, reported = shared.ask("POST", "/invocations", body)
    assert (found, said in reported["error"], "\n" in reported["error"]) == (status, True, False)
    assert shared.served() == []


@pytest.fixture(scope="module")
def shared(tmp_path_factory, empty_store):
    """Yield a server for requests that change nothing."""
    yield from a_server(tmp_path_factory.mktemp("shared"), empty_store)


@pytest.fixture(scope="module")
def spare(tmp_path_factory, empty_store):
    """Yield a server for requests of any kind."""
    yield from a_server(tmp_path_factory.mktemp("spare"), empty_store)


def a_server(folder, store):
    (folder / "mlflow.db").write_bytes(store.read_bytes())
    asker = Asker(Shop(folder, b=3), f"sqlite:///{folder / 'mlflow.db'}")
    yield asker
    asker.server.desk.stop()


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
ANY = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
SOME = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@SOME
@given(
    ANY | st.fixed_dictionaries({RECORDS: st.lists(ANY, max_size=2)}),
    st.dictionaries(st.sampled_from(COLUMNS), ANY, max_size=2),
)
def test_any_request_is_logged_or_refused_in_a_line(spare, body, changes):
    before = len(spare.served())
    statuses = []
    for sent in (body, {RECORDS: [{**ROW, **changes}]}):
        status, reported = spare.ask("POST", "/invocations", json.dumps(sent))
        statuses.append(status)
        assert status in (200, 400)
        assert status == 200 or ("\n" not in reported["error"] and len(reported["error"]) < 1000)
    assert len(spare.served()) == before + statuses.count(200)


def test_ids_are_those_that_a_file_would_have(asker):
    server = asker()
    for sent, kept in (("a-1", "a-1"), (1, "1"), (7.0, "7"), ("000123", "000123"),
                       (9007199254740993, "9007199254740993")):  # fmt: skip
        assert server.predict({**ROW, "order": sent})[1]["ids"] == [kept]


def test_what_is_not_required_may_be_left_out_and_is_not_misspelled(asker, row):
    server = asker()
    path = server.shop.live.settings.contract
    path.write_text(path.read_text().replace("missing: 0.5", "missing: 1, required: false"))
    server.follower.look()
    whole = server.predict({**row, "shop": None, "rain": None})[1]["predictions"]
    del row["shop"], row["rain"]
    assert server.predict({**row, "revenue": 1})[1]["predictions"] == whole
    status, reported = server.predict({**row, "shops": "x"})
    assert (status, "no column 'rain', and 'shops' is unknown" in reported["error"]) == (400, True)


def test_a_kind_that_the_champion_has_not_learned_is_refused(asker, row):
    server = asker()
    path = server.shop.live.settings.contract
    path.write_text(path.read_text().replace("kind: number, low: -10.0, high: 10.0", "kind: text"))
    server.follower.look()
    status, reported = server.predict({**row, "price": "cheap"})
    assert "finite in 32 bits, as the model has" in reported["error"]
    assert status == 400
    assert server.predict({**row, "price": "1.25"})[0] == 200


def test_an_unknown_category_is_flagged_where_the_column_is_open_and_else_refused(asker, row):
    server = asker()
    rows = [row, {**row, "order": "b", "shop": "nowhere"}, {**row, "order": "c", "shop": None}]
    status, reported = server.predict(*rows)
    assert (status, reported["unknown_categories"]) == (200, [[], ["shop"], []])
    assert "unknown_categories" not in server.predict(row)[1]
    path = server.shop.live.settings.contract
    path.write_text(path.read_text().replace("categories:", "closed: true, categories:"))
    server.follower.look()
    status, reported = server.predict(*rows)
    assert (status, "row 2: shop 'nowhere' is not one of x, y" in reported["error"]) == (400, True)


def test_a_prediction_that_is_not_a_number_is_null(asker, row, monkeypatch):
    server = asker()
    champion = server.follower.champion
    monkeypatch.setattr(
        champion.snapshot, "predict_rows", lambda *_: [[math.nan, 0, 1], [1, 2, math.inf]]
    )
    status, reported = server.predict(row, row | {"order": "a-2"})
    assert (status, reported["predictions"]) == (200, [None, 1])
    assert reported["intervals"] == [[0, 1], [2, None]]


def test_classes_have_their_probabilities(asker, row):
    server = asker(task="classification")
    reported = server.predict(row)[1]
    (shown,) = reported["probabilities"]
    assert reported["predictions"] == [max(shown, key=shown.get)]
    assert sum(shown.values()) == pytest.approx(1)


def test_a_state_that_is_locked_or_gone_refuses_with_a_reason_and_recovers(asker, row, tmp_path):
    server = asker(patience=0.05)
    place = server.shop.live.state.place

    def assert_refused(reason):
        status, reported = server.predict(row)
        assert (status, reason in reported["error"]) == (503, True)
        status, reported = server.ask("GET", "/ping")
        assert (status, reported["status"]) == (503, "the state cannot be written")
        assert reason in reported["fault"]

    with sqlite3.connect(place, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        assert_refused("database is locked")
        other.execute("ROLLBACK")
    assert server.ask("GET", "/ping")[1]["fault"] == ""
    place.rename(tmp_path / "away")
    assert_refused("the file was removed")
    (tmp_path / "away").rename(place)
    assert server.ask("GET", "/metrics")[0] == 200
    assert server.predict(row)[0] == 200


def test_it_starts_before_there_is_a_champion_and_follows_it(asker, row, uri):
    server = asker(learned=False)
    assert server.ask("GET", "/ping") == (503, {"status": "no champion yet", "fault": ""})
    assert server.predict(row) == (503, {"error": "no champion yet: run `leaseboard live update`"})
    found = []
    for _ in range(2):
        server.shop.update()
        publish(uri, server.shop.live, LATER)
        server.follower.look()
        found.append(server.predict(row)[1])
    assert [each["snapshot"]["version"] for each in found] == ["1", "1"]
    assert found[0]["snapshot"]["digest"] != found[1]["snapshot"]["digest"]
    assert found[0]["predictions"] != found[1]["predictions"]
    assert server.said == ["predictions come from models:/sales/1"]


def test_an_edited_contract_counts_at_once_and_a_broken_one_is_reported(asker, row):
    server = asker(token="secret")
    bearer = {"authorization": "Bearer secret"}
    path = server.shop.live.settings.contract
    path.write_text(path.read_text().replace("high: 10", "high: 1"))
    server.follower.look()
    assert server.predict(row, headers=bearer)[0] == 400
    path.write_text("columns: 3")
    server.follower.look()
    assert "fault" not in server.ask("GET", "/ping")[1]
    status, reported = server.ask("GET", "/ping", headers=bearer)
    assert (status, "contract.yaml" in reported["fault"]) == (200, True)
    assert server.said[-1] == reported["fault"]
    assert server.predict(row, headers=bearer)[0] == 400


def test_metrics_count_requests_and_report_incidents_and_updates(asker, row):
    server = asker()
    server.predict(row, row | {"order": "a-2"})
    server.predict({})
    state = server.shop.live.state
    for number, outcome in enumerate(("success", "failure"), 1):
        state.begin_update("2026-02-01T00:00:00+00:00")
        at = f"2026-02-0{number}T00:00:00+00:00"
        state.end_update(at, {}) if outcome == "success" else state.fail_update(at)
    status, text = server.ask("GET", "/metrics")
    assert status == 200
    for line in (
        'leaseboard_request_seconds_count{path="/invocations",status="200"} 1.0',
        'leaseboard_request_seconds_count{path="/invocations",status="400"} 1.0',
        "leaseboard_predictions_total 2.0",
        "leaseboard_open_incidents 0.0",
        'leaseboard_last_update_timestamp_seconds{outcome="success"} 1.769904e+09',
        'leaseboard_last_update_timestamp_seconds{outcome="failure"} 1.7699904e+09',
    ):
        assert line in text


def test_no_traceback_is_a_callers(asker, row, monkeypatch):
    server = asker()

    def fails(*_):
        raise ZeroDivisionError("secret")

    with monkeypatch.context() as patch:
        patch.setattr(server.follower.champion.snapshot, "predict_rows", fails)
        assert server.predict(row) == (
            500, {"error": "internal error: the server's output says more"}
        )  # fmt: skip
    assert server.said[-1] == "internal error: ZeroDivisionError: secret"
    assert server.predict(row)[0] == 200


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", "secret", "Bearer \xff"])
def test_a_wrong_token_is_refused_everywhere_but_at_ping(asker, row, given):
    server = asker(token="secret")
    wrong = {"authorization": given.encode("latin-1")} if given else {}
    assert server.ask("GET", "/ping", headers=wrong, host="example.org")[0] == 200
    for method, path in (("POST", "/invocations"), ("GET", "/version"), ("GET", "/metrics")):
        status, reported = server.ask(method, path, headers=wrong)
        assert (status, "secret" in reported["error"]) == (401, False)
    bearer = {"authorization": "Bearer secret"}
    assert server.ask("GET", "/version", headers=bearer)[1] == mlflow.__version__


def test_other_paths_hosts_and_content_types_are_refused(shared, row):
    assert shared.ask("GET", "/admin") == (404, {"error": "Not Found"})
    assert shared.ask("GET", "/invocations") == (405, {"error": "Method Not Allowed"})
    for host, status in (("evil.example", 400), ("[::1]:80", 200), ("localhost:1", 200)):
        assert shared.ask("GET", "/ping", host=host)[0] == status
    for path in ("/docs", "/openapi.json"):
        assert shared.ask("GET", path)[0] == 200
    assert shared.predict(row, headers={"content-type": "text/plain"})[0] == 400


def test_others_may_ask_with_a_token_alone():
    for host in ("127.0.0.1", "localhost", "::1"):
        check_place(host, "")
    check_place("0.0.0.0", "secret")
    for host in ("0.0.0.0", "example.org", "::"):
        with pytest.raises(UsageError, match="set LEASEBOARD_TOKEN in the environment"):
            check_place(host, "")


@REPEATED
def test_requests_leave_no_file_open_and_no_memory(asker, row, times):
    server = asker()

    def request(number):
        assert server.predict({**row, "order": f"{number}"})[0] == 200
        assert server.predict({})[0] == 400
        assert server.ask("GET", "/ping")[0] == 200

    assert_flat(request, times)
