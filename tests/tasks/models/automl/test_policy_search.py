"""Ensembles, and the refits that their search reserves time for."""

from itertools import chain, repeat
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import RepeatedKFold, ShuffleSplit, TimeSeriesSplit

from leaseboard import AutoMLRegressor
from leaseboard.tasks.evaluate.replay import BudgetedTrials
from leaseboard.tasks.evaluate.scoring import Judge
from leaseboard.tasks.models.automl import policy_search
from leaseboard.tasks.models.automl.policy_search import (
    EnsembleMember,
    EnsembleModel,
    PolicySearch,
    _errors,
    selected,
    span_of,
)


def fold(n_rows):
    return SimpleNamespace(train_y=range(n_rows))


def test_refits_reserve_what_the_best_trials_need_if_it_fits_into_their_share():
    arrays = SimpleNamespace(folds=(fold(8),), refit=fold(10))
    search = PolicySearch(
        estimator=None, arrays=arrays, space=None, policy=None, budget=20.0, unit="cpu_seconds",
        begin=0.0, seed=0, in_order=False,
    )  # fmt: skip
    best = [(0.9, 4.0), (0.8, 2.0), (0.7, 0.5), (0.6, 0.3)]
    search.trials = SimpleNamespace(leaders=lambda: best)

    # On all rows 5.5, 2.75, .6875 and .4125 seconds.
    assert search.for_refits(20.0) == pytest.approx(5.5 + 0.6875 + 0.4125)
    assert search.for_refits(10.0) == pytest.approx(2.75 + 0.4125)
    assert search.for_refits(0.0) == 0
    # Five folds of a growing past cost what their fifteen parts do.
    arrays.folds = tuple(fold(2 * k) for k in range(1, 6))
    assert search.for_refits(20.0) == pytest.approx((4.0 + 2.0 + 0.5 + 0.3) * 1.1 / 3)
    arrays.refit = None
    assert search.for_refits(20.0) == 0


@pytest.fixture
def table():
    """Rows of which four neighbours and a line say much, and their targets."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 2))
    return features, features @ [2.0, 1.0] + rng.normal(size=60)


@pytest.mark.parametrize(
    ("cv", "rows"),
    [
        (TimeSeriesSplit(5), [50]),
        (TimeSeriesSplit(2), [40]),
        (TimeSeriesSplit(5, max_train_size=10), [10]),
        (ShuffleSplit(2, train_size=40, random_state=0), [40, 40]),
        (RepeatedKFold(n_splits=7, n_repeats=2, random_state=0), None),
    ],
    ids=str,
)
def test_a_trial_that_is_not_fitted_again_is_its_model_of_the_latest_rows(
    table, monkeypatch, cv, rows
):
    monkeypatch.setattr(BudgetedTrials, "refit", lambda *_: (None, 0.0))
    search = AutoMLRegressor(arms=["k_nearest_neighbors"], max_trials=1, cv=cv, random_state=0)
    (member,) = search.fit(*table).model_.members

    folds = rows or [len(train) for train, _ in cv.split(table[0])]
    assert sorted(model.n_samples_fit_ for model in member.models) == sorted(folds)


def test_where_rows_are_in_order_who_is_not_fitted_again_is_no_member(table, monkeypatch):
    monkeypatch.setattr(policy_search, "affordable", lambda costs, _: list(costs)[1:])
    arms, found = ["k_nearest_neighbors", "ridge"], []
    for cv in (TimeSeriesSplit(5), ShuffleSplit(2, train_size=40, random_state=0)):
        search = AutoMLRegressor(arms=arms, max_trials=2, cv=cv, random_state=0).fit(*table)
        weights = search.leaderboard_["weight"]
        found.append((len(search.model_.members), int((weights > 0).sum()), weights.sum()))

    assert found == [(1, 1, 1.0), (2, 2, 1.0)]


def test_the_first_member_is_the_best_and_the_others_improve_the_mean():
    targets = np.array([1.0, 2.0, 3.0, 4.0])
    low, high, far = targets - 0.2, targets + 0.3, np.full(4, 9.0)
    members, score = selected([high, low, far], Judge("r2", targets), rounds=5)

    assert members == [1, 0, 1, 0, 1]  # 3/5 of -.2 and 2/5 of .3 is 0
    assert score == pytest.approx(1.0)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from(["accuracy", "f1_macro"]))
def test_no_single_candidate_is_better_on_the_rows_that_chose(seed, n_candidates, scoring):
    rng = np.random.default_rng(seed)
    targets = rng.integers(3, size=30)
    judge = Judge(scoring, targets, np.arange(3))
    candidates = [rng.dirichlet([1, 1, 1], 30) for _ in range(n_candidates)]
    candidates.sort(key=judge.score, reverse=True)
    members, score = selected(candidates, judge, rounds=5)

    mean = np.mean([candidates[member] for member in members], axis=0)
    assert judge.score(mean) == pytest.approx(score)
    assert score > judge.score(candidates[0]) - 1e-9


def test_a_prefix_without_time_is_not_the_answer_but_for_the_first():
    targets = np.array([1.0, 2.0, 3.0, 4.0])
    low, high = targets - 0.2, targets + 0.3
    judge = Judge("neg_mean_absolute_error", targets)
    for looks, members in ((0, [0]), (1, [1]), (2, [1, 0]), (9, [1, 0, 1, 0, 1])):
        left = chain([1.0] * looks, repeat(0.0)).__next__
        assert selected([high, low], judge, left=left)[0] == members


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_products_of_errors_choose_as_the_means_themselves_would(seed, classes, weighted):
    rng = np.random.default_rng(seed)
    if classes:
        targets, names = rng.integers(3, size=20), np.arange(3)
        candidates = [rng.dirichlet([1, 1, 1], 20) for _ in range(4)]
    else:
        targets, names = rng.normal(size=20), None
        candidates = [targets + rng.normal(size=20) for _ in range(4)]
    weights = rng.uniform(0.1, 1, 20) if weighted else None
    judge = Judge("accuracy" if classes else "r2", targets, names, weights)
    members, _ = selected(candidates, judge, rounds=6)
    chosen = members[: 1 if classes else 0]
    for _ in range(len(members) - len(chosen)):
        means = [np.mean([candidates[i] for i in [*chosen, new]], axis=0) for new in range(4)]
        chosen.append(int(np.argmin([np.sum(_errors(mean, judge) ** 2) for mean in means])))

    assert members == chosen


class Says:
    def __init__(self, value):
        self.value = value

    def predict(self, X):
        return np.full(len(X), self.value)


def test_a_member_is_the_mean_of_its_models_and_the_ensemble_that_of_its_members():
    model = EnsembleModel(
        [EnsembleMember("a", 0.75, [Says(1.0), Says(3.0)]), EnsembleMember("b", 0.25, [Says(6.0)])]
    )

    assert model.predict(np.zeros((2, 1), dtype=np.float32)).tolist() == [3.0, 3.0]


def test_a_wild_prediction_goes_no_further_than_targets_did():
    members = [EnsembleMember("a", 0.5, [Says(7.0)]), EnsembleMember("b", 0.5, [Says(-1e6)])]
    rows = np.zeros((1, 1), dtype=np.float32)

    reported = EnsembleModel(members, span=span_of([2.0, 12.0])).predict(rows)

    assert reported.tolist() == [0.5 * 7.0 + 0.5 * 1.0]
