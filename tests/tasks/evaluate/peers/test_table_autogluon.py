import sys
import time
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from leaseboard.tasks.evaluate.peers import table_autogluon


@pytest.mark.parametrize(
    ("task", "labels", "kind", "metric"),
    [
        ("classification", [0, 1, 0], "binary", "accuracy"),
        ("classification", [0, 1, 5], "multiclass", "accuracy"),
        ("regression", [0, 1, 0], "regression", "r2"),
    ],
)
def test_autogluon_is_told_the_kind_of_labels_and_one_cpu(monkeypatch, task, labels, kind, metric):
    told = []

    class TabularPredictor:
        def __init__(self, *given, **options):
            told.append((given, options))

        def fit(self, frame, **options):
            told.append((frame["label"].tolist(), options))
            return self

        def predict(self, frame):
            return frame["x"]

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "")
    for name in (
        "autogluon",
        "autogluon.tabular",
        "fastai",
        "fastai.tabular",
        "fastai.tabular.all",
    ):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["autogluon.tabular"].TabularPredictor = TabularPredictor
    model, options = table_autogluon.make({"task": task, "seconds": 9}, time.process_time)
    frame = pd.DataFrame({"x": [1, 2, 3]})

    model.fit(frame, np.array(labels), **options)

    (given, made), (seen, fitted) = told
    assert (given, made["problem_type"], made["eval_metric"]) == (("label",), kind, metric)
    assert (seen, fitted) == (labels, {"time_limit": 9, "num_cpus": 1, "num_gpus": 0})
    assert model.predict(frame).tolist() == [1, 2, 3]
    assert list(frame) == ["x"]
