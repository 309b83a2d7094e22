"""Promises beside scores: what keeps them, what breaks them, and no way round them."""

import dataclasses
import json
import math
from xml.etree import ElementTree as ET

import pytest
from pydantic import ValidationError

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.algorithms.events import BoundsUpdated, LeaseGranted, Measured
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.jobs.suites.promise import Promise
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.score.frame import as_frame, to_frame
from leaseboard.tasks.score.gate.baseline import Baseline, accept, dropped
from leaseboard.tasks.score.gate.formats import as_json, headline, junit, markdown
from leaseboard.tasks.score.gate.promises import Evidence, Quantity, measure
from leaseboard.tasks.score.gate.verdict import gate

GUARD = Promise(
    algorithm="chacha", data="x", metric="score", over="vanilla", at_most=1.01, reason="proven"
)


def result(label, repetition=0, score=1.0, status="ok", **fields):
    return Result(
        key=f"{label}{repetition}", algorithm=label, label=label, data="x", digest="sha",
        seed=repetition, environment_seed=repetition, repetition=repetition, status=status,
        score=score if status == "ok" else None, metric="progressive_mse", **fields,
    )  # fmt: skip


def frame_of(*results):
    return as_frame(to_frame(results))


def both(chacha=1.0, vanilla=1.0, repetitions=2, **fields):
    return frame_of(
        *(result("chacha", n, chacha, **fields) for n in range(repetitions)),
        *(result("vanilla", n, vanilla) for n in range(repetitions)),
    )


def evidence(frame, events=None, logged=None):
    return Evidence(frame, lambda key: (events or {})[key], lambda key: (logged or {})[key])


def measured(promise, frame, **more):
    return measure(promise, evidence(frame, **more))


def accepted_of(*promises):
    """Calm races with promises of which nothing was measured."""
    calm = accept(both(), "ci", date="", versions={})
    return dataclasses.replace(calm, promises=promises)


def judged(frame, *promises, baseline="own"):
    """The gate of a frame and some promises, against what was accepted of calm races."""
    if baseline == "own":
        calm = both()
        found = [measured(promise, calm) for promise in promises]
        baseline = accept(calm, "ci", date="", versions={}, quantities=found)
    quantities = [measured(promise, frame) for promise in promises]
    return gate(frame, baseline, quantities=quantities)


def verdict_of(verdict):
    (kept,) = verdict.promises
    return kept.verdict


def test_a_promise_that_holds_passes():
    verdict = judged(both(), GUARD)
    assert (verdict.exit_code, verdict_of(verdict)) == (0, "kept")


def test_a_broken_promise_fails_though_the_score_is_better():
    bold = both(chacha=0.9, vanilla=0.85)
    verdict = judged(bold, GUARD)
    assert {check.label: check.verdict for check in verdict.checks} == {
        "chacha": "improved",
        "vanilla": "improved",
    }
    assert (verdict.exit_code, verdict_of(verdict)) == (1, "broken")


def test_one_repetition_is_enough_to_break_it():
    frame = both()
    frame.loc[(frame["label"] == "chacha") & (frame["repetition"] == 1), "score"] = 1.02
    (kept,) = judged(frame, GUARD).promises
    assert (kept.verdict, kept.n, kept.n_broken) == ("broken", 2, 1)
    assert kept.measured == pytest.approx(1.02)


def test_rounding_breaks_nothing():
    assert verdict_of(judged(both(chacha=1.01 * (1 + 1e-12)), GUARD)) == "kept"
    assert verdict_of(judged(both(chacha=1.01 * (1 + 1e-7)), GUARD)) == "broken"


@pytest.mark.parametrize(
    ("bound", "value", "holds"),
    [
        ({"at_least": 0.5}, 0.5, True),
        ({"at_least": 0.5}, 0.49, False),
        ({"at_least": 0.0, "at_most": 1.0}, 1.5, False),
        ({"equals": 5.0}, 5.0, True),
        ({"equals": 5.0}, 4.0, False),
        ({"equals": 5.0}, 6.0, False),
        ({"equals": 5.0, "within": 0.1}, 5.09, True),
        ({"equals": 5.0, "within": 0.1}, 5.11, False),
        ({"at_most": 1e300}, math.nan, False),
        ({"at_most": 1e300}, -math.inf, False),
        ({"at_least": -1e300}, math.inf, False),
    ],
)
def test_bounds_on_a_metric(bound, value, holds):
    promise = Promise(algorithm="chacha", data="x", metric="m", reason="r", **bound)
    frame = both(metrics={"m": value})
    calm = accepted_of(promise)
    verdict = judged(frame, promise, baseline=calm)
    assert verdict_of(verdict) == ("kept" if holds else "broken")
    assert verdict.exit_code == (0 if holds else 1)


