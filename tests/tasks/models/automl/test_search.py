"""The search over one's own pipelines or a grid, as scikit-learn's searches are used."""

import pickle
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from leaseboard import SelectionSearch
from leaseboard.algorithms.errors import UsageError

PIPELINES = {
    "constant": DummyClassifier(),
    "tree": make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)),
}


class Sick(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise ValueError("no such column\nas the second line says")


class Silent(ClassifierMixin, BaseEstimator):
    """Learns, and predicts nothing but classes."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_it_is_an_estimator():
    search = SelectionSearch(GaussianNB(), {"var_smoothing": [1e-9, 0.1]})
    reported = check_estimator(search, on_skip=None, on_fail=None)
    # The one of arrays of other kinds is opt-in, by what scipy reads at its import.
    broken = [
        (each["check_name"], each["exception"])
        for each in reported
        if each["status"] not in ("passed", "xfail") and "array_api" not in each["check_name"]
    ]

    assert len(reported) > 50
    assert broken == []


def test_a_grid_is_searched_and_the_choice_fitted_on_all_rows(data):
    X, y = data
    search = SelectionSearch(
        DecisionTreeClassifier(), {"max_depth": [1, 3], "min_samples_leaf": [1, 2000]},
        algorithm="abc-tight", initial_rows=200, random_state=0,
    ).fit(X, y)  # fmt: skip
    assert search.best_params_["min_samples_leaf"] == 1
    assert search.best_score_ > 0.95
    assert search.score(X, y) > 0.95
    assert search.best_estimator_.tree_.n_node_samples[0] == 3000
    assert list(search.classes_) == ["high", "low"]
    assert search.n_features_in_ == 2
    assert search.predict_proba(X).shape == (3000, 2)
    board = search.leaderboard_
    assert board.index[0] == search.best_index_
    assert board.loc[search.best_index_, "name"] == search.best_name_
    assert list(board["outcome"]).count("chosen") == 1
    dropped = board[board["outcome"] == "dropped"]
    assert dropped["reason"].str.contains(f"configuration {search.best_index_}").any()
    assert search.guarantee_.startswith("with probability 0.9 the choice")


class Counting(GaussianNB):
    """Naive Bayes that notes the rows and the classes of each fit."""

    fits: ClassVar = []

    def fit(self, X, y):
        Counting.fits.append((len(y), len(np.unique(y))))
        return super().fit(X, y)


@pytest.mark.parametrize(("algorithm", "n"), [("abc-tight", 1025), ("successive-halving", 999)])
def test_the_last_sample_is_all_training_rows_and_the_first_has_every_class(algorithm, n):
    """Also next to powers of two; one class has two rows."""
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(n, 2)), rng.integers(0, 2, n)
    y[:2] = 2
    Counting.fits.clear()
    search = SelectionSearch(
        Counting(), {"var_smoothing": [1e-9, 0.1, 1.0, 10.0, 100.0]},
        algorithm=algorithm, initial_rows=40, test_fraction=0.2, random_state=1,
    ).fit(X, y)  # fmt: skip
    *sampled, (refitted, _) = Counting.fits
    train_rows = n - round(0.2 * n)
    rare = {classes for _, classes in sampled}
    assert refitted == n
    assert max(rows for rows, _ in sampled) == train_rows
    assert len(rare) == 1  # those that the training rows have
    assert search.best_score_ > 0


def test_a_guarantee_of_rows_in_time_is_warned_of(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(day=pd.Timestamp("2024-01-01"))
    frame["day"] += pd.to_timedelta(np.arange(len(y)), unit="D")
    chosen = make_column_transformer(("passthrough", ["a", "b"]))
    pipelines = [make_pipeline(chosen, DecisionTreeClassifier(max_depth=n)) for n in (1, 2)]
    with pytest.warns(UserWarning, match="column 'day' holds dates, and rows are shuffled"):
        SelectionSearch(pipelines, random_state=0).fit(frame, y)


@pytest.mark.parametrize(
    "own",
    [
        {"estimator": LogisticRegression(max_iter=1000), "param_grid": {"C": [0.1, 1.0]}},
        {"estimator": {"bayes": GaussianNB(), "tree": PIPELINES["tree"]}},
    ],
)
def test_it_is_part_of_what_scikit_learn_builds_before_it_is_fitted(own):
    X, y = load_iris(return_X_y=True)
    search = SelectionSearch(**own, random_state=0)
    for built in (
        CalibratedClassifierCV(search, cv=2),
        VotingClassifier([("search", search), ("other", GaussianNB())], voting="soft"),
        GridSearchCV(search, {"epsilon": [0.01, 0.1]}, cv=2, error_score="raise"),
    ):
        assert clone(built).fit(X, y).score(X, y) > 0.9
    assert cross_val_score(search, X, y, scoring="roc_auc_ovr", error_score="raise").min() > 0.9


def test_it_predicts_what_the_choice_can(data):
    search = SelectionSearch({"svc": LinearSVC(), "constant": Silent()})
    assert not hasattr(search, "decision_function")  # one of them does not have it
    with pytest.raises(NotFittedError):
        search.predict(data[0])
    search.fit(*data)
    assert hasattr(search, "decision_function")
    assert not hasattr(search, "predict_proba")
    unfitted = SelectionSearch(PIPELINES, refit=False).fit(*data)
    assert not hasattr(unfitted, "best_estimator_")


def test_it_goes_through_pickle(data):
    search = SelectionSearch(PIPELINES, initial_rows=200, random_state=0).fit(*data)
    copy = pickle.loads(pickle.dumps(search))
    assert repr(copy.events_) == repr(search.events_)  # NaN is not NaN
    assert copy.leaderboard_.equals(search.leaderboard_)
    assert (copy.predict(data[0]) == search.predict(data[0])).all()


def test_one_that_fails_is_named_and_the_others_go_on(data):
    search = SelectionSearch([Sick(), *PIPELINES.values(), DummyClassifier()]).fit(*data)
    board = search.leaderboard_.set_index("name")
    assert board.loc["DummyClassifier-3", "reason"] == "duplicate of configuration 1"
    assert board.loc["Sick-0", "outcome"] == "failed"
    assert "no such column" in board.loc["Sick-0", "reason"]
    assert search.best_name_ == "Pipeline-2"


def test_naive_bayes_that_gets_worse_with_rows_does_not_win():
    """Its accuracy is .98 on a thousand rows, and below .76 on all of them."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 60_000)
    heavy = 0.15 * np.where(y == 0, rng.standard_t(1.0, len(y)), rng.normal(size=len(y)))
    X = np.c_[rng.normal(size=(len(y), 2)) + (1.8 * y - 0.9)[:, None], heavy]
    own = {"bayes": GaussianNB(), "tree": DecisionTreeClassifier(max_depth=1), **PIPELINES}
    search = SelectionSearch(
        {name: own[name] for name in ("bayes", "tree", "constant")},
        algorithm="abc-tight", epsilon=0.01, delta=0.05, refit=False, random_state=1,
    ).fit(X, y)  # fmt: skip
    assert search.best_name_ == "tree"
    assert "accuracy fell with more rows for ['bayes']" in search.guarantee_


@pytest.mark.parametrize(
    ("own", "X", "y", "message"),
    [
        (PIPELINES, np.zeros((3, 2)), [0, 1], "inconsistent numbers of samples"),
        (PIPELINES, np.zeros((0, 2)), [], "0 sample"),
        (PIPELINES, np.zeros((9, 2)), [0] * 9, "one class, 0"),
        ([Sick(), Sick(), Silent()], np.zeros((9, 2)), None, "requires y"),
        ([Sick(), DecisionTreeClassifier()], [["a"], ["b"]] * 9, [0, 1] * 9, "cannot be trained"),
        ([Ridge()], np.zeros((9, 2)), [0, 1, 1] * 3, "'Ridge-0' is not a classifier"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_in_a_line(own, X, y, message):
    with pytest.raises(ValueError, match=message) as caught:
        SelectionSearch(own).fit(X, y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"delta": 0}, "setting delta=0"),
        ({"test_fraction": 1.5}, "option test_fraction=1.5"),
        ({"algorithm": "online-automl"}, "runs on the environment stream"),
        ({"algorithm": "abd"}, "did you mean 'abc'"),
        ({"param_grid": {"max_depth": [1]}}, "2 are given"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(data, settings, message):
    with pytest.raises(UsageError, match=message) as caught:
        SelectionSearch(**{"estimator": PIPELINES, **settings}).fit(*data)
    assert "\n" not in str(caught.value)
