import shutil
import uuid

import pytest

from leaseboard.algorithms.events import (
    BoundsUpdated,
    ChampionChanged,
    ConfigurationAdmitted,
    ConfigurationFailed,
    Eliminated,
    Finished,
    LeaseGranted,
    Measured,
    Paused,
    Started,
    write_log,
)
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.store.live_model import State


@pytest.fixture
def put_job():
    """Return a function that puts a finished job into a run folder, as a suite does."""

    def put(out, key="k1", status="ok", **fields):
        made = make_result(key, status, **{"repetition": 0} | fields)
        folder = results.begin(out, key)
        write_log(folder / results.EVENTS, make_race(3))
        (folder / results.LOG).write_text("said\n")
        results.finish(out, made)
        return made

    return put


@pytest.fixture
def make_store(empty_store):
    """Return a function that makes a store in a folder and returns its address."""

    def make(folder):
        folder.mkdir(parents=True)
        shutil.copy(empty_store, folder / "mlflow.db")
        return f"sqlite:///{folder / 'mlflow.db'}"

    return make


@pytest.fixture
def uri(tmp_path, make_store):
    return make_store(tmp_path / "mlruns")


def make_result(key="k1", status="ok", **fields):
    base = {
        "key": key, "algorithm": "chacha", "name": "chacha-literal", "data": "synthetic:fried",
        "digest": "ab" * 32, "seed": 7, "environment_seed": 8, "repetition": 1, "status": status,
        "score": 0.25, "metric": "progressive_mse", "direction": "min", "environment": "stream",
        "metrics": {"models_per_example": 4.5}, "champion": {"interactions": ["ab"]},
        "unit": "examples", "units": 200.0, "cpu_seconds": 1.5, "wall_seconds": 2.0,
        "setup_seconds": 0.5, "settings": {"b": 5, "tune": "interactions"}, "version": "v1",
        "started": "2026-01-02T03:04:05+00:00", "host": "here", "events": results.EVENTS,
    }  # fmt: skip
    if status != "ok":
        base |= {"score": None, "reason": "why"}
    return Result(**(base | fields))


def make_race(configurations=5):
    """Yield a log with a configuration of every outcome."""
    yield Started(
        at=0, algorithm="chacha", environment="stream", unit="examples", budget=200, capacity=3,
        seed=7, settings={"b": 5},
    )  # fmt: skip
    for number in range(configurations):
        yield ConfigurationAdmitted(
            at=0, configuration=number, parent=None if number == 0 else 0,
            parameters={"interactions": ("ab",) * number, "learning rate": 0.5, "a*b": True},
            origin="oracle",
        )  # fmt: skip
    for slot in range(3):
        yield LeaseGranted(at=0, configuration=slot, amount=50, slot=slot)
    yield ChampionChanged(at=0, configuration=0, previous=None)
    for at in (1, 2, 5, 10, 20, 50):
        yield Measured(at=at, value=1 / at)
        for number in range(3):
            value = 1 / at + number
            yield BoundsUpdated(
                at=at, configuration=number, value=value, lower=value - 0.5, upper=value + 0.5,
                units=at,
            )  # fmt: skip
    yield Paused(at=50, configuration=1, units=50, reason="lease over")
    yield Eliminated(at=50, configuration=2, reason="worse than the champion")
    yield LeaseGranted(at=50, configuration=3, amount=50, slot=1)
    yield ConfigurationFailed(at=60, configuration=3, reason="diverged")
    yield Measured(at=200, value=0.25)
    yield Finished(
        at=200, reason="budget spent", score=0.25, metric="progressive_mse", direction="min"
    )


@pytest.fixture
def result():
    """Return a function that makes a result."""
    return make_result


@pytest.fixture
def race():
    """Return a function that makes a log."""
    return make_race


@pytest.fixture
def finished(tmp_path):
    """Return a function that puts a job into the run folder, as a suite does."""

    def put(made, configurations=5):
        folder = results.begin(tmp_path, made.key)
        write_log(folder / results.EVENTS, make_race(configurations))
        (folder / results.LOG).write_text("")
        results.finish(tmp_path, made)
        return made, folder

    return put


def find_runs(uri, name, condition=""):
    from leaseboard.tasks.track.store import open_store

    client = open_store(uri)
    found = client.get_experiment_by_name(name)
    return client.search_runs([found.experiment_id], condition, max_results=5000)


def read_contents(uri, suite):
    """Return everything that a client reads of the jobs and configurations, by key."""
    from leaseboard.tasks.track.store import open_store

    client = open_store(uri)
    read = {}
    for name in (suite, f"{suite}/configurations"):
        root = client.get_experiment_by_name(name).artifact_location
        for run in find_runs(uri, name):
            tags = dict(run.data.tags)
            if tags["leaseboard.level"] == "suite":
                continue
            del tags["mlflow.parentRunId"]
            read[tags["leaseboard.key"]] = {
                "info": (run.info.run_name, run.info.status, run.info.start_time,
                         run.info.end_time, run.info.lifecycle_stage, run.info.user_id),
                "params": dict(run.data.params),
                "tags": tags,
                "latest": dict(run.data.metrics),
                "history": {
                    key: sorted((m.step, m.value, m.timestamp)
                                for m in client.get_metric_history(run.info.run_id, key))
                    for key in run.data.metrics
                },
                "inputs": [
                    (i.dataset.to_dictionary(), [(t.key, t.value) for t in i.tags])
                    for i in run.inputs.dataset_inputs
                ],
                "artifacts": sorted(a.path for a in client.list_artifacts(run.info.run_id)),
                "artifact_uri": run.info.artifact_uri.removeprefix(root).replace(
                    run.info.run_id, "ID"
                ),
            }  # fmt: skip
    return read


@pytest.fixture
def runs():
    """Return a function that finds the runs of an experiment."""
    return find_runs


@pytest.fixture
def contents():
    """Return a function that reads a suite's jobs and configurations."""
    return read_contents


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def state_place(request, tmp_path):
    """Return the place of a state: a file, or a database of its own."""
    if request.param == "sqlite":
        return tmp_path / "deep" / "state.sqlite"
    return request.getfixturevalue("create_database")(f"state_{uuid.uuid4().hex[:12]}")


@pytest.fixture
def state(state_place):
    """Return the state of a live model in each kind of place."""
    return State(state_place, "sales")
