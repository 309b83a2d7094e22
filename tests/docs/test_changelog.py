"""The changelog stays short: one line a change; scores that moved have a page of their own."""

import re

import leaseboard
from tests.docs import pages

TEXT = (pages.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_changes_of_a_version_are_at_most_40_short_lines():
    _, *versions = re.split(r"^## ", TEXT, flags=re.MULTILINE)

    assert versions
    for version in versions:
        lines = version.splitlines()
        assert len(lines) <= 40, lines[0]
        assert all(len(line) <= 125 for line in lines), lines[0]
        for line in filter(None, lines[1:]):
            assert line.startswith("- ") or line.removeprefix("### ") in KINDS, line


def test_scores_that_moved_have_a_page():
    assert "docs/benchmarks/changed-scores.md" in TEXT
    assert (pages.DOCS / "benchmarks" / "changed-scores.md").read_text().count("\n- ") >= 35


def test_the_classes_and_functions_that_it_names_are_exported():
    named = set(re.findall(r"`([A-Za-z]+[A-Z]\w+|learn_\w+|race_\w+)`", TEXT))

    assert len(named) >= 5
    assert named <= set(leaseboard.__all__)
