"""The registry with a real store: what is logged loads and serves."""

import dataclasses
import json

import mlflow
import numpy as np
import pytest
from mlflow.exceptions import MlflowException
from mlflow.utils.validation import _validate_logged_model_name, _validate_model_name

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.models.registry import REFUSED, check_name, register, slug
from leaseboard.tasks.track.store import open_store
from leaseboard.tasks.track.tracker import log_all

FRIED = "synthetic:fried?rows=400&seed=0"


@pytest.fixture
def add(uri, race):
    """Register one fitted model with scores of one's own."""
    result, fitted = race("vanilla", FRIED)

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
    result, fitted = policy
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    version = register(uri, "iris", fitted, [result], group="race")
    loaded = mlflow.pyfunc.load_model("models:/iris@challenger")

    assert version == "1"
    np.testing.assert_array_equal(
        loaded.predict(fitted.dataset.features), fitted.model.predict(fitted.dataset.features)
    )
    assert loaded.metadata.signature.inputs.input_names() == list(fitted.dataset.features)
    assert not list((tmp_path / "mlruns").rglob("*.pkl"))
    tags = open_store(uri).get_model_version("iris", "1").tags
    assert tags["leaseboard.algorithm"] == "average"
    assert tags["leaseboard.score"].startswith("validation_accuracy ")
    assert float(tags["leaseboard.test"]) == pytest.approx(fitted.test)


@pytest.fixture
def raced(uri, race, tmp_path):
    """Return a function that logs one race and registers its winner, and the result."""
    result, fitted = race("online-automl", FRIED)
    more = [
        dataclasses.replace(result, key=f"k{i}", repetition=i, score=result.score * (1 + i / 10))
        for i in range(1, 8)
    ]

    (tmp_path / "jobs").mkdir()
    (tmp_path / "job").rename(tmp_path / "jobs" / result.key)

    def add():
        log_all([result], tmp_path, "race", uri)
        register(uri, "m", fitted, [result, *more], group="race")
        return open_store(uri).get_model_version("m", "1")

    return add, result


def model_of(version):
    return version.source.removeprefix("models:/")


def test_a_version_is_tied_to_its_run_and_described(uri, raced):
    (add, result), client = raced, open_store(uri)
    version = add()
    run = client.get_run(version.run_id)
    model = client.get_logged_model(model_of(version))

    assert run.data.tags["leaseboard.key"] == result.key
    assert model.source_run_id == run.info.run_id
    assert [output.model_id for output in run.outputs.model_outputs] == [model.model_id]
    assert json.loads(model.tags["mlflow.modelVersions"]) == [{"name": "m", "version": "1"}]
    assert "The model of **" in version.description
    assert version.description == model.tags["mlflow.note.content"]
    assert max(map(len, version.tags.values())) < 200  # no file is a tag, which fills the page


@pytest.mark.parametrize("call", ["log_model_artifacts", "log_outputs", "create_model_version"])
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
    run = client.get_run(version.run_id)
    assert [output.model_id for output in run.outputs.model_outputs] == [model.model_id]


def test_the_same_work_is_registered_once(uri, add):
    assert [add([1.0, 2.0]), add([1.0, 2.0]), add([1.0, 2.1])] == ["1", "1", "2"]
    assert aliases(uri) == {"challenger": 2}


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
