"""The classes for streams in scikit-learn's form: `partial_fit`, `fit`, `predict`, `score`."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_regressor
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from leaseboard.algorithms.tables.column_types import complete_labels, numbers_alone
from leaseboard.algorithms.tables.values import codes_of, importances_of


@dataclass(eq=False, repr=False)
class _ScikitStream(BaseEstimator):
    """Base of both estimators; their docstrings document it."""

    _kind: ClassVar[str]
    model_: Any = field(init=False)

    algorithm: str = "online-automl"
    _: KW_ONLY
    settings: Mapping[str, Any] | None = None
    random_state: int | np.random.RandomState | None = 0

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from nothing.

        Parameters
        ----------
        X : array-like or DataFrame of numbers, shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Importances; a row of weight 0 is not learned, nor its class.

        Returns
        -------
        StreamRegressor or StreamClassifier
            The estimator itself.
        """
        return self._learn(X, y, sample_weight, first=True)

    def _learn(
        self, X: Any, y: Any, weights: ArrayLike | None, *, first: bool, classes: Any = None
    ) -> Self:
        """Learn the rows that have a weight, the first ones with a model that has seen nothing."""
        X, y = validate_data(
            self, numbers_alone(X), complete_labels(y), dtype=np.float32, reset=first,
            y_numeric=is_regressor(self),
        )  # fmt: skip
        importances = importances_of(weights, len(y))
        kept = importances > 0
        if not kept.any():
            raise ValueError("all sample weights are zero: weigh at least one row more")
        labels, found = y[kept], {}
        if not is_regressor(self):
            check_classification_targets(labels)
            found = {"classes_": np.unique(labels) if classes is None else classes}
            labels = found["classes_"][codes_of(labels, found["classes_"])]
        model = self._fresh() if first else self.model_
        model.learn_many(self._named(X[kept]), labels, importances[kept])
        self.__dict__.update(found, model_=model)
        return self

    def _fresh(self) -> Any:
        """Return the model that has seen nothing."""
        from leaseboard.algorithms.online_automl import streaming  # its kernels take a while

        kind, seed = getattr(streaming, self._kind), self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(2**31 - 1)
        return kind(int(seed), self.algorithm, **self.settings or {})

    def _seen(self, X: Any) -> Any:
        check_is_fitted(self, "model_")
        X = validate_data(self, numbers_alone(X), dtype=np.float32, reset=False)
        return self._named(X)

    def _named(self, X: NDArray[np.float32]) -> Any:
        """Return `X` with the names that its columns came with, by which the model knows them."""
        names = getattr(self, "feature_names_in_", None)
        return X if names is None else pd.DataFrame(X, columns=names)


class StreamRegressor(RegressorMixin, _ScikitStream):
    """`OnlineAutoMLRegressor` for scikit-learn's loops and tools.

    Parameters
    ----------
    algorithm : str
        The registered name of a race, such as ``"online-automl"`` or ``"chacha-literal"``.
    settings : mapping of str to value, optional
        Of the algorithm, as in ``{"b": 10}``, see `OnlineAutoMLRegressor`.
    random_state : int, RandomState instance or None
        An integer makes the model reproducible.

    Attributes
    ----------
    model_ : OnlineAutoMLRegressor
        The model itself, for its `champion`, `live`, `save` and so on.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Where X had names that are all strings.

    Notes
    -----
    The order of the rows counts: the model learns them one after the other, once. A sample weight
    is an importance, learned at once, which is not the same as a row that comes several times.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 4))
    >>> y = 1 + 2 * X[:, 0] * X[:, 3]
    >>> model = StreamRegressor()
    >>> for start in range(0, 2000, 500):
    ...     model = model.partial_fit(X[start : start + 500], y[start : start + 500])
    >>> model.model_.examples, model.score(X, y) > 0.9
    (2000, True)
    """

    _kind = "OnlineAutoMLRegressor"

    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn some more examples.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        StreamRegressor
        """
        return self._learn(X, y, sample_weight, first=not hasattr(self, "model_"))

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the targets of rows.

        Parameters
        ----------
        X : array-like or DataFrame of numbers, shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples,)
        """
        X = self._seen(X)
        return np.asarray(self.model_.predict_many(X), dtype=np.float64)


class StreamClassifier(ClassifierMixin, _ScikitStream):
    """`OnlineAutoMLClassifier` for scikit-learn's loops and tools.

    Parameters
    ----------
    algorithm : str
        The registered name of a race, such as ``"online-automl"`` or ``"chacha-literal"``.
    settings : mapping of str to value, optional
        Of the algorithm, as in ``{"b": 10}``, see `OnlineAutoMLClassifier`.
    random_state : int, RandomState instance or None
        An integer makes the model reproducible.

    Attributes
    ----------
    model_ : OnlineAutoMLClassifier
        The model itself, for its `champion`, `live`, `save` and so on.
    classes_ : ndarray of shape (n_classes,)
        In sorted order.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Where X had names that are all strings.

    Notes
    -----
    The order of the rows counts: the model learns them one after the other, once.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> y = np.where(X[:, 0] > 0, "up", "down")
    >>> model = StreamClassifier("chacha").partial_fit(X[:1], y[:1], ["up", "down"])
    >>> model.partial_fit(X[1:], y[1:]).score(X, y) > 0.9
    True
    """

    _kind = "OnlineAutoMLClassifier"

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn some more examples.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array-like, optional
            All classes; needed in the first call if `y` does not hold them all.

        Returns
        -------
        StreamClassifier
        """
        given = None if classes is None else np.unique(np.asarray(classes))
        known: Any = getattr(self, "classes_", given)
        if given is not None and not np.array_equal(given, known):
            raise ValueError(
                f"classes {given.tolist()} differ from those of the first call, {known.tolist()}:"
                " name these, or none"
            )
        first = not hasattr(self, "model_")
        return self._learn(X, y, sample_weight, first=first, classes=known)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, in the order of `classes_`.

        Parameters
        ----------
        X : array-like or DataFrame of numbers, shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
        """
        X = self._seen(X)
        shares = self.model_.predict_proba_many(X)
        every = shares.reindex(columns=self.classes_.tolist(), fill_value=0.0)
        return np.asarray(every, dtype=np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the likeliest class of each row.

        Parameters
        ----------
        X : array-like or DataFrame of numbers, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,)
        """
        likeliest = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])
