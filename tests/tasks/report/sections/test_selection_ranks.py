"""The page's table of ranks by loss and seconds."""

from types import SimpleNamespace

import pandas as pd

from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.sections.selections import ranks


def made(*rows):
    frame = pd.DataFrame(
        {
            "name": name, "algorithm": name, "data": "d", "repetition": 0, "status": "ok",
            "complete": True, "score": score, "environment": "samples",
            "metrics": {"configurations": 4.0, "selection_cpu_seconds": seconds,
                        "selection_wall_seconds": seconds},
        }
        for name, score, seconds in rows
    )  # fmt: skip
    return Material("", frame, SimpleNamespace(data_names={}), None, {}, {})


def test_the_table_says_who_loses_little_and_is_quick():
    rows = ("full-run", 0.9, 80.0), ("abc", 0.895, 10.0), ("random-configuration", 0.8, 0.0)
    (table,) = ranks(made(*rows)).tables

    assert [[cell.text for cell in row[:3]] for row in table.rows] == [
        ["abc", "1.00", "1.00"], ["full-run", "2.00", "2.00"],
        ["random-configuration", "3.00", "3.00"],
    ]  # fmt: skip
    cells = dict(zip(table.frame.columns, table.rows[2], strict=True))
    assert cells["Worst loss"].kind == "bad"
    assert cells["Lost more than 1 %"].text == "1 of 1"
    assert cells["Speed-up"].text == "∞"


def test_a_run_without_full_run_has_none():
    assert ranks(made(("abc", 0.9, 1.0), ("daub", 0.9, 2.0))) is None
