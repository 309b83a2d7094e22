"""The Open Inference Protocol: tensors are rows of the contract, and answers are tensors."""

from __future__ import annotations

import asyncio
import dataclasses
import json

import httpx
import pytest

from leaseboard.tasks.serve import inference
from leaseboard.tasks.serve.admission import RefusedError
from tests.tasks.live.shops import CONTRACT

COLUMNS = {name: rule for name, rule in CONTRACT.columns.items() if name != "revenue"}
INFER = "/v2/models/sales/infer"


def tensor(name, datatype, data, shape=None):
    return {"name": name, "shape": shape or [len(data)], "datatype": datatype, "data": data}


COLUMN_TENSORS = [
    tensor("order", "BYTES", ["a", "b"]),
    tensor("day", "BYTES", ["2026-01-02", "2026-01-03"]),
    tensor("price", "FP64", [1.25, -2], [2, 1]),
    tensor("rain", "BOOL", [True, None]),
    tensor("shop", "BYTES", ["x", None]),
]
ROWS = [
    {"order": "a", "day": "2026-01-02", "price": 1.25, "rain": True, "shop": "x"},
    {"order": "b", "day": "2026-01-03", "price": -2, "rain": None, "shop": None},
]


def read(*inputs, **more):
    return inference.read(json.dumps({"inputs": inputs, **more}).encode(), COLUMNS)[0]


def test_named_columns_are_rows():
    assert read(*COLUMN_TENSORS) == ROWS
    nested = tensor("price", "FP32", [[1.25], [-2]], [2, 1])
    assert read(nested) == [{"price": 1.25}, {"price": -2}]


def test_one_tensor_is_all_columns_in_the_order_of_the_contract():
    flat = tensor("x", "FP64", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [2, 5])
    nested = tensor("x", "INT32", [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]], [2, 5])
    found = [dict(zip(COLUMNS, row, strict=True)) for row in ([1, 2, 3, 4, 5], [6, 7, 8, 9, 10])]
    assert read(flat) == read(nested) == found


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ([], "inputs must have at least 1 item"),
        ([tensor("prise", "FP64", [1])], "input 'prise' is not a column: send order, day, price"),
        ([tensor("price", "FP64", [1])] * 2, "input 'price' is there twice: send it once"),
        ([tensor("price", "BYTES", ["1"])], "input 'price' has datatype BYTES: send FP64"),
        ([tensor("price", "FP64", ["1"])], "input 'price' has '1', which is not FP64"),
        ([tensor("price", "FP64", [True])], "input 'price' has True, which is not FP64"),
        ([tensor("price", "INT8", [128])], "input 'price' has 128, which is not INT8"),
        ([tensor("price", "UINT64", [-1])], "input 'price' has -1, which is not UINT64"),
        ([tensor("price", "INT64", [1.5])], "input 'price' has 1.5, which is not INT64"),
        ([tensor("price", "FP64", [[1], [2, 3]], [2, 1])], "rows of other lengths than its shape"),
        ([tensor("price", "FP64", [1, 2], [3])], "has shape [3] and 2 values: fix one of them"),
        ([tensor("price", "FP64", [1, 2], [1, 2])], "has shape [1, 2]: send one dimension"),
        ([tensor("price", "FP64", [], [10**9])], "has more than 1,000 rows: send fewer"),
        ([tensor("x", "FP64", [], [10**9, 0])], "has more than 1,000 rows: send fewer"),
        ([tensor("x", "FP64", [1, 2], [2, 1])], "row 1 has 1 values: send 5 in each row"),
        ([tensor("price", "FP64", [1], [-1])], "inputs.0.shape.0 must be at least 0"),
        ([tensor("price", "FP64", [1], [1, 1, 1])], "shape must have at most 2 items"),
        ([tensor("price", "FP64", [1], [10**4000])], "has more than 1,000 rows: send fewer"),
        ([tensor("price", "FP64", [1], [1, 10**4000])], "… and 1 values: fix one of them"),
        ([tensor("price", "FP16", [1e300])], "input 'price' has 1e+300, which is not FP16"),
        ([tensor("x", "BYTES", list("abcde"), [1, 5])], "input 'x' has texts for 'price'"),
        ([tensor("price", "FP65", [1])], "datatype must be 'BOOL', 'BYTES'"),
        (
            [tensor("price", "FP64", [1]), tensor("order", "BYTES", ["a", "b"])],
            "has 2 values, and",
        ),
        ([tensor("price", "FP64", [1]) | {"more": 1}], "inputs.0.more is unknown: remove it"),
    ],
)
def test_other_tensors_are_refused_in_a_line(inputs, said):
    with pytest.raises(RefusedError) as caught:
        read(*inputs)
    assert caught.value.status == 400
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_model_says_what_it_takes_and_answers_in_tensors(asker):
    server = asker()
    status, about = server.ask("GET", "/v2/models/sales")
    assert status == 200
    assert {each["name"]: each["datatype"] for each in about["inputs"]} == {
        "order": "BYTES", "day": "BYTES", "price": "FP64", "rain": "BOOL", "shop": "BYTES"
    }  # fmt: skip
    assert about["versions"] == ["1"]
    assert [each["name"] for each in about["outputs"]] == ["prediction", "interval"]
    body = {"id": "42", "inputs": COLUMN_TENSORS, "parameters": {"level": 0.8}}
    status, found = server.ask("POST", INFER, body)
    assert status == 200
    assert (found["id"], found["model_name"], found["model_version"]) == ("42", "sales", "1")
    prediction, interval = found["outputs"]
    assert (prediction["datatype"], prediction["shape"]) == ("FP64", [2])
    assert (interval["datatype"], interval["shape"], len(interval["data"])) == ("FP64", [2, 2], 4)
    asked = {"dataframe_records": ROWS, "params": {"level": 0.8}}
    same = server.ask("POST", "/invocations", asked)[1]["predictions"]
    assert prediction["data"] == [each["prediction"] for each in same]
    assert interval["data"] == [each[end] for each in same for end in ("low", "high")]
    assert [row.id for row in server.served()] == ["a", "b"] * 2

    exact = INFER.replace("/infer", "/versions/1/infer")
    alone = server.ask("POST", exact, body | {"outputs": [{"name": "prediction"}]})[1]
    assert alone["outputs"] == [prediction]


