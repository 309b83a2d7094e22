"""Requirements in addition to scores: what keeps them, what breaks them, and no way round them."""

import json
import math

import pytest

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.jobs.suites.requirement import Requirement
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.gate.baseline import accept
from leaseboard.tasks.score.gate.formats import as_json, headline, markdown
from leaseboard.tasks.score.gate.requirements import Evidence, Quantity, measure
from leaseboard.tasks.score.gate.verdict import gate


def requirement(metric="m", reason="r", **given):
    return Requirement(algorithm="chacha", data="x", metric=metric, reason=reason, **given)


GUARD = requirement("score", "proven", over="vanilla", at_most=1.01)


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


def measured(of, frame, events=None):
    return measure(of, Evidence(frame, lambda key: (events or {})[key]))


def accepted(frame, *requirements):
    found = [measured(each, frame) for each in requirements]
    return accept(frame, "ci", date="", versions={}, quantities=found)


CALM = accepted(both())


def judged(frame, of, baseline=None):
    """Return the gate of a frame and a requirement, against calm races where it is accepted."""
    baseline = baseline or CALM.model_copy(update={"requirements": (of,)})
    return gate(frame, baseline, quantities=[measured(of, frame)])


def verdict_of(verdict):
    (each,) = verdict.requirements
    return each.verdict


def test_a_requirement_is_met_or_broken_for_any_scores():
    verdict = judged(both(), GUARD)
    assert (verdict.exit_code, verdict_of(verdict)) == (0, "met")
    verdict = judged(both(chacha=0.9, vanilla=0.85), GUARD)
    assert {check.verdict for check in verdict.checks} == {"improved"}
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
        baseline = CALM.model_copy(update={"requirements": (of,)})
        found = gate(both(), baseline, quantities=[Quantity(of, values)])
        assert verdict_of(found) == verdict, (probability, n_broken)


class TestNeverGreenWithoutMeasuring:
    accepted = accepted(both(), GUARD)

    def test_a_requirement_taken_out_of_the_suite_is_missing(self):
        verdict = gate(both(), self.accepted)
        assert (verdict.exit_code, verdict_of(verdict)) == (1, "missing")

    def test_another_bound_is_another_requirement_and_another_reason_is_not(self):
        def changed(**change):
            other = GUARD.model_copy(update=change)
            return gate(both(), self.accepted, quantities=[measured(other, both())])

        for change in (
            {"at_most": 1.5},
            {"failure_probability": 0.5},
            {"over": None},
            {"data": "y"},
        ):
            verdict = changed(**change)
            assert verdict.exit_code == 1
            failing = {each.verdict for each in verdict.requirements if each.fails}
            assert failing <= {"changed", "missing"}
        assert changed(reason="in other words").exit_code == 0

    def test_a_requirement_that_was_not_accepted_is_checked_nevertheless(self):
        broken = both(vanilla=0.9)
        assert verdict_of(judged(both(), GUARD, CALM)) == "new"
        assert judged(broken, GUARD, CALM).exit_code == 1
        for frame, code in ((both(), 3), (both(chacha=2.0), 1)):  # without anything accepted
            assert gate(frame, None, quantities=[measured(GUARD, frame)]).exit_code == code

    def test_a_job_that_did_not_end_ok_is_not_a_measurement(self):
        for status, code, verdict in (("crash", 2, "failed"), ("skipped", 1, "missing")):
            frame = as_frame([result("chacha", status=status, reason="why"), result("vanilla")])
            found = judged(frame, GUARD)
            assert (found.exit_code, verdict_of(found)) == (code, verdict)
            assert "chacha, seed 0" in found.requirements[0].explanation

    def test_what_cannot_be_measured_is_missing(self):
        lonely = as_frame([result("chacha", 0), result("chacha", 1), result("vanilla", 0)])
        assert "no result of vanilla" in measured(GUARD, lonely).problem
        assert "no job of it ran" in measured(GUARD, as_frame([result("vanilla")])).problem
        unknown = measured(requirement("scor", at_most=1), both()).problem
        assert unknown.startswith("no metric 'scor' in its results: there are score, units")


def test_what_is_broken_or_not_measured_cannot_be_accepted():
    for frame in (both(chacha=2.0), as_frame([result("chacha")])):
        with pytest.raises(LeaseboardError, match=r"score of chacha over vanilla's on x ≤ 1\.01"):
            accepted(frame, GUARD)


def test_every_form_shows_name_value_and_bound_what_fails_first():
    broken = GUARD.model_copy(update={"metric": "units", "reason": "a <b>|reason"})
    frame = both(units=2.0)
    verdict = gate(
        frame,
        accepted(frame),
        quantities=[measured(GUARD, frame), Quantity(broken, (math.nan, 2.0))],
    )
    page = markdown(verdict)
    rows = [line for line in page.splitlines() if line.startswith(("| **broken", "| new"))]
    assert [row.split(" | ")[0] for row in rows] == ["| **broken**", "| new"]
    assert "a &lt;b>\\|reason" in rows[0]
    assert headline(verdict).endswith("2 requirements (1 broken, 1 new)")

    found = {one["verdict"]: one for one in json.loads(as_json(verdict))["requirements"]}
    assert (found["broken"]["measured"], found["broken"]["fails"]) == (None, True)
    assert (found["new"]["measured"], found["new"]["bound"]) == (1.0, "≤ 1.01")
