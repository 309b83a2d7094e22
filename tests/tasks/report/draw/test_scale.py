import numpy as np
import pytest

from leaseboard.tasks.report.draw.svg import COMMON, Scale, frame
from leaseboard.tasks.score.bootstrap import Interval


def points(*values):
    return [Interval(value, np.nan, np.nan) for value in values]


def test_the_range_of_few_algorithms_is_shown_whole():
    found = [Interval(0.547, 0.094, 1.0), Interval(0.5, 0.0, 1.0), Interval(0.02, 0.0, 0.04)]
    assert frame(found) == (0.0, 1.0)
    assert frame(points(0.9, 0.8, -43.8)) == (-43.8, 0.9)


def test_an_outlier_that_would_flatten_all_others_is_cut_off():
    assert frame(points(1.0, 0.9, 0.8, 0.7, -43.8), COMMON) == (0.7, 1.0)
    assert frame(points(1.0, 0.9, 0.8, 0.7, 60.0), COMMON) == (0.7, 1.0)


def test_a_range_that_is_common_or_little_wider_is_never_cut():
    close = points(0.90, 0.91, 0.92, 0.93, 0.02)
    assert frame(close, COMMON) == (0.02, 0.93)
    assert frame(close) == (0.9, 0.93)
    assert frame(points(10, 11, 12, 13, 21.9)) == (10, 21.9)


def test_the_far_end_of_a_near_algorithm_is_cut_off_but_no_near_estimate():
    found = [*points(1.0, 0.9, 0.8, 0.7), Interval(0.85, -50.0, 52.0)]
    low, high = frame(found, COMMON)
    assert -1 < low <= 0.7
    assert 1.0 <= high < 3


def test_half_that_are_equal_leave_nothing_to_measure_by():
    assert frame(points(1.0, 1.0, 1.0, 1.0, -40.0)) == (-40.0, 1.0)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-1e-7, 3e-7), (5, 5), (0, 0), (-1e6, 2e9)])
def test_ticks_are_round_and_inside(low, high):
    scale = Scale(low, high, 0, 100)
    ticks = scale.ticks(5)
    assert 2 <= len(ticks) <= 11
    assert all(-1e-6 <= scale(tick) <= 100 + 1e-6 for tick in ticks)
