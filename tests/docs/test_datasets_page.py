"""The page of datasets has the table of public sources, row by row."""

from leaseboard.tasks.fetch.inventory import public_sources
from tests.docs import pages

PAGE = pages.DOCS / "benchmarks" / "datasets.md"


def test_each_dataset_has_its_row_with_its_source_and_mark():
    rows = {
        line.split("`")[1].partition(":")[2]: line
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith(("| `openml:", "| `mirror:"))
    }

    assert list(rows) == list(public_sources())
    for name, row in public_sources().items():
        assert row["source"] in rows[name], name
        unknown = ("only a mirror" in rows[name]) or ("no source known" in rows[name])
        assert unknown == (not row["source"]), name
        if row["source"].startswith("https") and row["digest"]:
            assert rows[name].endswith("| measured content |"), name
