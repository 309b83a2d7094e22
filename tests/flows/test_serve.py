"""``leaseboard live serve`` as a process: what it has answered stays, however it ends."""

import http.client
import json
import os
import signal
import socket
import threading
from collections import Counter
from contextlib import closing, contextmanager

import pandas as pd
import psutil
import pytest
from mlflow.pyfunc.scoring_server.client import ScoringServerClient

from leaseboard.flows.commands.live import listening
from tests.flows.waiting import until
from tests.tasks.live.world import World

SECONDS = 120
ROW = {"when": "2026-02-01T00:00:00", "a": 0.5, "shop": "x"}


class Callers:
    """Some who ask for one row after the other until they may stop, or the server is gone."""

    def __init__(self, port, count=4):
        self.statuses, self.ids, self.versions = Counter(), set(), set()
        self._port, self._stop = port, threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(i,)) for i in range(count)]
        for each in self._threads:
            each.start()

    def _ask(self, caller):
        number = 0
        with calling(self._port) as connection:
            while not self._stop.is_set():
                number += 1
                try:
                    status, reported = predict(connection, f"{caller}-{number}")
                except (OSError, http.client.HTTPException):
                    self.statuses["gone"] += 1
                    return
                self.statuses[status] += 1
                if status == 200:
                    self.ids.add(reported["ids"][0])
                    self.versions.add(reported["snapshot"]["digest"])

    def end(self):
        self._stop.set()
        for each in self._threads:
            each.join()


def calling(port):
    return closing(http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS))


def predict(connection, identity):
    body = json.dumps({"dataframe_records": [{**ROW, "order": identity}]})
    connection.request("POST", "/invocations", body, {"content-type": "application/json"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


class Server:
    """The command, in a process of its own."""

    def __init__(self, process, said):
        self.process, self._said = process, said
        line = until(lambda: next((x for x in self.said() if "http://" in x), None))
        self.port = int(line.partition(";")[0].rpartition(":")[2])

    def said(self):
        return self._said.read_text().splitlines()

    def ask(self, path="/ping", identity=None):
        with calling(self.port) as connection:
            if identity is not None:
                return predict(connection, identity)
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    @contextmanager
    def under_way(self):
        """Send a request's head; after the block send the body, and take the answer."""
        body = json.dumps({"dataframe_records": [{**ROW, "order": "last"}]}).encode()
        head = (
            "POST /invocations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Expect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", self.port), SECONDS) as connection:
            connection.sendall(head.encode())
            assert connection.recv(100).startswith(b"HTTP/1.1 100")
            yield
            connection.sendall(body)
            with closing(http.client.HTTPResponse(connection)) as answer:
                answer.begin()
                assert answer.status == 200


@pytest.fixture
def uri(tmp_path, empty_store):
    (tmp_path / "mlflow.db").write_bytes(empty_store.read_bytes())
    return f"sqlite:///{tmp_path / 'mlflow.db'}"


@pytest.fixture
def world(tmp_path):
    return World(tmp_path / "home", keep=KEEP)


KEEP = """\
name: sales
data: {source: "folder:inbox/*.csv", time: when, id: order, target: revenue}
model: {algorithm: online-automl, settings: {b: 3}}
contract: contract.yaml
"""


@pytest.fixture
def serve(zygote, world, uri, tmp_path):
    """Return a function that starts a server of the world's live model."""
    started = []

    def start(home=world.home, uri=uri):
        said = tmp_path / f"said-{len(started)}"
        words = ["-m", "leaseboard", "live", "serve", home / "sales.yaml", "--port", "0",
                 "--run-dir", home, "--tracking-uri", uri]  # fmt: skip
        with said.open("w") as file:
            process = zygote.start(words, cwd=tmp_path, out=file, err=file)
        started.append(process)
        return Server(process, said)

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()


def learn(world, uri, number):
    """Deliver a day and run its update, which publishes."""
    if number:
        world.deliver(number, world.day(number))
    world.update(number, file=world.home / "sales.yaml", tracking_uri=uri)


def logged(world):
    with world.state.connected() as connection:
        return set(connection.exec_driver_sql("select id from live_sales_served").scalars())


def test_it_follows_the_champion_under_load_and_ends_when_all_is_answered(serve, world, uri):
    server = serve()
    assert server.ask()[0] == 503
    status, reported = server.ask(identity="early")
    assert status == 503
    assert "no champion yet" in reported["error"]
    places = psutil.Process(server.process.pid).net_connections()
    assert [each.laddr.ip for each in places if each.status == "LISTEN"] == ["127.0.0.1"]

    learn(world, uri, 0)
    until(lambda: server.ask()[0] == 200)
    client, asked = ScoringServerClient("127.0.0.1", server.port), pd.DataFrame([ROW])
    client.ping()
    assert len(client.invoke(asked.assign(order="mlflow")).get_predictions()) == 1
    callers = Callers(server.port)
    until(lambda: callers.versions)
    learn(world, uri, 1)
    until(lambda: len(callers.versions) == 2)
    callers.end()
    assert callers.statuses.keys() <= {200, 503}, "no request was lost; 503: it is too busy"

    with server.under_way():
        server.process.terminate()
    assert server.process.wait(SECONDS) == -signal.SIGTERM
    assert logged(world) == callers.ids | {"last", "mlflow"}
    assert [x.rpartition("/")[2] for x in server.said() if "predictions come" in x] == ["1"]


def test_a_kill_leaves_no_prediction_without_its_log(serve, world, uri):
    learn(world, uri, 0)
    server = serve()
    callers = Callers(server.port)
    until(lambda: callers.statuses[200] >= 100)
    os.kill(server.process.pid, signal.SIGKILL)
    server.process.wait(SECONDS)
    callers.end()
    assert {200, "gone"} <= callers.statuses.keys() <= {200, 503, "gone"}, "503: it is too busy"
    assert callers.ids <= logged(world)

    again = serve()
    assert again.ask(identity="again")[0] == 200
    assert "again" in logged(world)


@pytest.fixture
def taken():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "--port {port} cannot be used (Address already in use): name another"),
        (("--host", "0.0.0.0"), "--host '0.0.0.0' lets other machines ask: set LEASEBOARD_TOKEN"),
    ],
)
def test_what_cannot_be_served_is_one_line(call, world, uri, taken, options, said):
    file = world.home / "sales.yaml"
    given = ("--port", taken, "--tracking-uri", uri, "--run-dir", world.home)
    code, _, err = call("live", "serve", file, *given, *options)
    assert code == 64
    assert said.format(port=taken) in err
    assert len(err.strip().splitlines()) == 1


def test_the_second_part_of_an_answer_does_not_wait_for_a_confirmation():
    with (
        listening("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as connection,
    ):
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
