"""The classifier: many classes, probabilities, weights, and what it warns of."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import skops.io
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

from leaseboard.algorithms.apple.classifier import PolynomialExpansionClassifier
from leaseboard.algorithms.errors import UsageError


def rare(n=6000, seed=0):
    """Return rows of which about 5 % are positive, and no boundary separates them."""
    X = np.random.default_rng(seed).normal(size=(n, 6))
    noise = np.random.default_rng(seed + 1).normal(size=n)
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * noise > 2.6).astype(int)


@pytest.mark.parametrize(("load", "least"), [(load_wine, 0.93), (load_digits, 0.95)])
def test_one_class_is_separated_from_all_others(load, least):
    X, y = load(return_X_y=True)
    names = np.array([f"class {k}" for k in range(10)])[y]
    train, test, known, truth = train_test_split(X, names, random_state=0)

    model = PolynomialExpansionClassifier(random_state=0).fit(train, known)
    probabilities = model.predict_proba(test)

    assert model.score(test, truth) > least
    assert (
        model.decision_function(test).shape == probabilities.shape == (len(test), len(set(names)))
    )
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(
        model.classes_[probabilities.argmax(axis=1)], model.predict(test)
    )
    assert log_loss(truth, probabilities) < 0.25
    assert len(model.learners_) == len(model.classes_)
    assert model.monomial_weights("class 1") != model.monomial_weights("class 2")
    with pytest.raises(UsageError, match="label=None is not among the classes"):
        model.monomial_weights()


def test_chances_are_worth_what_they_say():
    """Of the rows that got a probability between .2 and .4, as many are positive."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4))
    truth = 1 / (1 + np.exp(-2 * X[:, 0] - 2 * X[:, 1] * X[:, 2]))
    y = rng.random(20_000) < truth
    probabilities = (
        PolynomialExpansionClassifier(random_state=0)
        .fit(X[:10_000], y[:10_000])
        .predict_proba(X[10_000:])
    )

    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        here = (probabilities[:, 1] >= low) & (probabilities[:, 1] < low + 0.2)
        assert probabilities[here, 1].mean() == pytest.approx(y[10_000:][here].mean(), abs=0.07)


def test_balanced_weights_find_the_rare_class():
    X, y = rare()
    before, after = (
        PolynomialExpansionClassifier(class_weight=weight, random_state=0).fit(X[:4000], y[:4000])
        for weight in (None, "balanced")
    )
    scores = [balanced_accuracy_score(y[4000:], m.predict(X[4000:])) for m in (before, after)]
    auc = roc_auc_score(y[4000:], before.predict_proba(X[4000:])[:, 1])

    assert auc > 0.9
    assert scores[1] > scores[0] + 0.1
    assert scores[1] > 0.85


def test_one_class_for_all_rows_is_warned_of():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 2)), rng.random(1000) < 0.03
    X[0] = 1e6
    with pytest.warns(UserWarning, match="False is predicted for all of 1000 training"):
        PolynomialExpansionClassifier(random_state=0, scale=False, clip=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PolynomialExpansionClassifier(random_state=0).fit(*load_breast_cancer(return_X_y=True))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_model_goes_through_skops(form, tmp_path):
    X, y = load_wine(return_X_y=True)
    model = PolynomialExpansionClassifier(random_state=0).fit(form(X), y)
    skops.io.dump(model, tmp_path / "m.skops")
    unknown = skops.io.get_untrusted_types(file=tmp_path / "m.skops")
    again = skops.io.load(tmp_path / "m.skops", trusted=unknown)

    assert all(name.startswith(("leaseboard.algorithms.apple.", "numpy.")) for name in unknown)
    np.testing.assert_array_equal(again.predict_proba(form(X)), model.predict_proba(form(X)))
