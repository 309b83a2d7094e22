"""No password of a store or a server is in a record, a file, an output or a command line.

The stores are real: a PostgreSQL that takes any password keeps MLflow's record and Prefect's.
"""

import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from leaseboard.flows import server as service
from tests.flows.waiting import free_port, until

MARK = "5ECRET"
PASSWORD = f"p%23{MARK}%5B%2F"
SUITE = """
title: One
data: ["synthetic:fried?rows=300&seed=0"]
baselines: false
algorithms: [vanilla]
"""
SCHEDULE = """
schedules:
  - {name: nightly, cron: "0 3 * * *", timezone: UTC, suite: quick}
"""

pytestmark = [pytest.mark.postgresql, pytest.mark.slow]


@pytest.fixture(scope="module")
def place(tmp_path_factory, postgresql):
    """Return a folder with a suite, and the environment of commands in it."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "one.yaml").write_text(SUITE)
    (folder / "conf").mkdir()
    (folder / "conf" / "schedule.yaml").write_text(SCHEDULE)
    engine = create_engine(f"{postgresql}/postgres", isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for name in ("mlflow_secret", "prefect_secret"):
            connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    address = postgresql.replace(":secret@", f":{PASSWORD}@")
    environment = {k: v for k, v in os.environ.items() if k != "PREFECT_API_URL"} | {
        "MLFLOW_TRACKING_URI": f"{address}/mlflow_secret",
        "PREFECT_API_DATABASE_CONNECTION_URL":
            f"{address.replace('postgresql', 'postgresql+asyncpg', 1)}/prefect_secret",
        "LEASEBOARD_ARTIFACTS": str(folder / "artifacts"),
        "LEASEBOARD_CACHE": str(folder / "cache"),
        "PREFECT_HOME": str(folder / "prefect"),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }  # fmt: skip
    return folder, environment


def below(pid):
    """Yield the processes that `pid` started, from the kernel: we ask 50 times a second."""
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in listed.read_text().split():
            yield child
            yield from below(child)


class Watched:
    """A command and the command lines of all processes that it started."""

    def __init__(self, zygote, place, *words):
        folder, environment = place
        self.lines = set()
        self._printed = folder.parent / f"{folder.name}-{words[0]}.txt"
        with self._printed.open("w") as printed:
            own = ["-m", "leaseboard", "--debug", *words]
            self.process = zygote.start(
                own, cwd=folder, out=printed, err=printed, env=environment, forks=False
            )
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    @property
    def said(self):
        return self._printed.read_text()

    def _look(self):
        while not self._over.wait(0.02):
            with suppress(OSError):  # a process has ended meanwhile
                for child in below(self.process.pid):
                    line = Path(f"/proc/{child}/cmdline").read_bytes().decode()
                    self.lines.add(line.replace("\0", " ").strip())

    def until(self, holds):
        until(holds, self.process, lambda: self.said)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.end()

    def end(self):
        code = self.process.wait(300)
        self._over.set()
        self._thread.join()
        return code


def kept(address):
    """Return all rows of all tables of a database, as text."""
    engine = create_engine(address)
    rows = []
    with engine.connect() as connection:
        names = "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public'"
        for (name,) in connection.execute(text(names)).all():
            every = connection.execute(text(f"SELECT t::text FROM {name} t"))
            rows += [f"{name}: {row}" for (row,) in every]
    engine.dispose()
    return rows


def assert_nowhere(place, command):
    assert MARK not in command.said
    assert not [line for line in command.lines if MARK in line]
    for path in place[0].rglob("*"):
        assert not path.is_file() or MARK.encode() not in path.read_bytes(), path


@pytest.mark.slow
def test_a_run_keeps_it_out_of_every_record(zygote, place, postgresql):
    store = place[1]["MLFLOW_TRACKING_URI"]
    command = Watched(zygote, place, "run", "one.yaml", "--workers", "1", "--tracking-uri", store)

    assert command.end() == 0, command.said
    assert any("prefect" in line for line in command.lines)
    assert_nowhere(place, command)
    for name, least in (("mlflow_secret", "leaseboard.key"), ("prefect_secret", "flow_run")):
        rows = kept(f"{postgresql}/{name}")
        assert any(least in row for row in rows)
        assert not [row for row in rows if MARK in row]


def test_the_ui_s_server_does_not_show_it(zygote, place):
    port = free_port()
    command = Watched(zygote, place, "ui", "--port", str(port))
    command.until(lambda: service.answers(port))

    command.stop()
    assert any("mlflow" in line for line in command.lines)
    assert_nowhere(place, command)


def test_a_schedule_does_not_show_it(zygote, place, postgresql):
    port = free_port()
    command = Watched(zygote, place, "schedule", "--port", str(port))
    command.until(lambda: "Prefect: http" in command.said)

    command.stop()
    assert any("prefect" in line for line in command.lines)
    assert_nowhere(place, command)
    assert not [row for row in kept(f"{postgresql}/prefect_secret") if MARK in row]
