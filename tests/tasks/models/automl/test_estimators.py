import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import PredefinedSplit, TimeSeriesSplit
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from leaseboard import SelectionSearch, StreamClassifier, StreamRegressor
from leaseboard.algorithms.errors import DataError, LeaseboardError
from leaseboard.tasks.models.automl.estimators import AutoMLClassifier, AutoMLRegressor
from leaseboard.tasks.models.automl.validation import folds_of
from leaseboard.tasks.models.pipeline import dump_trusted, load_trusted

FAST = ["decision_tree", "k_nearest_neighbors", "lda"]
CHECKED = {"optimiser": "random", "max_trials": 9, "trial_cpu_seconds": None}


def classifier(**given):
    return AutoMLClassifier(
        **{"space": "fast", "arms": FAST, "random_state": 0, **CHECKED, **given}
    )


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
        AutoMLClassifier(space="fast", arms=["gaussian_nb"], **(CHECKED | {"max_trials": 1})),
        AutoMLRegressor(arms=["ridge"], cv=0.3, **(CHECKED | {"max_trials": 1})),
    ],
)
def test_scikit_learns_own_checks(estimator):
    weighted = "check_sample_weight_equivalence_on_dense_data"
    reason = "a row that stands twice may be on both sides of a split, one of weight 2 cannot"
    reported = check_estimator(
        estimator, on_skip=None, on_fail=None, expected_failed_checks={weighted: reason}
    )
    # The one of arrays of other kinds is opt-in, by what scipy reads at its import.
    broken = [
        (each["check_name"], each["exception"])
        for each in reported
        if each["status"] not in ("passed", "xfail") and "array_api" not in each["check_name"]
    ]

    assert len(reported) > 50
    assert broken == []


@pytest.mark.parametrize("policy", ["er-ucb-auto", "tpe-joint"])
def test_any_policy_searches(policy):
    X, y = load_breast_cancer(return_X_y=True)
    search = classifier(policy=policy).fit(X, y)
    board = search.leaderboard_

    assert search.score(X, y) > 0.9
    assert len(board) == 9
    assert board["score"].is_monotonic_decreasing
    assert search.score_ >= search.best_score_ - 1e-9
    assert search.best_score_ == board["score"][0]
    assert board["weight"].sum() == pytest.approx(1)


def test_mixed_columns_missing_values_and_unseen_categories():
    X, y = mixed()
    search = classifier(arms=["decision_tree", "bernoulli_nb"]).fit(X, y)
    new = X.head(3).assign(colour=pd.Categorical(["violet", None, "red"]), text="violet")

    assert search.score(X, y) > 0.85
    assert set(search.predict(new)) <= {"yes", "no"}
    assert np.allclose(search.predict_proba(new).sum(axis=1), 1)


def towns(labels, seed=0):
    """Return 1500 rows of 250 towns, with gaps, and targets that are a town's own, by chance."""
    rng = np.random.default_rng(seed)
    at = np.arange(1500) % 250
    names = np.array([f"town {number}" for number in rng.permutation(250)], dtype=object)[at]
    frame = pd.DataFrame({"town": np.where(at == 7, None, names), "noise": rng.normal(size=1500)})
    return frame, rng.choice(labels, 250)[at]


@pytest.mark.parametrize(
    ("arm", "labels", "n_features"),
    [("random_forest", ["no", "yes"], 3), ("lightgbm", ["p", "q", "r"], 5),
     ("extra_trees", [0.0, 1.0, 5.0], 3)],
)  # fmt: skip
def test_trees_learn_hundreds_of_categories_by_their_mean_targets(arm, labels, n_features):
    X, y = towns(labels)
    made = AutoMLClassifier if isinstance(labels[0], str) else AutoMLRegressor
    given = {"arms": [arm], "max_trials": 1, "trial_cpu_seconds": None, "random_state": 0}
    search = made(**given).fit(X[:1250], y[:1250])
    learner = search.model_.members[0].models[0][-1]

    assert learner.n_features_in_ == n_features
    assert search.score(X[1250:], y[1250:]) > 0.9
    other = X[1250:].assign(town=[None, "unseen"] * 125)
    again = load_trusted(dump_trusted(search))
    np.testing.assert_array_equal(again.predict(other), search.predict(other))


