"""Days, weeks and gaps."""

from leaseboard.tasks.keep.page.days import MOST_DAYS, Calendar, Day, gapped, width_of


def day(number: int, loss: float, rows: int = 1) -> Day:
    sums = {"loss": loss, "absolute": loss, "square": loss}
    return Day(f"2026-01-{number:02}", 1, rows, sums)


def test_the_mean_of_several_days_is_that_of_their_rows():
    days = Calendar([day(5, 6.0, rows=1), day(6, 6.0, rows=2)])
    assert days.by_span(1, 7)["2026-01-05"].measures["loss"] == 4.0
    assert days.until("2026-01-06", 1).measures["loss"] == 4.0


def test_lately_are_seven_days():
    days = Calendar([day(n, float(n)) for n in range(1, 10)])
    assert days.lately(1) == "2026-01-09"
    assert days.until("2026-01-09", 1).rows == 7
    assert days.lately(2) == ""


def test_a_day_without_rows_is_none():
    assert not Calendar([day(1, 0.0, rows=0)])


def test_who_was_champion_when_a_day_began_was_served():
    sums = {"loss": 1.0, "absolute": 1.0, "square": 1.0}
    days = Calendar([Day(f"2026-01-0{n}", who, who, sums) for n in range(1, 6) for who in (1, 2)])
    reigns = [("2026-01-02T03:00:00+00:00", 1), ("2026-01-04T03:00:00+00:00", 2)]
    assert [total.rows for total in days.served(reigns).values()] == [1, 1, 1, 1, 2]
    assert not days.served([("2026-01-01", 7)])


def test_many_days_are_drawn_by_week():
    names = [f"2026-{month:02}-{n:02}" for month in (1, 3, 5, 7) for n in range(1, 32)]
    assert width_of(names[:MOST_DAYS]) == 1
    assert width_of(names) == 7


def test_a_gap_of_a_year_costs_one_point():
    assert len(gapped({"2025-01-01": 1, "2026-01-01": 2}, 1)[0]) == 3
