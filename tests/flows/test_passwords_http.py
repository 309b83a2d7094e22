"""Servers that ask for a password, refuse it or fail: no command says or keeps it."""

import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

MARK = "5ECRET"
SUITE = """
title: One
data: ["synthetic:fried?rows=300&seed=0"]
baselines: false
algorithms: [vanilla]
"""
COMMAND = """
import runpy
from leaseboard.tasks.track import recorder
recorder.RETRY_SECONDS = (0.01,) * len(recorder.RETRY_SECONDS)  # as often as ever, and soon
runpy.run_module("leaseboard", run_name="__main__", alter_sys=True)
"""


@pytest.fixture(params=[401, 500])
def server(request):
    """Yield the port of a server that gives one answer to everything, and repeats the request."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            said = f"{self.path} {self.headers}".encode()
            self.send_response(request.param)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def do_POST(self):
            self.do_GET()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made.server_port
        made.shutdown()
        thread.join()


@pytest.fixture
def call(tmp_path, zygote):
    """Return a function that runs a command, which neither prints nor writes the password."""
    (tmp_path / "command.py").write_text(COMMAND)
    (tmp_path / "one.yaml").write_text(SUITE)

    def run(*words, **variables):
        environment = {k: v for k, v in os.environ.items() if k != "PREFECT_API_URL"} | {
            "PREFECT_HOME": str(tmp_path / "prefect"), "LEASEBOARD_CACHE": str(tmp_path / "cache"),
            "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **variables,
        }  # fmt: skip
        ended = zygote.run(
            [tmp_path / "command.py", "--debug", *words], cwd=tmp_path, env=environment
        )
        said = (ended.stdout + ended.stderr).decode()
        assert MARK not in said, said
        assert "internal error" not in said, said
        for path in tmp_path.rglob("*"):
            assert not path.is_file() or MARK.encode() not in path.read_bytes(), path
        return ended.returncode, said

    return run


@pytest.mark.slow
def test_a_tracking_server_that_refuses(call, server):
    store = f"http://me:p%23{MARK}%5B@127.0.0.1:{server}/x?token=t{MARK}"
    code, said = call("run", "one.yaml", "--local", MLFLOW_TRACKING_URI=store)

    assert code == 2
    assert f"the MLflow store http://***@127.0.0.1:{server}/x failed: " in said


@pytest.mark.parametrize("server", [401], indirect=True)  # a 500 is asked again for minutes
@pytest.mark.parametrize("words", [("schedule",), ("run", "one.yaml")])
def test_a_prefect_server_that_refuses(call, server, words):
    code, said = call(*words, PREFECT_API_URL=f"http://me:p%23{MARK}@127.0.0.1:{server}/api")

    assert code == 2
    assert f"Prefect's server at http://***@127.0.0.1:{server}/api does not answer" in said
