"""Published against measured."""

from __future__ import annotations

import numpy as np
import pytest

from leaseboard.tasks.jobs.suites.suite import Printed
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.published import published_against_measured
from leaseboard.tasks.score.table import Scale

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
