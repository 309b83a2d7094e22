"""Sections of the report, each made of its part of the event logs and results."""

import pandas as pd

from leaseboard.tasks.report import build


def test_the_line_is_the_median_and_the_band_its_quartiles():
    mine = build.aligned([pd.Series({1.0: 4.0, 10.0: value}) for value in (1.0, 2.0, 9.0)])
    figure = build.data_figure("X", {"<a>": mine}, ["<a>"], "examples", "mse")
    band, line = figure.data
    assert (line["x"], line["y"], line["name"]) == ([1, 10], [4, 2], "&lt;a&gt;")
    assert band["y"] == [4, 1.5, 5.5, 4]
    alone = build.data_figure("X", {"a": mine[[0]]}, ["a"], "u", "m")
    assert len(alone.data) == 1
