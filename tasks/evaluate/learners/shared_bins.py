"""LightGBM on prefixes of one data set whose features were binned once."""

from __future__ import annotations

from typing import Any, Self

import lightgbm
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from leaseboard.algorithms.events import Parameters

_BINNING = {"verbosity": -1, "num_threads": 1, "feature_pre_filter": False, "max_bin": 255}


class SharedBins:
    """The bins of all training rows; labels are given with each fit.

    Bins come from the features of all training rows, so a model on a small sample differs from
    one that bins its sample alone. The bounds of ABC stay valid, because no label is used; the
    comparison stays fair, because every algorithm on the bench gets the same models.

    - `features`, shape (train_rows, n_features)
    - `labels`, shape (train_rows,)
    """

    def __init__(self, features: NDArray[np.float32], labels: NDArray[np.int32]) -> None:
        self._classes, codes = np.unique(labels, return_inverse=True)
        self._data = lightgbm.Dataset(features, codes, params=_BINNING, free_raw_data=False)
        self._data.construct()

    def classifier(self, parameters: Parameters, seed: int) -> SharedBinsClassifier:
        """An untrained model with the hyperparameters of `lightgbm.LGBMClassifier`."""
        own = {name: value for name, value in parameters.items() if name != "learner"}
        return SharedBinsClassifier(self._data, self._classes, own, seed)


class SharedBinsClassifier(ClassifierMixin, BaseEstimator):
    """A LightGBM classifier whose training rows are a prefix of the shared data set."""

    def __init__(
        self,
        data: lightgbm.Dataset | None,
        classes: NDArray[np.int32],
        hyperparameters: dict[str, Any],
        seed: int,
    ) -> None:
        self.data = data
        self.classes = classes
        self.hyperparameters = hyperparameters
        self.seed = seed

    def fit(self, X: NDArray[np.float32], y: NDArray[np.int32]) -> Self:
        """Train on the first ``len(y)`` rows of the shared data set, which `X` is a view of."""
        rows = len(y)
        if len(X) != rows:
            raise ValueError(f"{len(X)} rows of features, {rows} labels")
        assert self.data is not None  # only a saved copy has none
        own = dict(self.hyperparameters)
        trees = own.pop("n_estimators")
        binary = len(self.classes) == 2
        parameters = {
            **_BINNING,
            **own,
            "objective": "binary" if binary else "multiclass",
            "subsample_freq": 1,
            "seed": self.seed,
            "deterministic": True,
            "force_row_wise": True,
        }
        if not binary:
            parameters["num_class"] = len(self.classes)
        data = self.data
        if rows < data.num_data():
            data = data.subset(range(rows), params=parameters)
        self.booster_ = lightgbm.train(parameters, data, num_boost_round=trees)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """What predicts: the shared rows, which only training needs, are not copied."""
        return {**self.__dict__, "data": None}

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.int32]:
        """The class of each row."""
        raw = np.asarray(self.booster_.predict(X, num_threads=1))
        codes = raw.argmax(axis=1) if raw.ndim == 2 else (raw > 0.5).astype(int)
        return np.asarray(self.classes[codes])
