"""apple for people: scikit-learn estimators with names for what they found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from algorithms.apple.heuristics import Heuristic
from algorithms.apple.rows import as_rows, check_labels
from algorithms.base import configured
from algorithms.benches.holdout import Floats, Rows

if TYPE_CHECKING:  # the kernels bring a compiler, which only fitting needs
    from algorithms.apple.apple import Apple
    from algorithms.apple.growing import GrowingLearner

RandomState = int | np.random.RandomState | None


class _Apple(BaseEstimator):
    """What both estimators share; their docstrings document it."""

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        epochs: int = 6,
        passes: int = 5,
        learning_rate: float = 0.5,
        heuristic: Heuristic = "weight",
        fallback: bool = False,
        batch: int = 1000,
        bits: int = 18,
        shuffle: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.alpha = alpha
        self.epochs = epochs
        self.passes = passes
        self.learning_rate = learning_rate
        self.heuristic = heuristic
        self.fallback = fallback
        self.batch = batch
        self.bits = bits
        self.shuffle = shuffle
        self.random_state = random_state

    def get_feature_names_out(
        self, input_features: Sequence[str] | None = None
    ) -> NDArray[np.object_]:
        """The monomials of the feature set, base features first.

        Parameters
        ----------
        input_features : array-like of str, shape (n_features,), optional
            Names of the columns; by default those of the DataFrame that was fitted, or x0, x1...

        Returns
        -------
        ndarray of str objects, shape (n_monomials,)
        """
        names = self._names(input_features)
        from algorithms.apple.monomials import readable

        learner = self.learner_
        return np.array(
            [readable(learner.monomial(slot), names) for slot in learner.slots()], dtype=object
        )

    def monomial_weights(self) -> list[tuple[str, float]]:
        """Each monomial with its weight on the scale of the data, heaviest contribution first.

        The constant is called ``1``. The weights and the values of the monomials add up to the
        prediction, before it is clamped to the range of the labels.
        """
        names = self._names(None)
        from algorithms.apple.monomials import readable

        return [
            (readable(monomial, names) if monomial else "1", weight)
            for monomial, weight in self.learner_.weights()
        ]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _names(self, given: Sequence[str] | None) -> Sequence[str]:
        check_is_fitted(self, "learner_")
        known = getattr(self, "feature_names_in_", None)
        if given is None:
            return [f"x{i}" for i in range(self.n_features_in_)] if known is None else list(known)
        if known is not None and list(given) != list(known):
            raise ValueError("input_features is not equal to feature_names_in_")
        if len(given) != self.n_features_in_:
            raise ValueError(
                "input_features should have length equal to number of features"
                f" ({self.n_features_in_}), got {len(given)}"
            )
        return list(given)

    def _algorithm(self, schedule: Literal["equal", "doubling"]) -> Apple:
        from algorithms.apple.apple import Apple

        settings = {
            "alpha": self.alpha,
            "epochs": self.epochs,
            "schedule": schedule,
            "learning_rate": self.learning_rate,
            "heuristic": self.heuristic,
            "fallback": self.fallback,
            "batch": self.batch,
            "bits": self.bits,
        }
        return configured(Apple, type(self).__name__, settings)

    def _fit(self, X: Any, labels: Floats) -> Self:
        """All passes from nothing; the features grow in the first."""
        from algorithms.apple.apple import adaptive_expansion

        apple, rows = self._algorithm("equal"), as_rows(X)
        if self.passes < 1:
            raise ValueError(f"passes={self.passes} must be at least 1")
        self.learner_: GrowingLearner = apple.learner(rows, self.learning_rate)
        growth, chance = apple.growth(len(labels)), check_random_state(self.random_state)
        for _ in range(self.passes):
            if self.shuffle:
                order = chance.permutation(len(labels))
                rows, labels = rows[order], labels[order]
            for _chunk in adaptive_expansion(self.learner_, rows, labels, growth):
                pass
        return self

    def _partial_fit(self, X: Any, labels: Floats) -> Self:
        """One pass that goes on where the last one ended, with doubling epochs."""
        from algorithms.apple.apple import adaptive_expansion

        apple, rows = self._algorithm("doubling"), as_rows(X)
        if not hasattr(self, "learner_"):
            self.learner_ = apple.learner(rows, self.learning_rate)
        for _chunk in adaptive_expansion(self.learner_, rows, labels, apple.growth(0)):
            pass
        return self

    def _raw_predict(self, X: Any) -> Floats:
        check_is_fitted(self, "learner_")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False)
        return self.learner_.predict(_rows(X))


class AppleRegressor(RegressorMixin, _Apple):
    """Least-squares regression on adaptively chosen monomials of the features.

    A linear online learner that multiplies its heaviest monomials with the base features, again
    and again: polynomial regression at the cost of linear regression, on raw, dense or sparse
    features.

    Parameters
    ----------
    alpha : float
        Each epoch chooses :math:`s^α` monomials, s the average number of non-zero features.
    epochs : int
        `fit` chooses at the end of each epoch of the first pass, but the last.
    passes : int
        Passes of `fit` over the data; `partial_fit` makes one.
    learning_rate : float
        Of the adaptive, normalized, invariant update of Vowpal Wabbit.
    heuristic : {"weight", "raw-weight", "ssm"}
        The order of the candidates, see `algorithms.apple.apple.Apple`.
    fallback : bool
        Reserve one place of each epoch for a monomial of the smallest degree.
    batch : int
        `partial_fit`, which cannot know how many examples will come, chooses after `batch`
        examples, twice as many, four times as many, ...
    bits : int
        Sparse data keep their monomials in a table of 2^bits.
    shuffle : bool
        `fit` learns the examples in a new random order in each pass; without it in the order
        given, which teaches little where rows are sorted by `y`. `partial_fit` keeps the order.
    random_state : int, RandomState instance or None
        Of the shuffling; an integer makes `fit` reproducible.

    Attributes
    ----------
    learner_ : GrowingLearner
        The model, see `algorithms.apple.growing`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        Where X had names that are all strings.

    Notes
    -----
    The features may have any scale, as in Vowpal Wabbit, but steps are made for targets of about
    unit size. Scale others, as with scikit-learn's
    ``TransformedTargetRegressor(AppleRegressor(), transformer=StandardScaler())``.

    References
    ----------
    .. [1] Agarwal et al. 2014, Scalable Nonlinear Learning with Adaptive Polynomial Expansions,
       https://arxiv.org/abs/1410.0440

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 4))
    >>> model = AppleRegressor(random_state=0).fit(X, 1 + 2 * X[:, 0] * X[:, 3])
    >>> model.monomial_weights()[0][0]
    'x0*x3'
    >>> round(model.score(X, 1 + 2 * X[:, 0] * X[:, 3]), 2)
    0.99
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from nothing.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        """
        X, y = self._checked(X, y, reset=True)
        return self._fit(X, y)

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn some more examples; parameters as for `fit`."""
        X, y = self._checked(X, y, reset=not hasattr(self, "learner_"))
        return self._partial_fit(X, y)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predictions within the range of the labels seen, 0 included.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples,)
        """
        return self._raw_predict(X).astype(np.float64)

    def _checked(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Floats]:
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float32, y_numeric=True, reset=reset
        )
        return X, check_labels(y)


class AppleClassifier(ClassifierMixin, _Apple):
    """Binary classification by squared loss on adaptively chosen monomials.

    Parameters and attributes are those of `AppleRegressor`, and:

    Attributes
    ----------
    classes_ : ndarray of shape (2,)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-1.0, 1.0], size=(2000, 6))
    >>> y = np.where(X[:, 1] * X[:, 4] > 0, "same", "different")
    >>> AppleClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from nothing.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two classes.
        """
        X, y = self._checked(X, y, reset=True)
        self._set_classes(np.unique(y))
        return self._fit(X, self._signs(y))

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn some more examples.

        Parameters
        ----------
        X, y
            As for `fit`.
        classes : array-like of shape (2,), optional
            Both classes; needed in the first call if `y` does not hold both.
        """
        first = not hasattr(self, "learner_")
        X, y = self._checked(X, y, reset=first)
        if first:
            self._set_classes(np.unique(y if classes is None else classes))
        return self._partial_fit(X, self._signs(y))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The raw prediction; above 0 means the second class. Shape (n_samples,)."""
        return self._raw_predict(X).astype(np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row, an ndarray of shape (n_samples,)."""
        above = self.decision_function(X) > 0
        return np.asarray(self.classes_[above.astype(int)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _checked(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, NDArray[Any]]:
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float32, reset=reset)
        check_classification_targets(y)
        return X, y

    def _set_classes(self, classes: NDArray[Any]) -> None:
        if len(classes) > 2:
            kind = type_of_target(classes)
            raise ValueError(
                "Only binary classification is supported. The type of the target is"
                f" {kind}: wrap the estimator in OneVsRestClassifier"
            )
        if len(classes) < 2:
            raise ValueError(f"two classes are needed, but there is one class: {classes[0]}")
        self.classes_ = classes

    def _signs(self, y: NDArray[Any]) -> Floats:
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y holds {unknown[0]}, which is none of the classes {self.classes_}")
        return np.where(y == self.classes_[1], 1, -1).astype(np.float32)


def _rows(X: Any) -> Rows:
    """Rows to predict, dense or sparse as they came."""
    if not sparse.issparse(X):
        return np.ascontiguousarray(X)
    rows = sparse.csr_array(X)
    rows.sum_duplicates()
    return rows
