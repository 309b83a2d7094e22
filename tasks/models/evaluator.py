"""Leaseboard's measures of a model in MLflow: ``mlflow.models.evaluate(evaluators="leaseboard")``.

MLflow finds the class by its entry point.
"""

import time
from typing import Any

import numpy as np
import pandas as pd
from mlflow.models.evaluation import EvaluationResult, ModelEvaluator
from numpy.typing import NDArray

from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.algorithms.measures import Measures, of_test, skill_over
from leaseboard.tasks.score.inference import mean_interval

TASKS = {"regressor": "regression", "classifier": "classification"}
"""The tasks of MLflow's types of models."""


class LeaseboardEvaluator(ModelEvaluator):  # type: ignore[misc]
    """Evaluator of regressors and classifiers by the measures of leaderboards; see `measures`.

    Its option `metric_prefix` is put before the names of the metrics.
    """

    @classmethod
    def can_evaluate(cls, *, model_type: str, **_: Any) -> bool:
        """Return whether the type of model is one of `TASKS`."""
        return model_type in TASKS

    def evaluate(
        self,
        *,
        model_type: str,
        dataset: Any,
        run_id: str,
        evaluator_config: dict[str, Any] | None,
        model: Any = None,
        extra_metrics: Any = None,
        custom_artifacts: Any = None,
        predictions: str | None = None,
        model_id: str | None = None,
        **kwargs: Any,
    ) -> EvaluationResult:
        """Log the measures of the model's predictions, or of the dataset's own, and return them.

        Raises UsageError for metrics or artifacts of a caller, DataError for predictions that
        are missing.
        """
        from mlflow import MlflowClient
        from mlflow.entities import Metric

        if extra_metrics or custom_artifacts:
            raise UsageError(
                "evaluator 'leaseboard' takes no extra_metrics and custom_artifacts: pass them to"
                " MLflow's own, evaluators=['default', 'leaseboard'] evaluates by both"
            )
        made = dataset.predictions_data if model is None else model.predict(dataset.features_data)
        if isinstance(made, pd.DataFrame):
            made = made[predictions or made.columns[0]]
        prefix = (evaluator_config or {}).get("metric_prefix", "")
        found = measures(TASKS[model_type], np.asarray(dataset.labels_data), np.asarray(made))
        metrics = {f"{prefix}{name}": value for name, value in found.items()}
        at = round(1000 * time.time())
        where = {"dataset_name": dataset.name, "dataset_digest": dataset.digest}
        MlflowClient().log_batch(
            run_id, [Metric(k, v, at, 0, model_id=model_id, **where) for k, v in metrics.items()]
        )
        return EvaluationResult(metrics=metrics, artifacts={}, run_id=run_id)


def measures(task: str, truth: NDArray[Any], predictions: NDArray[Any]) -> Measures:
    """Return `of_test`, the mean loss with its 95 % interval over rows, and the skill.

    The loss is the squared error, or the share of wrong predictions. The skill is over the better
    one of two naive baselines, which know the labels of the rows before: their mean or majority,
    and the last one. The first row counts for neither.

    Raises DataError if a prediction is missing or not one of a label.

    Examples
    --------
    >>> found = measures("regression", np.array([0.0, 2.0, 4.0]), np.array([0.0, 2.0, 3.0]))
    >>> round(found["loss"], 3), round(found["skill"], 3)
    (0.333, 0.875)
    """
    if len(truth) != len(predictions) or pd.isna(predictions).any():
        raise DataError(
            f"{len(truth)} labels and {len(predictions)} predictions, {pd.isna(predictions).sum()}"
            " of them missing: give one for each row"
        )
    if task == "regression":
        truth, predictions = truth.astype(np.float64), predictions.astype(np.float64)
        found = of_test(task, truth, predictions)
        before = (np.cumsum(truth) / np.arange(1, len(truth) + 1))[:-1]
        naive = [(before - truth[1:]) ** 2, np.diff(truth) ** 2]
        losses = (predictions - truth) ** 2
    else:
        classes = sorted(set(truth.tolist()) | set(predictions.tolist()), key=str)
        code = {name: number for number, name in enumerate(classes)}
        labels, codes = (
            np.array([code[v] for v in each.tolist()]) for each in (truth, predictions)
        )
        found = of_test(task, labels, codes, n_classes=len(classes))
        counts, majority = np.zeros(len(classes), np.int64), np.zeros(len(labels), np.intp)
        for row, label in enumerate(labels):
            majority[row] = counts.argmax()
            counts[label] += 1
        naive = [majority[1:] != labels[1:], np.diff(labels) != 0]
        losses = (codes != labels).astype(np.float64)
    mean = mean_interval(losses)
    found |= {"loss": mean.value, "loss.lower": mean.lower, "loss.upper": mean.upper}
    if len(losses) > 1:
        found["skill"] = skill_over([float(each.mean()) for each in naive], losses[1:].mean())
    return {name: float(value) for name, value in found.items() if np.isfinite(value)}