def test_classes_are_texts_with_probabilities(asker):
    server = asker(task="classification")
    found = server.ask("POST", INFER, {"inputs": COLUMN_TENSORS})[1]
    assert "id" not in found
    outputs = {each["name"]: each for each in found["outputs"]}
    classes, shares = outputs["classes"]["data"], outputs["probabilities"]
    assert shares["shape"] == [2, len(classes)]
    first = shares["data"][: len(classes)]
    assert outputs["prediction"]["data"][0] == classes[first.index(max(first))]


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/v2/models/other/infer", 404, "no model 'other' is here: ask for 'sales'"),
        ("/v2/models/sales/versions/7/infer", 404, "version '7' of sales is not served: leave it"),
        (INFER, 400, "output 'more' is unknown: ask for prediction, interval"),
    ],
)
def test_another_model_version_or_output_is_refused_and_not_logged(asker, path, status, said):
    server = asker()
    body = {"inputs": COLUMN_TENSORS, "outputs": [{"name": "more"}]}
    found, reported = server.ask("POST", path, body)
    assert (found, said in reported["error"]) == (status, True)
    assert server.served() == []


def test_binary_tensors_are_refused_with_what_to_do(asker):
    headers = {"inference-header-content-length": "10"}
    status, reported = asker().ask("POST", INFER, b"{}", headers=headers)
    assert (status, "send them as JSON, with binary_data=False" in reported["error"]) == (
        400,
        True,
    )


def test_health_and_server_are_as_the_protocol_says(asker, row):
    server = asker(learned=False)
    assert server.ask("GET", "/v2/health/live") == (200, {"live": True})
    assert server.ask("GET", "/v2/health/ready") == (503, {"ready": False})
    assert server.ask("GET", "/v2/models/sales/ready")[0] == 503
    assert server.ask("GET", "/v2/models/other/ready")[0] == 404
    about = server.ask("GET", "/v2")[1]
    assert about.keys() == {"name", "version", "extensions"}
    assert server.ask("GET", "/v2/models/sales")[0] == 503


def test_parameters_for_other_servers_are_ignored(asker):
    body = {"inputs": COLUMN_TENSORS, "parameters": {"priority": 1, "level": 0.8}}
    assert asker().ask("POST", INFER, body)[0] == 200


def test_a_champion_that_changes_while_the_body_comes_does_not_answer_for_another_version(asker):
    server = asker()
    first = server.follower.champion

    async def body():
        server.follower.champion = dataclasses.replace(first, version="2")
        yield json.dumps({"inputs": COLUMN_TENSORS}).encode()

    async def ask():
        transport = httpx.ASGITransport(server.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.post(
                "/v2/models/sales/versions/1/infer", content=body(),
                headers={"content-type": "application/json"},
            )  # fmt: skip

    found = asyncio.run(ask())
    assert found.status_code == 404
    assert found.json() == {
        "error": "version '1' of sales is not served: leave it out, or ask for 2"
    }
    assert not server.served()
