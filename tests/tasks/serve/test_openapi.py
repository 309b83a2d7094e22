"""The page at ``/docs``: all paths, with bodies that are answered, and nothing from outside."""

from __future__ import annotations

import base64
import re

from leaseboard.tasks.live.contract import ColumnRule
from leaseboard.tasks.serve import openapi


def test_each_body_on_the_page_is_answered(asker):
    server = asker()
    about = server.ask("GET", "/openapi.json")[1]
    assert about["openapi"] == "3.1.0"
    assert {"/invocations", "/v2/models/sales/infer", "/labels", "/ping"} <= about["paths"].keys()
    for path, methods in about["paths"].items():
        for method, each in methods.items():
            assert each["summary"]
            given = {known["name"]: known["example"] for known in each.get("parameters", ())}
            assert "{" not in path.format(**given)
            if method == "get":
                assert server.ask("GET", path.format(**given))[0] == 200
                assert set(each["responses"]) == {"200", "default"}
            if "requestBody" in each:
                content = each["requestBody"]["content"]["application/json"]
                answered, _ = server.ask(method.upper(), path.format(**given), content["example"])
                assert str(answered) in each["responses"]
                schema = content["schema"]
                name = schema.get("items", schema)["$ref"].rpartition("/")[2]
                assert name in about["components"]["schemas"]


def test_the_page_takes_nothing_from_elsewhere(asker):
    server = asker()
    status, page = server.ask("GET", "/docs")
    assert status == 200
    assert page.startswith("<!doctype html>")
    assert "POST /v2/models/sales/infer" in page
    assert not re.findall(r"https?://|src=|@import|url\(", page)


def test_the_page_needs_the_token_which_a_browser_sends_as_a_password(asker):
    server = asker(token="secret")
    for path in ("/docs", "/openapi.json"):
        assert server.ask("GET", path)[0] == 401
        for word, status in (("any:secret", 200), (":wrong", 401), ("secret", 401)):
            basic = f"Basic {base64.b64encode(word.encode()).decode()}"
            assert server.ask("GET", path, headers={"authorization": basic})[0] == status
        assert server.ask("GET", path, headers={"authorization": "Basic ="})[0] == 401
        assert server.ask("GET", path, headers={"authorization": "Bearer secret"})[0] == 200
    basic = f"Basic {base64.b64encode(b'any:secret').decode()}"
    assert server.ask("GET", "/metrics", headers={"authorization": basic})[0] == 401


def test_names_of_columns_are_shown_and_not_run(asker):
    server = asker()
    path = server.shop.live.settings.contract
    path.write_text(path.read_text().replace("  price:", '  "</textarea><script>":'))
    server.follower.look()
    page = server.ask("GET", "/docs")[1]
    assert "&lt;/textarea&gt;&lt;script&gt;" in page
    assert "<script" not in page


def test_paths_that_need_no_token_say_so(asker):
    server = asker(token="secret")
    bearer = {"authorization": "Bearer secret"}
    about = server.ask("GET", "/openapi.json", headers=bearer)[1]
    for path, methods in about["paths"].items():
        if "get" in methods:
            status = server.ask("GET", path.replace("{version}", "1"))[0]
            assert (status != 401) == (methods["get"].get("security") == [])


def test_the_example_of_whole_numbers_is_one_within_the_bounds():
    rules = {"n": ColumnRule(kind="integer", low=2.5)}
    about = openapi.document({("POST", "/invocations"): "Predict."}, "my model? #1", "1", rules)
    content = about["paths"]["/invocations"]["post"]["requestBody"]["content"]
    assert content["application/json"]["example"] == {"dataframe_records": [{"n": 3}]}
    about = openapi.document({("GET", "/v2/models/{name}"): "Describe."}, "my model? #1", "1", {})
    assert list(about["paths"]) == ["/v2/models/my%20model%3F%20%231"]
