"""Numbers of a day, and a day that has no second like it."""

import numpy as np
import pandas as pd
import pytest

from leaseboard.tasks.live.day_statistics import (
    BEYOND,
    excess,
    is_far_above,
    of_columns,
    of_errors,
)


def of(values, usual=None):
    return of_columns([("x", pd.Series(values))], {} if usual is None else {"x": usual})


def test_of_numbers_by_hand():
    assert of([0.0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) == {
        "x: missing": 0,
        "x: commonest": 1 / 11,
        "x: low": 1,
        "x: middle": 5,
        "x: high": 9,
        "x: step": 1,
        "x: lean": 0,
    }


def test_of_categories_by_hand():
    found = of(["a", "a", "b", None], {"a": 0.5, "c": 0.5})

    assert found["x: missing"] == 0.25
    assert found["x: commonest"] == pytest.approx(2 / 3)
    assert found["x: other"] == pytest.approx((1 / 6 + 1 / 3 + 1 / 2) / 2)


def test_errors_of_numbers_and_of_classes():
    labels = pd.Series([1.0, 2, 3, 4])
    found = of_errors(labels, labels * 10, pd.Series([np.e] * 4))
    assert found == {
        "predictions: error": pytest.approx(1),
        "predictions: disagreement": pytest.approx(-1),
    }
    classes = pd.Series(["a", "b"] * 5)
    shares = pd.DataFrame({"a": [0.8, 0.6] * 5, "b": [0.2, 0.4] * 5})
    assert of_errors(classes, shares, pd.Series([0.2, 0.6] * 5)) == {
        "predictions: loss": pytest.approx(0.4),
        "predictions: disagreement": -1,
    }


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
