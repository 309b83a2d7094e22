"""Runs made up from seeds: event logs of four environments, checked by the auditor."""

import shutil
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.checks import tiny_environment
from leaseboard.algorithms.events import Event, Finished, write_log
from leaseboard.tasks.folder import results as runs
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.report import build

LABELS = ("vanilla", "chacha", "exhaustive", "random <b>configs</b>")
DATA = ("synthetic:fried?rows=1000", "synthetic:2dplanes?rows=1000", "openml:1&<2>")


@cache
def events_of(seed: int) -> tuple[Event, ...]:
    """Return the events of ChaCha on its tiny environment."""
    return tuple(play("chacha", registry.build("chacha"), tiny_environment("stream"), seed=seed))


def result_of(job: Job, status: str = "ok", reason: str = "", **fields: Any) -> Result:
    return Result(
        key=job.key("sha", "v"), algorithm=job.algorithm, name=job.name, data=job.data,
        digest=f"sha256-{job.data}" * (status == "ok"), seed=job.seed,
        environment_seed=job.environment_seed, repetition=job.repetition, status=status,
        reason=reason, **fields,
    )  # fmt: skip


def finished(job: Job, events: Sequence[Event], score: float) -> Result:
    last = events[-1]
    assert isinstance(last, Finished)
    return result_of(
        job, score=score, metric=last.metric, direction=last.direction, unit="examples",
        units=last.at, cpu_seconds=0.25, environment="stream", events="events.jsonl.gz",
    )  # fmt: skip


def everything() -> Suite:
    return Suite(
        title="Streams <script>alert(1)</script>",
        description="Made up & small.",
        name="quick",
        data=[{"data": data, "name": name}
              for data, name in zip(DATA, ("fried", "", "<x>"), strict=True)],
        algorithms=[*LABELS[:3], {"algorithm": "random-configs", "name": LABELS[3]}],
        repetitions=3,
        normalise={"zero": "vanilla", "one": "exhaustive"},
    )  # fmt: skip


BASE = {"vanilla": 4.0, "chacha": 3.1, "exhaustive": 3.0, "random <b>configs</b>": 3.5}


def write_run(out: Path, suite: Suite) -> None:
    """Write a run folder of `suite` with logs, one timeout and one skipped dataset."""
    results = []
    for i, job in enumerate(suite.jobs()):
        folder = out / "jobs" / job.key("sha", "v")
        folder.mkdir(parents=True)
        if job.data == DATA[2]:
            results.append(result_of(job, "skipped", "data not available: no <network>"))
            continue
        if i == 1:
            results.append(result_of(job, "timeout", "stopped after 60 s"))
            continue
        events = events_of(i % 3)
        write_log(folder / "events.jsonl.gz", events)
        noise = 0.05 * (i % 5) if job.name not in ("vanilla", "exhaustive") else 0.0
        results.append(finished(job, events, BASE[job.name] + noise))
    for result in results:
        runs.finish(out, result)
    runs.assemble(out, results)


@pytest.fixture
def suite() -> Suite:
    return everything()


@pytest.fixture(scope="session")
def written(once: Callable[..., Path]) -> Path:
    """Return a run folder to be copied: writing it takes as long as a page."""
    return once("report-run", lambda folder: write_run(folder / "quick", everything())) / "quick"


@pytest.fixture(scope="session")
def built(once: Callable[..., Path], written: Path) -> Path:
    """Return the same with its page, to be read, or copied: building it takes a second."""

    def fill(folder: Path) -> None:
        build.build(Path(shutil.copytree(written, folder / "quick")), everything())

    return once("report-page", fill) / "quick"


@pytest.fixture
def run_folder(tmp_path: Path, written: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "quick"))


@pytest.fixture
def built_folder(tmp_path: Path, built: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "built" / "quick"))


@pytest.fixture(scope="session")
def make_run() -> Callable[..., None]:
    return write_run
