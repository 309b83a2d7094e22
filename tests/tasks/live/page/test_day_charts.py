"""Days, weeks and gaps."""

from leaseboard.tasks.live.page.day_charts import gapped


def test_a_gap_of_a_year_costs_one_point():
    assert len(gapped({"2025-01-01": 1, "2026-01-01": 2}, 1)[0]) == 3
