"""AutoGluon on a table: `table_program` imports it in its environment, by path."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leaseboard.tasks.evaluate.peers.table_program import Clock, Made, Request


def make(request: Request, _clock: Clock) -> Made:
    """AutoGluon's predictor at its default preset, on one CPU."""
    return Predictor(request["task"] == "classification"), {
        "time_limit": request["seconds"],
        "num_cpus": 1,
        "num_gpus": 0,
    }


class Predictor:
    """AutoGluon's predictor, which takes the labels as a column of the frame.

    The labels are codes, so that the kind of task is told. It keeps its files in the folder where
    the program runs. It would load its networks' libraries within its seconds: they are loaded
    before, as those of others are.
    """

    def __init__(self, classifies: bool) -> None:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = "torch"
        from autogluon.tabular import TabularPredictor

        import_module("fastai.tabular.all")
        self.cls = TabularPredictor
        self.classifies = classifies

    def fit(self, frame: Any, labels: Any, **options: Any) -> None:
        """Fit one after the other what its preset names, and weigh them."""
        kind = "regression"
        if self.classifies:
            kind = "binary" if len(set(labels.tolist())) == 2 else "multiclass"
        metric = "accuracy" if self.classifies else "r2"
        self.predictor = self.cls(
            "label", problem_type=kind, eval_metric=metric, path="models", verbosity=0
        ).fit(frame.assign(label=labels), **options)

    def predict(self, frame: Any) -> Any:
        """What its best model forecasts."""
        return self.predictor.predict(frame)
