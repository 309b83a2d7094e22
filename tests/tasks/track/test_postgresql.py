"""The same record in PostgreSQL, on a server that the test starts for itself."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from functools import partial

import pytest

from tasks.track import Tracker, bulk

pytestmark = pytest.mark.postgresql


@pytest.fixture(scope="module")
def server(postgresql):
    """The address of a PostgreSQL without its database's name."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        user = None
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            user = "nobody"
            shutil.chown(folder, user)
        run = partial(subprocess.run, user=user, cwd=folder, check=True, capture_output=True)
        run([postgresql / "initdb", "-D", "data", "-U", "mlflow", "--auth=trust", "--no-sync"])
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c fsync=off -k {folder}"
        run([postgresql / "pg_ctl", "-D", "data", "-o", options, "-l", "log", "-w", "start"])
        yield f"postgresql://mlflow:secret@127.0.0.1:{port}"
        run([postgresql / "pg_ctl", "-D", "data", "-m", "fast", "-w", "stop"])


@pytest.fixture
def database(server, tmp_path, monkeypatch):
    """A function that makes a database and returns its address."""
    from sqlalchemy import create_engine, text

    def make(name):
        engine = create_engine(f"{server}/postgres", isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        engine.dispose()
        return f"{server}/{name}"

    monkeypatch.setenv("LEASEBOARD_ARTIFACTS", str(tmp_path / "artifacts"))
    return make


def test_both_ways_of_writing_read_the_same(database, finished, result, contents):
    jobs = [finished(result("k1"), 40), finished(result("k2", status="crash"), 4)]
    read = []
    for name, through_client in (("in_bulk", False), ("one_by_one", True)):
        address = database(name)
        tracker = Tracker(address, "s", ["k1", "k2"], through_client=through_client)
        assert isinstance(tracker.writer, bulk.BulkWriter) is not through_client
        for made, folder in jobs:
            tracker.log(made, folder)
        tracker.close("FINISHED", {"ok": 1})
        read.append(contents(address, "s"))

    assert len(read[0]) == 2 + 40 + 4
    assert read[0] == read[1]


def test_a_failed_job_gives_way_and_costs_stay_low(database, finished, result, contents):
    address = database("again")
    spent = []
    for number, status in enumerate(("crash", "timeout", "ok")):
        made, folder = finished(result(status=status, started=f"2026-01-0{number + 1}"), 300)
        tracker = Tracker(address, "s", ["k1"])
        begun = time.process_time()
        tracker.log(made, folder)
        spent.append((time.process_time() - begun) / 300)

    assert len(contents(address, "s")) == 301
    assert contents(address, "s")["k1"]["tags"]["leaseboard.status"] == "ok"
    assert sorted(spent)[1] < 0.002
