import os
from contextlib import contextmanager

import pytest

from algorithms.events import ConfigurationAdmitted, Finished, Measured, Started, write_log
from tasks.folder import results
from tasks.jobs.job import Result


@pytest.fixture
def put_job():
    """A function that puts a finished job into a run folder, as a suite does."""

    def put(out, key="k1", status="ok", **fields):
        base = {
            "key": key, "algorithm": "vanilla", "label": "vanilla", "data": "d", "digest": "x" * 9,
            "seed": 1, "environment_seed": 2, "repetition": 0, "status": status,
            "score": 0.5 if status == "ok" else None, "metric": "mse", "version": "v1",
            "started": "2026-01-01T00:00:00+00:00", "host": "here", "champion": {"rate": 0.5},
        }  # fmt: skip
        made = Result(**(base | fields))
        folder = results.begin(out, key)
        log = [
            Started(at=0, algorithm="vanilla", bench="stream", unit="examples", budget=1,
                    capacity=None, seed=1, settings={}),
            ConfigurationAdmitted(at=0, configuration=0, parameters={"rate": 0.5}),
            Measured(at=1, value=0.5),
            Finished(at=1, reason="budget spent", score=0.5, metric="mse", direction="min"),
        ]  # fmt: skip
        write_log(folder / results.EVENTS, log)
        (folder / results.LOG).write_text("said\n")
        results.finish(out, made)
        return made

    return put


@pytest.fixture
def forbidden():
    """A context in which this process may not touch a file; root, who may, steps down for it."""

    @contextmanager
    def without_permission(path):
        mode, folder = path.stat().st_mode, path.parent
        before = folder.stat().st_mode
        path.chmod(0)
        folder.chmod(0o500)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)
        try:
            yield
        finally:
            if root:
                os.seteuid(0)
            folder.chmod(before)
            path.chmod(mode)

    return without_permission
