"""The scikit-learn classifier of apple: two classes by a sign, more by one learner for each."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from leaseboard.algorithms.apple.estimator import (
    PolynomialExpansionEstimator,
    importances,
    rows_of,
)
from leaseboard.algorithms.apple.rate_models import (
    log_probabilities,
    margins_of_classes,
    slope_of,
)
from leaseboard.algorithms.apple.rows import Targets, targets_of
from leaseboard.algorithms.environments.holdout import Floats, Rows
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.tables.column_types import complete_labels, numbers_alone
from leaseboard.algorithms.tables.inputs import codes_of
from leaseboard.algorithms.transcendental import exp_all, log_all

LOOKED_AT = 10_000
"""How many training rows are predicted to see whether they all get one class."""

ClassWeight = Mapping[Any, float] | Literal["balanced"] | None


@dataclass(kw_only=True, eq=False, repr=False)
class PolynomialExpansionClassifier(ClassifierMixin, PolynomialExpansionEstimator):
    """Classification by squared loss on adaptively chosen monomials, one class against all.

    Parameters
    ----------
    alpha : float
        Each epoch chooses :math:`s^α` monomials, s the average number of non-zero features.
    epochs : int
        `fit` chooses at the end of each epoch of the first pass, but the last.
    passes : int
        Passes of `fit` over the data.
    learning_rate : float or "auto"
        Of the adaptive, normalized, invariant update of Vowpal Wabbit. By default the one of five
        whose predictions of the first 10,000 examples, each made before it was learned, lost
        least, or the best of the smaller ones if it lost less of the last 10,000 of the first
        40,000.
    heuristic : {"weight", "raw-weight", "ssm"}
        The order of the candidates, see `leaseboard.algorithms.apple.apple.Apple`.
    fallback : bool
        Reserve one place of each epoch for a monomial of the smallest degree.
    bits : int
        Sparse data keep their monomials in a table of 2^bits.
    scale : bool
        Standardise the columns; those of zeros and ones stay, those of mostly zeros, and of a
        sparse matrix all, are divided by their largest magnitude.
    clip : float
        Percent of a column's values at either end to which its values are clipped first; 0 clips
        none, and columns of mostly zeros are never clipped.
    shuffle : bool
        `fit` learns the examples in a new random order in each pass; without it in the order
        given, which teaches little where rows are sorted by `y`.
    random_state : int, RandomState instance or None
        Of the shuffling; an integer makes `fit` reproducible.
    class_weight : mapping of class to float, "balanced" or None
        What an example of a class weighs; ``"balanced"`` lets all classes weigh the same, for
        rare classes that matter as much as common ones. It multiplies `sample_weight`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        In sorted order.
    learners_ : tuple of GrowingLearner
        The model; of three and more classes one for each.
    learning_rate_ : float
        The rate that was given or chosen.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Where X had names that are all strings.
    slope_ : float
        What `predict_proba` multiplies the decision function with, see there.

    Notes
    -----
    Of three and more classes each has a learner of its own, with monomials of its own, that
    separates it from all others; the largest answer wins. All have one learning rate.

    A warning is given where a fit predicts one class for all training rows that have more.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-1.0, 1.0], size=(2000, 6))
    >>> y = np.where(X[:, 1] * X[:, 4] > 0, "same", "different")
    >>> model = PolynomialExpansionClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y)
    1.0
    >>> model.monomial_weights("same")[0][0]
    'x1*x4'
    """

    class_weight: ClassWeight = None

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from nothing.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            At least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Importances, at least 0.

        Returns
        -------
        estimator
            Itself.
        """
        X, y = numbers_alone(X), complete_labels(y)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float32)
        check_classification_targets(y)
        kept, weights = importances(sample_weight, X)
        rows, y = rows_of(X)[kept], y[kept]
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise UsageError(f"two classes are needed, but there is one class: {self.classes_[0]}")
        rows, codes, weights = self._weighted(rows, y, weights)
        self.slope_ = slope_of(self._fit(rows, self._targets(codes), weights))
        self._warn_of_one_class(rows, codes)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the learners' answers, of which the largest wins.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes) or (n_samples,)
            From -1 to 1. Of two classes the second one's alone, above 0 if it wins.
        """
        margins = self._margins(X).astype(np.float64)
        return margins[:, 0] if margins.shape[1] == 1 else margins

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            Each row sums to 1.

        Notes
        -----
        They are in proportion to the exponential of `slope_` times the decision function, which
        is Platt's scaling without a constant; the likeliest class is the one that `predict` says.
        The slope is the one at which what the last pass predicted, each example before it was
        learned again, had the least log loss. With weights they are probabilities among weighted
        examples: ``class_weight="balanced"`` gives them as if all classes were as common.
        """
        margins = margins_of_classes(self._margins(X))
        return exp_all(log_probabilities(margins, self.slope_))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
        """
        return log_all(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,)
        """
        codes = _codes(self._margins(X))
        return np.asarray(self.classes_[codes])

    def monomial_weights(self, label: Any = None) -> list[tuple[str, float]]:
        """Return each monomial with its weight, heaviest first; the constant is ``1``.

        Parameters
        ----------
        label
            The class that they speak for; of two classes by default the second.

        Returns
        -------
        list of (str, float)
            They and the values of the monomials, of columns after scaling, add up to the
            decision function of that class, before it is clamped to [-1, 1].
        """
        check_is_fitted(self, "learners_")
        classes = self.classes_.tolist()
        if label is None and len(self.learners_) == 1:
            label = classes[1]
        if label not in classes:
            raise UsageError(f"label={label!r} is not among the classes {classes}: name one")
        if len(self.learners_) > 1:
            return self._weights(self.learners_[classes.index(label)])
        sign = 1 if label == classes[1] else -1
        return [(name, sign * weight) for name, weight in self._weights(self.learners_[0])]

    def _weighted(
        self, rows: Rows, y: NDArray[Any], weights: Floats | None
    ) -> tuple[Rows, NDArray[np.intp], Floats | None]:
        """Return the rows, their classes' codes, and their weights times those of the classes."""
        codes = codes_of(y, self.classes_)
        if self.class_weight is None:
            return rows, codes, weights
        same = self.classes_[codes]
        each = compute_class_weight(self.class_weight, classes=self.classes_, y=same)[codes]
        kept, weights = importances(each if weights is None else each * weights, rows)
        return rows[kept], codes[kept], weights

    def _targets(self, codes: NDArray[np.intp]) -> Targets:
        many = len(self.classes_) if len(self.classes_) > 2 else 0
        return targets_of(codes if many else 2 * codes - 1, many)

    def _warn_of_one_class(self, rows: Rows, codes: NDArray[np.intp]) -> None:
        """Warn of a fit that found nothing but the frequencies of the classes."""
        places = np.linspace(0, len(codes) - 1, min(len(codes), LOOKED_AT)).astype(int)
        said, known = np.unique(_codes(self._margins_of(rows[places]))), np.unique(codes[places])
        if len(said) == 1 < len(known):
            warnings.warn(
                f"{self.classes_[said[0]]} is predicted for all of {len(places)} training rows,"
                f" which have {len(known)} classes: try class_weight='balanced', thresholds of"
                " predict_proba, or other features",
                stacklevel=3,
            )


def _codes(margins: Floats) -> NDArray[np.intp]:
    """Return the place of the class that each row's margins say."""
    if margins.shape[1] == 1:
        return (margins[:, 0] > 0).astype(np.intp)
    return np.asarray(margins.argmax(axis=1))
