"""The scikit-learn estimators of apple: what both share, and the regressor."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from leaseboard.algorithms.apple import rows as preparation
from leaseboard.algorithms.apple.apple import Apple
from leaseboard.algorithms.apple.learner import GrowingLearner, Heuristic, outputs, readable
from leaseboard.algorithms.apple.rates import Entrant
from leaseboard.algorithms.base import configured
from leaseboard.algorithms.environments.holdout import Floats, Rows
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.tables.column_types import complete_labels, numbers_alone


@dataclass(kw_only=True, eq=False, repr=False)
class PolynomialExpansionEstimator(BaseEstimator):
    """Base of both estimators; their docstrings document it."""

    learners_: tuple[GrowingLearner, ...] = field(init=False)

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

    def get_feature_names_out(
        self, input_features: Sequence[str] | None = None
    ) -> NDArray[np.object_]:
        """Return the monomials of the feature set, base features first.

        Parameters
        ----------
        input_features : array-like of str, shape (n_features,), optional
            Names of the columns; by default those of the DataFrame that was fitted, or x0, x1...

        Returns
        -------
        ndarray of str objects, shape (n_monomials,)
        """
        names = self._names(input_features)
        every = (learner.monomial(slot) for learner in self.learners_ for slot in learner.slots())
        return np.array(
            [readable(monomial, names) for monomial in dict.fromkeys(every)], dtype=object
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _weights(self, learner: GrowingLearner) -> list[tuple[str, float]]:
        names = self._names(None)
        return [(readable(monomial, names), weight) for monomial, weight in learner.weights()]

    def _names(self, given: Sequence[str] | None) -> Sequence[str]:
        check_is_fitted(self, "learners_")
        return list(_check_feature_names_in(self, given))

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
        best = None
        for _ in range(self.passes):
            if self.shuffle:
                examples = examples.at(probability.permutation(len(examples)))
            if best:
                again = apple.chunks(best.learners, examples, len(examples))
                deque(best.learn(again), maxlen=0)
                continue
            race = apple.race(examples, [f"x{i}" for i in range(rows.shape[1])])
            while not best:
                try:
                    next(race)
                except StopIteration as stop:
                    best = stop.value
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


def importances(given: ArrayLike | None, X: Any) -> tuple[NDArray[np.intp], Floats]:
    """Return which rows have a weight above 0, and those weights, 1 without any.

    Raises UsageError for a weight below 0, ValueError where all are 0.
    """
    weights = _check_sample_weight(given, X, dtype=np.float32)
    if (low := weights.min()) < 0:
        raise UsageError(f"a weight is {low:g}: those of rows and classes must be at least 0")
    kept = np.flatnonzero(weights)
    return kept, weights[kept]
