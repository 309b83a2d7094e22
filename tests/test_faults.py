"""Every line of the fault table names a test that is there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_each_fault_has_its_test():
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    table = text.partition("## When something goes wrong")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]
    named = [re.search(r"`(tests/[^:`]+)::(?:\w+::)*(test_\w+)` \|$", row) for row in rows]

    assert len(rows) >= 20
    for row, found in zip(rows, named, strict=True):
        assert found is not None, row
        source = (ROOT / found[1]).read_text(encoding="utf-8")
        assert f"def {found[2]}(" in source, row
