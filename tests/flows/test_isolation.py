"""What a user's code does to its process reaches no other job."""

import dataclasses

import pytest

from leaseboard.tasks.fetch import loading
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.suites.plan import plan
from leaseboard.tasks.pool.workers import WorkerPool
from leaseboard.tasks.processes.limits import Limits

STREAM = "synthetic:fried?rows=200&seed=0"
HONEST = [
    Job(algorithm=name, data=STREAM, seed=1, environment_seed=1)
    for name in ("vanilla", "online-automl")
]

POISONS = {
    "floats": "np.seterr(all='raise')",
    "warnings": "warnings.simplefilter('error')",
    "environment": "os.environ.update(OMP_NUM_THREADS='7', HOME='/nowhere',"
                   " LEASEBOARD_CACHE='/proc/nowhere', LEASEBOARD_MIRROR='/nowhere')",
    "numpy": "np.mean = np.sum = np.float64 = None",
    "signals": "[signal.signal(n, signal.SIG_IGN) for n in (signal.SIGTERM, signal.SIGCHLD)]",
}  # fmt: skip
"""Statements that break honest jobs in the same process, or alter their scores."""

PREFACE = """
import os, signal, warnings
import numpy as np
from pydantic.dataclasses import dataclass
from leaseboard.algorithms.base import Algorithm
"""
ALGORITHM = (
    PREFACE
    + """
@dataclass(frozen=True, kw_only=True)
class Poison(Algorithm):
    environment = "stream"
    how: str

    def run(self, env, seed):
        exec({poisons}[self.how])
        yield from env.record(np.zeros(env.budget, dtype=np.float32))
"""
)
PIPELINES = (
    PREFACE
    + """
from sklearn.naive_bayes import GaussianNB
np.seterr(all="raise")
PIPELINES = [GaussianNB()]
"""
)


def digest(reference):
    return loading.load(reference).digest


def untrusted(tmp_path):
    """Yield jobs that run a user's code: algorithms and pipelines."""
    (tmp_path / "bad.py").write_text(ALGORITHM.format(poisons=POISONS))
    for how in POISONS:
        yield Job(algorithm=f"{tmp_path / 'bad.py'}:Poison", data=STREAM, seed=1,
                  environment_seed=1, settings={"how": how})  # fmt: skip
    (tmp_path / "pipes.py").write_text(PIPELINES)
    yield Job(algorithm="full-run", data="sklearn:iris", seed=2, environment_seed=1,
              environment={"pipelines": str(tmp_path / "pipes.py"),
                           "initial_rows": 60})  # fmt: skip


def outcome(pool, job, folder):
    (entry,) = plan([job], lambda _: None, digest)
    folder.mkdir(parents=True)
    result = pool.run(job, entry.key, folder)
    return dataclasses.replace(
        result, started="", metrics={k: v for k, v in result.metrics.items() if "cpu" not in k},
        **{each.name: 0 for each in dataclasses.fields(result) if each.name.endswith("seconds")},
    )  # fmt: skip


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path / "cache"))


@pytest.mark.slow
def test_no_job_meets_what_an_untrusted_one_did(tmp_path, cache):
    with WorkerPool(1, Limits(wall_seconds=300)) as pool:
        clean = [outcome(pool, job, tmp_path / f"clean-{i}") for i, job in enumerate(HONEST)]
        assert [(r.status, r.reason) for r in clean] == [("ok", "")] * len(HONEST)
        for i, bad in enumerate(untrusted(tmp_path)):
            outcome(pool, bad, tmp_path / f"bad-{i}")
            after = [outcome(pool, job, tmp_path / f"{i}-{j}") for j, job in enumerate(HONEST[:1])]
            assert after == clean[:1], bad
        assert outcome(pool, HONEST[1], tmp_path / "last") == clean[1]
