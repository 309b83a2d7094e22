"""Days, weeks and gaps."""

from leaseboard.tasks.live.losses import LossTotal
from leaseboard.tasks.live.page.day_charts import MOST_DAYS, by_span, gapped, width_of


def test_the_mean_of_several_days_is_that_of_their_rows():
    days = {f"2026-01-0{n}": LossTotal(n, {"loss": 6.0, "absolute": 6.0}) for n in (5, 6)}
    assert by_span(days, 7)["2026-01-05"].loss == 12 / 11


def test_many_days_are_drawn_by_week():
    names = [f"2026-{month:02}-{n:02}" for month in (1, 3, 5, 7) for n in range(1, 32)]
    assert width_of(names[:MOST_DAYS]) == 1
    assert width_of(names) == 7


def test_a_gap_of_a_year_costs_one_point():
    assert len(gapped({"2025-01-01": 1, "2026-01-01": 2}, 1)[0]) == 3
