"""Requirements in addition to scores: what keeps them, what breaks them, and no way round them."""

import math

import pytest

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.jobs.checks import Requirement
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.score.baseline import Quantity, accept, measure
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.verdict import gate, headline, markdown


def requirement(metric="m", reason="r", **given):
    return Requirement(algorithm="chacha", data="x", metric=metric, reason=reason, **given)


GUARD = requirement("score", "proven", at_most=1.01)


def result(label, repetition=0, score=1.0, status="ok", **fields):
    return Result(
        key=f"{label}{repetition}", algorithm=label, name=label, data="x", digest="sha",
        seed=repetition, environment_seed=repetition, repetition=repetition, status=status,
        score=score if status == "ok" else None, metric="progressive_mse", **fields,
    )  # fmt: skip


def both(chacha=1.0, vanilla=1.0, repetitions=2, **fields):
    return as_frame(
        [
            *(result("chacha", n, chacha, **fields) for n in range(repetitions)),
            *(result("vanilla", n, vanilla) for n in range(repetitions)),
        ]
    )


def accepted(frame, *requirements):
    found = [measure(each, frame) for each in requirements]
    return accept(frame, "ci", date="", versions={}, quantities=found)


CALM = accepted(both())


def judged(frame, of, baseline=CALM):
    """Return the gate of a frame and a requirement, against calm races."""
    return gate(frame, baseline, quantities=[measure(of, frame)])


def verdict_of(verdict):
    (each,) = verdict.requirements
    return each.verdict


def test_a_requirement_is_met_or_broken_for_any_scores():
    verdict = judged(both(), GUARD)
    assert (verdict.exit_code, verdict_of(verdict)) == (0, "met")
    verdict = judged(both(chacha=0.9), requirement("score", at_most=0.85))
    assert {check.verdict for check in verdict.checks} == {"improved", "same"}
    assert (verdict.exit_code, verdict_of(verdict)) == (1, "broken")
    assert verdict_of(judged(both(chacha=1.01 * (1 + 1e-12)), GUARD)) == "met"  # rounding
    assert verdict_of(judged(both(chacha=1.01 * (1 + 1e-7)), GUARD)) == "broken"


def test_bounds_on_a_metric():
    for bound, value, holds in (
        ({"at_least": 0.5}, 0.49, False),
        ({"at_least": 0.0, "at_most": 1.0}, 1.5, False),
        ({"equals": 5.0}, 5.0, True),
        ({"equals": 5.0}, 4.0, False),
        ({"equals": 5.0, "within": 0.1}, 5.09, True),
        ({"equals": 5.0, "within": 0.1}, 5.11, False),
        ({"at_most": 1e300}, math.nan, False),
    ):
        verdict = judged(both(metrics={"m": value}), requirement(**bound))
        assert (verdict_of(verdict), verdict.exit_code) == (
            ("met", 0) if holds else ("broken", 1)
        ), (bound, value)


def test_chance_explains_two_standard_deviations():
    for probability, n_broken, verdict in (
        (0.5, 10, "met"), (0.5, 11, "broken"), (0.05, 2, "met"), (0.05, 3, "broken"),
        (0.0, 1, "broken"),
    ):  # fmt: skip
        of = requirement(at_most=0, failure_probability=probability)
        values = tuple(float(n < n_broken) for n in range(13))
        found = gate(both(), CALM, quantities=[Quantity(of, values)])
        assert verdict_of(found) == verdict, (probability, n_broken)


class TestNeverGreenWithoutMeasuring:
    def test_where_nothing_is_accepted_a_requirement_is_checked_nevertheless(self):
        for frame, code in ((both(), 3), (both(chacha=2.0), 1)):
            assert gate(frame, None, quantities=[measure(GUARD, frame)]).exit_code == code

    def test_a_job_that_did_not_end_ok_is_not_a_measurement(self):
        for status, code, verdict in (("crash", 2, "failed"), ("skipped", 1, "missing")):
            frame = as_frame([result("chacha", status=status, reason="why"), result("vanilla")])
            found = judged(frame, GUARD)
            assert (found.exit_code, verdict_of(found)) == (code, verdict)
            assert "chacha, seed 0" in found.requirements[0].explanation

    def test_what_cannot_be_measured_is_missing(self):
        assert "no job of it ran" in measure(GUARD, as_frame([result("vanilla")])).problem
        unknown = measure(requirement("scor", at_most=1), both()).problem
        assert unknown.startswith("no metric 'scor' in its results: there are score, units")


def test_what_is_broken_or_not_measured_cannot_be_accepted():
    for frame in (both(chacha=2.0), as_frame([result("vanilla")])):
        with pytest.raises(LeaseboardError, match=r"score of chacha on x ≤ 1\.01"):
            accepted(frame, GUARD)


def test_every_form_shows_name_value_and_bound_what_fails_first():
    broken = GUARD.model_copy(update={"metric": "units", "reason": "a <b>|reason"})
    frame = both(units=2.0)
    verdict = gate(
        frame,
        accepted(frame),
        quantities=[measure(GUARD, frame), Quantity(broken, (math.nan, 2.0))],
    )
    page = markdown(verdict)
    rows = [line for line in page.splitlines() if line.startswith("| **broken")]
    assert [row.split(" | ")[0] for row in rows] == ["| **broken**"]
    assert "a &#60;b>\\|reason" in rows[0]
    assert headline(verdict).endswith("2 requirements (1 broken, 1 met)")
    found = {one.verdict: one for one in verdict.requirements}
    assert math.isnan(found["broken"].measured)
    assert (found["met"].measured, found["met"].bound) == (1.0, "≤ 1.01")
