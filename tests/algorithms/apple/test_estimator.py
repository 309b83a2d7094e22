"""The scikit-learn estimators: scikit-learn's own checks, and what they add."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import check_estimator

from leaseboard.algorithms.apple.classifier import PolynomialExpansionClassifier
from leaseboard.algorithms.apple.estimator import PolynomialExpansionRegressor
from leaseboard.algorithms.apple.kernel import EXAMPLES
from leaseboard.algorithms.apple.rates import RATES
from leaseboard.algorithms.errors import UsageError


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # some checks warn on purpose
@pytest.mark.parametrize(
    "estimator", [PolynomialExpansionRegressor(), PolynomialExpansionClassifier()]
)
def test_scikit_learns_checks(estimator):
    order = "rows are learned one after the other: one of weight 2 is not one that comes twice"
    known = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    reported = check_estimator(
        estimator, on_skip=None, on_fail=None, expected_failed_checks=dict.fromkeys(known, order)
    )
    # The one of arrays of other kinds is opt-in, by what scipy reads at its import.
    broken = [
        (each["check_name"], each["exception"])
        for each in reported
        if each["status"] not in ("passed", "xfail") and "array_api" not in each["check_name"]
    ]

    assert len(reported) > 50
    assert broken == []


def interaction(n=1500, d=5, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)
    return X, 1 + X[:, 0] - 3 * X[:, 1] * X[:, 2]


def test_found_monomials_have_names():
    X, y = interaction()
    frame = pd.DataFrame(X, columns=list("abcde"))

    model = PolynomialExpansionRegressor(random_state=0).fit(frame, y)

    names = list(model.get_feature_names_out())
    assert names[:5] == list("abcde")
    assert "b*c" in names
    assert len(names) == len(set(names)) == model.learners_[0].size
    assert model.monomial_weights()[0][0] == "b*c"
    with pytest.raises(ValueError, match="not equal to feature_names_in_"):
        model.get_feature_names_out(list("vwxyz"))


def test_weights_add_up_to_the_prediction():
    X, y = interaction()
    model = PolynomialExpansionRegressor(alpha=0.7, scale=False, clip=0, random_state=0).fit(X, y)
    total = np.zeros(len(X))
    columns = {f"x{i}": X[:, i].astype(np.float64) for i in range(X.shape[1])}
    for name, weight in model.monomial_weights():
        value = np.ones(len(X))
        for factor in () if name == "1" else name.split("*"):
            variable, _, power = factor.partition("^")
            value *= columns[variable] ** int(power or 1)
        total += weight * value

    np.testing.assert_allclose(np.clip(total, y.min(), y.max()), model.predict(X), atol=1e-3)


def test_dense_and_sparse_input_predict_the_same():
    X, y = interaction()
    X[np.abs(X) < 1.2] = 0
    dense = PolynomialExpansionRegressor(random_state=0).fit(X, y)
    thin = PolynomialExpansionRegressor(random_state=0).fit(sparse.csr_matrix(X), y)

    np.testing.assert_array_equal(dense.predict(X), thin.predict(sparse.csc_matrix(X)))
    np.testing.assert_array_equal(thin.predict(X), thin.predict(sparse.coo_array(X)))


def test_a_seed_fixes_the_fit():
    X, y = interaction()
    first, again, other = (
        PolynomialExpansionRegressor(random_state=seed).fit(X, y).predict(X) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_a_fitted_model_survives_pickling():
    X, y = interaction()
    X[np.abs(X) < 1.2] = 0
    model = PolynomialExpansionRegressor(random_state=0).fit(X, y)
    double = pickle.loads(pickle.dumps(model))

    np.testing.assert_array_equal(model.predict(X), double.predict(X))


def test_weights_are_importances():
    """Two halves that disagree: the one of more weight is believed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = np.where(np.arange(2000) < 1000, X[:, 0], -X[:, 0])
    first = np.where(np.arange(2000) < 1000, 10.0, 1.0)

    believed = [
        PolynomialExpansionRegressor(random_state=0).fit(X, y, weights).score(X[:1000], y[:1000])
        for weights in (first, 11 - first)
    ]

    assert believed[0] > 0.8
    assert believed[1] < 0


