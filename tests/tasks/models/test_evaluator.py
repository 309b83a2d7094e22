import mlflow
import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.tasks.models.evaluator import LeaseboardEvaluator, measures
from leaseboard.tasks.track.store import open_store


@pytest.fixture
def evaluate(uri, monkeypatch):
    """Evaluate predictions in a run, as ``mlflow.models.evaluate`` does by the entry point."""
    from mlflow.models.evaluation.evaluator_registry import _model_evaluation_registry as known

    monkeypatch.setitem(known._registry, "leaseboard", LeaseboardEvaluator)
    mlflow.set_tracking_uri(uri)
    experiment = open_store(uri).create_experiment("e")

    def run(frame, kind, **more):
        with mlflow.start_run(experiment_id=experiment) as run:
            found = mlflow.models.evaluate(
                data=frame, targets="y", predictions="p", model_type=kind, evaluators="leaseboard",
                **more,
            )  # fmt: skip
        return found.metrics, open_store(uri).get_run(run.info.run_id).data.metrics

    yield run
    mlflow.set_tracking_uri(None)


def test_numbers_have_a_loss_with_its_interval_and_a_skill(evaluate):
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    error = np.tile([0.4, 0.6], 200)
    found, logged = evaluate(pd.DataFrame({"x": y, "y": y, "p": y + error}), "regressor")

    assert found == logged
    assert found["rmse"] == pytest.approx(0.26**0.5)
    assert found["loss"] == pytest.approx(0.26)
    assert found["loss.lower"] < found["loss"] < found["loss.upper"]
    assert 0.7 < found["skill"] < 0.8  # of a variance of 1


def test_classes_are_compared_with_the_majority_and_the_last_one(evaluate):
    y = ["a", "b"] * 50
    config = {"metric_prefix": "val_"}
    found, _ = evaluate(
        pd.DataFrame({"x": range(100), "y": y, "p": ["a"] * 100}), "classifier",
        evaluator_config=config,
    )  # fmt: skip

    assert found["val_accuracy"] == 0.5
    assert found["val_loss"] == 0.5
    assert found["val_skill"] == pytest.approx(0.0, abs=0.02)  # the majority is no better


def test_metrics_of_a_caller_are_refused(evaluate):
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.0], "p": [1.0, 2.0]})
    with pytest.raises(UsageError, match="takes no extra_metrics"):
        evaluate(frame, "regressor", extra_metrics=[mlflow.metrics.mae()])


@pytest.mark.parametrize("predictions", [[1.0], [1.0, float("nan")]])
def test_a_missing_prediction_is_an_error(predictions):
    with pytest.raises(DataError, match="give one for each row"):
        measures("regression", np.array([1.0, 2.0]), np.array(predictions))
