"""The scikit-learn estimators of apple: two classes by a sign, more by one learner for each."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from leaseboard.algorithms.apple import rows as preparation
from leaseboard.algorithms.apple.apple import Apple, Entrant
from leaseboard.algorithms.apple.learner import GrowingLearner, Heuristic, outputs, readable
from leaseboard.algorithms.array_types import Doubles
from leaseboard.algorithms.base import configured
from leaseboard.algorithms.environments.holdout import Floats, Rows
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.tables.column_types import complete_labels, numbers_alone
from leaseboard.algorithms.tables.inputs import codes_of
from leaseboard.algorithms.transcendental import exp, exp_all, log, log_all

STEEPEST = 50.0
"""The largest slope by which margins become log-odds, and the inverse of the least."""

ClassWeight = Mapping[Any, float] | Literal["balanced"] | None


@dataclass(kw_only=True, eq=False, repr=False)
class PolynomialExpansionEstimator(BaseEstimator):
    """Base of both estimators; their docstrings document it."""

    learners_: tuple[Any, ...] = field(init=False)

    alpha: float = 1.0
    epochs: int = 6
    passes: int = 5
    learning_rate: float | Literal["auto"] = "auto"
    heuristic: Heuristic = "weight"
    fallback: bool = False
    bits: int = 18
    scale: bool = True
    clip: float = preparation.CLIP
    shuffle: bool = True
    random_state: int | np.random.RandomState | None = None

    def check(self) -> None:
        """Raise UsageError for a parameter out of range, as `fit` does."""
        self._algorithm()
        if not isinstance(self.passes, int | np.integer) or self.passes < 1:
            raise UsageError(f"passes={self.passes} must be a whole number of at least 1")
        if not 0 <= self.clip < 50:
            raise UsageError(
                f"clip={self.clip} must be a percentage of at least 0 and below 50: 0 clips none"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _weights(self, learner: GrowingLearner) -> list[tuple[str, float]]:
        every = [f"x{i}" for i in range(self.n_features_in_)]
        names = getattr(self, "feature_names_in_", every)
        return [(readable(monomial, names), weight) for monomial, weight in learner.weights()]

    def _algorithm(self) -> Apple:
        names = ("alpha", "epochs", "learning_rate", "heuristic", "fallback", "bits")
        settings = {name: getattr(self, name) for name in names}
        return configured(Apple, type(self).__name__, settings)

    def _taken(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, **checks: bool
    ) -> tuple[Rows, NDArray[Any], Floats]:
        """Return the rows of a weight above 0, their labels, and their weights."""
        X, y = numbers_alone(X), complete_labels(y)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float32, **checks)
        kept, weights = importances(sample_weight, X)
        return preparation.unique_cells(X)[kept], y[kept], weights

    def _fit(self, rows: Rows, targets: Floats, weights: Floats) -> Entrant:
        """Make all passes from nothing; the features grow in the first, in which rates race."""
        self.check()
        apple, probability = self._algorithm(), check_random_state(self.random_state)
        self.row_scale_ = preparation.RowScale.fitted(rows, self.clip, self.scale)
        examples = preparation.Examples(
            preparation.as_rows(self.row_scale_.of(rows)), targets, weights
        )
        best: Entrant | None = None
        for _ in range(self.passes):
            if self.shuffle:
                examples = examples.at(probability.permutation(len(examples)))
            if best:
                deque(best.learn(apple.chunks(best.learners, examples, len(examples))), maxlen=0)
            else:
                best = _ended(apple.race(examples, [f"x{i}" for i in range(rows.shape[1])]))
        assert best is not None
        self.learners_, self.learning_rate_ = best.learners, best.rate
        return best

    def _margins(self, X: Any) -> Floats:
        """Return the raw predictions, a column for each learner."""
        check_is_fitted(self, "learners_")
        X = numbers_alone(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False)
        return outputs(self.learners_, self.row_scale_.of(preparation.unique_cells(X)))


@dataclass(kw_only=True, eq=False, repr=False)
class PolynomialExpansionRegressor(RegressorMixin, PolynomialExpansionEstimator):
    """Least-squares regression on adaptively chosen monomials of the features.

    A linear online learner that multiplies its heaviest monomials with the base features, again
    and again: polynomial regression at the cost of linear regression, on dense or sparse features.

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

    Attributes
    ----------
    learners_ : tuple of GrowingLearner
        The model, see `leaseboard.algorithms.apple.learner`; of three and more classes one for
        each.
    learning_rate_ : float
        The rate that was given or chosen.
    row_scale_ : leaseboard.algorithms.apple.rows.RowScale
        What becomes of the columns.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (n_features,)
        Where X had names that are all strings.

    Notes
    -----
    Steps are made for targets of about unit size. Scale others, as with scikit-learn's
    ``TransformedTargetRegressor(PolynomialExpansionRegressor(), transformer=StandardScaler())``.

    A sample weight is an importance, learned at once by the invariant update, which is not the
    same as a row that comes several times; a row of weight 0 is left out.

    References
    ----------
    .. [1] Agarwal et al. 2014, Scalable Nonlinear Learning with Adaptive Polynomial Expansions,
       https://arxiv.org/abs/1410.0440
    .. [2] Karampatziakis, Langford 2011, Online importance weight aware updates

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 4))
    >>> model = PolynomialExpansionRegressor(random_state=0).fit(X, 1 + 2 * X[:, 0] * X[:, 3])
    >>> model.monomial_weights()[0][0]
    'x0*x3'
    >>> model.score(X, 1 + 2 * X[:, 0] * X[:, 3]) > 0.99
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from nothing.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Importances, at least 0.

        Returns
        -------
        estimator
            Itself.
        """
        rows, y, weights = self._taken(X, y, sample_weight, y_numeric=True)
        self._fit(rows, preparation.targets_of(preparation.check_labels(y)), weights)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return predictions within the range of the labels seen, 0 included.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples,)
        """
        return self._margins(X)[:, 0].astype(np.float64)

    def monomial_weights(self) -> list[tuple[str, float]]:
        """Return each monomial with its weight, heaviest first; the constant is ``1``.

        Returns
        -------
        list of (str, float)
            They and the values of the monomials, of scaled columns, add up to the prediction,
            before it is clamped to the range of the labels.
        """
        check_is_fitted(self, "learners_")
        return self._weights(self.learners_[0])


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
        targets = preparation.targets_of(codes if many else 2 * codes - 1, many)
        best = self._fit(rows, targets, weights)
        self.slope_ = slope_of(*best.recent)
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


def _ended(race: Generator[Any, None, Entrant]) -> Entrant:
    """Return what a race returns, its events left out."""
    while True:
        try:
            next(race)
        except StopIteration as stop:
            found: Entrant = stop.value
            return found


def importances(given: ArrayLike | None, X: Any) -> tuple[NDArray[np.intp], Floats]:
    """Return which rows have a weight above 0, and those weights, 1 without any.

    Raises UsageError for a weight below 0, ValueError where all are 0.
    """
    weights = _check_sample_weight(given, X, dtype=np.float32)
    if (low := weights.min()) < 0:
        raise UsageError(f"a weight is {low:g}: those of rows and classes must be at least 0")
    kept = np.flatnonzero(weights)
    return kept, weights[kept]
