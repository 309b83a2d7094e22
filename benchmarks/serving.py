"""How fast ``leaseboard live serve`` answers while the champion changes.

``python -m benchmarks.serving`` makes a live model in a folder of its own, starts the server on
loopback and asks it for one row 200 times a second for a minute, for any answers in the meantime,
while the champion changes five times. A request's time is counted from when it was due. It says
how many failed, the median and the 99th percentile, and whether each answer is in the log.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil

from leaseboard.tasks.live.first_files import infer
from leaseboard.tasks.live.model import LiveModel
from leaseboard.tasks.live.record import publish
from leaseboard.tasks.live.settings import Contract, LiveSettings, read_settings
from leaseboard.tasks.machine.environment import prepare_environment
from leaseboard.tasks.models.recipe import Recipe
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import Changes, ModelCandidate, digest_of

FEATURES = 8
CONNECTIONS = 16
START_SECONDS = 180.0
ROWS = 300
"""Learned before the server starts, and before each change of champion."""
FILE = """\
name: speed
data: {source: "folder:inbox/*.csv", id: id, target: y}
contract: contract.yaml
state: state.sqlite
"""


@dataclass
class LoadTest:
    """Results of a load test."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    versions: set[str] = field(default_factory=set)
    ids: set[str] = field(default_factory=set)
    """Of the rows that were answered."""
    cpu: float = 0.0
    """Seconds of the server."""
    logged: int = 0
    """How many of `ids` are in the log."""

    @property
    def failed(self) -> int:
        """Return requests without a prediction."""
        return sum(count for status, count in self.statuses.items() if status != 200)


class Shop:
    """Live model whose champion learns."""

    def __init__(self, folder: Path, uri: str) -> None:
        self.file, self._uri, self._seed = folder / "speed.yaml", uri, 0
        self.file.write_text(FILE)
        keep = read_settings(self.file)
        contract = infer(self.rows().assign(y=0.5), keep.data)
        keep.contract.write_text(contract.to_yaml())
        self.kept = self._publishable(keep, contract, State(folder / "state.sqlite", "speed"))
        self._model = self.kept.recipe.new("online-automl")

    def rows(self) -> pd.DataFrame:
        """Return rows without labels."""
        self._seed += 1
        generator = np.random.default_rng(self._seed)
        values = generator.uniform(-1, 1, (ROWS, FEATURES))
        frame = pd.DataFrame(values, columns=[f"x{i}" for i in range(FEATURES)])
        return frame.assign(id=[f"{self._seed}-{i}" for i in range(ROWS)])

    def learn(self) -> str:
        """Learn rows and publish what was learned; the version."""
        rows = self.rows()
        ids, features = rows.pop("id").tolist(), rows
        self._model.learn(features.to_dict("records"), features.sum(axis=1).tolist(), ids)
        content = self._model.dump()
        champion = ModelCandidate(
            1, "champion", "online-automl", digest_of(content), 0, "2026-01-01", "speed"
        )
        self.kept.state.commit(
            Changes("2026-01-01", candidates=[champion], models={digest_of(content): content})
        )
        return publish(self._uri, self.kept, datetime(2026, 1, 1, tzinfo=UTC))["champion"]

    def _publishable(self, keep: LiveSettings, contract: Contract, state: State) -> LiveModel:
        recipe = Recipe("y", "regression", "online-automl", {})
        return LiveModel(keep, contract, recipe, state, self.file)


