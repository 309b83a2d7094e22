"""Many processes and one store."""

import multiprocessing
import os

from leaseboard.tasks.folder import results
from leaseboard.tasks.track.tracker import Tracker

PROCESSES, JOBS, CONFIGURATIONS = 3, 2, 5


def log_some(uri, out, keys):
    tracker = Tracker(uri, "s", [])
    for key in keys:
        tracker.log(results.look(results.job_folder(out, key)), results.job_folder(out, key))
    tracker.close("FINISHED", {})
    os._exit(0)  # what ends with a process is its parent's


def test_processes_lose_nothing_and_double_nothing(finished, result, runs, tmp_path):
    """Each logs jobs of its own, and one job that all of them have, into one suite.

    None of them finds a store, but what a kill left of one: they make it all at once.
    """
    uri = f"sqlite:///{tmp_path / 'new' / 'mlflow.db'}"
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / ".mlflow.db.new").write_text("half")
    (tmp_path / "new" / "mlflow.db").touch()
    every = [f"k{number}" for number in range(PROCESSES * JOBS)]
    for key in (*every, "shared"):
        finished(result(key), CONFIGURATIONS)
    context = multiprocessing.get_context("fork")
    processes = [
        context.Process(target=log_some, args=(uri, tmp_path, [*every[p::PROCESSES], "shared"]))
        for p in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(600)
    assert [process.exitcode for process in processes] == [0] * PROCESSES

    assert not (tmp_path / "new" / ".mlflow.db.new").exists()
    for name, level, count in (
        ("s", "job", PROCESSES * JOBS + 1),
        ("s/configurations", "configuration", (PROCESSES * JOBS + 1) * CONFIGURATIONS),
    ):
        found = runs(uri, name, f"tags.leaseboard.level = '{level}'")
        assert len(found) == len({run.data.tags["leaseboard.key"] for run in found}) == count
        assert "RUNNING" not in {run.info.status for run in found}
