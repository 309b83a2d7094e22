"""The tables of the pages are those that `make tables` makes of the results."""

import runpy

import pandas as pd

from tests.docs import pages

TABLES = runpy.run_path(str(pages.DOCS / "tables.py"))
RESULTS = sorted((pages.DOCS / "results").glob("*.csv"))


def test_tables_are_made_of_the_results():
    texts = {page.name: page.read_text(encoding="utf-8") for page in TABLES["PAGES"]}

    assert sum("<!-- table: " in text for text in texts.values()) >= 3
    assert [name for name, text in texts.items() if TABLES["with_tables"](text) != text] == []


def test_results_are_small_and_say_where_they_come_from():
    assert sum(path.stat().st_size for path in RESULTS) < 5e6
    for path in RESULTS:
        table = pd.read_csv(path)
        assert [*table] == TABLES["KEPT"], path.name
        assert (
            table[["score", "commit", "machine"]][table["status"] == "ok"].notna().all(axis=None)
        )
