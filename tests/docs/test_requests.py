"""The requests of the page on serving have the columns of the page on live models."""

import re

from tests.docs import pages

SCRIPT = (pages.DOCS / "guides/live-model.md").read_text(encoding="utf-8")
SERVE = (pages.DOCS / "guides/serve.md").read_text(encoding="utf-8")


def test_requests_name_the_columns_of_the_script_that_makes_the_data():
    columns = re.search(r'print\("(order_id,[^"]+),revenue"\)', SCRIPT)[1].split(",")
    (records,) = re.findall(r'"dataframe_records": \[\{(.*?)\}\]', SERVE)
    (frame,) = re.findall(r"DataFrame\(\s*\{(.*?)\}\s*\)", SERVE)

    assert re.findall(r'"(\w+)": ', records) == columns
    assert re.findall(r'"(\w+)": ', frame) == columns
