"""Sections of the report, each made of its part of the event logs and results."""

import pandas as pd

from leaseboard.tasks.report import build


def test_a_curve_is_the_median_from_where_each_repetition_has_a_value():
    ends = (1.0, 2.0, 9.0)
    middle = build.median_curve([pd.Series({1.0: 4.0, 10.0: end}) for end in ends])
    assert middle.to_dict() == {1.0: 4.0, 10.0: 2.0}
    late = pd.Series({5.0: 8.0})
    assert build.median_curve([pd.Series({1.0: 4.0}), late]).to_dict() == {5.0: 6.0}
