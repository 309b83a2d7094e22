"""The tables of the pages are those that `make tables` makes of the results."""

import re
import runpy

import pandas as pd
import pytest

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


def test_a_table_that_was_edited_is_made_again():
    edited = "Before.\n<!-- table: paper-er-ucb -->\n| a | 0.1 |\n<!-- end -->\nAfter.\n"

    made = TABLES["with_tables"](edited)

    assert "| a | 0.1 |" not in made
    assert made.startswith("Before.")
    assert made.endswith("After.\n")
    assert TABLES["with_tables"](made) == made


@pytest.mark.parametrize("suite", ["paper-chacha", "paper-er-ucb"])
def test_most_figures_of_a_paper_agree(suite):
    near, all_of_them = re.search(
        r"(\d+) of (\d+) figures agree", TABLES["published"](suite)
    ).groups()

    assert int(near) > 0.7 * int(all_of_them)