@pytest.mark.parametrize("cv", [3, 0.3])
def test_mean_targets_are_of_other_rows_than_those_they_are_judged_by(cv):
    X, _ = towns([0.0])
    y = np.random.default_rng(1).choice(["no", "yes"], len(X))  # of no town
    given = {"arms": ["random_forest"], "max_trials": 1, "trial_cpu_seconds": None}
    search = AutoMLClassifier(**given, cv=cv, random_state=0).fit(X, y)

    assert 0.42 < search.best_score_ < 0.58


@pytest.mark.parametrize("rows", [300, 12])
def test_mean_targets_of_names_that_occur_once_mislead_no_tree(rows):
    X = pd.DataFrame({"id": [f"id {row}" for row in range(rows)], "x": np.arange(rows) % 2})
    likely = np.where(X["x"] > 0, "yes", "no")
    y = np.where(np.arange(rows) % 5 < 4, likely, likely[::-1])
    weight = 1 + np.arange(rows) % 3
    search = AutoMLClassifier(
        arms=["lightgbm", "random_forest"], cv=TimeSeriesSplit(5), max_trials=2,
        trial_cpu_seconds=None, random_state=0,
    ).fit(X, y, sample_weight=weight)  # fmt: skip

    assert set(search.leaderboard_["status"]) == {"ok"}
    assert rows < 100 or search.score(X.assign(id="new"), likely) > 0.95


def test_the_limits_of_a_trial_make_it_a_process_and_change_nothing(forked_workers):
    X, y = mixed()
    one = classifier(policy="rising-bandits", trial_cpu_seconds=None).fit(X, y)
    two = classifier(policy="rising-bandits", trial_cpu_seconds=30.0).fit(X, y)

    shown = ["arm", "score", "parameters"]
    assert one.leaderboard_[shown].equals(two.leaderboard_[shown])


def test_a_budget_that_ends_before_the_first_trial_is_said_to_be_too_small():
    X, y = mixed()
    with pytest.raises(
        ValueError, match=r"time_budget=0\.001 cpu_seconds is too small: the encoding .* left for"
    ):
        classifier(max_trials=None, time_budget=0.001).fit(X, y)


@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc_ovr"])
def test_a_class_that_no_row_validates_is_not_an_obstacle_to_a_scorer(scoring):
    X, y = mixed()
    y = y.astype(object)
    y[5] = "once"
    search = classifier(scoring=scoring).fit(X, y)

    assert set(search.classes_) == {"no", "once", "yes"}
    assert search.score(X[6:], y[6:]) > search.score(X[6:], y[6:][::-1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"space": "tables-regression", "arms": None}, "is for regression"),
        ({"arms": ["ldaa"]}, "did you mean 'lda'"),
        ({"policy_settings": {"D": 3}}, "unknown setting"),
        ({"policy": "max_ucb"}, "policy='max_ucb': unknown algorithm 'max_ucb': did you mean"),
        ({"time_budget": 3}, "time_budget=3 and max_trials=9 are two budgets: give one"),
        *[
            ({"time_budget": value, "max_trials": None}, f"'time_budget' .* Got {value!r}")
            for value in (0, "60", math.inf)
        ],
        *[({"max_trials": value}, f"'max_trials' .* Got {value!r}") for value in (0, "60", 2.5)],
        ({"optimiser": "gp"}, "'optimiser' .* Got 'gp'"),
        ({"class_weight": {"yes": -1}}, "negative weight"),
        ({"scoring": "accuracyy"}, "not a valid scoring value"),
    ],
)
def test_wrong_settings_are_named(change, message):
    X, y = mixed()
    with pytest.raises(ValueError, match=message):
        classifier(**change).fit(X, y)


def test_names_of_all_rows_are_refused_before_they_fill_the_memory():
    names = [f"customer {i}" for i in range(50_000)]
    X = pd.DataFrame({"size": np.arange(50_000.0), "name": names})
    with pytest.raises(ValueError, match="column 'name' has 50000 categories in 50000 rows"):
        classifier().fit(X, X["size"] > 100)


