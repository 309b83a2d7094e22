"""Equation 2 of the apple paper on the page."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

from leaseboard.tasks.report.sections.published import figures, relative_error
from leaseboard.tasks.score.published import relative
from tests.tasks.score.relatives import BASELINES, FRAME


def test_the_page_shows_a_row_an_algorithm_and_a_curve_a_figure(made_of):
    found = relative(FRAME, BASELINES)
    made = made_of(None, [])
    suite = SimpleNamespace(relative_to=BASELINES, data_names={"a": "adult"})
    (table,) = relative_error(dataclasses.replace(made, frame=FRAME, suite=suite)).tables

    assert table.columns[-2:] == ["adult", "b"]
    assert [[cell.text for cell in row[:4]] for row in table.rows][3:] == [
        ["apple(1)", "1", "1", "1"],
        ["apple(0.5)", "1", "0", "0"],
        ["apple-best", "1", "1", "1"],
    ]
    drawn = figures(found)
    assert [figure.title for figure in drawn] == [
        "Relative error on 2 datasets",
        "Relative time on 2 datasets",
        "Relative error on 1 dataset where quadratic takes twice the time",
        "Relative time on 1 dataset where quadratic takes twice the time",
    ]
    assert [(trace["name"], trace["visible"]) for trace in drawn[0].data] == [
        *((name, True) for name in (*BASELINES, "apple-best")),
        ("apple(1)", "legendonly"),
        ("apple(0.5)", "legendonly"),
    ]
    assert drawn[1].data[0]["x"] == [1, 1, 1, 9]
    assert drawn[1].data[0]["y"] == [0, 1, 2, 2]


def test_without_a_dataset_of_all_baselines_the_page_has_no_section(made_of):
    made = made_of(None, [])
    suite = SimpleNamespace(relative_to=["linear", "quartic"])

    assert relative_error(dataclasses.replace(made, frame=FRAME, suite=suite)) is None
    assert relative_error(dataclasses.replace(made, frame=FRAME, suite=None)) is None
