"""The scikit-learn estimators: scikit-learn's own checks, and what they add."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import check_estimator

from leaseboard.algorithms.apple.classifier import PolynomialExpansionClassifier
from leaseboard.algorithms.apple.estimator import PolynomialExpansionRegressor


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
