"""Runs made up from seeds: event logs of four environments, checked by the auditor."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.samples import SamplesEnvironment
from leaseboard.algorithms.events import (
    BoundsUpdated,
    ChampionChanged,
    ConfigurationAdmitted,
    Eliminated,
    Event,
    Finished,
    LeaseGranted,
    Measured,
    Paused,
    Started,
    TrialFinished,
)
from leaseboard.algorithms.log_format import write_log
from leaseboard.algorithms.testing import tiny_environment
from leaseboard.tasks.folder import results as runs
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.report import build
from leaseboard.tasks.report.material import Material, Reader
from tests.selections import SimulatedLearners

LABELS = ("vanilla", "chacha", "exhaustive", "random <b>configs</b>")
DATA = ("synthetic:fried?rows=1000", "synthetic:2dplanes?rows=1000", "openml:1&<2>")


def start(
    name: str, environment: str, unit: str, budget: float, capacity: int | None = None
) -> Started:
    return Started(at=0, algorithm=name, environment=environment, unit=unit, budget=budget,
                   capacity=capacity,
                   seed=1, settings={})  # fmt: skip


def stream_events(seed: int = 0, budget: int = 20_000, rounds: int = 60) -> list[Event]:
    """Return events of three slots; challengers come and go, sometimes one is promoted."""
    random = np.random.default_rng(seed)
    events: list[Event] = [start("chacha", "stream", "examples", budget, 3)]
    champion, count = 0, 1
    events.append(ConfigurationAdmitted(at=0, configuration=0, parameters={"interactions": []}))
    events.append(LeaseGranted(at=0, configuration=0, amount=budget, slot=0))
    events.append(ChampionChanged(at=0, configuration=0, previous=None))
    slots: dict[int, int | None] = {0: 0, 1: None, 2: None}
    at = 0
    for step in range(rounds):
        for slot, holder in slots.items():
            if holder is None:
                pair = f"<{'abcdef'[count % 6]}&{'abcdef'[count % 5]}>"
                events.append(
                    ConfigurationAdmitted(at=at, configuration=count, parent=champion,
                                          parameters={"interactions": [pair]}, origin="oracle")
                )  # fmt: skip
                events.append(LeaseGranted(at=at, configuration=count, amount=250, slot=slot))
                slots[slot] = count
                count += 1
        at = budget * (step + 1) // rounds
        for holder in slots.values():
            value = 2 + 3 / math.sqrt(at) + 0.1 * (holder or 0) / count + random.normal(0, 0.02)
            width = 8 / math.sqrt(at)
            events.append(
                BoundsUpdated(at=at, configuration=holder, value=value, lower=value - width,
                              upper=value + width, units=float(at))
            )  # fmt: skip
        if step % 20 == 19:
            events.append(ChampionChanged(at=at, configuration=slots[1], previous=champion))
            champion = slots[1]
        for slot in (1, 2):
            holder = slots[slot]
            if holder != champion and random.random() < 0.6:
                leaves = Paused(at=at, configuration=holder, units=250.0)
                if random.random() < 0.3:
                    leaves = Eliminated(at=at, configuration=holder, reason="worse <than> C")
                events.append(leaves)
                slots[slot] = None
        events.append(Measured(at=at, value=3 + 10 / at + 0.1 * seed))
    events.append(finish(budget, 3.0 + 0.1 * seed, "progressive_mse", "min"))
    return events


def pulls_events(seed: int = 0, budget: int = 60, arms: int = 5) -> list[Event]:
    """Return events of arms pulled one after another; the worst one is eliminated early."""
    random = np.random.default_rng(seed)
    names = ("random_forest", "svc", "lda", "knn", "mlp")
    events: list[Event] = [start("rising-bandits", "pulls", "trials", budget)]
    events += [ConfigurationAdmitted(at=0, configuration=arm, parameters={"arm": names[arm % 5]})
               for arm in range(arms)]  # fmt: skip
    alive, best, champion = list(range(arms)), 0.0, None
    for at in range(1, budget + 1):
        arm = alive[at % len(alive)]
        trial = arms + at - 1
        reward = 0.6 + 0.05 * arm + 0.1 * random.random()
        events.append(ConfigurationAdmitted(at=at, configuration=trial, parent=arm,
                                            parameters={"C": random.random()}))  # fmt: skip
        events.append(TrialFinished(at=at, configuration=trial, arm=arm, reward=reward,
                                    test=reward - 0.01, cpu_seconds=0.1,
                                    wall_seconds=0.1))  # fmt: skip
        events.append(BoundsUpdated(at=at, configuration=arm, value=reward, lower=reward - 0.1,
                                    upper=reward + 2 / at, units=float(at)))  # fmt: skip
        if reward > best:
            best = reward
            events.append(ChampionChanged(at=at, configuration=trial, previous=champion))
            champion = trial
        events.append(Measured(at=at, value=best))
        if at == budget // 3:
            events.append(Eliminated(at=at, configuration=alive.pop(0), reason="u < l of 4"))
    events.append(finish(budget, best, "accuracy", "max"))
    return events


def samples_events() -> list[Event]:
    """Return events of configurations that are probed on more and more rows."""
    learners = SimulatedLearners((0.6, 0.9, 0.7, 0.8, 0.5), 20_000, 5_000, seed=0)
    environment = SamplesEnvironment(learners, initial_rows=100)
    return list(play("abc", registry.build("abc"), environment, seed=1))


def apple_events() -> list[Event]:
    return list(play("apple", registry.build("apple"), tiny_environment("holdout"), seed=1))


def finish(at: float, score: float, metric: str, direction: str) -> Finished:
    return Finished(at=at, reason="budget spent", score=score, metric=metric, direction=direction)


def result_of(job: Job, events: Sequence[Event], score: float | None = None) -> Result:
    last = events[-1]
    assert isinstance(last, Finished)
    return Result(
        key=job.key("sha", "v"), algorithm=job.algorithm, name=job.name, data=job.data,
        digest=f"sha256-{job.data}", seed=job.seed, environment_seed=job.environment_seed,
        repetition=job.repetition, status="ok", score=last.score if score is None else score,
        metric=last.metric, direction=last.direction, metrics={"models_per_example": 2.5},
        champion={"interactions": ["<ab>"]}, unit="examples", units=last.at, cpu_seconds=0.25,
        wall_seconds=0.3, settings={"b": 5}, environment="stream", version="abc123",
        started="2026-11-21T10:00:00+00:00", host="here", events="events.jsonl.gz",
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
        published=[
            {"source": "Table <1>", "algorithm": "chacha", "data": DATA[0],
             "metric": "normalised_score", "value": 0.41, "sd": 0.34},
            {"source": "Table <1>", "algorithm": "chacha", "data": "openml:5648",
             "metric": "normalised_score", "value": 1.09, "sd": 0.04},
        ],
    )  # fmt: skip


BASE = {"vanilla": 4.0, "chacha": 3.1, "exhaustive": 3.0, "random <b>configs</b>": 3.5}


def write_run(out: Path, suite: Suite, *, rounds: int = 20, failures: bool = True) -> None:
    """Write a run folder of `suite` with logs, one timeout and one skipped dataset."""
    results = []
    for i, job in enumerate(suite.jobs()):
        folder = out / "jobs" / job.key("sha", "v")
        folder.mkdir(parents=True)
        if failures and job.data == DATA[2]:
            results.append(failed(job, "skipped", "data not available: no <network>"))
            continue
        if failures and i == 1:
            results.append(failed(job, "timeout", "stopped after 60 s"))
            continue
        events = stream_events(seed=i % 7, rounds=rounds)
        write_log(folder / "events.jsonl.gz", events)
        noise = 0.05 * (i % 5) if job.name not in ("vanilla", "exhaustive") else 0.0
        results.append(result_of(job, events, BASE[job.name] + noise))
    for result in results:
        runs.finish(out, result)
    runs.assemble(out, results)


def failed(job: Job, status: str, reason: str) -> Result:
    return Result(
        key=job.key("sha", "v"), algorithm=job.algorithm, name=job.name, data=job.data,
        digest="", seed=job.seed, environment_seed=job.environment_seed,
        repetition=job.repetition, status=status, reason=reason,
    )  # fmt: skip


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


LOGS: dict[str, Callable[[], list[Event]]] = {
    "stream": stream_events,
    "pulls": pulls_events,
    "samples": samples_events,
    "holdout": apple_events,
}


@pytest.fixture
def logs() -> dict[str, Callable[..., list[Event]]]:
    return LOGS


@pytest.fixture(scope="session")
def made_of() -> Callable[..., Material]:
    """Return what a page is made from, as far as one reader of the event logs is concerned."""

    def make(reader: Reader, logs: Any, names: dict[str, str] | None = None) -> Material:
        read = [(row, value) for row, log in logs if (value := reader(row, log)) is not None]
        suite = SimpleNamespace(data_names=names or {})
        frame = pd.DataFrame({"environment": [], "status": [], "metrics": [], "name": []})
        return Material("", frame, suite, None, {reader: read}, {})  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="session")
def make_run() -> Callable[..., None]:
    return write_run
