"""Equation 2 of the apple paper."""

from __future__ import annotations

import numpy as np

from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.published import cumulative, relative
from tests.tasks.score.relatives import BASELINES, FRAME


def test_errors_are_between_the_baselines_and_times_over_the_first():
    found = relative(FRAME, BASELINES)

    assert found.labels == (*BASELINES, "apple(1)", "apple(0.5)", "apple-best")
    np.testing.assert_allclose(found.errors[:, 0], [1, 0.5, 0, -0.25, 0.75, -0.25])
    np.testing.assert_allclose(found.times[:, 0], [1, 3, 9, 2, 1, 2])
    assert np.isnan(found.errors[:, 1]).all()  # all baselines are equal there
    np.testing.assert_allclose(found.times[-1], [2, 1])


def test_a_data_set_without_a_baseline_is_left_out():
    frame = FRAME[~((FRAME["label"] == "cubic") & (FRAME["data"] == "b"))]

    assert relative(as_frame(frame), BASELINES).problems == ("a",)
    assert relative(FRAME, ("linear", "quartic")).problems == ()


def test_a_cdf_counts():
    x, y = cumulative(np.array([0.5, np.nan, -1.0]))

    assert x.tolist() == [-1.0, 0.5]
    assert y.tolist() == [1.0, 2.0]
