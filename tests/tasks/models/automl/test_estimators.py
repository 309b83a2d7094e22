import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.utils.estimator_checks import check_estimator

from algorithms.errors import LeaseboardError
from tasks.evaluate.store import Store
from tasks.evaluate.trials import plans
from tasks.fetch import Dataset, columns
from tasks.models.automl.estimators import PolicyClassifier, PolicyRegressor

FAST = ["decision_tree", "k_nearest_neighbors", "lda"]
CHECKED = {"optimiser": "random", "budget": 9, "trial_cpu_seconds": None}


def classifier(**given):
    return PolicyClassifier(**{"arms": FAST, "random_state": 0, **CHECKED, **given})


def mixed(n_rows=200, seed=0):
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue"], n_rows)
    size = rng.normal(size=n_rows)
    frame = pd.DataFrame(
        {
            "colour": pd.Categorical(colour),
            "text": np.where(rng.random(n_rows) < 0.2, None, colour),
            "size": np.where(rng.random(n_rows) < 0.1, np.nan, size),
            "flag": size > 0,
            "empty": np.full(n_rows, np.nan),
        }
    )
    return frame, np.where((colour == "red") | (size > 1), "yes", "no")


@pytest.mark.parametrize(
    "estimator",
    [
        PolicyClassifier(arms=FAST[:2], **(CHECKED | {"budget": 4})),
        PolicyRegressor(arms=["decision_tree", "ridge"], **(CHECKED | {"budget": 4})),
    ],
)
def test_scikit_learns_own_checks(estimator):
    told = check_estimator(estimator, on_skip=None, on_fail=None)
    # The one of arrays of other kinds is opt-in, by what scipy reads at its import.
    broken = [
        (each["check_name"], each["exception"])
        for each in told
        if each["status"] != "passed" and "array_api" not in each["check_name"]
    ]

    assert len(told) > 50
    assert broken == []


@pytest.mark.parametrize("policy", ["max-ucb", "er-ucb-auto", "tpe-joint", "average"])
def test_any_policy_searches(policy):
    X, y = load_breast_cancer(return_X_y=True)
    search = classifier(policy=policy).fit(X, y)

    assert search.score(X, y) > 0.9
    assert len(search.leaderboard_) == 9
    assert search.leaderboard_["score"].is_monotonic_decreasing
    assert search.best_score_ == search.leaderboard_["score"][0]


def test_mixed_columns_missing_values_and_unseen_categories():
    X, y = mixed()
    search = classifier(arms=["decision_tree", "bernoulli_nb"]).fit(X, y)
    new = X.head(3).assign(colour=pd.Categorical(["violet", None, "red"]), text="violet")

    assert search.score(X, y) > 0.85
    assert set(search.predict(new)) <= {"yes", "no"}
    assert np.allclose(search.predict_proba(new).sum(axis=1), 1)


@pytest.mark.parametrize("arm", ["liblinear_svc", "sgd", "lda"])
def test_probabilities_agree_with_predictions(arm):
    X, y = load_breast_cancer(return_X_y=True)
    search = classifier(arms=[arm], budget=3).fit(X, y)
    proba = search.predict_proba(X)

    assert proba.shape == (len(X), 2)
    assert (search.classes_[proba.argmax(axis=1)] == search.predict(X)).mean() > 0.99


def test_the_limits_of_a_trial_make_it_a_process_and_jobs_change_nothing(forked_workers):
    X, y = mixed()
    one = classifier(policy="rising-bandits", trial_cpu_seconds=30.0).fit(X, y)
    two = classifier(policy="rising-bandits", trial_cpu_seconds=30.0, n_jobs=2).fit(X, y)

    shown = ["arm", "score", "parameters"]
    assert one.leaderboard_[shown].equals(two.leaderboard_[shown])


def test_a_store_is_replayed(tmp_path):
    X, y = mixed()
    store = tmp_path / "trials.sqlite"
    first = classifier(store=store).fit(X, y)
    again = classifier(store=str(store)).fit(X, y)

    assert first.leaderboard_.equals(again.leaderboard_)  # the recorded costs, too
    assert Store(store).database.counted() == (len(FAST), len(first.leaderboard_), 0)


def test_a_budget_in_seconds():
    X, y = mixed()
    search = classifier(policy="rising-bandits-cost", unit="cpu_seconds", budget=0.05).fit(X, y)

    assert search.leaderboard_["cpu_seconds"].sum() == pytest.approx(0.05)


def test_regression_maps_its_loss_into_the_unit_interval():
    X, y = load_diabetes(return_X_y=True)
    search = PolicyRegressor(arms=["ridge", "decision_tree"], random_state=0, **CHECKED)
    search.fit(X, y)

    assert 0.5 < search.best_score_ < 1
    assert search.score(X, y) > 0.3


def test_a_fitted_search_can_be_pickled():
    X, y = mixed()
    search = classifier().fit(X, y)

    assert (pickle.loads(pickle.dumps(search)).predict(X) == search.predict(X)).all()


def test_a_class_with_one_member_is_no_obstacle():
    X, y = mixed()
    y = y.astype(object)
    y[5] = "once"

    assert set(classifier().fit(X, y).classes_) == {"no", "once", "yes"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": 2}, "smaller than the 3 arms"),
        ({"space": "regressors", "arms": None}, "is for regression"),
        ({"arms": ["ldaa"]}, "did you mean 'lda'"),
        ({"policy": "rising-bandit"}, "did you mean 'rising-bandits'"),
        ({"validation_fraction": 1.5}, "must lie between 0 and 1"),
        ({"settings": {"D": 3}}, "unknown setting"),
        ({"policy": "flaml"}, "policy='flaml' chooses no arms"),
        ({"policy": "chacha"}, "policy='chacha' chooses no arms"),
        ({"policy": "max-ucb", "unit": "cpu_seconds", "budget": 0}, "buys no trial"),
    ],
)
def test_wrong_settings_are_named(change, message):
    X, y = mixed()
    with pytest.raises(ValueError, match=message):
        classifier(**change).fit(X, y)


def test_one_class_and_all_arms_failing_are_clear(tmp_path):
    X, y = mixed()
    with pytest.raises(ValueError, match="the target has one class, no: nothing to learn"):
        classifier().fit(X, np.full(len(y), "no"))
    with (
        pytest.warns(UserWarning, match="unique classes"),  # of scikit-learn
        pytest.raises(ValueError, match=r"200 are too few.*with 200 classes to train on"),
    ):
        classifier().fit(X, [f"class {i}" for i in range(len(y))])
    hopeless = tmp_path / "hopeless.yaml"
    hopeless.write_text(
        "{title: t, source: s, arms: {near: {estimator: 'sklearn.neighbors:KNeighborsClassifier',"
        " constants: {n_neighbors: 1000}}}}"
    )
    with pytest.raises(
        LeaseboardError, match="all 3 trials failed, 3 of them because 'ValueError"
    ):
        classifier(space=str(hopeless), arms=None, budget=3).fit(X, y)


@pytest.mark.parametrize("scale", ["standard", "none"])
def test_the_best_estimator_encodes_as_the_bench_does(scale):
    X, y = mixed()
    search = classifier(scale=scale, arms=["decision_tree"], budget=2).fit(X, y)
    frame, target = columns.tidy_frame(X), pd.Series(y, dtype="category")
    data = Dataset("test", "test", frame, target, "classification", "digest")
    bench = plans.encoder(data, np.arange(len(X)), scale)

    np.testing.assert_array_equal(
        search.best_estimator_["columns"].transform(X), bench.transform(frame)
    )