@pytest.mark.parametrize(
    ("chance", "n_broken", "verdict"),
    [(0.5, 10, "kept"), (0.5, 11, "broken"), (0.05, 2, "kept"), (0.05, 3, "broken"),
     (0.0, 1, "broken")],
)  # fmt: skip
def test_chance_explains_two_standard_deviations(chance, n_broken, verdict):
    promise = Promise(
        algorithm="a", data="x", metric="m", at_most=0, chance=chance, reason="probability"
    )
    values = [float(n < n_broken) for n in range(13)]
    found = gate(both(), accepted_of(promise), quantities=[Quantity(promise, tuple(values))])
    assert verdict_of(found) == verdict


class TestNeverGreenWithoutMeasuring:
    def test_a_promise_taken_out_of_the_suite_is_missing(self):
        accepted = accept(both(), "ci", date="", versions={}, quantities=[measured(GUARD, both())])
        verdict = gate(both(), accepted)
        assert (verdict.exit_code, verdict_of(verdict)) == (1, "missing")

    @pytest.mark.parametrize(
        "change", [{"at_most": 1.5}, {"chance": 0.5}, {"over": None}, {"data": "y"}]
    )
    def test_another_bound_is_another_promise(self, change):
        accepted = accept(both(), "ci", date="", versions={}, quantities=[measured(GUARD, both())])
        other = GUARD.model_copy(update=change)
        verdict = gate(both(), accepted, quantities=[measured(other, both())])
        assert verdict.exit_code == 1
        assert {kept.verdict for kept in verdict.promises if kept.fails} <= {"changed", "missing"}

    def test_another_reason_is_the_same_promise(self):
        accepted = accept(both(), "ci", date="", versions={}, quantities=[measured(GUARD, both())])
        other = GUARD.model_copy(update={"reason": "in other words"})
        verdict = gate(both(), accepted, quantities=[measured(other, both())])
        assert verdict.exit_code == 0

    def test_a_promise_that_nobody_accepted_is_checked_all_the_same(self):
        accepted = accept(both(), "ci", date="", versions={})
        kept, broken = both(), both(chacha=1.0, vanilla=0.9)
        assert verdict_of(gate(kept, accepted, quantities=[measured(GUARD, kept)])) == "new"
        assert gate(broken, accepted, quantities=[measured(GUARD, broken)]).exit_code == 1

    def test_without_anything_accepted_nothing_was_compared(self):
        assert gate(both(), None, quantities=[measured(GUARD, both())]).exit_code == 3
        broken = both(chacha=2.0)
        assert gate(broken, None, quantities=[measured(GUARD, broken)]).exit_code == 1

    @pytest.mark.parametrize(("status", "code"), [("skipped", 3), ("crash", 2), ("timeout", 2)])
    def test_jobs_that_are_not_ok_keep_no_promise(self, status, code):
        frame = frame_of(
            result("chacha", 0, status=status, reason="why"), result("vanilla", 0),
        )  # fmt: skip
        verdict = gate(frame, None, quantities=[measured(GUARD, frame)])
        assert verdict_of(verdict) == ("missing" if status == "skipped" else "failed")
        assert verdict.exit_code == code

    def test_a_repetition_without_the_other_algorithm_is_missing(self):
        frame = frame_of(result("chacha", 0), result("chacha", 1), result("vanilla", 0))
        assert "no result of vanilla" in measured(GUARD, frame).problem

    def test_a_metric_that_no_job_has_is_missing(self):
        promise = Promise(algorithm="chacha", data="x", metric="scor", at_most=1, reason="r")
        found = measured(promise, both())
        assert found.problem.startswith("no metric 'scor' in its results: there are score, units")
        assert gate(both(), None, quantities=[found]).checks
        assert verdict_of(judged(both(), promise, baseline=None)) == "missing"

    def test_a_store_that_cannot_be_read_is_missing(self):
        def gone(_key):
            raise LeaseboardError("no store")

        promise = Promise(
            algorithm="chacha", data="x", metric="recorded.lease", equals=1, reason="r"
        )
        lease = [LeaseGranted(at=0, configuration=0, amount=5)]
        run = Evidence(both(), lambda _: lease, gone)
        assert measure(promise, run).problem == "no store"

    def test_another_algorithm_under_an_accepted_label_is_changed(self):
        frame = both()
        frame.loc[frame["label"] == "chacha", "algorithm"] = "vanilla"
        verdict = judged(frame, GUARD)
        assert verdict.exit_code == 1
        assert "algorithm is 'vanilla'" in next(c.explanation for c in verdict.checks if c.fails)

    @pytest.mark.parametrize("field", ["settings", "bench_options"])
    def test_other_settings_under_an_accepted_label_are_changed(self, field):
        before, after = both(**{field: {"a": 1}}), both(**{field: {"a": 2}})
        accepted = accept(before, "ci", date="", versions={})
        assert gate(before, accepted).exit_code == 0
        (failing,) = [check for check in gate(after, accepted).checks if check.fails]
        assert (failing.label, failing.verdict) == ("chacha", "changed")

    def test_a_setting_that_the_code_gains_changes_nothing(self):
        before, after = both(settings={"a": 1}), both(settings={"a": 1, "b": [0.5]})
        assert gate(after, accept(before, "ci", date="", versions={})).exit_code == 0


