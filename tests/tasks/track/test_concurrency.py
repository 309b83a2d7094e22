"""Many processes and one store."""

import multiprocessing
import os

from leaseboard.tasks.folder import results
from leaseboard.tasks.track.store import open_store
from leaseboard.tasks.track.tracker import Tracker

PROCESSES, JOBS, CONFIGURATIONS = 3, 2, 5


def log_some(uri, suite, folders):
    tracker = Tracker(uri, suite, [])
    for out, key in folders:
        tracker.log(results.look(results.job_folder(out, key)), results.job_folder(out, key))
    tracker.close("FINISHED", {})
    os._exit(0)  # what ends with a process is its parent's


def test_processes_lose_nothing_and_double_nothing(finished, result, tmp_path):
    """Each logs jobs of its own, and one job that all of them have, into one suite.

    None of them finds a store, but what a kill left of one: they make it all at once.
    """
    uri = f"sqlite:///{tmp_path / 'new' / 'mlflow.db'}"
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / ".mlflow.db.new").write_text("half")
    (tmp_path / "new" / "mlflow.db").touch()
    for number in range(PROCESSES * JOBS):
        finished(result(f"k{number}"), CONFIGURATIONS)
    finished(result("shared"), CONFIGURATIONS)
    context = multiprocessing.get_context("fork")
    processes = [
        context.Process(
            target=log_some,
            args=(
                uri,
                "s",
                [*((tmp_path, f"k{p * JOBS + j}") for j in range(JOBS)), (tmp_path, "shared")],
            ),
        )
        for p in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(600)
    assert [process.exitcode for process in processes] == [0] * PROCESSES

    assert not (tmp_path / "new" / ".mlflow.db.new").exists()
    client = open_store(uri)
    for name, level, count in (
        ("s", "job", PROCESSES * JOBS + 1),
        ("s/configurations", "configuration", (PROCESSES * JOBS + 1) * CONFIGURATIONS),
    ):
        found = client.search_runs(
            [client.get_experiment_by_name(name).experiment_id],
            f"tags.leaseboard.level = '{level}'",
            max_results=5000,
        )
        assert len(found) == len({run.data.tags["leaseboard.key"] for run in found}) == count
        assert "RUNNING" not in {run.info.status for run in found}
