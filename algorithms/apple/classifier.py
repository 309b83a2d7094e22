"""The scikit-learn classifier of apple: two classes by a sign, more by one learner for each."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from leaseboard.algorithms.apple.estimator import PolynomialExpansionEstimator, importances
from leaseboard.algorithms.apple.learner import outputs
from leaseboard.algorithms.apple.rows import targets_of
from leaseboard.algorithms.array_types import Doubles, Floats
from leaseboard.algorithms.environments.holdout import Rows
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.tables.inputs import codes_of
from leaseboard.algorithms.transcendental import exp, exp_all, log, log_all

LOOKED_AT = 10_000
"""How many training rows are predicted to see whether they all get one class."""

STEEPEST = 50.0
"""The largest slope by which margins become log-odds, and the inverse of the least."""

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
        rows, y, weights = self._taken(X, y, sample_weight)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise UsageError(f"two classes are needed, but there is one class: {self.classes_[0]}")
        kept, weights = importances(weights * compute_sample_weight(self.class_weight, y), rows)
        rows, codes = rows[kept], codes_of(y[kept], self.classes_)
        many = len(self.classes_) if len(self.classes_) > 2 else 0
        best = self._fit(rows, targets_of(codes if many else 2 * codes - 1, many), weights)
        self.slope_ = slope_of(*best.recent)
        self._warn_of_one_class(rows, codes)
        return self

    def decision_function(self, X: Any) -> Doubles:
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

    def predict_proba(self, X: Any) -> Doubles:
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

    def predict_log_proba(self, X: Any) -> Doubles:
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
        codes = margins_of_classes(self._margins(X)).argmax(axis=1)
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

    def _warn_of_one_class(self, rows: Rows, codes: NDArray[np.intp]) -> None:
        """Warn of a fit that found nothing but the frequencies of the classes."""
        places = np.linspace(0, len(codes) - 1, min(len(codes), LOOKED_AT)).astype(int)
        margins = margins_of_classes(outputs(self.learners_, self.row_scale_.of(rows[places])))
        said, known = np.unique(margins.argmax(axis=1)), np.unique(codes[places])
        if len(said) == 1 < len(known):
            warnings.warn(
                f"{self.classes_[said[0]]} is predicted for all of {len(places)} training rows,"
                f" which have {len(known)} classes: try class_weight='balanced', thresholds of"
                " predict_proba, or other features",
                stacklevel=3,
            )


def margins_of_classes(margins: NDArray[np.floating]) -> Doubles:
    """Return a column for each class; a single column is that of the second of two."""
    wide = margins.astype(np.float64)
    return np.column_stack([-wide[:, 0], wide[:, 0]]) if wide.shape[1] == 1 else wide


def log_probabilities(margins: Doubles, slope: float) -> Doubles:
    """Return log probabilities: `slope` times each margin, less the logarithm of their sum."""
    exponents = slope * margins
    exponents -= exponents.max(axis=1, keepdims=True)
    return exponents - log_all(exp_all(exponents).sum(axis=1, keepdims=True))


def slope_of(said: Floats, truths: Floats, weights: Floats) -> float:
    """Return the slope at which recent predictions have the least log loss.

    Platt 1999, Probabilistic outputs for support vector machines, without his constant: of two
    classes a margin of 0 is a probability of 1/2, so that the likeliest class is the one
    predicted. One more example is counted that is certain and wrong, where Platt moves the labels:
    a model that was never wrong would be certain otherwise.
    """
    margins = margins_of_classes(said)
    own = margins_of_classes(truths) > 0
    worst = np.where(np.arange(margins.shape[1]) == 0, 1.0, -1.0)[None, :]

    def log_loss(log_slope: float) -> float:
        slope = exp(log_slope)
        lost = -(weights * log_probabilities(margins, slope)[own]).sum()
        return float(lost - log_probabilities(worst, slope)[0, -1])

    steepest = log(STEEPEST)
    return exp(float(minimize_scalar(log_loss, bounds=(-steepest, steepest)).x))
