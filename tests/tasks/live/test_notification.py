"""Letters reach a server on loopback; one that no one takes is kept, and costs little time."""

import socket
from contextlib import contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from benchmarks.drill import Webhook
from leaseboard.tasks.live.incidents import Incident, deliver, outbox_of, reconcile, send, shown

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
