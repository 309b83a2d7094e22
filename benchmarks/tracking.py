"""What the record costs: CPU of logging configuration runs, and of a suite's machinery a job.

``python -m benchmarks.tracking runs`` logs one job of many configurations to a fresh SQLite store
and to an MLflow server on loopback. ``python -m benchmarks.tracking jobs`` runs suites of trivial
jobs through the command line, with Prefect and MLflow, in several sizes.
"""

from __future__ import annotations

import argparse
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from leaseboard.algorithms.events import (
    BoundsUpdated,
    ConfigurationAdmitted,
    Event,
    Finished,
    LeaseGranted,
    Started,
    write_log,
)
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.machine.environment import prepare_environment
from leaseboard.tasks.track.tracker import Tracker

PARAMETERS, UPDATES = 10, 5
SERVER_SECONDS = 120.0
SUITE_NAME = "speed"
SUITE = """
title: Trivial jobs
data: ["synthetic:fried?rows=100&seed=0"]
algorithms: [vanilla]
repetitions: {jobs}
baselines: false
tracking: {{configurations: none}}
"""


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of CPU here and in the server, and of wall time."""

    cpu: float
    server: float
    wall: float


def race(configurations: int, leased: int | None = None) -> Iterator[Event]:
    """Yield a log of many configurations with `PARAMETERS` values.

    The first `leased`, by default all, hold a lease and have `UPDATES` bounds each.
    """
    held = range(configurations if leased is None else leased)
    yield Started(
        at=0, algorithm="chacha", environment="stream", unit="examples", budget=1000, capacity=5,
        seed=0, settings={},
    )  # fmt: skip
    for number in range(configurations):
        parameters = {f"p{i}": number + i / 10 for i in range(PARAMETERS)}
        yield ConfigurationAdmitted(at=0, configuration=number, parameters=parameters)
        if number in held:
            yield LeaseGranted(at=0, configuration=number, amount=1000, slot=number)
    for at in range(1, UPDATES + 1):
        for number in held:
            yield BoundsUpdated(
                at=at, configuration=number, value=1 / at, lower=0.5 / at, upper=2 / at, units=at
            )
    yield Finished(
        at=1000, reason="budget spent", score=0.1, metric="progressive_mse", direction="min"
    )


def job(folder: Path, key: str, configurations: int, leased: int | None = None) -> Result:
    """Return a job of so many configurations that is over; its log is in the run folder."""
    write_log(results.begin(folder, key) / results.EVENTS, race(configurations, leased))
    return Result(
        key=key, algorithm="chacha", name="chacha", data="synthetic:fried", digest="0" * 32,
        seed=0, environment_seed=0, repetition=0, status="ok", score=0.1,
        metric="progressive_mse", environment="stream", unit="examples", units=1000,
        started="2026-01-01T00:00:00+00:00", events=results.EVENTS,
    )  # fmt: skip


def log_runs(uri: str, folder: Path, configurations: int, server: int | None = None) -> Spent:
    """Log one job of so many configurations to the store at `uri`; `server` is its process."""
    key = "speed"
    result = job(folder, key, configurations)
    tracker = Tracker(uri, SUITE_NAME, [key])
    there, here, clock = _tree_cpu(server), time.process_time(), time.perf_counter()
    tracker.log(result, results.job_folder(folder, key))
    return Spent(
        time.process_time() - here, _tree_cpu(server) - there, time.perf_counter() - clock
    )


@contextmanager
def mlflow_server(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield an MLflow server with one worker on loopback: its address and process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        "--backend-store-uri", f"sqlite:///{folder / 'server.db'}",
        "--artifacts-destination", str(folder / "artifacts"),
        "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
    ]  # fmt: skip
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "mlflow", "server", *command], stdout=log, stderr=log
        )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{address}/health")
        yield address, process.pid
    finally:
        children = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        process.wait()
        psutil.wait_procs(children, timeout=10)


@dataclass(frozen=True, slots=True)
class RunCost:
    """Costs of a run.

    Attributes
    ----------
    cpu, work : float
        CPU seconds of all its processes, and of the algorithm alone.
    parent : float
        The most memory that its own process had, in MB.
    sizes : dict of str to float
        MB of the run folder, of MLflow's store and of Prefect's home.
    """

    cpu: float
    work: float
    parent: float
    sizes: dict[str, float]


def run_jobs(folder: Path, jobs: int, *options: str) -> RunCost:
    """Run a suite of so many trivial jobs."""
    home = folder / f"jobs-{jobs}"
    home.mkdir(parents=True)
    (home / "trivial.yaml").write_text(SUITE.format(jobs=jobs))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        [sys.executable, "-m", "leaseboard", "run", "trivial.yaml", "--run-dir", "out", *options],
        cwd=home,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    parent = 0
    while process.poll() is None:
        with suppress(psutil.Error):
            parent = max(parent, psutil.Process(process.pid).memory_info().rss)
        time.sleep(0.1)
    if process.returncode:
        raise RuntimeError(f"the run ended with exit code {process.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    work = sum(result.cpu_seconds for result in results.read_results(home / "out"))
    places = {"run": home / "out", "MLflow": home / "mlruns", "Prefect": home / ".prefect"}
    return RunCost(spent, work, parent / 1e6, {name: _mb(at) for name, at in places.items()})


def _mb(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def _tree_cpu(pid: int | None) -> float:
    if pid is None:
        return 0.0
    root, total = psutil.Process(pid), 0.0
    for process in (root, *root.children(recursive=True)):
        times = process.cpu_times()
        total += times.user + times.system
    return total


def _wait_for(url: str) -> None:
    deadline = time.monotonic() + SERVER_SECONDS
    while time.monotonic() < deadline:
        with suppress(urllib.error.URLError, OSError), urllib.request.urlopen(url, timeout=2):  # noqa: S310
            return
        time.sleep(0.2)
    raise TimeoutError(f"{url} did not answer within {SERVER_SECONDS:g} s")


def _show_runs(folder: Path, configurations: int) -> None:
    ways = {"SQLite": log_runs(f"sqlite:///{folder / 'mlflow.db'}", folder, configurations)}
    with mlflow_server(folder) as (address, pid):
        ways["HTTP"] = log_runs(address, folder, configurations, pid)
    print(f"{configurations} configuration runs   CPU s   of the server   wall s   CPU ms a run")
    for name, spent in ways.items():
        print(
            f"{name:24} {spent.cpu:11.2f} {spent.server:15.2f} {spent.wall:8.2f}"
            f" {1000 * spent.cpu / configurations:14.2f}"
        )


def _show_jobs(folder: Path, sizes: Sequence[int], options: Sequence[str]) -> None:
    run_jobs(folder / "first", 1, *options)  # what a first run alone does
    start = run_jobs(folder, 1, *options).cpu
    print(f"start and end of a run: {start:.1f} CPU s")
    print("  jobs   CPU s   CPU ms a job beyond that   parent MB   MB of run, MLflow, Prefect")
    for size in sizes:
        cost = run_jobs(folder, size, *options)
        beyond = 1000 * (cost.cpu - cost.work - start) / (size - 1)
        sizes_of = ", ".join(f"{mb:.1f}" for mb in cost.sizes.values())
        print(
            f"{size:6} {cost.cpu:7.1f} {beyond:26.1f} {cost.parent:11.0f}   {sizes_of}", flush=True
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of the module."""
    parser = argparse.ArgumentParser(description="CPU time of the record")
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("runs", help="log configuration runs to SQLite and over HTTP")
    runs.add_argument("--configurations", type=int, default=500)
    jobs = commands.add_parser("jobs", help="run suites of trivial jobs")
    jobs.add_argument("sizes", type=int, nargs="*", default=[100, 500])
    jobs.add_argument("--local", action="store_true", help="without Prefect")
    given = parser.parse_args(arguments)
    prepare_environment()
    with tempfile.TemporaryDirectory() as folder:
        if given.command == "runs":
            _show_runs(Path(folder), given.configurations)
        else:
            _show_jobs(Path(folder), given.sizes, ["--local"] if given.local else [])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
