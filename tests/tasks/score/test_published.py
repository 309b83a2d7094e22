"""Published against measured."""

from __future__ import annotations

import numpy as np
import pytest

from leaseboard.tasks.jobs.suites.suite import Printed
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.leaderboard import Scale
from leaseboard.tasks.score.papers import published_against_measured

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
    assert found["measured"].tolist() == pytest.approx([0.4] * 3)
    assert found["measured_sd"].tolist() == pytest.approx([np.std([0.5, 0.3])] * 3)
    assert found["agrees"].tolist() == [True, False, False]


def test_any_metric_may_be_claimed_and_a_verdict_needs_a_spread_or_a_tolerance(make_frame):
    frame = as_frame(make_frame(SCORES, metrics={"test": 0.9}))
    claims = [claim(3.2, metric="score"), claim(0.91, 0.02, metric="test")]
    found = published_against_measured(frame, claims)
    assert found["measured"].tolist() == pytest.approx([3.2, 0.9])
    assert found["agrees"].tolist() == [None, True]
