"""One message an incident, one when it is over, none in between, and none is lost."""

import socket
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.drill import Webhook
from leaseboard.tasks.live.incidents import Incident, deliver, outbox_of, reconcile, send, shown

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


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def webhook():
    with Webhook() as made:
        yield made
        made.shutdown()


@contextmanager
def closed_port():
    """Yield an address at which nothing listens, and nothing can."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/hook"


def full_outbox(*addresses, n=2):
    found = [
        Incident("alarm", f"x{i}", "was 9", NOON, "leaseboard live update a.yaml")
        for i in range(n)
    ]
    settings = SimpleNamespace(name="sales", alerts=list(addresses))
    _, messages = reconcile([], found, NOON)
    return dict(enumerate(outbox_of(messages, settings, "report.html")))


def test_a_webhook_gets_each_message_once_with_all_that_is_known(webhook):
    done = list(deliver(full_outbox(f"{webhook.address}hook?key=1")))
    first, second = webhook.reported

    assert [fault for _, _, fault in done] == ["", ""]
    assert first.pop("id") != second.pop("id")
    assert first == {
        "live_model": "sales",
        "status": "opened",
        "kind": "alarm",
        "subject": "x0",
        "what": "was 9",
        "since": "2026-01-01T12:00:00+00:00",
        "command": "leaseboard live update a.yaml",
        "page": "report.html",
        "text": "sales: was 9, since 2026-01-01T12:00:00+00:00; see leaseboard live update a.yaml;"
        " report.html",
    }


def test_a_receiver_that_is_down_is_asked_once_an_update_and_nothing_is_lost(webhook):
    with closed_port() as down:
        up = webhook.address
        left = full_outbox(down, up, n=3)
        state = SimpleNamespace(outbox=lambda: dict(left), remove_sent=left.pop)
        (line,) = send(state, [down, up])

    assert [address for address, _ in left.values()] == [down] * 3
    assert len(webhook.reported) == 3
    assert line.startswith(f"{shown(down)}: is down (")
    assert line.endswith("); 3 kept, to be sent at the next update")


def test_a_secret_is_in_the_environment_alone(monkeypatch):
    monkeypatch.setenv("PASSWORD", "hunter2")
    monkeypatch.setenv("TOKEN", "t0ken")
    with closed_port() as down:
        written = down.replace("//", "//me:$PASSWORD@").replace("/hook", "/$TOKEN")
        ((_, address, fault),) = deliver(full_outbox(written, n=1))

    assert "$PASSWORD" in address
    assert "is down" in fault
    assert "hunter2" not in fault
    assert "t0ken" not in fault
