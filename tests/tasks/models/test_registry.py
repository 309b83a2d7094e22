"""The registry with a real store: what is logged loads and serves; only the gate promotes."""

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

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.models import columns
from leaseboard.tasks.models.registry import keep_of, listed, promote, register, roll_back
from leaseboard.tasks.track import log_race
from leaseboard.tasks.track.store import open_store

ROOT = Path(__file__).resolve().parents[3]
FRIED = "synthetic:fried?rows=400&seed=0"
PATIENCE = 180.0
"""Seconds until a server must answer, on a machine that is busy with other tests."""


@pytest.fixture
def add(uri, race):
    """Registers one fitted model with scores of one's own."""
    result, _, fitted = race("vanilla", FRIED)

    def register_scores(scores, name="m", **fields):
        results = [
            dataclasses.replace(result, key=str(scores).encode().hex()[:64], score=score,
                                repetition=i, environment_seed=i, **fields)
            for i, score in enumerate(scores)
        ]  # fmt: skip
        return register(uri, name, fitted, results, group="race", date="2026-11-21", versions={})

    return register_scores


def aliases(uri):
    return open_store(uri).get_registered_model("m").aliases


def test_a_challenger_loads_by_its_alias_and_predicts_as_ours(uri, policy, monkeypatch, tmp_path):
    result, _, fitted = policy
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    version = register(
        uri, "iris", fitted, [result], group="race", date="2026-11-21", versions={"python": "3"}
    )
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


def test_an_apple_loads_by_its_alias_and_predicts_as_ours(uri, race, monkeypatch, tmp_path):
    result, _, fitted = race("apple", FRIED)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    register(uri, "fried", fitted, [result], group="race", date="2026-11-21", versions={})
    loaded = mlflow.pyfunc.load_model("models:/fried@challenger")

    np.testing.assert_array_equal(
        loaded.predict(fitted.dataset.features), fitted.model.predict(fitted.dataset.features)
    )
    assert not list((tmp_path / "mlruns").rglob("*.pkl"))


@pytest.mark.postgresql
def test_a_store_on_postgresql_keeps_models_too(database, race, monkeypatch):
    uri = database("models")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    result, _, fitted = race("linear", FRIED)
    for _ in range(2):
        register(uri, "m", fitted, [result], group="race", date="2026-11-21", versions={})
    promotion = promote(uri, "m")
    loaded = mlflow.pyfunc.load_model("models:/m@champion")

    assert (promotion.version, promotion.promoted) == ("1", True)
    assert [row["alias"] for row in listed(uri)] == ["champion"]
    np.testing.assert_array_equal(
        loaded.predict(fitted.dataset.features), fitted.model.predict(fitted.dataset.features)
    )


def test_a_model_is_tied_to_the_run_of_its_job(uri, race, tmp_path):
    result, _, fitted = race("vanilla", FRIED)
    log_race(result, tmp_path / "job" / "events.jsonl.gz", uri)
    register(uri, "m", fitted, [result], group="race", date="2026-11-21", versions={})
    client = open_store(uri)
    run = client.get_run(client.get_model_version("m", "1").run_id)

    assert run.data.tags["leaseboard.key"] == result.key


def test_the_same_work_is_registered_once(uri, add):
    assert [add([1.0, 2.0]), add([1.0, 2.0]), add([1.0, 2.1])] == ["1", "1", "2"]
    assert aliases(uri) == {"challenger": 2}


def test_the_first_challenger_becomes_champion(uri, add):
    add([1.0, 1.2])
    outcome = promote(uri, "m")

    assert (outcome.promoted, outcome.champion, outcome.check) == (True, None, None)
    assert aliases(uri) == {"champion": 1}


@pytest.mark.parametrize(
    ("scores", "promoted", "words"),
    [
        ([0.9, 1.1, 1.3], True, "better by"),
        ([1.001, 1.201, 1.401], True, "worse by 0.083% in 3 pairs, the tolerance is 0.20%"),
        ([1.03, 1.24, 1.44], False, "worse by"),
        ([0.5, 1.2, 2.2], False, "worse by"),
        ([1.0, 1.2], False, "no score for seed 2"),
    ],
)
def test_only_the_gates_test_promotes(uri, add, scores, promoted, words):
    add([1.0, 1.2, 1.4])
    promote(uri, "m")
    version = add(scores)
    outcome = promote(uri, "m")

    assert outcome.promoted is promoted
    assert words in outcome.explanation
    assert aliases(uri) == (
        {"champion": 2, "previous": 1} if promoted else {"champion": 1, "challenger": 2}
    )
    tags = open_store(uri).get_model_version("m", version).tags
    assert tags["leaseboard.promotion"] == outcome.explanation


def test_the_previous_champion_comes_back(uri, add):
    add([1.0, 1.2])
    promote(uri, "m")
    with pytest.raises(UsageError, match="m has no previous champion"):
        roll_back(uri, "m")
    add([0.9, 1.1])
    promote(uri, "m")

    assert roll_back(uri, "m") == "1"
    assert aliases(uri) == {"champion": 1, "previous": 2}
    assert keep_of(uri, "m") == ""


def test_on_demand_only_a_better_one_is_promoted(uri, add):
    add([1.0, 1.2])
    promote(uri, "m")
    add([1.001, 1.201])

    assert not promote(uri, "m", better=True).promoted
    assert promote(uri, "m").promoted


@pytest.mark.parametrize("field", [{"digest": "other"}, {"metric": "progressive_error"}])
def test_other_data_or_another_metric_never_promote(uri, add, field):
    add([1.0, 1.2])
    promote(uri, "m")
    add([0.1, 0.1], **field)
    outcome = promote(uri, "m")

    assert not outcome.promoted
    assert "cannot be compared" in outcome.explanation


def test_wrong_names_and_nothing_to_promote_are_one_clear_line(uri, add):
    with pytest.raises(UsageError, match="must not be empty or hold"):
        add([1.0], name="a/b")
    add([1.0])
    with pytest.raises(UsageError, match="did you mean 'm'"):
        promote(uri, "mm")
    promote(uri, "m")
    with pytest.raises(UsageError, match="m has no challenger"):
        promote(uri, "m")


def test_the_list_shows_scores_and_aliases(uri, add):
    add([1.0, 1.2])
    promote(uri, "m")
    add([2.0, 2.2])

    shown = {row["version"]: (row["alias"], row["score"]) for row in listed(uri)}
    assert shown == {
        "1": ("champion", "progressive_mse 1.1 (n=2)"),
        "2": ("challenger", "progressive_mse 2.1 (n=2)"),
    }


def test_a_model_behind_a_hundred_others_is_promoted_and_listed(uri, add):
    client = open_store(uri)
    for number in range(101):
        client.create_registered_model(f"a{number}")
    add([1.0, 1.2])

    assert promote(uri, "m").promoted
    assert [row["name"] for row in listed(uri)] == ["m"]
    with pytest.raises(UsageError, match="did you mean 'm'"):
        promote(uri, "mm")


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["chacha", "apple"])
def test_mlflow_serves_it_with_its_own_command(uri, race, tmp_path, algorithm):
    result, _, fitted = race(algorithm, FRIED)
    register(uri, "fried", fitted, [result], group="race", date="2026-11-21", versions={})
    promote(uri, "fried")
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
