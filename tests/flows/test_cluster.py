"""A real scheduler with two worker processes, of which one is killed."""

import json
import os
import threading
from pathlib import Path

import psutil
import pytest

from leaseboard.algorithms.errors import LeaseboardError
from tests.flows.waiting import until

pytestmark = pytest.mark.dask
CHILD = Path(__file__).with_name("child.py")
CONFIGURATIONS = 3  # of each stand-in job


class Machines:
    """A scheduler and its workers, each with a cache and a folder of its own."""

    def __init__(self, zygote, folder):
        self._zygote = zygote
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.workers = []
        self._started = 0
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
            "--scheduler-file", self.file,
        )  # fmt: skip
        until(lambda: self.file.exists() and parsed(self.file))  # it is there before its content
        self.address = parsed(self.file)["address"]

    def add_worker(self):
        self._started += 1
        cache = self.folder / f"cache-{self._started}"
        worker = self._start(
            "worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard",
            "--name", f"worker-{self._started}", "--local-directory", cache,
            LEASEBOARD_CACHE=str(cache),
        )  # fmt: skip
        self.workers.append((worker, cache))
        return worker

    def wait_for(self, count):
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=240)

    def _start(self, what, *arguments, **extra):
        root = str(CHILD.parents[2])
        with (self.folder / f"{what}-{self._started}.log").open("w") as log:
            return self._zygote.start(
                ["-m", f"distributed.cli.dask_{what}", *arguments],
                cwd=Path.cwd(), out=log, err=log,
                env=os.environ | {"PYTHONPATH": root} | extra,
            )  # fmt: skip

    def close(self):
        for process, _ in self.workers:
            process.terminate()
            process.wait(240)
        self.scheduler.terminate()
        self.scheduler.wait(240)


@pytest.fixture(scope="module")
def machines(tmp_path_factory, url, zygote):
    made = Machines(zygote, tmp_path_factory.mktemp("machines"))
    for _ in range(2):
        made.add_worker()
    made.wait_for(2)
    yield made
    made.close()


def parsed(file):
    """Return the content of a file of JSON; None while it is not written to its end."""
    try:
        return json.loads(file.read_text())
    except json.JSONDecodeError:
        return None


def running(machines):
    """Return the processes that run jobs, by the Dask worker that they belong to."""
    found = {}
    for process, _ in machines.workers:
        if process.poll() is None:
            below = psutil.Process(process.pid).children(recursive=True)
            found[process.pid] = [p for p in below if p.name() == "tasks.processes"]
    return found


def test_a_lost_worker_costs_only_its_job_which_another_does(machines, runner, tmp_path):
    runner.reference = "sklearn:diabetes"
    gate = tmp_path / "gate"
    runner.data, runner.seeds = [f"wait:{gate}", "well", "raise:no"], (1, 2, 3)
    killed = []

    def kill():
        # One job is on each worker, and stays there until the gate opens.
        until(lambda: len(list(tmp_path.glob("gate.*"))) == 2)
        victim, _ = machines.workers[0]
        killed.extend(running(machines)[victim.pid])
        victim.kill()
        victim.wait()
        gate.touch()

    murder = threading.Thread(target=kill)
    murder.start()
    outcome = runner.run(local=False, workers=None, cluster=machines.address)
    murder.join()
    machines.workers.pop(0)
    machines.add_worker()
    machines.wait_for(2)

    assert [r.status for r in outcome.results] == ["ok"] * 6 + ["crash"] * 3
    assert outcome.problems == []
    assert {r.data for r in outcome.results} == {"sklearn:diabetes"}
    assert all(r.reason == "ValueError: no" for r in outcome.results[6:])
    assert len(list(runner.out.glob("jobs/*/events.jsonl.gz"))) == 9
    assert (
        "in misbehave"
        in next(runner.out.glob(f"jobs/{outcome.results[6].key}/log.txt")).read_text()
    )
    assert len(runner.runs("job")) == 9
    assert len(runner.runs("configuration")) == 9 * CONFIGURATIONS
    assert not runner.runs("job", "attributes.status = 'RUNNING'")
    _, alive = psutil.wait_procs(killed, timeout=240)
    assert not alive  # the job of a killed Dask worker ends with it


def test_what_is_wrong_with_a_cluster_is_one_line(call, runner, monkeypatch, tmp_path, zygote):
    runner.reference = "sklearn:diabetes"
    suite = tmp_path / "s.yaml"
    suite.write_text("title: t\ndata: ['sklearn:diabetes']\nalgorithms: [vanilla]\n")
    with monkeypatch.context() as patch:
        patch.setattr("leaseboard.flows.prefect_executor.CONNECT_SECONDS", 0.5)
        said = call("run", suite, "--cluster", "tcp://127.0.0.1:9", code=2).err
    assert "no Dask scheduler answers at 'tcp:" in said
    lonely = Machines(zygote, tmp_path)
    try:
        with pytest.raises(LeaseboardError, match="has no workers: start some with `dask worker"):
            runner.run(local=False, workers=None, cluster=lonely.address)
    finally:
        lonely.close()
