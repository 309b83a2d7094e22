"""Letters reach a server on loopback; one that no one takes is kept, and costs little time."""

import json
import socket
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

from leaseboard.tasks.live.incidents import Incident, deliver, outbox_of, reconcile, send, shown

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@contextmanager
def server():
    """Yield a webhook's address, and what it was sent."""
    got = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.path, json.loads(body)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}", got
        finally:
            listening.shutdown()
            thread.join()


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


def test_a_webhook_gets_each_message_once_with_all_that_is_known():
    with server() as (address, got):
        done = list(deliver(full_outbox(f"{address}/hook?key=1")))

    assert [fault for _, _, fault in done] == ["", ""]
    assert [path for path, _ in got] == ["/hook?key=1"] * 2
    assert got[0][1].pop("id") != got[1][1].pop("id")
    assert got[0][1] == {
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


def test_a_receiver_that_is_down_is_asked_once_an_update_and_nothing_is_lost():
    with closed_port() as down, server() as (up, got):
        left = full_outbox(down, up, n=3)
        state = SimpleNamespace(outbox=lambda: dict(left), remove_sent=left.pop)
        (line,) = send(state, [down, up])

    assert [address for address, _ in left.values()] == [down] * 3
    assert len(got) == 3
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
