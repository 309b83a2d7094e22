"""ChaCha for numbers that come as a stream."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaseboard.algorithms.chacha.streaming.blocks import in_kind
from leaseboard.algorithms.chacha.streaming.river_base import MiniBatchRegressor
from leaseboard.algorithms.chacha.streaming.waiting_forecasts import WaitingForecasts
from leaseboard.algorithms.tables.features import Example
from leaseboard.algorithms.tables.inputs import regression_label


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