class TestAccept:
    @pytest.mark.parametrize("frame", [both(chacha=2.0), frame_of(result("chacha"))])
    def test_what_is_broken_or_not_measured_cannot_be_accepted(self, frame):
        with pytest.raises(UsageError, match=r"score of chacha over vanilla's on x ≤ 1\.01"):
            accept(frame, "ci", date="", versions={}, quantities=[measured(GUARD, frame)])

    def test_promises_survive_the_file(self):
        before = accept(both(), "ci", date="", versions={}, quantities=[measured(GUARD, both())])
        assert Baseline.from_json(before.to_json()) == before
        assert dropped(before, accept(both(), "ci", date="", versions={})) == [GUARD.name]

    @pytest.mark.parametrize("bound", ["NaN", '"1"', "null"])
    def test_a_bound_that_is_no_number_is_refused(self, bound):
        before = accept(both(), "ci", date="", versions={}, quantities=[measured(GUARD, both())])
        text = before.to_json().replace("1.01", bound)
        with pytest.raises(UsageError, match=r"here is no accepted baseline \(promises\.0"):
            Baseline.from_json(text, "here")


class TestQuantities:
    def test_the_curve_is_compared_at_every_moment_of_both(self):
        def log(*values):
            return [Measured(at=at, value=v) for at, v in zip((1, 2, 5), values, strict=True)]

        events = {"chacha0": log(0.0, 3.0, 1.0), "vanilla0": log(0.0, 2.0, 1.0)}
        promise = GUARD.model_copy(update={"metric": "curve"})
        frame = both(repetitions=1)
        assert measured(promise, frame, events=events).values == (1.5,)
        events["vanilla0"] = log(0.0, 3.0, 0.0)
        assert measured(promise, frame, events=events).values == (math.inf,)
        events["vanilla0"] = log(0.0, math.nan, 1.0)
        assert math.isnan(measured(promise, frame, events=events).values[0])
        events["vanilla0"] = []
        assert "no moment in common" in measured(promise, frame, events=events).problem

    def test_the_curve_alone_has_no_value(self):
        promise = Promise(algorithm="chacha", data="x", metric="curve", at_most=1, reason="r")
        assert "needs over" in measured(promise, both(), events={}).problem

    def test_of_what_the_log_says_the_store_must_hold_the_same(self):
        events = [
            LeaseGranted(at=0, configuration=0, amount=5),
            LeaseGranted(at=0, configuration=1, amount=5),
            BoundsUpdated(at=5, configuration=0, value=0.3, lower=0.2, upper=0.4, units=5),
        ]
        logged = {0: {"lease": 5.0, "loss": 0.3, "bound.lower": 0.2, "bound.upper": 0.5}}
        found = {
            name: measured(
                Promise(
                    algorithm="chacha", data="x", metric=f"recorded.{name}", equals=1, reason="r"
                ),
                both(repetitions=1),
                events={"chacha0": events},
                logged={"chacha0": logged},
            ).values
            for name in ("lease", "value", "bounds")
        }
        assert found == {"lease": (0.5,), "value": (1.0,), "bounds": (0.0,)}

    def test_what_is_derived_comes_before_a_metric_of_that_name(self):
        promise = Promise(algorithm="chacha", data="x", metric="loss", at_most=1, reason="r")
        lying = both(metrics={"loss": 0.0}, bench="samples")
        events = {"chacha0": [], "chacha1": []}
        assert "needs full-run" in measured(promise, lying, events=events).problem


