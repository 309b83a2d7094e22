"""One message an incident, one when it is over, and none in between."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.tasks.live.incidents import Incident, reconcile

START = datetime(2026, 1, 1, tzinfo=UTC)


def day(n):
    return START + timedelta(days=n)


def incident(n=0, kind="alarm", subject="labels", what="unlike the days before"):
    return Incident(kind, subject, what, day(n), "leaseboard live status sales.yaml")


def reported(days, most=60, kind="alarm"):
    """Return the days with a notification, and what it says, if it is found on `days`."""
    cases, said = [], []
    for n in range(most):
        cases, changed = reconcile(cases, [incident(n, kind)] if n in days else [], day(n))
        said += [(n, message.status) for message in changed]
    return said


def test_an_incident_that_every_update_looks_for_is_over_when_an_update_does_not_find_it():
    assert reported([5, 6], kind="contract") == [(5, "opened"), (7, "resolved")]
    assert reported([5, 7], kind="contract")[2:] == [(7, "opened"), (9, "resolved")]


@pytest.mark.parametrize("kind", ["alarm", "contract"])
@pytest.mark.parametrize("period", [2, 3, 4, 5, 7])
def test_one_that_flaps_is_reported_ever_more_rarely(period, kind):
    said = reported(range(0, 200, period), 200, kind)

    assert sum(status == "opened" for _, status in said) <= 5


@given(st.lists(st.sets(st.sampled_from("abc")), max_size=40))
def test_opened_and_resolved_alternate(updates):
    cases, reported_of = [], {}
    for n, subjects in enumerate(updates):
        cases, changed = reconcile(
            cases, [incident(n, subject=s) for s in sorted(subjects)], day(n)
        )
        for message in changed:
            reported_of.setdefault(message.subject, []).append(message.status)
        still = {case.subject for case in cases if case.is_open}
        assert subjects <= still
    for said in reported_of.values():
        assert said == ["opened", "resolved"] * (len(said) // 2) + ["opened"] * (len(said) % 2)
