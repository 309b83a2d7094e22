"""Several first starts of our own Prefect server: one makes the database, the others wait."""

import threading

import pytest

from leaseboard.flows import server
from leaseboard.flows.server import PrefectServer

FAKE = """
import http.server, os, sys, time
home = os.environ["FAKE_HOME"]
made = os.path.join(home, "prefect.db")
if "database" in sys.argv:
    # As Prefect's migrations: of two that make the same new database one fails.
    os.close(os.open(os.path.join(home, "making"), os.O_CREAT | os.O_EXCL))
    time.sleep(0.5)
    open(made, "w").close()
    sys.exit()
assert os.path.exists(made)
handler = http.server.SimpleHTTPRequestHandler
handler.do_GET = lambda self: (self.send_response(200), self.end_headers())
port = int(sys.argv[sys.argv.index("--port") + 1])
http.server.HTTPServer(("127.0.0.1", port), handler).serve_forever()
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Return a server that cannot be started twice while it makes its database."""
    monkeypatch.setattr(server, "COMMAND", ("-c", FAKE))
    monkeypatch.setenv("FAKE_HOME", str(tmp_path))
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    monkeypatch.delenv("PREFECT_API_DATABASE_CONNECTION_URL", raising=False)
    return tmp_path / "server.log"


def test_of_several_first_starts_all_get_a_server(fake):
    servers = [PrefectServer(fake) for _ in range(4)]
    failed = []

    def run(one):
        try:
            with one:
                one.wait()
        except Exception as error:  # noqa: BLE001  (of any kind)
            failed.append(error)

    threads = [threading.Thread(target=run, args=(one,)) for one in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_once_the_database_is_made_nothing_waits(fake):
    with PrefectServer(fake) as first:
        first.wait()
    with PrefectServer(fake) as one, PrefectServer(fake) as other:
        assert one.url != other.url
        assert all(each.wait() for each in (one, other))
