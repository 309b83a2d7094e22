"""A day that has no second like it."""

import numpy as np
import pandas as pd

from leaseboard.tasks.live.day_statistics import BEYOND, excess, is_far_above


def excess_of(before, today, names=("y: missing",), rows=100, alarmed=()):
    """Return the excess of a day after days of 100 rows, of which those at `alarmed` alarmed."""
    before = np.array(before, dtype=float).reshape(-1, len(names))
    reported = np.zeros(before.shape, dtype=bool)
    reported[list(alarmed)] = True
    days = pd.DataFrame(np.vstack([before, np.reshape(today, (1, -1))]), columns=list(names))
    return excess(days, [100] * len(before) + [rows], reported)


def test_a_sunday_is_near_sundays():
    week = [0.1] * 6 + [0.9]

    assert excess_of(week * 4 + week[:6], 0.9)[0] < 0.1
    assert excess_of(week * 4 + week[:6], 0.5)[0] > 1


def test_wrong_labels_that_move_each_series_a_little_alarm_together():
    names = ["labels: other", "predictions: loss", "predictions: disagreement"]
    before = np.random.default_rng(0).normal([0.3, 0.3, -0.5], 0.1, (40, 3))
    found = excess_of(before, [0.6, 0.6, -0.2], names)

    assert found.max() > 1
    assert found[0] < 1, "which is judged alone, too"
    assert found[1] * found[2] == 0, "one is named for both"
    for alone in ([0.6, 0.3, -0.5], [0.3, 0.6, -0.5], [0.3, 0.3, -0.2]):
        assert excess_of(before, alone, names).max() < 1


def test_exchangeable_days_exceed_all_others_no_more_often_than_theory_says(monkeypatch):
    monkeypatch.setattr("leaseboard.tasks.live.day_statistics.MARGIN", 1.0)
    generator = np.random.default_rng(0)
    n, tries = 20, 500
    found = [
        excess_of(days[:-1], days[-1])[0] > 1 for days in generator.standard_cauchy((tries, n + 1))
    ]

    assert 0.02 < np.mean(found) <= 1 / (n + 1) + 2 * np.sqrt(0.05 / tries)


class TestACostlyDay:
    """Guarantees of `is_far_above`, just within and just beyond each of its bounds."""

    USUAL = np.tile([0.9, 1.0, 1.1], 8)  # median 1, deviation .1
    SPREAD = 0.1 * 1.4826

    def is_costly(self, now, before=USUAL, floor=0.0, rows=100):
        return is_far_above(before, now, floor, [100] * len(before) + [rows])

    def test_one_bad_day_hides_no_other_and_a_weekday_that_is_always_bad_counts_for_nothing(self):
        assert self.is_costly(5.0, before=np.append(self.USUAL, 9.0))
        mondays = np.append(self.USUAL, [5.0, 5.0])
        assert not self.is_costly(5.0, before=mondays)
        assert self.is_costly(5.0 + (BEYOND + 0.1) * self.SPREAD * 2, before=mondays)