def test_rows_of_weight_0_are_left_out():
    X, y = interaction()
    kept = np.random.default_rng(0).random(len(y)) < 0.5
    weighted = PolynomialExpansionRegressor(random_state=0).fit(X, np.where(kept, y, 1e9), kept)
    without = PolynomialExpansionRegressor(random_state=0).fit(X[kept], y[kept])

    np.testing.assert_array_equal(weighted.predict(X), without.predict(X))


def test_the_rate_is_chosen_on_the_first_examples(monkeypatch):
    """All of them, or fewer than there are: what is learned at last is learned at that rate."""
    X, y = interaction(n=3000)
    for prefix in (10_000, 700):
        monkeypatch.setattr("leaseboard.algorithms.apple.rates.PREFIX", prefix)
        model = PolynomialExpansionRegressor(random_state=0).fit(X, y)
        assert model.learning_rate_ in RATES
        assert model.learners_[0].rate == model.learning_rate_
        assert model.learners_[0].totals[EXAMPLES] == 5 * len(y)
        assert model.score(X, y) > 0.95
    assert PolynomialExpansionRegressor(learning_rate=0.3).fit(X, y).learning_rate_ == 0.3


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_columns_are_clipped_and_scaled_by_what_was_fitted(form):
    """An outlier takes a raw column away; a sparse matrix keeps its zeros."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3)) + 100
    X[0] = 1e7
    y = (X[:, 0] - 100) * (X[:, 1] - 100)
    y[0] = 0

    fits = {
        scale: PolynomialExpansionRegressor(scale=scale, clip=0.05 * scale, random_state=0).fit(
            form(X), y
        )
        for scale in (True, False)
    }

    score = fits[True].score(form(X[1:]), y[1:])
    assert score > 0.95 if form is np.asarray else score < 0.1
    assert fits[False].score(form(X[1:]), y[1:]) < 0.1


def test_what_is_wrong_is_said_in_one_line():
    X, y = interaction(n=50)
    for wrong, words in (
        ({"passes": 0}, "passes=0 must be a whole number of at least 1"),
        ({"passes": 1.5}, "passes=1.5 must be a whole number"),
        ({"clip": 50}, "clip=50 must be a percentage of at least 0 and below 50"),
        ({"alpha": -1}, "alpha"),
        ({"learning_rate": "fast"}, "learning_rate"),
        ({"learning_rate": 0}, "learning_rate"),
    ):
        with pytest.raises(UsageError, match=words) as caught:
            PolynomialExpansionRegressor(**wrong).fit(X, y)
        assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="a weight is -1: those of rows and classes must be"):
        PolynomialExpansionRegressor().fit(X, y, -np.ones(50))
    with pytest.raises(ValueError, match="at least one non-zero"):
        PolynomialExpansionRegressor().fit(X, y, np.zeros(50))


@pytest.mark.parametrize("seed", range(3))
def test_a_large_rate_that_is_better_early_alone_is_not_chosen(seed):
    rng = np.random.default_rng(seed)
    rows = sparse.random(30_000, 300, density=0.04, random_state=seed, format="csr")
    rows.data[:] = 1
    dense, pairs = rows.toarray(), rng.choice(300, (40, 2))
    margins = rows @ (rng.normal(size=300) * (rng.random(300) < 0.3))
    margins += (dense[:, pairs[:, 0]] * dense[:, pairs[:, 1]]) @ rng.normal(scale=3, size=40)
    margins += rng.normal(scale=0.5, size=len(margins))
    labels = np.where(margins > np.quantile(margins, 0.9), 1.0, -1.0)
    train, test = slice(24_000), slice(24_000, None)

    def error(rate):
        model = PolynomialExpansionRegressor(learning_rate=rate, random_state=seed)
        model.fit(rows[train], labels[train])
        return np.mean((model.predict(rows[test]) - labels[test]) ** 2)

    assert error("auto") <= min(error(0.5), error(1.0)) + 1e-9
