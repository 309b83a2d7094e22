"""A race that won on a stream is registered as the model that `learn` makes, and goes on."""

import mlflow.pyfunc
import numpy as np
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.models import registry
from leaseboard.tasks.models.model import load
from leaseboard.tasks.models.stream_model import StreamModel

FRIED, WAVES = "synthetic:fried?rows=400&seed=0", "synthetic:waveform?rows=300&seed=0"
CANCER = "sklearn:breast_cancer"


@pytest.mark.parametrize(
    ("algorithm", "data", "fields"),
    [
        ("online-automl", WAVES, {"settings": {"b": 3}, "environment": {"labels": "after=24"}}),
        ("vanilla", FRIED, {"environment": {"max_rows": 300, "shuffle": True}}),
        ("chacha-literal", CANCER, {"budget": 200}),
    ],
)
def test_it_predicts_what_learn_would_and_goes_on(race, algorithm, data, fields, tmp_path):
    _, _, fitted = race(algorithm, data, seed=3, **fields)
    features, target = fitted.dataset.features, fitted.dataset.target
    frame, environment = features.assign(y=target), fields.get("environment", {})
    rows = frame if "budget" not in fields else frame[:200]
    if environment.get("shuffle"):
        rows = rows.iloc[np.random.default_rng(0).permutation(300)]  # only its size is looked at
    learned = StreamModel.new(
        "y", fitted.dataset.task, algorithm, fields.get("settings"), 3,
        environment.get("labels", "immediate"),
    )  # fmt: skip
    learned.learn_table(rows.reset_index(drop=True))
    model = load(fitted.model.dump(), "it")

    assert model.model.examples == learned.model.examples
    if not environment.get("shuffle"):
        np.testing.assert_array_equal(model.predict(features), learned.predict(features))
    registry._write(tmp_path / "model", model, features, "m-1")
    served = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(served.predict(features), model.predict(features))
    model.learn_table(frame.rename(columns={"y": model.target}))
    assert model.model.examples == len(rows) + len(frame)


def test_what_cannot_go_on_is_refused(race, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from leaseboard.algorithms.online_automl.online_automl import OnlineAutoML\n"
        "class Mine(OnlineAutoML):\n    pass\n"
    )
    with pytest.raises(UsageError, match=r"mine.py:Mine on .* runs code of your own"):
        race(f"{path}:Mine", FRIED, settings={"b": 2})
    with pytest.raises(UsageError, match="algorithm 'online-ridge' is not a race"):
        race("online-ridge", FRIED)
    with pytest.raises(UsageError, match="vanilla ran with log_target=True, which a model that"):
        race("vanilla", FRIED, environment={"log_target": True})
