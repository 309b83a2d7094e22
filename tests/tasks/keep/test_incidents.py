"""One message an incident, one when it is over, and none in between."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.tasks.keep.incidents import MEMORY, Incident, reconcile

START = datetime(2026, 1, 1, tzinfo=UTC)


def day(n):
    return START + timedelta(days=n)


def incident(n=0, kind="alarm", subject="labels", what="unlike the days before"):
    return Incident(kind, subject, what, day(n), "leaseboard keep sales.yaml --status")


def told(days, most=60, kind="alarm"):
    """The days on which something was told, and what, if it is found on `days`."""
    cases, said = [], []
    for n in range(most):
        after = reconcile(cases, [incident(n, kind)] if n in days else [], day(n))
        cases = after.cases
        said += [(n, message.status) for message in after.messages]
    return said


def test_one_that_lasts_is_told_twice():
    assert told(range(5, 30)) == [(5, "opened"), (31, "resolved")]


def test_one_that_every_turn_looks_for_is_over_when_a_turn_does_not_find_it():
    assert told([5, 6], kind="contract") == [(5, "opened"), (7, "resolved")]
    assert told([5, 7], kind="contract")[2:] == [(7, "opened"), (9, "resolved")]


@pytest.mark.parametrize("kind", ["alarm", "contract"])
@pytest.mark.parametrize("period", [2, 3, 4, 5, 7])
def test_one_that_flaps_is_told_ever_more_rarely(period, kind):
    said = told(range(0, 200, period), 200, kind)

    assert sum(status == "opened" for _, status in said) <= 5


def test_one_that_returns_after_its_memory_is_new():
    first = reconcile([], [incident()], day(0))
    over = reconcile(first.cases, [], day(2))
    after = day(2) + MEMORY + timedelta(days=1)

    assert reconcile(over.cases, [], after).cases == []


def test_a_clock_that_goes_back_resolves_nothing():
    first = reconcile([], [incident()], day(9))

    assert reconcile(first.cases, [], day(0)).messages == []
    assert reconcile(first.cases, [incident()], day(0)).cases[0].seen == day(9)


def test_an_incident_has_one_id_when_it_opens_and_is_resolved_and_another_when_it_returns():
    cases, told = [], []
    for n in range(20):
        after = reconcile(cases, [incident(0)] if n % 6 == 0 else [], day(n))
        cases = after.cases
        told += [(m.id, m.status) for m in after.messages]
    ids = list(dict.fromkeys(each for each, _ in told))
    assert told[:4] == [(i, status) for i in ids[:2] for status in ("opened", "resolved")]
    assert len(set(told)) == len(told)


def test_what_is_still_so_is_not_over_though_it_is_not_found():
    first = reconcile([], [incident(kind="contract")], day(0))
    for still, count in ((set(), 1), ({first.cases[0].incident.key}, 0)):
        assert len(reconcile(first.cases, [], day(9), still).messages) == count


@given(st.lists(st.sets(st.sampled_from("abc")), max_size=40))
def test_opened_and_resolved_take_turns(turns):
    cases, told_of = [], {}
    for n, subjects in enumerate(turns):
        after = reconcile(cases, [incident(n, subject=s) for s in sorted(subjects)], day(n))
        cases = after.cases
        for message in after.messages:
            told_of.setdefault(message.incident.subject, []).append(message.status)
        still = {case.incident.subject for case in cases if case.is_open}
        assert subjects <= still
    for said in told_of.values():
        assert said == ["opened", "resolved"] * (len(said) // 2) + ["opened"] * (len(said) % 2)