async def ask(port: int, rate: float, seconds: float, measured: LoadTest) -> None:
    """Ask for one row so many times a second; a late answer delays no other question."""
    free: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        free.put_nowait(await asyncio.open_connection("127.0.0.1", port))
    began = time.perf_counter()

    async def one(number: int) -> None:
        due = began + number / rate
        await asyncio.sleep(due - time.perf_counter())
        reader, writer = await free.get()
        row = {"id": f"asked-{number}"} | {f"x{i}": (number % 97) / 97 for i in range(FEATURES)}
        body = json.dumps({"dataframe_records": [row]}).encode()
        head = (
            f"POST /invocations HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        status, reported = await _answer(reader)
        measured.seconds.append(time.perf_counter() - due)
        measured.statuses[status] += 1
        if status == 200:
            measured.versions.add(reported["snapshot"]["digest"])
            measured.ids.add(reported["ids"][0])
        free.put_nowait((reader, writer))

    await asyncio.gather(*(one(number) for number in range(int(rate * seconds))))
    for _ in range(CONNECTIONS):
        _, writer = await free.get()
        writer.close()
        await writer.wait_closed()


async def _answer(reader: asyncio.StreamReader) -> tuple[int, Any]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    length = next(int(line.partition(":")[2]) for line in head.splitlines()
                  if line.lower().startswith("content-length"))  # fmt: skip
    return int(head.split()[1]), json.loads(await reader.readexactly(length))


def measure(folder: Path, *, rate: float, seconds: float, changes: int) -> LoadTest:
    """Serve, ask, and change the champion meanwhile, at even distances."""
    uri = f"sqlite:///{folder / 'mlruns' / 'mlflow.db'}"
    measured, file = LoadTest(), folder / "speed.yaml"
    command = [sys.executable, "-P", "-m", "leaseboard", "live", "serve", str(file), "--port", "0",
               "--tracking-uri", uri]  # fmt: skip
    # An update computes in a process of its own here, too: it delays no request.
    with ProcessPoolExecutor(1, get_context("spawn"), _begin, (folder, uri)) as turns:
        turns.submit(_learn).result()
        _serve_and_ask(command, folder, turns, measured, rate, seconds, changes)
    state = State(folder / "state.sqlite", "speed")
    with state.connected() as connection:
        log = {row[0] for row in connection.exec_driver_sql("select id from live_speed_served")}
    measured.logged = len(measured.ids & log)
    return measured


def _serve_and_ask(
    command: Sequence[str],
    folder: Path,
    turns: ProcessPoolExecutor,
    measured: LoadTest,
    rate: float,
    seconds: float,
    changes: int,
) -> None:
    with subprocess.Popen(
        command, cwd=folder, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    ) as server:  # fmt: skip
        try:
            port = _port(server)
            process = psutil.Process(server.pid)
            before = sum(process.cpu_times()[:2])

            async def both() -> None:
                await asyncio.gather(
                    ask(port, rate, seconds, measured), _change(turns, seconds, changes)
                )

            asyncio.run(both())
            measured.cpu = sum(process.cpu_times()[:2]) - before
        finally:
            server.terminate()


def _begin(folder: Path, uri: str) -> None:
    prepare_environment(folder)
    globals()["_shop"] = Shop(folder, uri)


def _learn() -> str:
    shop: Shop = globals()["_shop"]
    return shop.learn()


async def _change(turns: ProcessPoolExecutor, seconds: float, changes: int) -> None:
    for _ in range(changes):
        await asyncio.sleep(seconds / (changes + 1))
        await asyncio.wrap_future(turns.submit(_learn))


def _port(server: subprocess.Popen[str]) -> int:
    assert server.stderr is not None
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        line = server.stderr.readline()
        if not line:
            break
        if "http://" in line:
            return int(line.partition("http://")[2].partition(";")[0].rpartition(":")[2])
    raise TimeoutError("the server did not start")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--changes", type=int, default=5)
    given = parser.parse_args(arguments)
    prepare_environment()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), rate=given.rate, seconds=given.seconds,
                        changes=given.changes)  # fmt: skip
    median, late = (1e3 * float(np.quantile(found.seconds, share)) for share in (0.5, 0.99))
    print(
        f"{len(found.seconds)} requests, {found.failed} failed; median {median:.1f} ms, 99th"
        f" percentile {late:.1f} ms, longest {1e3 * max(found.seconds):.0f} ms;"
        f" {len(found.versions)} champions answered; {found.logged} of {len(found.ids)} answers"
        f" logged; {found.cpu:.1f} CPU s of the server"
    )


if __name__ == "__main__":
    main()
