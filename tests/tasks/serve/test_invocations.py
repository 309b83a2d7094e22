"""MLflow's scoring protocol: every form of the same rows is answered alike, any other refused."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest
from mlflow.deployments import PredictionsResponse
from mlflow.models.utils import convert_input_example_to_serving_input
from mlflow.utils.proto_json_utils import dump_input_data

from leaseboard.tasks.live.contract import ColumnRule
from leaseboard.tasks.serve import invocations
from leaseboard.tasks.serve.admission import RefusedError
from tests.tasks.live.shops import CONTRACT

COLUMNS = {name: rule for name, rule in CONTRACT.columns.items() if name != "revenue"}
ROWS = [
    {"order": "a", "day": "2026-01-02", "price": 1.25, "rain": True, "shop": "x"},
    {"order": "b", "day": "2026-01-03", "price": -2.0, "rain": None, "shop": None},
]
FRAME = pd.DataFrame(ROWS)
VALUES = [list(row.values()) for row in ROWS]


def read(body, kind=invocations.JSON):
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    return invocations.read(sent, kind, COLUMNS)[0]


FORMS = [
    {"dataframe_records": ROWS},
    {"dataframe_split": {"columns": list(COLUMNS), "data": VALUES, "index": [7, 8]}},
    {"dataframe_split": {"data": VALUES}},
    {"instances": ROWS},
    {"instances": VALUES},
    {"inputs": {name: [row[name] for row in ROWS] for name in COLUMNS}},
    {"inputs": ROWS},
    {"inputs": VALUES},
]


@pytest.mark.parametrize("body", FORMS)
def test_every_form_is_the_same_rows(body):
    assert read(body) == ROWS


def test_what_mlflow_s_own_clients_send_is_read():
    assert read(dump_input_data(FRAME.astype(object).where(FRAME.notna(), None)).encode()) == ROWS
    assert read(convert_input_example_to_serving_input(FRAME[:1]).encode()) == ROWS[:1]
    assert read(dump_input_data(np.array([[1, 2, 3, 4, 5]])).encode())[0]["shop"] == 5
    assert read({"inputs": ROWS[0]}) == ROWS[:1]


def test_a_csv_means_what_it_does_in_a_file():
    written = io.StringIO()
    FRAME.to_csv(written, index=False)
    found = read(written.getvalue().encode(), invocations.CSV)
    assert found == [ROWS[0] | {"rain": "True"}, ROWS[1]]
    line = b"order,price,rain,shop\r\n007,NA,1,NA\r\n"
    (row,) = read(b"\xef\xbb\xbf" + line, invocations.CSV)
    assert row == {"order": "007", "price": None, "rain": 1, "shop": None}
    (row,) = invocations.read(
        b"n\n9007199254740993\n", "text/csv", {"n": ColumnRule(kind="integer")}
    )[0]
    assert row == {"n": 9007199254740993}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"instances": [], "inputs": []}, "2 forms of rows: send one of dataframe_split"),
        ({"inputs": 3}, "inputs is neither rows nor columns: send"),
        ({"inputs": {"a": [1], "b": [1, 2]}}, "column 'b' has 2 values, and 'a' 1: send one for"),
        ({"instances": [VALUES[0], VALUES[1][:2]]}, "row 2 has 2 values: send 5 in each row"),
        ({"dataframe_split": {"columns": ["a", "a"], "data": []}}, "column 'a' is there twice"),
    ],
)
def test_another_body_is_refused_in_a_line(body, said):
    with pytest.raises(RefusedError) as caught:
        read(body)
    assert caught.value.status == 400
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "the csv is empty"),
        (b"a,a\n1,2\n", "column 'a' is there twice"),
        (b"a,b\n1\n", "row 1 has 1 values: send 2 in each row, of a, b"),
        (b'a\n"b', "not a csv in UTF-8 (unexpected end of data)"),
    ],
)
def test_another_csv_is_refused_in_a_line(body, said):
    with pytest.raises(RefusedError) as caught:
        read(body, invocations.CSV)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_predictions_are_as_mlflow_s_and_in_the_log(asker):
    server, answers = asker(), []
    for body in FORMS:
        status, reported = server.ask("POST", "/invocations", body)
        assert status == 200
        answers.append(reported["predictions"])
    assert all(each == answers[0] for each in answers)
    frame = PredictionsResponse(reported).get_predictions()
    assert frame.shape == (2, 1)
    assert frame.dtypes.tolist() == [np.float64]
    assert [row.id for row in server.served()] == ["a", "b"] * len(FORMS)
    csv = "order,day,price,rain,shop\na,2026-01-02,1.25,True,x\nb,2026-01-03,-2,,\n"
    found = server.ask(
        "POST", "/invocations", csv, headers={"content-type": "text/csv; charset=utf-8"}
    )
    assert found[1]["predictions"] == answers[0]
    model = server.follower.champion.snapshot
    assert answers[0] == model.predict(FRAME.assign(day=pd.to_datetime(FRAME["day"]))).tolist()


def test_classes_have_their_probabilities(asker, row):
    server = asker(task="classification")
    plain = server.ask("POST", "/invocations", {"instances": [row]})[1]["predictions"]
    asked = {"instances": [row], "params": {"probabilities": True}}
    (shown,) = server.ask("POST", "/invocations", asked)[1]["predictions"]
    assert plain == [shown["prediction"]]
    assert sum(shown["probabilities"].values()) == pytest.approx(1)


def test_a_column_of_another_name_is_refused(asker, row):
    server = asker()
    path = server.shop.live.settings.contract
    path.write_text(path.read_text().replace("missing: 0.5", "missing: 1, required: false"))
    server.follower.look()
    wrong = {("prise" if name == "price" else name): value for name, value in row.items()}
    status, reported = server.ask("POST", "/invocations", {"instances": [wrong]})
    assert (status, "no column 'price'" in reported["error"]) == (400, True)
    wrong = {("shops" if name == "shop" else name): value for name, value in row.items()}
    status, reported = server.ask("POST", "/invocations", {"instances": [wrong]})
    assert "no column 'shop', and 'shops' is unknown: fix it" in reported["error"]
    assert server.ask("POST", "/invocations", {"instances": [row | {"more": 1}]})[0] == 200
    del row["shop"]
    assert server.ask("POST", "/invocations", {"instances": [row | {"revenue": 1}]})[0] == 200


def test_probes_need_no_token_and_the_rest_does(asker, row):
    server = asker(token="secret")
    for path in ("/ping", "/health"):
        assert server.ask("GET", path)[0] == 200
    for method, path in (("POST", "/invocations"), ("GET", "/version")):
        assert server.ask(method, path, {"instances": [row]})[0] == 401
    bearer = {"authorization": "Bearer secret"}
    assert server.ask("GET", "/version", headers=bearer)[1].startswith("3.")


def test_another_content_type_is_refused(asker, row):
    status, reported = asker().ask(
        "POST", "/invocations", {"instances": [row]}, headers={"content-type": "text/plain"}
    )
    assert status == 415
    assert "content type 'text/plain': send application/json or text/csv" in reported["error"]


def test_columns_of_many_names_are_refused_at_once():
    """It took four seconds, in which the server answered no other request."""
    names = [f"c{number}" for number in range(100_000)]
    with pytest.raises(RefusedError, match="'c7' is there twice"):
        read({"dataframe_split": {"columns": [*names, "c7"], "data": []}})


def test_one_column_may_come_as_its_values():
    rule = {"price": COLUMNS["price"]}
    found = invocations.read(b'{"inputs": [1.5, 2]}', invocations.JSON, rule)[0]
    assert found == [{"price": 1.5}, {"price": 2}]


def test_parameters_of_other_models_are_ignored(asker, row):
    body = {"dataframe_records": [row], "params": {"temperature": 1}}
    assert asker().ask("POST", "/invocations", body)[0] == 200


@pytest.mark.parametrize("text", ["1_0", "１０"])
def test_a_csv_has_no_other_digits(text):
    assert read(f"price\n{text}\n".encode(), invocations.CSV) == [{"price": text}]