class TestPages:
    def verdict(self):
        broken = GUARD.model_copy(update={"metric": "units", "reason": "a <b>|reason"})
        frame = both(units=2.0)
        return gate(
            frame,
            accept(frame, "ci", date="2026-11-22", versions={}),
            quantities=[measured(GUARD, frame), Quantity(broken, (math.nan, 2.0))],
        )

    def test_a_page_shows_name_value_and_bound_what_fails_first(self):
        page = markdown(self.verdict())
        rows = [line for line in page.splitlines() if line.startswith(("| **broken", "| new"))]
        assert rows[0].startswith("| **broken** | units of chacha over vanilla's on x | no number")
        assert rows[1].startswith("| new | score of chacha over vanilla's on x | 1 | ≤ 1.01 | 2 |")
        assert "a &lt;b>\\|reason" in rows[0]
        assert headline(self.verdict()).endswith("2 promises (1 broken, 1 new)")

    def test_junit_has_a_case_for_each(self):
        root = ET.fromstring(junit(self.verdict()))
        cases = {case.get("name"): case for case in root.findall("testcase")}
        case = cases["promise: units of chacha over vanilla's on x"]
        assert "promised ≤ 1.01" in case.find("failure").get("message")
        assert {k: root.get(k) for k in ("tests", "failures", "errors", "skipped")} == {
            "tests": "4", "failures": "1", "errors": "0", "skipped": "1",
        }  # fmt: skip

    def test_json_has_all_of_it(self):
        broken, new = sorted(
            json.loads(as_json(self.verdict()))["promises"], key=lambda one: one["verdict"]
        )
        assert (broken["measured"], broken["fails"], broken["bound"]) == (None, True, "≤ 1.01")
        assert (new["measured"], new["verdict"], new["at_most"]) == (1.0, "new", 1.01)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "without a bound"),
        ({"equals": 1.0, "at_most": 2.0}, "equals excludes"),
        ({"at_least": 2.0, "at_most": 1.0}, "is above at_most"),
        ({"at_most": 2.0, "within": 1.0}, "within belongs to equals"),
        ({"at_most": math.nan}, "finite"),
        ({"equals": math.inf}, "finite"),
        ({"at_most": 1.0, "over": "chacha"}, "always 1"),
        ({"at_most": 1.0, "chance": 1.0}, "less than 1"),
        ({"at_most": 1.0, "reason": ""}, "at least 1 character"),
    ],
)
def test_a_promise_that_says_nothing_is_refused(fields, words):
    given = {"algorithm": "chacha", "metric": "m", "reason": "r"} | fields
    with pytest.raises(ValidationError, match=words):
        Promise(**given)


class TestSuites:
    def suite(self, *promises):
        return Suite.model_validate(
            {
                "title": "t",
                "data": [{"data": "sklearn:wine", "name": "wine"}, "sklearn:digits"],
                "algorithms": ["vanilla", "chacha"],
                "promises": list(promises),
            }
        )

    def test_a_promise_of_all_data_is_one_of_each(self):
        every = {"algorithm": "chacha", "metric": "score", "at_most": 1, "reason": "r"}
        assert [promise.data for promise in self.suite(every).promised()] == [
            "sklearn:wine",
            "sklearn:digits",
        ]
        (one,) = self.suite(every | {"data": "wine"}).promised()
        assert one.data == "sklearn:wine"

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"algorithm": "chaca"}, "did you mean 'chacha'"),
            ({"over": "vanila"}, "did you mean 'vanilla'"),
            ({"data": "wein"}, "unknown data 'wein'"),
        ],
    )
    def test_it_speaks_of_what_is_in_the_suite(self, change, words):
        promise = {"algorithm": "chacha", "metric": "score", "at_most": 1, "reason": "r"}
        with pytest.raises(ValidationError, match=words):
            self.suite(promise | change)

    def test_the_same_twice_is_refused(self):
        promise = {"algorithm": "chacha", "metric": "score", "at_most": 1, "reason": "r"}
        with pytest.raises(ValidationError, match="stands twice"):
            self.suite(promise, promise | {"data": "wine", "at_most": 2})
