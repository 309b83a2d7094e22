"""ChaCha for one's own streams: predict one, learn one, save, inspect, hand over to VW."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from algorithms.chacha.oracle import ConfigOracle
from algorithms.chacha.streaming.base import OnlineChaCha
from algorithms.chacha.streaming.blocks import examples_of, in_kind, shares_in_kind
from algorithms.chacha.streaming.river_base import MiniBatchClassifier, MiniBatchRegressor
from algorithms.chacha.streaming.waiting_forecasts import WaitingForecasts
from algorithms.online.features import Example
from algorithms.online.inputs import importances_of, regression_label
from algorithms.online.text import read_text


class ChaChaRegressor(WaitingForecasts, MiniBatchRegressor):
    """ChaCha for numbers; one of River's regressors where River is installed.

    Examples
    --------
    >>> model = ChaChaRegressor(algorithm="chacha-icml-eval", b=3)
    >>> for t in range(300):
    ...     x = {"a": t % 3 - 1.0, "b": t % 5 - 2.0}
    ...     forecast = model.predict_one(x)
    ...     model.learn_one(x, x["a"] + x["a"] * x["b"])
    >>> model.examples, len(model.live)
    (300, 2)
    """

    _task = "regression"

    def predict_one(self, x: Example) -> float:
        """The forecast for one example; nothing is learned. 0 before the first example.

        Parameters
        ----------
        x : dict
            ``{feature: value}`` or ``{namespace: {feature: value}}``.
        """
        return self._forecast(x)

    def learn_one(self, x: Example, y: float, w: float = 1.0) -> None:
        """Learn one example; no prediction need have been asked for.

        Parameters
        ----------
        x : dict
        y : float
        w : float
            Importance: learned as if seen so many times.
        """
        self._learn(x, regression_label(y), w)

    def learn_many(
        self, X: ArrayLike, y: ArrayLike, w: ArrayLike | None = None
    ) -> NDArray[np.float32]:
        """Learn a block in order, each example as by `learn_one`.

        Parameters
        ----------
        X : array-like of numbers or DataFrame, shape (n_examples, n_features)
        y : array-like, shape (n_examples,)
        w : array-like, shape (n_examples,), optional
            Importances.

        Returns
        -------
        ndarray of float32, shape (n_examples,)
            Progressive forecasts: of each example before its label was learned.
        """
        return self._learn_block(X, y, w)

    def predict_many(self, X: ArrayLike) -> Any:
        """Forecasts for a block of examples, none of which is learned.

        Parameters
        ----------
        X : array-like of numbers or DataFrame, shape (n_examples, n_features)
            A column that a DataFrame has not counts 0.

        Returns
        -------
        ndarray of float32, shape (n_examples,); of a DataFrame, a Series with its index

        Raises
        ------
        UsageError
            If an array holds other things than numbers, or has too few columns.
        """
        return in_kind(X, self._forecast_block(X))

    def learn_text(self, text: str | bytes) -> NDArray[np.float32]:
        r"""Learn lines of Vowpal Wabbit's text format in order, read as VW reads them.

        Parameters
        ----------
        text : str or bytes
            One example a line: ``label [importance] |namespace feature:value ... |...``. See
            `algorithms.online.text`.

        Returns
        -------
        ndarray of float32, shape (n_examples,)
            Progressive forecasts.

        Examples
        --------
        >>> model = ChaChaRegressor(algorithm="chacha-icml-eval")
        >>> [round(float(f), 2) for f in model.learn_text("1 |a x:2 |b y:0.5\n2 |a x:3 |b y:1")]
        [0.0, 0.87]
        """
        block, features = read_text(text, self._features)
        unlabelled = np.flatnonzero(np.isnan(block.labels))
        if len(unlabelled):
            raise ValueError(f"example {unlabelled[0] + 1} has no label: nothing can be learned")
        if not len(block.labels):
            return block.labels
        if self._race is None or features.n_features > self._features.n_features:
            self._adopt(features)
        self._features.fill(block.rows, learns=True)
        return self._advance(block.rows, block.labels, block.importances)


class ChaChaClassifier(OnlineChaCha, MiniBatchClassifier):
    """ChaCha for two classes by logistic loss; one of River's classifiers where it is installed.

    Examples
    --------
    >>> model = ChaChaClassifier(algorithm="chacha-icml-eval", b=2)
    >>> for t in range(100):
    ...     model.learn_one({"a": t % 3 - 1.0}, t % 3 == 2)
    >>> model.predict_one({"a": 1.0}), model.predict_one({"a": -1.0})
    (True, False)
    """

    _task = "classification"

    def __init__(
        self,
        namespaces: Mapping[str, list[str]] | None = None,
        oracle: ConfigOracle | None = None,
        seed: int = 0,
        algorithm: str = "chacha",
        pending: int = 10_000,
        **settings: Any,
    ) -> None:
        super().__init__(namespaces, oracle, seed, algorithm, pending, **settings)
        self.classes: list[Hashable] = []

    def predict_one(self, x: Example) -> Hashable:
        """The likelier class; None before the first example."""
        probabilities = self.predict_proba_one(x)
        return max(probabilities, key=probabilities.__getitem__, default=None)

    def predict_proba_one(self, x: Example) -> dict[Hashable, float]:
        """The probability of each class seen so far."""
        margin = self._forecast(x)
        if len(self.classes) < 2:
            return dict.fromkeys(self.classes, 1.0)
        second = 1 / (1 + math.exp(-min(max(margin, -500.0), 500.0)))
        return dict(zip(self.classes, (1 - second, second), strict=True))

    def learn_one(self, x: Example, y: Hashable, w: float = 1.0) -> None:
        """Learn one example; the first class that is seen is the negative one."""
        classes = self._with(y)
        self._learn(x, 2.0 * classes.index(y) - 1.0, w)
        self.classes = classes

    def learn_many(self, X: ArrayLike, y: ArrayLike, w: ArrayLike | None = None) -> None:
        """Learn a block in order, each example as by `learn_one`.

        Parameters
        ----------
        X : array-like of numbers or DataFrame, shape (n_examples, n_features)
        y : array-like, shape (n_examples,)
        w : array-like, shape (n_examples,), optional
            Importances.
        """
        examples, labels = examples_of(X), np.asarray(y).tolist()
        if len(examples) != len(labels):
            raise ValueError(f"{len(labels)} labels for {len(examples)} examples: give one each")
        importances = importances_of(w, len(examples)).tolist()
        self._check(examples)
        for one in zip(examples, labels, importances, strict=True):
            self.learn_one(*one)

    def predict_many(self, X: ArrayLike) -> Any:
        """The likelier class of each row: an array, of a DataFrame a Series with its index."""
        return in_kind(X, [self.predict_one(x) for x in examples_of(X)])

    def predict_proba_many(self, X: ArrayLike) -> Any:
        """The probabilities of the classes seen so far: a DataFrame with a column each."""
        rows = [self.predict_proba_one(x) for x in examples_of(X)]
        return shares_in_kind(X, rows, self.classes)

    def _state(self) -> dict[str, Any]:
        return super()._state() | {"classes": self.classes}

    def _fill(self, state: dict[str, Any]) -> None:
        super()._fill(state)
        for label in state["classes"]:
            self.classes = self._with(label)

    def _with(self, y: Hashable) -> list[Hashable]:
        hash(y)
        if y is None or (isinstance(y, Real) and math.isnan(y)):
            raise ValueError(f"label {y!r} is no class: give a value to be predicted")
        classes = self.classes if y in self.classes else [*self.classes, y]
        if len(classes) > 2:
            raise ValueError(f"label {y!r} is a third class after {self.classes}: two are learned")
        return classes
