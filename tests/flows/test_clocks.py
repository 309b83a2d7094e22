"""What an algorithm does to the clocks of its process moves no seconds on a leaderboard."""

from __future__ import annotations

import dataclasses

import pytest

from leaseboard.algorithms.checks import check_audit
from leaseboard.flows.cli import main
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.jobs.job import Job, Limits
from leaseboard.tasks.jobs.run import identify
from leaseboard.tasks.models.winner import REFIT, RUN, put_result
from leaseboard.tasks.pool.workers import WorkerPool

pytestmark = pytest.mark.slow

DATA = "synthetic:fried?rows=300&seed=0"
BUSY = """
import time
import numpy as np
import leaseboard.tasks.machine.clocks
import leaseboard.tasks.jobs.run
from pydantic.dataclasses import dataclass
from leaseboard.algorithms.base import Algorithm

def stands_still():
    return 0.0

@dataclass(frozen=True, kw_only=True)
class Mine(Algorithm):
    environment = "stream"
    deep: bool = False

    def run(self, env, seed):
        real = time.process_time
        time.perf_counter = time.process_time = time.thread_time = stands_still
        if self.deep:
            cpu = leaseboard.tasks.machine.clocks.process_time()
            wall = leaseboard.tasks.jobs.run.perf_counter()
            leaseboard.tasks.machine.clocks.process_time = lambda: cpu
            leaseboard.tasks.jobs.run.perf_counter = lambda: wall
        begin = real()
        while real() - begin < 2:
            pass
        yield from env.record(np.zeros(env.budget, dtype=np.float32))
"""

HONEST = """
import numpy as np
from pydantic.dataclasses import dataclass
from leaseboard.algorithms.base import Algorithm

@dataclass(frozen=True, kw_only=True)
class Mine(Algorithm):
    environment = "stream"

    def run(self, env, seed):
        yield from env.record(np.zeros(env.budget, dtype=np.float32))
"""


@pytest.fixture
def ran(tmp_path):
    """Return the results of the jobs of a pool, one after the other."""
    own = tmp_path / "own.py"
    own.write_text(BUSY)
    dataset = load(DATA)

    def run(*algorithms):
        with WorkerPool(1, Limits()) as pool:
            for number, (name, settings) in enumerate(algorithms):
                job = Job(name or f"{own}:Mine", DATA, 1, 1, settings=settings)
                folder = tmp_path / str(number)
                folder.mkdir()
                yield pool.run(job, job.key(dataset.digest, identify(job, "stream")[1]), folder)

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


WORKS = r"""
import dataclasses
import subprocess
import sys
import time
from leaseboard.tasks.jobs.run import run_job

BURN = "import time\nwhile time.process_time() < 2.5: pass\nprint(flush=True)\n"

def work(job, folder, *, mirrors=()):
    then = "time.sleep(600)" if job.name == "leaves a child" else ""
    if job.name != "keeps long":
        command = [sys.executable, "-S", "-c", BURN + then]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        process.stdout.readline()
    if job.name == "waits for a child":
        process.wait()
    result, _ = run_job(job, folder, mirrors=mirrors)
    while job.name == "keeps long" and time.process_time() < 3.5:
        pass
    return result, None
"""


@pytest.fixture
def own(tmp_path):
    """Return a user's stream algorithm, and what works else may be asked of a worker."""
    (tmp_path / "works.py").write_text(WORKS)
    path = tmp_path / "honest.py"
    path.write_text(HONEST)
    return Job(f"{path}:Mine", DATA, 1, 1), tmp_path


def test_both_sides_measure_the_same_for_any_kind_of_job(own):
    job, folder = own
    seconds = {}
    with WorkerPool(1, Limits(), work=f"{folder / 'works.py'}:work") as pool:
        for label in ("keeps long", "leaves a child", "waits for a child"):
            (place := folder / label).mkdir()
            result = pool.run(dataclasses.replace(job, name=label), "", place)
            assert (result.status, result.reason) == ("ok", "")
            seconds[label] = result.job_cpu_seconds

    assert seconds["keeps long"] > 2.4
    assert seconds["waits for a child"] > 2.4


def test_an_own_policy_is_refitted_however_long_its_first_run_took(own):
    job, folder = own
    with WorkerPool(1, Limits(), work=RUN) as pool:
        first = pool.run(job, "", folder)
    (again := folder / "again").mkdir()
    put_result(dataclasses.replace(first, job_cpu_seconds=500.0, job_wall_seconds=5000.0), again)
    with WorkerPool(1, Limits(), work=REFIT) as pool:
        result = pool.run(job, first.key, again)

    assert (result.status, result.reason) == ("ok", "")
    assert result.score == first.score


@pytest.mark.parametrize(
    "patch",
    [
        "leaseboard.tasks.jobs.run.process_time = time.perf_counter",
        "leaseboard.tasks.machine.clocks.cpu_seconds",
    ],
)
def test_check_names_the_clocks_that_an_algorithm_changed(tmp_path, monkeypatch, capsys, patch):
    monkeypatch.setattr("leaseboard.algorithms.checks.checks", lambda: {"audit": check_audit})
    used = "leaseboard.tasks.machine.clocks, leaseboard.tasks.jobs.run"
    header = f"import resource, time, {used}\n{HONEST}"
    text = header.replace("        yield", f"        {patch} = lambda *_: 0.0\n        yield")
    (tmp_path / "own.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(["check", "own.py:Mine"])

    said = capsys.readouterr().out
    assert end.value.code == 1
    assert "FAILED  audit: it changed" in said
    for name in patch.split(" = "):
        assert name in said
