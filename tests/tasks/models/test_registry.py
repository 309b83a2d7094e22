"""The registry with a real store: what is logged loads and serves."""

import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import mlflow
import numpy as np
import pytest
from mlflow.exceptions import MlflowException
from mlflow.utils.validation import _validate_logged_model_name, _validate_model_name

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.models import columns
from leaseboard.tasks.models.registry import live_file, register
from leaseboard.tasks.models.winner import REFUSED, check_name, slug
from leaseboard.tasks.track.store import open_store
from leaseboard.tasks.track.tracker import log_race

ROOT = Path(__file__).resolve().parents[3]
FRIED = "synthetic:fried?rows=400&seed=0"
PATIENCE = 180.0
"""Seconds until a server must answer, on a machine that is busy with other tests."""


@pytest.fixture
def add(uri, race):
    """Register one fitted model with scores of one's own."""
    result, _, fitted = race("vanilla", FRIED)

    def register_scores(scores, name="m", **fields):
        results = [
            dataclasses.replace(result, key=str(scores).encode().hex()[:64], score=score,
                                repetition=i, environment_seed=i, **fields)
            for i, score in enumerate(scores)
        ]  # fmt: skip
        return register(uri, name, fitted, results, group="race")

    return register_scores


def aliases(uri):
    return open_store(uri).get_registered_model("m").aliases


def test_a_challenger_loads_by_its_alias_and_predicts_as_ours(uri, policy, monkeypatch, tmp_path):
    result, _, fitted = policy
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    version = register(uri, "iris", fitted, [result], group="race")
    loaded = mlflow.pyfunc.load_model("models:/iris@challenger")
    sent = columns.example(fitted.dataset.features)

    assert version == "1"
    np.testing.assert_array_equal(
        loaded.predict(fitted.dataset.features), fitted.model.predict(fitted.dataset.features)
    )
    assert loaded.metadata.signature.inputs.input_names() == list(sent.columns)
    assert loaded.input_example.equals(sent)
    assert not list((tmp_path / "mlruns").rglob("*.pkl"))
    tags = open_store(uri).get_model_version("iris", "1").tags
    assert tags["leaseboard.algorithm"] == "average"
    assert tags["leaseboard.score"].startswith("validation_accuracy ")
    assert float(tags["leaseboard.test"]) == pytest.approx(fitted.test)


@pytest.fixture
def raced(uri, race, tmp_path):
    """Return a function that logs one race and registers its winner, and the result."""
    result, _, fitted = race("online-automl", FRIED)
    more = [
        dataclasses.replace(result, key=f"k{i}", repetition=i, score=result.score * (1 + i / 10))
        for i in range(1, 8)
    ]

    def add():
        log_race(result, tmp_path / "job" / "events.jsonl.gz", uri)
        register(uri, "m", fitted, [result, *more], group="race")
        return open_store(uri).get_model_version("m", "1")

    return add, result


def model_of(version):
    return version.source.removeprefix("models:/")


def test_a_version_shows_metrics_parameters_and_dataset(uri, raced):
    (add, result), client = raced, open_store(uri)
    version = add()
    run = client.get_run(version.run_id)
    model = client.get_logged_model(model_of(version))
    measured = {metric.key: metric.value for metric in model.metrics}

    assert run.data.tags["leaseboard.key"] == result.key
    assert model.source_run_id == run.info.run_id
    assert [output.model_id for output in run.outputs.model_outputs] == [model.model_id]
    assert json.loads(model.tags["mlflow.modelVersions"]) == [{"name": "m", "version": "1"}]
    assert model.params["name"] == "online-automl"
    assert any(name.startswith("champion.") for name in model.params)
    assert measured["score"] == result.score
    assert measured["score.mean"] > measured["score"]
    assert {metric.dataset_name for metric in model.metrics} == {FRIED}
    assert f"{result.score:.6g} of this model" in version.description
    assert version.description == model.tags["mlflow.note.content"]
    assert max(map(len, version.tags.values())) < 200  # no file is a tag, which fills the page


def test_registering_again_neither_repeats_nor_loses_what_a_version_shows(uri, raced):
    (add, _), client = raced, open_store(uri)
    before = add()
    shown = len(client.get_logged_model(model_of(before)).metrics)
    client.delete_run(
        before.run_id
    )  # the next race logs it again, and MLflow's metrics go with it
    for _ in range(2):
        version = add()
        assert len(client.get_logged_model(model_of(version)).metrics) == shown
        run = client.get_run(version.run_id)
        assert [output.model_id for output in run.outputs.model_outputs] == [model_of(version)]
        assert len(client.get_metric_history(version.run_id, "score")) == 1
    assert [each.version for each in client.search_model_versions("name='m'")] == [1]


@pytest.mark.parametrize("call", ["log_model_artifacts", "log_batch", "create_model_version"])
def test_a_kill_while_a_model_is_logged_leaves_one_model(uri, raced, monkeypatch, call):
    def die(*_, **__):
        raise KeyboardInterrupt

    (add, _), client = raced, open_store(uri)
    with monkeypatch.context() as patch:
        patch.setattr(mlflow.MlflowClient, call, die)
        with pytest.raises(KeyboardInterrupt):
            add()
    version = add()
    place = client.get_run(version.run_id).info.experiment_id
    (model,) = client.search_logged_models([place])

    assert (model.model_id, model.status) == (model_of(version), "READY")
    assert model.metrics


def test_the_same_work_is_registered_once(uri, add):
    assert [add([1.0, 2.0]), add([1.0, 2.0]), add([1.0, 2.1])] == ["1", "1", "2"]
    assert aliases(uri) == {"challenger": 2}
    assert live_file(uri, "m") == ""
    with pytest.raises(UsageError, match="did you mean 'm'"):
        live_file(uri, "mm")


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["online-automl", "apple"])
def test_mlflow_serves_it_with_its_own_command(uri, race, tmp_path, algorithm):
    result, _, fitted = race(algorithm, FRIED)
    register(uri, "fried", fitted, [result], group="race")
    open_store(uri).set_registered_model_alias("fried", "champion", "1")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # uvicorn
    server = subprocess.Popen(
        [sys.executable, "-m", "mlflow", "models", "serve", "-m", "models:/fried@champion",
         "--env-manager", "local", "--host", "127.0.0.1", "--port", str(port)],
        env={**os.environ, "MLFLOW_TRACKING_URI": uri, "PYTHONPATH": str(ROOT), "PATH": path},
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(f"{address}/ping", server)
        sent = columns.example(fitted.dataset.features)
        body = json.dumps({"dataframe_split": sent.to_dict(orient="split")}).encode()
        request = urllib.request.Request(
            f"{address}/invocations", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            predictions = json.load(answer)["predictions"]
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()

    assert predictions == fitted.model.predict(sent).tolist()


def wait_for(address, server):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert server.poll() is None, "the server ended"
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    raise AssertionError(f"no answer from {address}")


def test_a_name_is_one_that_mlflow_takes():
    for text in ("file:cls.csv", "openml:215?task=regression&rows=1", "a%20'b\""):
        name = check_name(f"s3-{slug(text)}")
        _validate_logged_model_name(name)
        _validate_model_name(name)
    for character in REFUSED:
        with pytest.raises(MlflowException):
            _validate_logged_model_name(f"a{character}b")
        with pytest.raises(UsageError, match="use letters, digits and hyphens"):
            check_name(f"a{character}b")
