"""Registered models: they see the features of the environment, and score as they ranked."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.tasks.evaluate import probes as sampled
from leaseboard.tasks.evaluate import trials
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import run_job
from leaseboard.tasks.models.model import load
from leaseboard.tasks.models.winner import fit

FRIED = "synthetic:fried?rows=400&seed=0"
N_ROWS = 300
SPACE = """\
title: two arms
source: own
task: {task}
arms:
  forest:
    estimator: sklearn.ensemble:RandomForest{kind}
    constants: {{n_estimators: 5}}
    hyperparameters: {{max_depth: {{type: int, low: 2, high: 9, default: 5}}}}
  neighbors:
    estimator: sklearn.neighbors:KNeighbors{kind}
    hyperparameters: {{n_neighbors: {{type: int, low: 2, high: 9, default: 5}}}}
"""


@pytest.fixture
def mixed(tmp_path):
    """Write data with every kind of column, with gaps, and with categories that occur once."""

    def write(target):
        rng = np.random.default_rng(0)
        x, colour = rng.normal(size=N_ROWS), rng.choice(list("abcd"), N_ROWS)
        frame = pd.DataFrame(
            {
                "x": np.where(rng.random(N_ROWS) < 0.1, np.nan, x),
                "colour": np.where(rng.random(N_ROWS) < 0.1, None, colour),
                "seconds": 1.6e9 + rng.normal(size=N_ROWS),
                "whole": rng.integers(-9, 9, N_ROWS).astype(np.int16),
                "flag": rng.random(N_ROWS) < 0.5,
                "once": [f"only {i}" if i % 9 == 0 else "often" for i in range(N_ROWS)],
                "said": rng.choice(["train", "train", "test"], N_ROWS),
            }
        )
        value = x + 2 * np.isin(colour, ["a", "b"]) + 0.3 * rng.normal(size=N_ROWS)
        names = np.array(["low", "middle", "high"])
        frame["y"] = {
            "number": value,
            "class": names[np.digitize(value, [0.0, 1.5])],
            "flag": np.where(value > 1, "yes", "no"),
        }[target]
        frame.to_parquet(tmp_path / f"{target}.parquet")
        return f"file:{tmp_path / f'{target}.parquet'}?target=y"

    return write


@pytest.fixture
def space(tmp_path):
    """Write a space of learners, one of which draws by its seed."""

    def write(task):
        kind = "Regressor" if task == "regression" else "Classifier"
        path = tmp_path / f"{task}.yaml"
        path.write_text(SPACE.format(task=task, kind=kind))
        return str(path)

    return write


def again(model):
    """Return the model as a server loads it."""
    return load(model.dump(), "it")


def sent(features):
    """Return raw rows as a caller sends them, who knows no categories and no narrow numbers."""
    rows = features.reset_index(drop=True).copy()
    for name, column in rows.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            rows[name] = column.astype(object).where(column.notna(), None)
    return rows.astype({name: "int64" for name in rows if rows[name].dtype.kind == "i"})


ENVIRONMENTS_ = [
    {"protocol": "holdout", "scale": "standard"},
    {"protocol": "cv", "folds": 3},
    {"protocol": "cv", "folds": 3, "scale": "standard", "split_column": "said"},
]


@pytest.mark.parametrize(
    ("task", "environment", "arm"),
    [
        *(("classification", environment, "forest") for environment in ENVIRONMENTS_),
        ("regression", ENVIRONMENTS_[0], "neighbors"),
    ],
    ids=str,
)
def test_a_policys_winner(race, mixed, space, tmp_path, task, environment, arm):
    data = mixed("number" if task == "regression" else "class")
    given = {"space": space(task), "arms": [arm], "optimiser": "random", **environment}
    result, fitted = race("average", data, budget=2, environment=given)
    model = again(fitted.model)

    features, target = fitted.dataset.features, fitted.dataset.target
    column = environment.get("split_column")
    _, rows = trials.scored(fitted.dataset, 0, environment["protocol"], column)
    test = np.flatnonzero(features["said"] == "test") if column else rows.test
    predicted = model.predict(sent(features.iloc[test]))

    assert {each.name for each in model.columns} == {*features} - {column}
    if task == "classification":
        score = np.mean(predicted == target.iloc[test].astype(str))
    else:
        truth = target.iloc[test]
        score = 1 / (1 + np.mean((predicted - truth) ** 2) / np.var(truth))
    assert score == pytest.approx(result.metrics["test"], rel=1e-12)
    assert fitted.test == pytest.approx(result.metrics["test"], rel=1e-12)


@pytest.mark.parametrize(("algorithm", "given"), [
    ("average", {"arms": ["k_nearest_neighbors"], "optimiser": "random"}),
    ("full-run", {"configurations": 2}),
])  # fmt: skip
def test_by_time_the_test_is_of_earlier_rows_and_the_model_knows_the_last(
    race, tmp_path, algorithm, given
):
    days = np.random.default_rng(0).permutation(400)
    late = (days >= 320) | (days == 0)  # day 0 alone is trained on before the test
    frame = pd.DataFrame({"day": pd.Timestamp("2024-01-01") + pd.to_timedelta(days, unit="D")})
    regression = algorithm == "average"
    frame["y"] = np.where(late, 100.5, days % 7) if regression else np.where(late, "b", "a")
    frame.to_parquet(tmp_path / "days.parquet")
    data = f"file:{tmp_path / 'days.parquet'}?target=y"
    budget = 1 if algorithm == "average" else None
    result, fitted = race(algorithm, data, budget=budget, environment=given)
    model, last = again(fitted.model), frame[["day"]].iloc[[int(days.argmax())]]

    assert fitted.test == result.metrics.get("test", result.score)
    if regression:
        assert result.metrics["rmse"] > 50
        assert model.predict(last)[0] > 50
    else:
        assert result.score < 0.1
        assert model.predict(last)[0] == "b"


def test_a_policys_winner_that_scores_otherwise_is_refused(mixed, space, tmp_path):
    environment = {"space": space("classification"), "optimiser": "random"}
    job = Job("random-joint", mixed("class"), 0, 0, budget=2, environment=environment)
    result = run_job(job, tmp_path)
    other = dataclasses.replace(result, metrics={**result.metrics, "test": 0.123})
    unknown = dataclasses.replace(result, champion_seed=None)

    assert fit(job, result).test == result.metrics["test"]
    with pytest.raises(LeaseboardError, match=r"on the test rows now and to 0\.123 when it was"):
        fit(job, other)
    with pytest.raises(UsageError, match="has no seed on record"):
        fit(job, unknown)


def test_a_selections_winner(race, mixed, tmp_path):
    environment = {"configurations": 3, "test_fraction": 0.4}
    result, fitted = race("full-run", mixed("class"), environment=environment)
    model = again(fitted.model)

    divided = sampled.split(fitted.dataset, 0, 0.4)
    _, test = divided.rows()
    raw = sent(fitted.dataset.features.iloc[test])
    truth = fitted.dataset.target.iloc[test].astype(str)

    assert np.mean(model.predict(raw) == truth) == fitted.test == result.score
