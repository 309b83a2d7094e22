"""What an algorithm does to the clocks of its process moves no seconds on a board."""

from __future__ import annotations

import dataclasses

import pytest

from flows.workers import WorkerPool, clocks_disagree
from tasks.config import Limits
from tasks.fetch import load
from tasks.jobs import Job
from tasks.run import failed, job_key

DATA = "synthetic:fried?rows=300&seed=0"
BUSY = """
import time
import numpy as np
import tasks.run
from pydantic.dataclasses import dataclass
from algorithms.base import Algorithm

def stands_still():
    return 0.0

@dataclass(frozen=True, kw_only=True)
class Mine(Algorithm):
    bench = "stream"
    deep: bool = False

    def run(self, bench, seed):
        real = time.process_time
        time.perf_counter = time.process_time = time.thread_time = stands_still
        if self.deep:
            cpu, wall = tasks.run.process_time(), tasks.run.perf_counter()
            tasks.run.process_time, tasks.run.perf_counter = (lambda: cpu), (lambda: wall)
        begin = real()
        while real() - begin < 2:
            pass
        yield from bench.record(np.zeros(bench.budget, dtype=np.float32))
"""


@pytest.fixture
def ran(tmp_path):
    """What the jobs of a pool came to, one after the other."""
    own = tmp_path / "own.py"
    own.write_text(BUSY)
    dataset = load(DATA)

    def run(*algorithms):
        with WorkerPool(1, Limits()) as pool:
            for number, (name, settings) in enumerate(algorithms):
                job = Job(name or f"{own}:Mine", DATA, 1, 1, settings=settings)
                folder = tmp_path / str(number)
                folder.mkdir()
                yield pool.run(job, job_key(job, dataset, "stream"), folder)

    return run


def test_a_patched_clock_changes_no_seconds_and_one_patched_deeper_fails_its_job(ran):
    shallow, deep, after = ran(("", {}), ("", {"deep": True}), ("vanilla", {}))

    assert shallow.status == "ok"
    assert shallow.cpu_seconds > 1.9
    assert deep.status == "crash"
    assert "the job's own clocks say" in deep.reason
    assert " s of CPU time, the pool measured" in deep.reason
    assert deep.cpu_seconds > 1.9
    assert after.status == "ok"
    assert 0 < after.cpu_seconds < 30


@pytest.mark.parametrize(
    ("told", "measured", "said"),
    [
        ((2.0, 3.0), (2.1, 3.1), ""),
        ((0.0, 3.0), (0.9, 3.0), ""),
        ((0.0, 3.0), (2.0, 3.0), "0.00 s of CPU time, the pool measured 2.00 s"),
        ((9.0, 3.0), (2.0, 3.0), "9.00 s of CPU time, the pool measured 2.00 s"),
        ((2.0, 0.0), (2.0, 9.0), "0.00 s of wall time, the pool measured 9.00 s"),
        ((100.0, 100.0), (105.0, 115.0), ""),
        ((None, None), (5.0, 50.0), ""),
    ],
)
def test_a_disagreement_beyond_the_tolerance_names_both_numbers(told, measured, said):
    job = Job("vanilla", DATA, 1, 1)
    result = dataclasses.replace(
        failed(job, "ok", ""), job_cpu_seconds=told[0], job_wall_seconds=told[1]
    )
    found = clocks_disagree(result, *measured)

    assert said in found
    assert bool(found) == bool(said)


def test_replayed_costs_are_not_compared_with_what_was_spent():
    result = dataclasses.replace(
        failed(Job("abc", DATA, 1, 1), "ok", ""),
        metrics={"spent_cpu_seconds": 0.0}, job_cpu_seconds=0.0, job_wall_seconds=1.0,
    )  # fmt: skip
    assert clocks_disagree(result, 50.0, 1.0) == ""
