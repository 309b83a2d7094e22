"""The scikit-learn estimators: scikit-learn's own checks, and what they add."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.utils.estimator_checks import check_estimator

from algorithms.apple.estimator import AppleClassifier, AppleRegressor
from algorithms.errors import SettingError


@pytest.mark.filterwarnings("ignore")  # some checks warn on purpose
@pytest.mark.parametrize("estimator", [AppleRegressor(), AppleClassifier()])
def test_scikit_learns_checks(estimator):
    told = check_estimator(estimator, on_skip=None, on_fail=None)
    # The one of arrays of other kinds is opt-in, by what scipy reads at its import.
    broken = [
        (each["check_name"], each["exception"])
        for each in told
        if each["status"] != "passed" and "array_api" not in each["check_name"]
    ]

    assert len(told) > 50
    assert broken == []


def interaction(n=1500, d=5, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)
    return X, 1 + X[:, 0] - 3 * X[:, 1] * X[:, 2]


def test_found_monomials_have_names():
    X, y = interaction()
    frame = pd.DataFrame(X, columns=list("abcde"))

    model = AppleRegressor(random_state=0).fit(frame, y)

    names = list(model.get_feature_names_out())
    assert names[:5] == list("abcde")
    assert "b*c" in names
    assert len(names) == len(set(names)) == model.learner_.size
    assert model.monomial_weights()[0][0] == "b*c"
    with pytest.raises(ValueError, match="not equal to feature_names_in_"):
        model.get_feature_names_out(list("vwxyz"))


def test_weights_add_up_to_the_prediction():
    X, y = interaction()
    model = AppleRegressor(alpha=0.7, random_state=0).fit(X, y)
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
    dense = AppleRegressor(random_state=0).fit(X, y)
    thin = AppleRegressor(random_state=0).fit(sparse.csr_matrix(X), y)

    np.testing.assert_array_equal(dense.predict(X), thin.predict(sparse.csc_matrix(X)))
    np.testing.assert_array_equal(thin.predict(X), thin.predict(sparse.coo_array(X)))


def test_sorted_rows_are_learned_as_well_as_shuffled_ones():
    X, y = load_breast_cancer(return_X_y=True)
    by_class = np.argsort(y, kind="stable")

    def accuracy(**kwargs):
        model = AppleClassifier(random_state=0, **kwargs).fit(X[by_class], y[by_class])
        return model.score(X, y)

    assert accuracy() > 0.9
    assert accuracy(shuffle=False) < 0.7


def test_a_seed_fixes_the_fit():
    X, y = interaction()
    first, again, other = (
        AppleRegressor(random_state=seed).fit(X, y).predict(X) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_a_stream_is_learned_in_its_order():
    X, y = interaction(n=3000)
    one, other = (AppleRegressor(random_state=seed).partial_fit(X, y) for seed in (0, 1))

    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_a_stream_grows_without_knowing_its_length():
    X, y = interaction(n=5000)
    model = AppleRegressor(batch=500)

    for start in range(0, 5000, 130):
        model.partial_fit(X[start : start + 130], y[start : start + 130])

    assert "x1*x2" in set(model.get_feature_names_out())
    assert model.score(X[-1000:], y[-1000:]) > 0.9


def test_a_fitted_model_survives_pickling_and_goes_on():
    X, y = interaction()
    X[np.abs(X) < 1.2] = 0
    model = AppleRegressor(random_state=0).fit(X, y)
    twin = pickle.loads(pickle.dumps(model))

    np.testing.assert_array_equal(
        model.partial_fit(X, y).predict(X), twin.partial_fit(X, y).predict(X)
    )


def test_classes_are_checked():
    X, y = interaction(n=50)
    signs = np.sign(y).astype(int)
    model = AppleClassifier().partial_fit(X[:1], signs[:1], classes=[-1, 1])

    with pytest.raises(ValueError, match="y holds 7, which is none of the classes"):
        model.partial_fit(X, np.where(signs > 0, 7, -1))
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        AppleClassifier().fit(X, np.arange(50) % 3)
    with pytest.raises(ValueError, match="there is one class"):
        AppleClassifier().fit(X, np.ones(50))
    with pytest.raises(ValueError, match="passes=0 must be at least 1"):
        AppleRegressor(passes=0).fit(X, y)
    with pytest.raises(ValueError, match="alpha"):
        AppleRegressor(alpha=-1).fit(X, y)


def test_a_wrong_parameter_is_named_in_one_line():
    with pytest.raises(SettingError, match="AppleRegressor: setting alpha") as caught:
        AppleRegressor(alpha=-1).fit([[0.0], [1.0]], [0.0, 1.0])

    assert "\n" not in str(caught.value)
