"""Who wins a suite on a dataset, and that the model is the recorded result's."""

import dataclasses

import mlflow.pyfunc
import numpy as np
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.jobs.run import run_job
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.models import registry
from leaseboard.tasks.models.model import load
from leaseboard.tasks.models.stream_model import StreamModel
from leaseboard.tasks.models.winner import fit, winner_of

DATA = "synthetic:fried?rows=400&seed=0"
SUITE = Suite(title="t", data=[DATA, "sklearn:iris"], algorithms=["vanilla", "online-automl"],
              repetitions=2)  # fmt: skip


def results(scores, direction="min"):
    return [
        Result(
            key=f"{label}{repetition}", algorithm=label, name=label, data=DATA, digest="d",
            seed=1, environment_seed=2, repetition=repetition, direction=direction,
            status="crash" if score is None else "ok", score=score,
        )
        for label, pair in scores.items()
        for repetition, score in enumerate(pair)
    ]  # fmt: skip


@pytest.mark.parametrize(("direction", "name"), [("min", "online-automl"), ("max", "vanilla")])
def test_the_best_mean_wins(direction, name):
    found = results({"vanilla": [1.0, 3.0], "online-automl": [1.5, 1.6]}, direction)
    job, of_all = winner_of(SUITE.jobs(), found, DATA)

    assert (job.name, job.repetition) == (name, 0)
    assert [r.repetition for r in of_all] == [0, 1]


def test_an_incomplete_algorithm_cannot_win():
    found = results({"vanilla": [3.0, 3.0], "online-automl": [1.0, None]})

    assert winner_of(SUITE.jobs(), found, DATA)[0].name == "vanilla"


def test_what_cannot_be_compared_cannot_win():
    """Not even the best of scores, and not if it is so in one repetition alone."""
    found = results({"vanilla": [3.0, 3.0], "online-automl": [0.0, 0.0]})
    early = {"complete": False, "reason": "ended early: 1 of 500 examples"}
    cheat = [*found[:3], dataclasses.replace(found[3], **early)]

    assert winner_of(SUITE.jobs(), cheat, DATA)[0].name == "vanilla"
    with pytest.raises(UsageError, match=r"be compared \(first: online-automl: ended early: 1"):
        winner_of(SUITE.jobs(), cheat[2:], DATA)


@pytest.fixture
def ran(tmp_path):
    job = Job("vanilla", DATA, 0, 0, name="vanilla")
    return job, run_job(job, tmp_path)


def test_a_run_on_a_holdout_leaves_no_model(tmp_path):
    job = Job("linear", DATA, 0, 0, name="linear")
    result = run_job(job, tmp_path)

    with pytest.raises(UsageError, match="linear hands over no model: register online-automl"):
        fit(job, result)


def test_data_that_changed_are_refused(ran):
    job, result = ran
    with pytest.raises(UsageError, match="has changed since vanilla ran on it"):
        fit(job, dataclasses.replace(result, digest="other"))


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
    _, fitted = race(algorithm, data, seed=3, **fields)
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
    registry._write(tmp_path / "model", model, "m-1")
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
