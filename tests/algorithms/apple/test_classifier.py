"""The classifier: many classes, probabilities, weights, and what it warns of."""

from __future__ import annotations

import numpy as np
import pytest
import skops.io
from scipy import sparse
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from leaseboard.algorithms.apple.estimator import PolynomialExpansionClassifier
from leaseboard.algorithms.errors import UsageError


def test_one_class_is_separated_from_all_others():
    X, y = load_digits(n_class=5, return_X_y=True)
    names = np.array([f"class {k}" for k in range(10)])[y]
    train, test, known, truth = train_test_split(X, names, random_state=0)

    model = PolynomialExpansionClassifier(random_state=0).fit(train, known)
    probabilities = model.predict_proba(test)

    assert model.score(test, truth) > 0.95
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


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_model_goes_through_skops(form, tmp_path):
    X, y = load_wine(return_X_y=True)
    model = PolynomialExpansionClassifier(random_state=0).fit(form(X), y)
    skops.io.dump(model, tmp_path / "m.skops")
    unknown = skops.io.get_untrusted_types(file=tmp_path / "m.skops")
    again = skops.io.load(tmp_path / "m.skops", trusted=unknown)

    assert all(name.startswith(("leaseboard.algorithms.apple.", "numpy.")) for name in unknown)
    np.testing.assert_array_equal(again.predict_proba(form(X)), model.predict_proba(form(X)))
