"""Everything that the monitor remembers is shown by its name."""

import math
from types import SimpleNamespace

from leaseboard.tasks.live.drift.monitor import MonitoredDays, StreamMonitor
from leaseboard.tasks.live.lifecycle import LifecycleState
from leaseboard.tasks.live.page.tables import MOST_LINES, drift

DAYS = ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-05"]


def monitored(values, alarmed=((), (), (), ())):
    monitored = StreamMonitor(
        MonitoredDays(DAYS, [9] * 4, list(map(list, alarmed)), values=values)
    )
    return drift(SimpleNamespace(lifecycle=LifecycleState(monitored=monitored)))


def test_a_day_that_was_left_out_is_a_gap_and_values_are_reported():
    found = monitored({"price: middle": [1.0, 2.0, math.nan, 9.0]})
    (figure,) = found.figures
    (line,) = figure.data
    assert line["x"] == ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-05"]
    assert line["y"] == [-1, 0, None, 7]
    assert line["customdata"] == [1, 2, None, 9]
    assert found.text == ["No drift detected on the days that the monitor remembers."]


def test_many_series_are_bounded_and_those_that_alarmed_come_first():
    many = {f"c{n}": [0.0, 1.0, 0.0, float(n)] for n in range(40)}
    found = monitored(many, ((), (), (), ("c3", "gone")))
    (figure,) = found.figures
    assert [line["name"] for line in figure.data][:2] == ["c3", "c39"]
    assert len(figure.data) == MOST_LINES
    assert "The 8 of 40 series" in figure.note
    (table,) = found.tables
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["2026-01-05", "c3", "inputs", "3", "0 to 1"],
        ["2026-01-05", "gone", "inputs", "–", "–"],
    ]
