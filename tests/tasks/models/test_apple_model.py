"""A registered apple predicts as the learner of its run did on the test rows."""

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.apple.learner import outputs
from leaseboard.algorithms.environments.holdout import split
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.jobs.environments.holdout import Options, as_holdout
from leaseboard.tasks.models.apple_model import AppleLearners
from leaseboard.tasks.models.model import load

FRIED = "synthetic:fried?rows=400&seed=0"
CANCER = "sklearn:breast_cancer"


@pytest.fixture
def mixed(tmp_path):
    """Return a file with numbers, truth values, names and gaps, and three classes."""
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n).round(3),
            "n": rng.integers(0, 4, n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "flag": rng.random(n) < 0.5,
            "id": np.arange(n),
        }
    )
    frame["y"] = np.where(frame.colour == "red", "a", np.where(frame.x > 0, "b", "c"))
    frame.loc[::17, "x"] = np.nan
    frame.to_parquet(tmp_path / "mixed.parquet")
    return f"file:{tmp_path / 'mixed.parquet'}?target=y"


def again(fitted):
    return load(fitted.model.dump(), "it")


def held_out(fitted, environment):
    """Return what the run's environment made of the test rows, and the raw rows themselves."""
    options = Options(**environment)
    holdout = as_holdout(fitted.dataset, options, 0)
    rows = len(fitted.dataset.features.iloc[: options.max_rows])
    _, test = split(rows, 0, test_share=options.test_share, order=options.order)
    return holdout.test, fitted.dataset.features.iloc[test]


@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [
        ("apple", {}),
        ("apple", {"bits": 6}),
        ("apple", {"rates": [0.1, 0.5], "epochs": 3}),
        ("apple-ssm", {}),
        ("apple-parallel", {"partitions": 2}),
        ("linear", {}),
        ("quadratic", {}),
        ("cubic", {"bits": 6}),
    ],
    ids=str,
)
@pytest.mark.parametrize("data", [FRIED, CANCER])
def test_predictions_are_the_runs_own(race, algorithm, settings, data):
    result, learner, fitted = race(algorithm, data, settings=settings)
    model = again(fitted)
    test, raw = held_out(fitted, {})
    (ours,) = (each.predict(test.rows) for each in learner)

    assert isinstance(model.estimator, AppleLearners)
    assert fitted.test == result.score
    if model.classes:
        named = np.array(model.classes, dtype=object)[(ours > 0).astype(int)]
        assert model.predict(raw).tolist() == named.tolist()
        truth = fitted.dataset.target.astype(str).loc[raw.index]
        assert np.mean(model.predict(raw) != truth) == pytest.approx(result.score)
    else:
        np.testing.assert_array_equal(model.predict(raw), ours.astype(np.float64))
        assert np.mean((model.predict(raw) - test.labels) ** 2) == pytest.approx(result.score)


@pytest.mark.parametrize("one_hot", ["nominal", "all"])
@pytest.mark.parametrize("bits", [18, 4], ids=["plan", "hashed"])
def test_columns_become_the_features_of_the_run(race, mixed, one_hot, bits):
    environment = {"missing": "zero", "positive": "b,c", "drop": "id", "one_hot": one_hot}
    settings = {"alpha": 0.5, "bits": bits}
    _, learner, fitted = race("apple", mixed, environment=environment, settings=settings)
    model = again(fitted)
    test, raw = held_out(fitted, environment)
    (ours,) = (each.predict(test.rows) for each in learner)

    assert [column.name for column in model.columns] == ["x", "n", "colour", "flag"]
    assert model.classes == ("a", "b or c")
    assert model.predict(raw).tolist() == np.where(ours > 0, "b or c", "a").tolist()
    unheard = raw.astype({"colour": object}).assign(colour="pink")
    assert set(model.predict(unheard)) <= {"a", "b or c"}


@pytest.mark.parametrize("algorithm", ["apple", "quadratic"])
def test_many_classes_are_served_by_name(race, algorithm):
    result, learner, fitted = race(algorithm, "sklearn:wine")
    model = again(fitted)
    test, raw = held_out(fitted, {})
    names = np.array(["class_0", "class_1", "class_2"])

    assert model.classes == tuple(names)
    said = outputs(learner, test.rows).argmax(axis=1)
    assert model.predict(raw).tolist() == names[said].tolist()
    assert np.mean(said != test.labels) == pytest.approx(result.score)


def test_a_scaled_target_comes_back_in_its_own_unit(race):
    environment = {"scale_target": True, "max_rows": 300}
    _, learner, fitted = race("linear", FRIED, environment=environment)
    model = again(fitted)
    test, raw = held_out(fitted, environment)
    low, high = model.estimator.offset, model.estimator.offset + model.estimator.factor

    np.testing.assert_allclose(
        low + test.labels.astype(np.float64) * (high - low),
        fitted.dataset.target.loc[raw.index],
        rtol=1e-6,
    )
    np.testing.assert_allclose(
        model.predict(raw), low + learner[0].predict(test.rows) * (high - low), rtol=1e-6
    )


def test_a_gap_is_refused_where_the_run_refused_it(race):
    _, _, fitted = race("linear", FRIED)
    rows = fitted.dataset.features.head(3).assign(x2=np.nan)
    with pytest.raises(ValueError, match=r"column 'x2' is missing \(NaN\) in 3 rows: fill it in"):
        fitted.model.predict(rows)


def test_a_run_of_vws_own_leaves_no_model(race):
    with pytest.raises(UsageError, match="the run left no model: only apple, linear"):
        race("stage-poly", FRIED)


def test_text_is_refused_in_one_line(race, tmp_path):
    text = [f"film {i} was {'good' if i % 2 else 'bad'}, " * 20 for i in range(60)]
    frame = pd.DataFrame({"text": text, "y": ["good", "bad"] * 30})
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(UsageError, match="column 'text' holds free text, which only registered"):
        race("linear", f"file:{tmp_path / 't.parquet'}")