def test_one_class_and_all_arms_failing_are_clear(tmp_path):
    X, y = mixed()
    with pytest.raises(ValueError, match="the target has one class, no: nothing to learn"):
        classifier().fit(X, np.full(len(y), "no"))
    with (
        pytest.warns(UserWarning, match="unique classes"),  # of scikit-learn
        pytest.raises(ValueError, match=r"cv=.* of 200 rows leaves none to validate"),
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
        classifier(space=str(hopeless), arms=None, max_trials=3).fit(X, y)


def test_what_is_returned_is_what_was_measured():
    X, y = load_breast_cancer(return_X_y=True)
    search = classifier(optimiser="guided", ensemble=False, cv=4).fit(X, y)
    (member,) = search.model_.members
    features = search.encoder_.transform(pd.DataFrame(X))
    every = np.ones(len(y), dtype=bool)
    folds = folds_of(4, y, codes=y, groups=None, X=X, seed=seed_of(0), counted=every)

    assert len(member.models) == 4
    hits = [
        model.predict(features[rows]) == y[rows]
        for model, rows in zip(member.models, folds.validation, strict=True)
    ]
    assert np.concatenate(hits).mean() == pytest.approx(search.best_score_)


def test_a_fit_on_all_rows_that_falls_short_of_its_score_is_not_returned(tmp_path, monkeypatch):
    (tmp_path / "moody.py").write_text(
        "import numpy as np\n"
        "class Moody:\n"
        "    'Learns from less than 100 rows, and nothing from more.'\n"
        "    def fit(self, X, y):\n"
        "        self.classes_ = np.array([0, 1])\n"
        "        self.knows = len(X) < 100\n"
        "        return self\n"
        "    def predict_proba(self, X):\n"
        "        p = (X[:, 0] > 0) if self.knows else np.zeros(len(X))\n"
        "        return np.column_stack([1 - p, p])\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    space = tmp_path / "moody.yaml"
    space.write_text("{title: t, source: s, arms: {moody: {estimator: 'moody:Moody'}}}")
    X = np.random.default_rng(0).integers(2, size=(120, 2))
    search = classifier(space=str(space), arms=None, max_trials=1, cv=0.25)
    search.fit(X, X[:, 0] > 0)

    assert search.score(X, X[:, 0] > 0) == 1.0


def test_weights_of_classes_and_rows():
    rng = np.random.default_rng(0)
    y = (rng.random(600) < 0.1).astype(int)
    X = rng.normal(size=(600, 2)) + y[:, None]
    given = {"arms": ["lda", "decision_tree"], "scoring": "balanced_accuracy", "max_trials": 4}
    with pytest.warns(UserWarning, match="arm lda is left out: it takes no weights"):
        weighted = classifier(class_weight="balanced", **given).fit(X, y)
    plain = classifier(**(given | {"arms": ["decision_tree"]})).fit(X, y)

    assert weighted.predict(X).mean() > 1.5 * plain.predict(X).mean()
    with (
        pytest.warns(UserWarning, match="arm lda is left out"),
        pytest.raises(ValueError, match=r"no arm.*it takes no weights"),
    ):
        classifier(arms=["lda"], max_trials=1).fit(X, y, np.ones(600))
    twice = classifier(arms=["decision_tree"], max_trials=2).fit(X, y, np.full(600, 2.0))
    assert (
        twice.best_score_ == classifier(arms=["decision_tree"], max_trials=2).fit(X, y).best_score_
    )


ROWS = np.random.default_rng(0).normal(size=(120, 2))
AUTOML = {"arms": ["lightgbm"], "max_trials": 1, "trial_cpu_seconds": None, "random_state": 0}


@pytest.mark.parametrize(
    "estimator",
    [
        AutoMLClassifier(),
        AutoMLRegressor(),
        SelectionSearch(DecisionTreeClassifier()),
        StreamClassifier(),
    ],
)
def test_missing_labels_are_refused_in_a_line(estimator):
    for missing in (None, np.nan, pd.NaT):
        for y in ([0, 1, missing] * 40, pd.Series([0, 1, missing] * 40, dtype=object)):
            with pytest.raises(ValueError, match=r"(missing values|label (nan|None|NaT))[^\n]*$"):
                estimator.fit(ROWS, y)


WEIGHTS = np.where(np.arange(120) % 5, 1.0 + np.arange(120) % 3, 0.0)
COUNTED = WEIGHTS > 0
GROUPS = np.arange(120) // 6
FIRST = np.arange(120) < 80


@pytest.mark.parametrize(
    ("made", "given", "left"),
    [
        (partial(AutoMLClassifier, **AUTOML, cv=3), {}, {}),
        (partial(AutoMLClassifier, **AUTOML, cv=3), {"groups": GROUPS}, {}),
        (partial(AutoMLClassifier, **AUTOML, class_weight="balanced"), {}, {}),
        (
            partial(AutoMLRegressor, **AUTOML, cv=PredefinedSplit(GROUPS % 3)),
            {},
            {"cv": PredefinedSplit(GROUPS[COUNTED] % 3)},
        ),
        (
            partial(AutoMLRegressor, **AUTOML, cv=[(np.arange(80), np.arange(80, 120))]),
            {},
            {"cv": [(FIRST[COUNTED], ~FIRST[COUNTED])]},
        ),
        (StreamClassifier, {}, {}),
        (StreamRegressor, {}, {}),
    ],
)
def test_rows_of_weight_0_are_rows_that_are_not_there(made, given, left):
    X = pd.DataFrame(ROWS, columns=["a", "b"])
    y = (X["a"] > 0).astype(int) if is_classifier(made()) else 2 * X["a"] + X["b"]
    odd = y.where(COUNTED, 1e6 if y.dtype == float else 7)
    X[~COUNTED] = 1e5
    groups = {name: value[COUNTED] for name, value in given.items()}
    some = made().fit(X, odd, sample_weight=WEIGHTS, **given)
    own = made().set_params(**left).fit(X[COUNTED], y[COUNTED], WEIGHTS[COUNTED], **groups)

    predict = "predict_proba" if is_classifier(some) else "predict"
    assert np.array_equal(getattr(some, predict)(X), getattr(own, predict)(X))
    assert getattr(some, "score_", None) == getattr(own, "score_", None)
    if is_classifier(some):
        assert some.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("wrong", ["cheap", "2024-02-29", pd.Timestamp("2024-02-29")])
def test_a_word_where_numbers_were_is_refused_with_its_column(wrong):
    X = pd.DataFrame(ROWS, columns=["size", "price"])
    model = AutoMLRegressor(**AUTOML).fit(X, ROWS.sum(axis=1))
    with pytest.raises(DataError, match=r"column 'price' holds numbers, and .* in row 1 does not"):
        model.predict(X.head().assign(price=wrong))
    numerals = X.head().assign(price=X["price"].astype(str))
    assert np.allclose(model.predict(numerals), model.predict(X.head()))


def test_dates_that_folds_shuffle_are_said(recwarn):
    X, y = mixed(300)
    X = X.assign(day=pd.date_range("2024-01-01", periods=len(X)).astype(str), later=1)
    fits = {"arms": ["decision_tree"], "max_trials": 1}
    said = "column 'day' holds dates, and rows are shuffled across them: .*TimeSeriesSplit"
    for cv in (None, 3, 0.2):
        with pytest.warns(UserWarning, match=said) as warned:
            classifier(**fits, cv=cv).fit(X, y)
        assert warned[0].filename == __file__
    classifier(**fits, cv=TimeSeriesSplit(3)).fit(X, y)
    classifier(**fits).fit(X, y, groups=np.arange(len(X)) // 10)
    assert not recwarn.list


def test_a_fitted_search_can_be_written_without_pickles():
    X, y = mixed()
    search = classifier(arms=["decision_tree", "lda"], max_trials=4).fit(X, y)
    again = load_trusted(dump_trusted(search))

    np.testing.assert_array_equal(again.predict_proba(X), search.predict_proba(X))


def seed_of(random_state):
    return int(np.random.RandomState(random_state).randint(2**31 - 1))
