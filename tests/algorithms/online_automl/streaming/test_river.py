"""The models as River's estimators: its own checks, and its tools around them."""

import subprocess
import sys

import pytest
from river import base, checks, datasets, evaluate, metrics

from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
)

FEW = {"algorithm": "chacha", "b": 2}


def mae(model, rows=300, **options):
    return evaluate.progressive_val_score(
        datasets.TrumpApproval().take(rows), model, metrics.MAE(), **options
    ).get()


@pytest.mark.parametrize("kind", [OnlineAutoMLRegressor, OnlineAutoMLClassifier])
def test_rivers_own_checks_pass_whole(kind):
    assert kind()._unit_test_skips() == set()
    checks.check_estimator(kind(**FEW))


def test_river_takes_the_models_for_its_own():
    assert isinstance(OnlineAutoMLRegressor(), base.MiniBatchRegressor)
    assert isinstance(OnlineAutoMLClassifier(), base.MiniBatchClassifier)
    assert not isinstance(OnlineAutoMLClassifier(), base.Regressor)
    accuracy = evaluate.progressive_val_score(
        datasets.Bananas().take(200), OnlineAutoMLClassifier(**FEW), metrics.Accuracy()
    )

    assert mae(OnlineAutoMLRegressor()) < 1
    assert accuracy.get() > 0.4


CODE = """
import sys
{first}
from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor
model = OnlineAutoMLRegressor(algorithm="chacha", b=2)
for t in range(50):
    model.learn_one({{"a": t % 3 - 1.0, "b": t % 5}}, t % 3)
print(model.predict_one({{"a": 1.0, "b": 2.0}}), hasattr(model, "clone"))
"""


def test_without_river_the_models_work_the_same():
    with_river, without = (
        subprocess.run(
            [sys.executable, "-c", CODE.format(first=first)],
            capture_output=True, text=True, check=True,
        ).stdout.split()
        for first in ("", "sys.modules['river'] = None")
    )  # fmt: skip

    assert with_river[0] == without[0]
    assert [with_river[1], without[1]] == ["True", "False"]
