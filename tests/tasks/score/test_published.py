"""Published against measured, and errors relative to baselines."""

from __future__ import annotations

import numpy as np
import pytest

from leaseboard.tasks.jobs.suites.suite import Printed
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.published import cumulative, published_against_measured, relative
from leaseboard.tasks.score.table import Scale
from tests.tasks.score.relatives import BASELINES, FRAME

SCALE = Scale("vanilla", "exhaustive")
SCORES = {
    ("vanilla", "x"): [4.0, 4.0],
    ("exhaustive", "x"): [2.0, 2.0],
    ("chacha", "x"): [3.0, 3.4],
}


def claim(value, sd=None, tolerance=None, metric="normalised_score", algorithm="chacha", data="x"):
    return Printed(source="Table 1", algorithm=algorithm, data=data, metric=metric, value=value,
                     sd=sd, tolerance=tolerance)  # fmt: skip


def test_normalised_score_agrees_within_the_papers_spread(make_frame):
    claims = [claim(0.41, 0.02), claim(0.41, 0.005), claim(0.45, 0.2, tolerance=0.01)]
    found = published_against_measured(as_frame(make_frame(SCORES)), claims, SCALE)
    assert found[0].measured == pytest.approx(0.4)
    assert found[0].measured_sd == pytest.approx(np.std([0.5, 0.3]))
    assert [agreement.agrees for agreement in found] == [True, False, False]
    assert found[2].within_spread is True


def test_measured_is_compared_at_the_digits_the_paper_prints(make_frame):
    frame = as_frame(make_frame({**SCORES, ("chacha", "x"): [3.992, 3.992]}))
    (found,) = published_against_measured(frame, [claim(0.0, 0.0)], SCALE)
    assert found.measured == pytest.approx(0.004)
    assert found.agrees is True


def test_a_verdict_needs_a_spread_or_a_tolerance(make_frame):
    (found,) = published_against_measured(
        as_frame(make_frame(SCORES)), [claim(3.2, metric="score")]
    )
    assert found.measured == pytest.approx(3.2)
    assert found.agrees is None


def test_a_metric_next_to_the_score(make_frame):
    frame = as_frame(make_frame(SCORES, metrics={"test": 0.9}))
    (found,) = published_against_measured(frame, [claim(0.91, 0.02, metric="test")])
    assert found.measured == pytest.approx(0.9)
    assert found.agrees is True


def test_what_was_not_measured_has_no_verdict(make_frame):
    frame = as_frame(make_frame({**SCORES, ("chacha", "x"): ["crash", "skipped"]}))
    claims = [
        claim(0.4, 0.1),
        claim(0.4, 0.1, data="unheard"),
        claim(0.4, 0.1, algorithm="unknown"),
    ]
    for found in published_against_measured(frame, claims, SCALE):
        assert found.n == 0
        assert found.agrees is None


def test_errors_are_between_the_baselines_and_times_over_the_first():
    found = relative(FRAME, BASELINES)

    assert found.labels == (*BASELINES, "apple(1)", "apple(0.5)", "apple-best")
    np.testing.assert_allclose(found.errors[:, 0], [1, 0.5, 0, -0.25, 0.75, -0.25])
    np.testing.assert_allclose(found.times[:, 0], [1, 3, 9, 2, 1, 2])
    assert np.isnan(found.errors[:, 1]).all()  # all baselines are equal there
    np.testing.assert_allclose(found.times[-1], [2, 1])


def test_a_dataset_without_a_baseline_is_left_out():
    frame = FRAME[~((FRAME["name"] == "cubic") & (FRAME["data"] == "b"))]

    assert relative(as_frame(frame), BASELINES).problems == ("a",)
    assert relative(FRAME, ("linear", "quartic")).problems == ()


def test_a_cdf_counts():
    x, y = cumulative(np.array([0.5, np.nan, -1.0]))

    assert x.tolist() == [-1.0, 0.5]
    assert y.tolist() == [1.0, 2.0]
